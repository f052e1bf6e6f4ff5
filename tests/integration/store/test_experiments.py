"""Which runs in the log asked the same: what stands there may be anything."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID, uuid4

import orjson
import pytest

from failproof_es.case import Case, Turn
from failproof_es.engine.asked_cases import AskedCases
from failproof_es.events import CasesPlanned, ModelSnapshot, RunStarted
from failproof_es.store.experiments import runs_alike
from failproof_es.store.mapper import LogEntry
from failproof_es.store.recorder import append_parameters, query
from failproof_es.store.store import Store

MODELS = (ModelSnapshot(key="m", provider="openai", model="m"),)


def begin(store: Store, *questions: str) -> RunStarted:
    """Begin a run that asks these."""
    asked = AskedCases()
    for question in questions:
        turns = (Turn(role="user", content=question),)
        case = Case(dialect="failproof", case_id=question, suite_id="s", turns=turns)
        asked.add(case.digest(), case)
    run_id, now = uuid4(), datetime.now(UTC)
    draft = RunStarted(
        originator_id=run_id, originator_version=1, run_id=run_id, timestamp=now, name="n",
        run_number=0, attempt=None, experiment=asked.experiment({}, MODELS, ()), configuration={},
        configuration_digest="c", models=MODELS, suites=(), dialect="failproof",
        planned_cases=len(asked), planned_evaluations=len(asked), code_version="1", packages={},
        who="w", where="h",
    )  # fmt: skip
    plan = CasesPlanned(
        originator_id=run_id, originator_version=2, run_id=run_id, timestamp=now, chunk=0,
        digests=tuple(asked.digests()), questions=tuple(asked.questions()),
    )  # fmt: skip
    return store.begin_run(draft, [plan], asked.plan)


def write(store: Store, run_id: UUID, *states: tuple[str, bytes]) -> None:
    """Number a run and append what no engine would, as whoever has the engine's login can."""
    entries = [
        LogEntry(run_id, version, topic, state, run_id=run_id)
        for version, (topic, state) in enumerate(states, 1)
    ]
    with store.connect() as connection, connection.transaction():
        connection.execute("SELECT failproof.number_run(%s)", (run_id,))
        connection.execute(query("append"), append_parameters(entries))


def test_attempts_and_overlapping_runs_are_counted_when_a_run_begins(store: Store) -> None:
    begun = [begin(store, *questions) for questions in ("abc", "cab", "abcd", "xyz", "abc")]
    counted = [(run.attempt, run.experiment and run.experiment.overlapping) for run in begun]
    assert counted == [(1, 0), (2, 0), (1, 2), (1, 0), (3, 1)]
    with store.connect() as connection:
        found = runs_alike(connection, begun[2].originator_id)
    assert [(each.run.number, each.shared) for each in found.overlapping] == [
        (1, 3),
        (2, 3),
        (5, 3),
    ]


GARBAGE = [
    b"", b"no JSON", b"[]", b"{}", b'{"run_number":"1"}', b'{"models":[1],"run_number":2}',
    b'{"experiment":{"digest":[],"questions":{}},"run_number":2,"models":[]}',
    b"[" * 900 + b"]" * 900,
]  # fmt: skip


@pytest.mark.parametrize("state", GARBAGE)
def test_a_first_event_that_no_engine_wrote_keeps_no_run_from_beginning(
    store: Store, state: bytes
) -> None:
    begin(store, "a")
    write(store, uuid4(), ("RunStarted", state))
    assert (begin(store, "a").attempt, begin(store, "a").attempt) == (2, 3)


@pytest.mark.parametrize("state", [*GARBAGE, b'{"digests":[[1]]}', b'{"digests":5}'])
def test_a_plan_that_no_engine_wrote_keeps_no_run_from_beginning(
    store: Store, state: bytes
) -> None:
    started = begin(store, "a").model_dump(mode="json") | {"experiment": None, "run_number": 2}
    write(store, uuid4(), ("RunStarted", orjson.dumps(started)), ("CasesPlanned", state))
    assert begin(store, "a").attempt == 2


def test_a_run_that_calls_itself_another_is_counted_as_what_it_is(store: Store) -> None:
    """Else one event on a stream of its own takes a run's place among the attempts."""
    first = begin(store, "a")
    posing = first.model_dump(mode="json") | {"run_number": 2}
    other = uuid4()
    write(store, other, ("RunStarted", orjson.dumps(posing)))
    with store.connect() as connection:
        found = runs_alike(connection, first.originator_id).attempts
    assert [each.run_id for each in found] == [str(first.originator_id), str(other)]
