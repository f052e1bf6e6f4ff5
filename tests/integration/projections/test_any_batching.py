"""What a batch leaves out must not matter: any history, cut anywhere, gives the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import orjson
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg import sql
from psycopg.rows import dict_row

from failproof_es.core.case import Case, Turn
from failproof_es.events import (
    AttemptOrphaned,
    Classified,
    Counts,
    ErrorRecorded,
    EvaluationAbandoned,
    Event,
    ModelSnapshot,
    PromptStored,
    RequestSent,
    ResponseReceived,
    Reviewed,
    RunCompleted,
    RunPaused,
    RunResumed,
    RunStarted,
    Scored,
    Usage,
)
from failproof_es.store.mapper import encode
from failproof_es.store.store import Store
from projections import PROJECTIONS as ALL_PROJECTIONS
from projections.protocol import Fact
from projections.relations import LIVE, enter
from projections.runner import prepare
from tests.asked import ASKED
from tests.examples import examples
from tests.integration.projections.world import Rows, follow_to_the_end
from tests.integration.projections.world import rows as every_row
from tests.unit.histories import History

PROJECTIONS = tuple(each for each in ALL_PROJECTIONS if each.name != "run_results")
"""Those that need no log to take events in; `test_both_readers.py` cuts histories of the other."""
RUN = UUID(int=1)
PROMPT = UUID(int=2)
WHEN = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
COUNTS = Counts(planned=2, finished=0, scored=0, abandoned=0)
Step = tuple[type[Event], UUID, dict[str, Any]]

names = st.text(alphabet="a\\u0\x00", max_size=8)
tokens = st.none() | st.integers(0, 2**63)
fractions = st.sampled_from([0.1, 0.2, 0.3, 1 / 3, 1e-7, 12.25, 1e15])
attempts = st.fixed_dictionaries(
    {
        "purpose": st.sampled_from(["target", "judge"]),
        "turn": st.integers(0, 2),
        "attempt": st.integers(1, 3),
    }
)


def evaluation_step(
    kind: type[Event], /, **fields: st.SearchStrategy[Any]
) -> st.SearchStrategy[Step]:
    def step(number: int, attempt: dict[str, Any], rest: dict[str, Any]) -> Step:
        identity = {"prompt_id": PROMPT, "model_key": f"model-{number % 2}", "repetition": 1}
        asked = attempt if "attempt" in kind.model_fields else {}
        return kind, UUID(int=10 + number), {**identity, **asked, **rest}

    return st.builds(step, st.integers(0, 2), attempts, st.fixed_dictionaries(fields))


def run_step(kind: type[Event], /, **fields: Any) -> st.SearchStrategy[Step]:
    return st.just((kind, RUN, fields))


usages = st.builds(Usage, input_tokens=tokens, output_tokens=tokens, cached_input_tokens=tokens)
steps: st.SearchStrategy[Step] = st.one_of(
    evaluation_step(
        RequestSent, model=names, parameters=st.just({}), endpoint=st.just("e"), body=names,
        body_sha256=st.just("s"),
    ),
    evaluation_step(
        ResponseReceived, status=st.just(200), headers=st.just({}), body=names, text=names,
        finish_reason=st.none() | names, model=st.none() | names, latency_ms=fractions,
        usage=usages,
    ),
    evaluation_step(
        ErrorRecorded, kind=names, message=names, stack_trace=names,
        disposition=st.just("transient"),
    ),
    evaluation_step(AttemptOrphaned, reason=names),
    evaluation_step(
        Classified, primary=st.sampled_from(["pass", "fail", "error", "odd\x00"]),
        details=st.dictionaries(names, names, max_size=2), classifier=st.just("c"),
        classifier_version=st.just("1"),
    ),
    evaluation_step(
        Scored, scores=st.dictionaries(st.sampled_from(["accuracy", "other"]), fractions),
        passed=st.sampled_from([None, True, False]),
        reason=names, scorer=st.just("s"), scorer_version=st.just("1"),
    ),
    evaluation_step(EvaluationAbandoned, kind=names, reason=names),
    run_step(
        Reviewed, about=RUN, who="w", where="h", evaluation_id=UUID(int=10), reviewer="jane\x00",
        items=(), verdict="pass", severity=None, tags=("a\x00",), notes="odd \x00", blind=True,
        file_sha256=None, sheet=None, queue=None, seconds=None, adjudicates=False,
    ),
    run_step(RunPaused, reason="stopped", counts=COUNTS),
    run_step(RunResumed, who="w", where="h", code_version="1"),
    run_step(RunCompleted, counts=COUNTS),
)  # fmt: skip

STARTED: Step = (
    RunStarted,
    RUN,
    {
        "name": "any", "run_number": 1, **ASKED, "configuration": {},
        "configuration_digest": "d",
        "models": tuple(ModelSnapshot(key=f"model-{n}", provider="p", model="m") for n in (0, 1)),
        "suites": (), "dialect": "failproof", "planned_cases": 1, "planned_evaluations": 2,
        "code_version": "1", "packages": {}, "who": "w", "where": "h",
    },
)  # fmt: skip
CASE = Case(
    dialect="failproof",
    case_id="case\x00",
    suite_id="suite",
    turns=(Turn(role="user", content=""),),
)
STORED: Step = (PromptStored, PROMPT, {"digest": "d", "case": CASE})


@st.composite
def histories(draw: st.DrawFn) -> list[Step]:
    """Any order of any steps: a projection must not count on an order that it need not."""
    found = draw(st.lists(steps, max_size=25))
    for step in (STARTED, STORED):
        found.insert(draw(st.integers(0, len(found))), step)
    return found


def facts(history: Sequence[Step]) -> list[Fact]:
    found = []
    for position, (kind, stream, fields) in enumerate(history, start=1):
        event = kind(
            originator_id=stream,
            originator_version=position,
            run_id=None if kind is PromptStored else RUN,
            timestamp=WHEN + timedelta(seconds=position),
            **fields,
        )
        payload = orjson.loads(encode(event))
        run_id = None if event.run_id is None else str(event.run_id)
        found.append(Fact(position, str(stream), kind.__name__, run_id, payload))
    return found


def apply(
    connection: psycopg.Connection[Any], history: Sequence[Step], cuts: Sequence[int]
) -> Rows:
    """The rows that this history gives, each stretch between two cuts in one transaction."""
    tables = [r.name for p in PROJECTIONS for r in p.relations if r.kind == "TABLE"]
    names = sql.SQL(", ").join(sql.Identifier(LIVE, name) for name in tables)
    connection.execute(sql.SQL("TRUNCATE {}").format(names))
    told = facts(history)
    for begin, end in pairwise([0, *sorted(cuts), len(told)]):
        with connection.transaction(), connection.cursor() as cursor:
            enter(connection, LIVE)
            for projection in PROJECTIONS:
                if wanted := [f for f in told[begin:end] if f.topic in projection.topics]:
                    projection.apply(cursor, wanted)
    names_kept = {relation.name for p in PROJECTIONS for relation in p.relations}
    return {name: found for name, found in every_row(connection).items() if name in names_kept}


@pytest.mark.slow
def test_any_history_cut_anywhere_gives_the_same_rows(store: Store) -> None:
    with store.connect() as connection:
        prepare(connection)

        @settings(max_examples=examples(0.4))
        @given(histories(), st.lists(st.integers(0, 27), max_size=6))
        def check(history: list[Step], cuts: list[int]) -> None:
            whole = apply(connection, history, [])
            assert apply(connection, history, [min(cut, len(history)) for cut in cuts]) == whole
            assert apply(connection, history, range(1, len(history))) == whole

        check()


# -- what a row says, given these events -----------------------------------------------------


def changed(event: Event, **fields: Any) -> Event:
    return event.model_copy(update=fields)


def result(store: Store, history: Sequence[Event], *cuts: int) -> dict[str, Any]:
    """The row of an evaluation with these events, taken in up to each cut, and to the end."""
    with store.connect() as connection, connection.cursor(row_factory=dict_row) as cursor:
        prepare(connection)
        for begin, end in pairwise([0, *cuts, len(history)]):
            store.log.events.put(list(history[begin:end]))
            follow_to_the_end(connection)
        row = cursor.execute("SELECT * FROM projections.run_results").fetchone()
    assert row is not None
    return row


def replies(**fields: Sequence[Any]) -> list[Event]:
    """An answer for each turn, with these fields."""
    history = History()
    for turn in range(len(next(iter(fields.values())))):
        history.sent(turn=turn).answered(turn=turn)
    given = [
        {name: values[n] for name, values in fields.items()}
        for n in range(len(history.events) // 2)
    ]
    return [
        changed(event, **given[n // 2]) if n % 2 else event
        for n, event in enumerate(history.events)
    ]


def test_the_last_turn_decides_the_finish_reason_also_when_it_gives_none(store: Store) -> None:
    row = result(store, replies(finish_reason=["length", None], model=["m-1", None]), 2)
    assert (row["finish_reason"], row["model_answered"]) == (None, None)


@pytest.mark.parametrize("cuts", [(), (3,), (1, 2, 3, 4, 5)])
def test_latencies_are_told_to_the_microsecond(store: Store, cuts: tuple[int, ...]) -> None:
    row = result(store, replies(latency_ms=[0.1, 0.2, 0.3]), *cuts)
    assert row["latency_ms"] == 0.6


def judged() -> History:
    judge = {"turn": 1, "purpose": "judge", "judge": "j1"}
    return History().sent().answered().classified().sent(**judge).failed(**judge)  # type: ignore[arg-type]


@pytest.mark.parametrize("cuts", [(), (4,)])
def test_a_judge_that_answered_after_all_leaves_no_error(
    store: Store, cuts: tuple[int, ...]
) -> None:
    history = judged().asked_judge("j1", "yes", attempt=2)
    assert result(store, history.events, *cuts)["error_kind"] is None


def test_a_judge_that_never_answered_leaves_its_error(store: Store) -> None:
    assert result(store, judged().events, 4)["error_kind"] == "timeout"


def test_counts_larger_than_any_integer_column_are_added_up(store: Store) -> None:
    usage = Usage(input_tokens=2**63, output_tokens=2**63)
    row = result(store, replies(usage=[usage, usage]), 2)
    assert row["input_tokens"] == row["output_tokens"] == 2**64
