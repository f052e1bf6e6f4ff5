"""The random histories move every field: what reads one differently is found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from decimal import Decimal
from typing import Any

import psycopg
import pytest

import failproof_es.reading.rows as rows_module
from failproof_es.core.evaluation import EvaluationKey, ImpossibleHistory
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.run import Run
from failproof_es.reading.counter_rows import READ
from failproof_es.reading.log import LogReader
from failproof_es.reading.rows import RowReader
from failproof_es.store.store import Store
from projections.results.counters import ASKING, CLASSES, ERRORS, GROUPS, LATENCIES, UNSCORED, USAGE
from projections.runner import catch_up, prepare
from tests.integration.reading.lives import Life


class Recorded:
    """Many lives in one log, as both readers tell them."""

    def __init__(self, connection: psycopg.Connection[Any], lives: list[Life]) -> None:
        self.connection = connection
        log = LogReader(connection)
        self.keys: list[tuple[Run, list[EvaluationKey]]] = []
        self.by_log: list[tuple[Any, ...]] = []
        for life in lives:
            row = connection.execute(
                "SELECT told FROM projections.runs WHERE run_id = %s", (life.run_id,)
            ).fetchone()
            if row == (True,):
                run = log.run(life.run_id)
                self.keys.append((run, life.keys))
                self.by_log.append((run, log.summary(run), log.outcomes(run, life.keys)))

    def by_rows(self) -> Iterator[tuple[Any, ...]]:
        rows = RowReader(self.connection)
        for run, keys in self.keys:
            yield rows.run(run.started.originator_id), rows.summary(run), rows.outcomes(run, keys)

    def found(self) -> bool:
        """Whether it shows that the two tell something else: the first life that does is enough."""
        try:
            told = zip(self.by_rows(), self.by_log, strict=True)
            return any(by_row != by_log for by_row, by_log in told)
        except (TypeError, ValueError, KeyError, AttributeError, ImpossibleHistory):
            return True


def make_lives() -> list[Life]:
    found: list[Life] = []
    for seed in range(0, 60, 2):
        found.append(Life(seed, seed + 1))
        found.append(Life(seed + 1, seed + 2, found[-1]))
    return found


@pytest.fixture
def recorded(store: Store) -> Iterator[Recorded]:
    lives = make_lives()
    for life in lives:
        store.log.recorder.insert_events(list(life.entries))
    with store.connect() as connection:
        prepare(connection)
        while catch_up(connection):
            pass
        recorded = Recorded(connection, lives)
        assert list(recorded.by_rows()) == recorded.by_log
        yield recorded


def other(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float | Decimal):
        return value + 1
    return None


@pytest.mark.slow
def test_a_column_a_counter_or_a_field_of_a_run_that_is_left_out_is_found(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    unnoticed = []
    whole = vars(rows_module)["outcome_of_row"]
    for place, name in enumerate(EvaluationOutcome._fields):

        def without(row: Any, place: int = place) -> EvaluationOutcome:
            told: EvaluationOutcome = whole([*row[:place], other(row[place]), *row[place + 1 :]])
            return told

        monkeypatch.setattr(rows_module, "outcome_of_row", without)
        if not recorded.found():
            unnoticed.append(name)
    monkeypatch.setattr(rows_module, "outcome_of_row", whole)
    kinds = {
        "group": GROUPS, "asking": ASKING, "usage": USAGE, "error": ERRORS, "unscored": UNSCORED,
        "latency": LATENCIES,
    }  # fmt: skip
    readers = dict(READ)
    for kind, table in kinds.items():
        for name in (*table.words, *table.sums, *table.key):
            if name in ("planned", "group_key", "error_key", "unscored_key", "purpose") or (
                name in ("answers_without_usage", "model_answered")
            ):
                continue  # what SQL users ask for, and no summary tells

            def less(counts: Any, row: Any, name: str = name, kind: str = kind) -> None:
                told = row[name]
                changed = (
                    f"{told}x" if isinstance(told, str) else told + 1 if told is not None else "x"
                )
                readers[kind](counts, {**row, name: changed})

            monkeypatch.setitem(READ, kind, less)
            if not recorded.found():
                unnoticed.append(f"{kind}.{name}")
            monkeypatch.setitem(READ, kind, readers[kind])
    run_of, nothing = vars(rows_module)["run_of"], Run()
    for each in fields(Run):

        def run_without(document: str, name: str = each.name) -> Run:
            told: Run = replace(run_of(document), **{name: getattr(nothing, name)})
            return told

        monkeypatch.setattr(rows_module, "run_of", run_without)
        if not recorded.found():
            unnoticed.append(each.name)
    assert unnoticed == []
    assert CLASSES.sums == ("evaluations",)
