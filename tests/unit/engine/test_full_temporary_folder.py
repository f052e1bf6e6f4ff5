"""A temporary folder without room for the cases: told before anything is stored."""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from failproof_es.core.case import Case, Turn
from failproof_es.engine.planning import asked_cases, case_spool
from failproof_es.engine.planning.asked_cases import PlannedCases
from failproof_es.engine.planning.planner import CollectedCases, store_plan
from failproof_es.problems import InvalidInput

ROOM = 2**16
"""So many bytes fit into a file."""


@contextmanager
def little_room() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, before[1]))
    try:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(sys, "dont_write_bytecode", True)  # a part of it would be left behind
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def collect(kept: CollectedCases, most: int = 10_000) -> int:
    """Add so many cases, or as many as are taken. Returns how many were."""
    turns = (Turn(role="user", content="x"),)
    for number in range(most):
        try:
            kept.add(Case(dialect="failproof", case_id=f"{number:05}", suite_id="s", turns=turns))
        except InvalidInput as error:
            assert str(error).count("TMPDIR") == 1
            return number
    return most


def collection(on_disk: str, monkeypatch: pytest.MonkeyPatch) -> CollectedCases:
    monkeypatch.setattr(case_spool, "_IN_MEMORY", 1 if on_disk == "cases" else 2**30)
    monkeypatch.setattr(asked_cases, "_IN_MEMORY", 1 if on_disk == "digests" else 2**30)
    kept = CollectedCases()
    if on_disk == "sets":
        kept.planned_cases = PlannedCases(at_once=2)
    return kept


class _NeverAsked:
    def require_unchanged(self) -> None:
        raise AssertionError("not all cases fit")


def store(kept: CollectedCases) -> None:
    nothing: Any = None
    source: Any = _NeverAsked()
    store_plan(nothing, source, nothing, kept)


@pytest.mark.parametrize("on_disk", ["cases", "digests", "sets"])
def test_that_the_last_cases_do_not_fit_is_told_before_any_is_stored(
    on_disk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with little_room():
        most = collect(collection(on_disk, monkeypatch))
        assert 10 < most < 10_000
        kept = collection(on_disk, monkeypatch)
        assert collect(kept, most) == most
        with pytest.raises(InvalidInput, match="File too large") as raised:
            store(kept)
        kept.spool.close()
        kept.planned_cases.close()
    assert str(raised.value).count("TMPDIR") == 1


@pytest.mark.parametrize("on_disk", ["cases", "digests", "sets"])
@pytest.mark.long
def test_what_did_not_fit_is_given_up_without_a_word(
    on_disk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: said.append(told.exc_value))
    kept = collection(on_disk, monkeypatch)
    with little_room():
        assert collect(kept) < 10_000
        del kept
        gc.collect()
    assert said == []
