"""Which runs in the log asked the same as one run (`failproof_es.experiment` says what that is)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import UUID

import orjson

from failproof_es.events import RunStarted
from failproof_es.experiment import Alike, Asking, Plan, alike
from failproof_es.store.reader import Connection
from failproof_es.store.recorder import query

_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def runs_alike(connection: Connection, run_id: UUID) -> Alike:
    """The attempts of a run's experiment, itself among them, and the runs that overlap with it.

    Both are empty where the log has no such run.
    """
    runs = {each.run_id: each for each in runs_that_ask(connection)}
    own = runs.get(str(run_id))
    return Alike((), ()) if own is None else alike(own, runs.values())


def runs_that_ask(connection: Connection, after: int = 0) -> Iterator[Asking]:
    """What every run with a higher number asked. Costs one event a run, and no plan.

    What no engine wrote is for `verify` to tell: it must not keep another run from beginning.
    """
    with connection.transaction(), connection.cursor("runs_that_ask", binary=True) as cursor:
        cursor.itersize = 100
        cursor.execute(query("runs_started"), (after,))
        for run_id, state in cursor:
            try:
                started = {**orjson.loads(state), "run_id": str(run_id)}
                asking = Asking.of(started, _reading(connection, run_id))
            except _UNREADABLE:
                continue
            yield asking


class NewRun:
    """A run that is about to begin, among those that began before it."""

    def __init__(
        self, connection: Connection, draft: RunStarted, read_plan: Callable[[], Plan]
    ) -> None:
        """Look at the runs so far, without a lock: reading plans takes its time."""
        self._connection = connection
        self._draft = draft
        self._read_plan = read_plan
        before = list(runs_that_ask(connection))
        self._seen = max((each.number for each in before), default=0)
        self._before = alike(self._asking(self._seen + 1), before)

    def numbered(self, number: int) -> RunStarted:
        """The run under its number, with its attempt and the runs that overlap with it.

        Call it behind the lock that numbering takes: only runs that began meanwhile are read.
        """
        meanwhile = runs_that_ask(self._connection, self._seen)
        others = [*self._before.attempts, *meanwhile]
        found = alike(self._asking(number), others)
        overlapping = len(self._before.overlapping) + len(found.overlapping)
        return self._draft.model_copy(
            update={
                "run_number": number,
                "attempt": len(found.attempts),
                "experiment": self._draft.experiment
                and self._draft.experiment.model_copy(update={"overlapping": overlapping}),
            }
        )

    def _asking(self, number: int) -> Asking:
        draft = self._draft.model_copy(update={"run_number": number})
        return Asking.of(draft.model_dump(mode="json"), self._read_plan)


def _reading(connection: Connection, run_id: UUID) -> Callable[[], Plan]:
    return lambda: read_plan(connection, run_id)


def read_plan(connection: Connection, run_id: UUID) -> Plan:
    """The cases that a run planned; without those that no engine wrote."""
    cases: set[str] = set()
    questions: set[str] = set()
    for (state,) in connection.execute(query("plan"), (run_id,), binary=True):
        try:
            payload = orjson.loads(state)
            cases.update(map(_text, payload["digests"]))
            questions.update(map(_text, payload.get("questions", ())))
        except _UNREADABLE:
            continue
    return Plan(frozenset(cases), frozenset(questions))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not text")
    return value
