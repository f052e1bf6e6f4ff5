"""Finds the runs of the same experiment in the log (`failproof_es.core.experiment` defines it)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import LiteralString, NamedTuple
from uuid import UUID

import orjson
import psycopg

from failproof_es.core.experiment import RelatedRuns, RunQuestions, find_related
from failproof_es.events import RunStarted
from failproof_es.store.reading.reader import Connection
from failproof_es.store.writing.recorder import query

_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
_NOT_NOTING = (
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedFunction,
)
_AT_ONCE = 20
"""The number of runs that one transaction indexes."""


def related_runs(connection: Connection, run_id: UUID) -> RelatedRuns:
    """The attempts of a run's experiment, that run included, and the runs that overlap with it.

    Both are empty if the log has no such run.
    """
    runs = {run.run_id: run for run in runs_that_ask(connection)}
    own = runs.get(str(run_id))
    return RelatedRuns((), ()) if own is None else find_related(own, runs.values())


def runs_that_ask(connection: Connection, after: int = 0) -> Iterator[RunQuestions]:
    """The `RunQuestions` of every run after this number, from the first event of each.

    Skips damaged rows: `verify` reports them, and they must not stop another run.
    """
    yield from _read_started(connection, query("runs_started"), (after,))


def _read_started(
    connection: Connection, statement: LiteralString, parameters: tuple[object, ...]
) -> Iterator[RunQuestions]:
    with connection.transaction(), connection.cursor("runs_that_ask", binary=True) as cursor:
        cursor.itersize = 100
        cursor.execute(statement, parameters)
        for run_id, state in cursor:
            try:
                started = {**orjson.loads(state), "run_id": str(run_id)}
                asking = RunQuestions.of(started, _question_reader(connection, run_id))
            except _UNREADABLE:
                continue
            yield asking


class NewRun:
    """A run that is about to begin, compared with the runs before it.

    The cost depends on the number of cases, not of runs: indexed runs are looked up, and only runs
    that no engine wrote are read.
    """

    def __init__(
        self,
        connection: Connection,
        draft: RunStarted,
        read_questions: Callable[[], AbstractSet[str]],
    ) -> None:
        """Compare with the runs so far, without a lock, because reading plans is slow."""
        self._connection = connection
        self._draft = draft
        self._read_questions = read_questions
        self._digest = draft.experiment.digest
        self._models = self._models_asked()
        index_runs(connection)
        self._seen, self._seen_set = _newest_indexed(connection)
        before = {run.run_id: run for run in self._read_runs(0)}
        self._looked_at = before.keys()
        self._before = find_related(self._questions(self._seen + 1), before.values())
        self._sets = self._overlapping_sets(0)

    def numbered(self, number: int) -> RunStarted:
        """The `RunStarted` with its number, its attempt and the number of overlapping runs.

        Call it under the lock for numbering: it reads only runs that began meanwhile.
        """
        self._connection.execute("SELECT failproof.take_in_runs(NULL, %s)", (number,))
        meanwhile = {run.run_id: run for run in self._read_runs(self._seen)}
        new = [run for run_id, run in meanwhile.items() if run_id not in self._looked_at]
        related = find_related(self._questions(number), [*self._before.attempts, *new])
        overlapping = len(self._before.overlapping) + len(related.overlapping)
        attempt = len(related.attempts)
        if self._models is not None:
            attempt += self._count("attempts", (self._digest,))
            sets = [*self._sets, *self._overlapping_sets(self._seen_set)]
            overlapping += self._count("overlapping", (sets, self._digest, self._models))
        return self._draft.model_copy(
            update={
                "run_number": number,
                "attempt": attempt,
                "experiment": self._draft.experiment.model_copy(
                    update={"overlapping": overlapping}
                ),
            }
        )

    def _read_runs(self, after: int) -> Iterator[RunQuestions]:
        """The runs that must be read, because the index does not cover them."""
        read = runs_that_ask if self._models is None else runs_indexed_differently
        return read(self._connection, after)

    def _overlapping_sets(self, after: int) -> list[int]:
        """Ids of the indexed sets of cases after this id that overlap with this run's cases."""
        experiment = self._draft.experiment
        if self._models is None:
            return []
        if after >= _newest_indexed(self._connection)[1]:
            return []
        rows = self._connection.execute(
            query("sets_known_to_share"), {"digest": experiment.questions, "after": after}
        ).fetchall()
        if not rows:
            keys = [question[:32] for question in self._read_questions()]
            rows = self._connection.execute(
                "SELECT other_id FROM failproof.sets_that_share(%s::text[]::uuid[], %s)",
                (keys, after),
            ).fetchall()
        return [set_id for (set_id,) in rows]

    def _count(self, name: LiteralString, parameters: tuple[object, ...]) -> int:
        row = self._connection.execute(query(f"count_{name}"), parameters).fetchone()
        return 0 if row is None else int(row[0])

    def _models_asked(self) -> list[str] | None:
        document = orjson.dumps(
            {"models": [model.model_dump(mode="json") for model in self._draft.models]}
        )
        row = self._connection.execute(
            "SELECT failproof.models_asked(failproof.readable(%s::json))", (document.decode(),)
        ).fetchone()
        return None if row is None else row[0]

    def _questions(self, number: int) -> RunQuestions:
        draft = self._draft.model_copy(update={"run_number": number})
        return RunQuestions.of(draft.model_dump(mode="json"), self._read_questions)


class AttemptCounts(NamedTuple):
    """A run's place among the attempts of its experiment and the runs that overlap with it."""

    experiment: str
    attempt: int
    attempts: int
    overlapping: int
    cases: int
    """Number of different questions that the run asks."""


def counts_of(connection: Connection, run_id: UUID) -> AttemptCounts | None:
    """The counts of `related_runs` from the index; `None` if `related_runs` must be called.

    That is so if a run has a damaged record, or is not indexed because this user may not write.
    """
    if not is_indexed(connection):
        return None
    row = connection.execute(query("counts_of_run"), {"run": run_id}).fetchone()
    return None if row is None else AttemptCounts(*row)


def list_attempts(
    connection: Connection, run_id: UUID, most: int | None, *, earlier: bool = False
) -> list[tuple[UUID, int]]:
    """The newest other attempts of the run's experiment, at most `most`, in order.

    Each is (run id, attempt from 1). With `earlier`, only attempts before the run.
    """
    parameters = {"run": run_id, "most": most, "earlier": earlier}
    return connection.execute(query("attempts_of_run"), parameters).fetchall()[::-1]


def list_overlapping(
    connection: Connection, run_id: UUID, most: int | None, *, earlier: bool = False
) -> list[tuple[UUID, int]]:
    """The newest runs that overlap with the run, at most `most`, in order.

    Each is (run id, number of shared questions). With `earlier`, only runs before the run.
    """
    parameters = {"run": run_id, "most": most, "earlier": earlier}
    return connection.execute(query("overlapping_of_run"), parameters).fetchall()[::-1]


def run_numbers(connection: Connection, runs: Sequence[UUID]) -> dict[UUID, int]:
    """The run number of each of these runs, by run id."""
    rows = connection.execute(
        "SELECT run_id, run_number FROM failproof.run_list WHERE run_id = ANY (%s)", (list(runs),)
    )
    return dict(rows.fetchall())


def list_attempt_numbers(
    connection: Connection, runs: Sequence[UUID]
) -> dict[UUID, tuple[int, int]]:
    """(attempt, number of attempts) of each of these runs. Requires `is_indexed`."""
    rows = connection.execute(query("places_of_runs"), (list(runs),))
    return {run_id: (int(place), int(attempts)) for run_id, place, attempts in rows}


def is_indexed(connection: Connection) -> bool:
    """Whether the index holds every run, and correctly. Indexes new runs first."""
    if not index_runs(connection):
        return False
    return next(runs_indexed_differently(connection, 0), None) is None


def index_runs(connection: Connection) -> bool:
    """Index the questions of new runs; return whether all runs are indexed now.

    A user who may only read indexes nothing. Transactions are short, so that no run waits for them.
    """
    with suppress(*_NOT_NOTING):
        while _newest_indexed(connection)[0] < _newest_run(connection):
            with connection.transaction():
                connection.execute("SELECT failproof.take_in_runs(%s, NULL)", (_AT_ONCE,))
        return True
    return False


def try_index_runs(connection: Connection) -> None:
    """Like `index_runs`, but ignores database errors: the next caller indexes the rest."""
    with suppress(psycopg.Error):
        index_runs(connection)


def _newest_indexed(connection: Connection) -> tuple[int, int]:
    """The number of the newest indexed run, and the id of the newest set of cases."""
    row = connection.execute(query("newest_noted")).fetchone()
    return (0, 0) if row is None else (row[0], row[1])


def _newest_run(connection: Connection) -> int:
    row = connection.execute("SELECT max(run_number) FROM failproof.run_list").fetchone()
    return (row and row[0]) or 0


def runs_indexed_differently(connection: Connection, after: int) -> Iterator[RunQuestions]:
    """The `RunQuestions` of runs after this number that no engine wrote: the index lacks them."""
    yield from _read_started(connection, query("runs_asked_otherwise"), (after,))


def _question_reader(connection: Connection, run_id: UUID) -> Callable[[], AbstractSet[str]]:
    return lambda: read_questions(connection, run_id)


def read_questions(connection: Connection, run_id: UUID) -> frozenset[str]:
    """The `question_digest` of the cases that a run planned, without damaged records."""
    questions: set[str] = set()
    for (state,) in connection.execute(query("plan"), (run_id,), binary=True):
        with suppress(*_UNREADABLE):
            questions.update(map(_require_text, orjson.loads(state)["questions"]))
    return frozenset(questions)


def _require_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not text")
    return value
