"""Which runs in the log asked the same: what stands there may be anything."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import orjson
import psycopg
import pytest

from failproof_es.core.case import Case, Turn
from failproof_es.engine.planning.asked_cases import PlannedCases
from failproof_es.engine.related_runs.attempts import (
    AttemptNumbers,
    Attempts,
    attempt_before,
    attempts_of,
)
from failproof_es.events import CasesPlanned, ModelSnapshot, RunStarted
from failproof_es.store.mapper import LogEntry
from failproof_es.store.reading import experiments
from failproof_es.store.reading.experiments import index_runs, related_runs
from failproof_es.store.store import Store
from failproof_es.store.writing.recorder import append_parameters, query

MODELS = (ModelSnapshot(key="m", provider="openai", model="m"),)


def begin(store: Store, *questions: str, models: tuple[ModelSnapshot, ...] = MODELS) -> RunStarted:
    """Begin a run that asks these."""
    asked = PlannedCases()
    for question in questions:
        turns = (Turn(role="user", content=question),)
        case = Case(dialect="failproof", case_id=question, suite_id="s", turns=turns)
        asked.add(case.digest(), case)
    run_id, now = uuid4(), datetime.now(UTC)
    draft = RunStarted(
        originator_id=run_id, originator_version=1, run_id=run_id, timestamp=now, name="n",
        run_number=0, attempt=0, experiment=asked.experiment({}, models, ()), configuration={},
        configuration_digest="c", models=models, suites=(), dialect="failproof",
        planned_cases=len(asked), planned_evaluations=len(asked), code_version="1", packages={},
        who="w", where="h",
    )  # fmt: skip
    plan = CasesPlanned(
        originator_id=run_id, originator_version=2, run_id=run_id, timestamp=now, chunk=0,
        digests=tuple(asked.digests()), questions=tuple(asked.questions()),
    )  # fmt: skip
    return store.begin_run(draft, [plan], asked.questions_asked)


def write(store: Store, run_id: UUID, *states: tuple[str, bytes]) -> None:
    """Number a run and append what no engine would, as whoever has the engine's login can."""
    entries = [
        LogEntry(run_id, version, topic, state, run_id=run_id)
        for version, (topic, state) in enumerate(states, 1)
    ]
    with store.connect() as connection, connection.transaction():
        connection.execute("SELECT failproof.number_run(%s)", (run_id,))
        connection.execute(query("append"), append_parameters(entries))


def damaged(store: Store, like: RunStarted, number: int) -> UUID:
    """A run of that number which says that it asked the same, and is no run that can be read."""
    other = uuid4()
    said = like.model_dump(mode="json") | {"run_number": number, "planned_cases": "no number"}
    with store.connect() as connection:
        [plan] = next(iter(connection.execute(query("plan"), (like.originator_id,), binary=True)))
    write(store, other, ("RunStarted", orjson.dumps(said)), ("CasesPlanned", plan))
    return other


def test_attempts_and_overlapping_runs_are_counted_when_a_run_begins(store: Store) -> None:
    begun = [begin(store, *questions) for questions in ("abc", "cab", "abcd", "xyz", "abc")]
    counted = [(run.attempt, run.experiment and run.experiment.overlapping) for run in begun]
    assert counted == [(1, 0), (2, 0), (1, 2), (1, 0), (3, 1)]
    with store.connect() as connection:
        found = related_runs(connection, begun[2].originator_id)
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


def test_first_events_and_plans_that_no_engine_wrote_keep_no_run_from_beginning(
    store: Store,
) -> None:
    attempt = begin(store, "a").attempt
    for state in GARBAGE:
        write(store, uuid4(), ("RunStarted", state))
        attempt += 1
        assert begin(store, "a").attempt == attempt, state
    for state in (*GARBAGE, b'{"digests":[[1]]}', b'{"digests":5}'):
        said = begin(store, "a")
        attempt += 1
        assert said.attempt == attempt, state
        started = said.model_dump(mode="json") | {"run_number": said.run_number + 1}
        write(store, uuid4(), ("RunStarted", orjson.dumps(started)), ("CasesPlanned", state))
        attempt += 1  # it says that it asked the same
    assert begin(store, "a").attempt == attempt + 1


def test_a_run_that_calls_itself_another_is_counted_as_what_it_is(store: Store) -> None:
    """Else one event on a stream of its own takes a run's place among the attempts."""
    first = begin(store, "a")
    posing = first.model_dump(mode="json") | {"run_number": 2}
    other = uuid4()
    write(store, other, ("RunStarted", orjson.dumps(posing)))
    with store.connect() as connection:
        found = related_runs(connection, first.originator_id).attempts
    assert [each.run_id for each in found] == [str(first.originator_id), str(other)]


@pytest.mark.parametrize("by_an_engine", [True, False])
def test_a_run_that_begins_between_the_look_and_the_number_of_another_is_counted(
    store: Store, monkeypatch: pytest.MonkeyPatch, by_an_engine: bool
) -> None:
    first = begin(store, "a", "b")
    look = experiments.NewRun.__init__

    def meanwhile(*arguments: Any) -> None:
        look(*arguments)
        monkeypatch.setattr(experiments.NewRun, "__init__", look)
        if by_an_engine:
            begin(store, "a", "b")
        else:
            started = first.model_dump(mode="json") | {"run_number": 2}
            started["models"][0]["settings"] = {"identity": 5}  # the index takes in none such
            write(store, uuid4(), ("RunStarted", orjson.dumps(started)))

    monkeypatch.setattr(experiments.NewRun, "__init__", meanwhile)
    assert begin(store, "a", "b").attempt == 3


# -- looked up ------------------------------------------------------------------------------------


def snapshot(name: str, **settings: str) -> ModelSnapshot:
    return ModelSnapshot(key=name, provider="openai", model=name, settings=settings)


NAMES = (
    snapshot("m"), snapshot("n"), snapshot("a name", identity="m"), snapshot("n\\u0000\0\u2028é"),
)  # fmt: skip


def by_the_log(store: Store, run_id: UUID) -> Attempts:
    """What is told of a run where nothing can be looked up."""
    with store.connect() as connection, pytest.MonkeyPatch.context() as without:
        without.setattr(experiments, "index_runs", lambda connection: False)
        return attempts_of(connection, run_id)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.thinned(whole=1)
def test_what_is_looked_up_is_what_every_run_in_the_log_says(store: Store, seed: int) -> None:
    """Of a log with whatever runs, and of each of them when it began."""
    draw = random.Random(seed)
    begun = []
    for _ in range(10):
        questions = draw.sample("abcdefgh", draw.randint(1, 5))
        models = tuple(draw.sample(NAMES, draw.randint(1, 2)))
        begun.append(started := begin(store, *questions, models=models))
        found = by_the_log(store, started.originator_id)
        assert started.attempt == found.attempt == found.attempts
        assert started.experiment.overlapping == len(found.overlapping)
    ids = [each.originator_id for each in begun]
    with store.connect() as connection:
        told = {each: attempts_of(connection, each) for each in ids}
        places = AttemptNumbers(connection).of(ids)
        assert experiments.is_indexed(connection)
        newest = attempts_of(connection, ids[0], most=1)
    assert told == {each: by_the_log(store, each) for each in ids}
    assert places == {each: (told[each].attempt, told[each].attempts) for each in ids}
    all_of_them = told[ids[0]]
    assert newest.others == all_of_them.others[-1:]
    assert newest.others_before + len(newest.others) == len(all_of_them.others)
    assert newest.overlapping == all_of_them.overlapping[-1:]
    assert newest.describe() == all_of_them.describe()


def test_the_attempt_before_is_found_however_many_came_after(store: Store) -> None:
    begun = [begin(store, "a", "b").originator_id for _ in range(3)]
    odd = begin(store, "z").originator_id
    begun += [begin(store, "a", "b").originator_id for _ in range(22)]
    near = begin(store, "a", "b", "c").originator_id
    with store.connect() as connection:
        assert experiments.is_indexed(connection)
        found = [attempt_before(connection, each) for each in begun]
        assert found == [None, *begun[:-1]]
        assert attempt_before(connection, odd) is None
        assert attempt_before(connection, near) == begun[-1]
        with pytest.MonkeyPatch.context() as without:
            without.setattr(experiments, "index_runs", lambda connection: False)
            assert [attempt_before(connection, each) for each in begun[:4]] == found[:4]
            assert attempt_before(connection, near) == begun[-1]


@pytest.mark.parametrize("indexed", [True, False])
def test_a_damaged_attempt_is_told_as_unreadable(store: Store, indexed: bool) -> None:
    started = begin(store, "a")
    first, bad = started.originator_id, damaged(store, started, 2)
    last = begin(store, "a").originator_id
    with store.connect() as connection:
        assert index_runs(connection)
    if indexed:
        with store.connect() as connection:
            told = attempts_of(connection, last)
    else:
        told = by_the_log(store, last)
    assert [(each.run_id, each.status) for each in told.others] == [
        (first, "running"), (bad, "unreadable")
    ]  # fmt: skip
    assert told.others[1].run_number == 2 and told.others[1].unreadable
    with store.connect() as connection:
        assert attempt_before(connection, last) == first


def test_a_run_that_says_later_what_it_asked_is_counted(store: Store) -> None:
    """Else a number that is taken before its first event hides an attempt."""
    first = begin(store, "a")
    late = uuid4()
    with store.connect() as connection:
        connection.execute("SELECT failproof.number_run(%s)", (late,))
        assert index_runs(connection)
    state = orjson.dumps(first.model_dump(mode="json") | {"run_number": 2})
    with store.connect() as connection:
        entry = LogEntry(late, 1, "RunStarted", state, run_id=late)
        connection.execute(query("append"), append_parameters([entry]))
    third = begin(store, "a")
    assert third.attempt == 3
    with store.connect() as connection:
        assert len(related_runs(connection, third.originator_id).attempts) == 3


def test_a_plan_that_is_not_the_one_a_run_names_stands_for_no_other(store: Store) -> None:
    """Else whoever names the cases of another run first says what all later ones share."""
    honest = begin(store, "a", "b", "c")
    with store.connect() as connection:
        plan = next(iter(connection.execute(query("plan"), (honest.originator_id,), binary=True)))
    named = orjson.loads(orjson.dumps(honest.model_dump(mode="json")))
    named["experiment"] |= {"questions": "f" * 64}
    named["run_number"] = 2
    other = uuid4()
    write(store, other, ("RunStarted", orjson.dumps(named)), ("CasesPlanned", plan[0]))
    with store.connect() as connection:
        assert index_runs(connection)
        sets = connection.execute("SELECT digest FROM failproof.question_set_list").fetchall()
    assert sets == [(honest.experiment.questions,)]
    assert begin(store, "a", "b", "c").attempt == 3


def test_who_may_only_read_is_told_the_same(
    store: Store, administrator: psycopg.Connection[Any]
) -> None:
    """Before somebody who may has noted the newest run, and afterwards."""
    with pytest.MonkeyPatch.context() as unnoted:
        unnoted.setattr("failproof_es.store.store.try_index_runs", lambda connection: None)
        begun = [begin(store, "a", "b"), begin(store, "b")]
    administrator.execute("SET ROLE failproof_auditor")
    for _ in range(2):
        assert AttemptNumbers(administrator).of([begun[0].originator_id]) != {}
        found = attempts_of(administrator, begun[0].originator_id)
        assert [each.run_number for each in found.overlapping] == [2]
        with store.connect() as connection:
            assert index_runs(connection)
