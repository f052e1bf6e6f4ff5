"""Variants of a checklist's question that mean the same: another order, other words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from random import Random
from typing import Any

from failproof_es.dialects.kit import templates
from failproof_es.dialects.kit.judging.checklist import WORDS
from failproof_es.dialects.kit.judging.prompt import shipped


@cache
def rephrased() -> str:
    """The default template of the question to a judge, in other words."""
    return templates.shipped(__package__, "judge_rephrased")


def rephrase(expected: Mapping[str, Any]) -> dict[str, Any] | None:
    """The expectation with the question in other words; `None` with a template of the user's."""
    if expected.get("judge_template") != shipped():
        return None
    return {**expected, "judge_template": rephrased()}


def reorder(expected: Mapping[str, Any], draw: Random) -> dict[str, Any] | None:
    """The expectation with the items of each list in another order; `None` if none has two."""
    orders = {kind: draw_order(len(expected.get(kind, ())), draw) for kind in WORDS}
    if all(len(order) < 2 for order in orders.values()):
        return None
    lists: dict[str, Any] = {
        kind: [expected[kind][at] for at in order] for kind, order in orders.items() if order
    }
    keys = {
        f"{kind}.{at + 1}": f"{kind}.{number}"
        for kind, order in orders.items()
        for number, at in enumerate(order, 1)
    }
    marked = {name: [keys[key] for key in expected[name]] for name in expected if name == _MARKED}
    return {**expected, **lists, **marked}


_MARKED = "absences"
"""The key of the expectation that names items by their keys."""


def draw_order(count: int, draw: Random) -> list[int]:
    """The numbers below `count` in another order than theirs, if there is one."""
    order = list(range(count))
    draw.shuffle(order)
    return order[::-1] if order == sorted(order) else order
