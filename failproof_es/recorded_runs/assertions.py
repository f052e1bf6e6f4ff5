"""An importer's checks as those of the dialect `checks`. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from failproof_es.dialects.reply_checks import pattern_problem
from failproof_es.importers.protocol import Check

_KINDS = {"begins": "starts_with", "ends": "ends_with"}


def as_checks(checks: Iterable[Check]) -> list[dict[str, Any]]:
    """The checks as they stand in a case."""
    return [
        {
            "kind": _KINDS.get(each.kind, each.kind),
            "values": list(each.texts),
            **({"ignore_case": True} if each.ignore_case else {}),
            **({"negate": True} if each.negated else {}),
        }
        for each in checks
    ]


def unusable(checks: Iterable[Check]) -> str | None:
    """Why one of these is no check here; `None` where all are."""
    for each in checks:
        if each.kind == "regex":
            for text in each.texts:
                if problem := pattern_problem(text):
                    return problem
    return None
