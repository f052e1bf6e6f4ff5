"""Every projection: rebuilt equals followed, wherever the batches end, whatever was dropped."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

import projections.batch as batching
import projections.runner as runner
from failproof_es.case import Case, Turn, prompt_id
from failproof_es.evaluation import EvaluationKey
from failproof_es.events import (
    AttemptLost,
    CasesPlanned,
    Classified,
    Counts,
    ErrorRecorded,
    EvaluationAbandoned,
    Event,
    ModelSnapshot,
    PromptStored,
    RequestSent,
    ResponseReceived,
    RunCompleted,
    RunPaused,
    RunResumed,
    RunStarted,
    Scored,
    SuiteSnapshot,
    Usage,
)
from failproof_es.store.store import Store
from projections import PROJECTIONS
from projections.follower import Follower
from projections.runner import catch_up, prepare, rebuild, status

RUN = UUID(int=7)
WHEN = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
MODELS = ("small", "large")


class World:
    """A run in which everything happens that can: errors, retries, kills, odd text."""

    def __init__(self, cases: int) -> None:
        self.events: list[Event] = []
        self._versions: dict[UUID, int] = {}
        self._cases = [self._case(number) for number in range(cases)]
        for case in self._cases:
            self._add(PromptStored, prompt_id(case.digest()), None, digest=case.digest(), case=case)
        self._start(cases)
        for number, case in enumerate(self._cases):
            for model in MODELS:
                self._evaluate(number, case, model)
        counts = Counts(planned=cases * 2, finished=cases * 2, scored=cases, abandoned=0)
        self._add(RunPaused, RUN, RUN, reason="stopped \x00 on request", counts=counts)
        self._add(RunResumed, RUN, RUN, who="w", where="h", code_version="1")
        self._add(RunCompleted, RUN, RUN, counts=counts)

    def _case(self, number: int) -> Case:
        return Case(
            dialect="failproof",
            case_id=f"case-{number}\x00",
            suite_id="suite",
            turns=(Turn(role="user", content=f"q{number}"),),
            tags=("a\x00", "b"),
            category="c",
            severity="S1",
        )

    def _add(self, event: type[Event], stream: UUID, run_id: UUID | None, /, **fields: Any) -> None:
        version = self._versions.get(stream, 0) + 1
        self._versions[stream] = version
        self.events.append(
            event(
                originator_id=stream,
                originator_version=version,
                run_id=run_id,
                timestamp=WHEN + timedelta(milliseconds=len(self.events)),
                **fields,
            )
        )

    def _start(self, cases: int) -> None:
        self._add(
            RunStarted, RUN, RUN, name="world", run_number=1, configuration={},
            configuration_digest="d",
            models=tuple(ModelSnapshot(key=m, provider="openai", model=m) for m in MODELS),
            suites=(SuiteSnapshot(path="p", sha256="s", dialect="failproof", cases=cases),),
            dialect="failproof", planned_cases=cases, planned_evaluations=cases * 2,
            code_version="1", packages={}, who="w", where="h",
        )  # fmt: skip
        digests = tuple(case.digest() for case in self._cases)
        self._add(CasesPlanned, RUN, RUN, chunk=0, digests=digests)

    def _evaluate(self, number: int, case: Case, model: str) -> None:
        prompt = prompt_id(case.digest())
        stream = EvaluationKey(RUN, prompt, model).evaluation_id

        def add(event: type[Event], /, **fields: Any) -> None:
            identity = {"prompt_id": prompt, "model_key": model, "repetition": 1}
            self._add(event, stream, RUN, **identity, **fields)

        def sent(attempt: int, purpose: str = "target") -> dict[str, Any]:
            which = {"purpose": purpose, "turn": 0, "attempt": attempt}
            add(
                RequestSent, **which, model=model, parameters={}, endpoint="e", body="b",
                body_sha256="s",
            )  # fmt: skip
            return which

        def failed(which: dict[str, Any]) -> None:
            add(
                ErrorRecorded, **which, kind="timeout", message="late \x00", stack_trace="t",
                disposition="transient", body="raw",
            )  # fmt: skip

        def answered(which: dict[str, Any], usage: Usage) -> None:
            add(
                ResponseReceived, **which, status=200, headers={}, body="raw",
                text="odd \x00 \u202e \U0001f600", finish_reason="stop", model=f"{model}-1",
                latency_ms=12.25, usage=usage,
            )  # fmt: skip

        attempt = 1
        if number % 3 == 1:
            failed(sent(attempt))
            attempt += 1
        if number % 4 == 2:
            add(AttemptLost, **sent(attempt), reason="killed")
            attempt += 1
        if number % 5 == 4:
            failed(sent(attempt))
            add(Classified, primary="error", details={}, classifier="c", classifier_version="1")
            add(EvaluationAbandoned, kind="timeout", reason="late")
            return
        usage = Usage() if number % 7 == 6 else Usage(input_tokens=5, output_tokens=3)
        answered(sent(attempt), usage)
        if number % 6 == 5:
            return  # still running
        primary = ("pass", "fail", "refusal", "empty", "truncated", "odd")[number % 6]
        add(Classified, primary=primary, details={"x": "\x00"}, classifier="c",
            classifier_version="1")  # fmt: skip
        if number % 2:
            answered(sent(1, "judge"), Usage(input_tokens=1, output_tokens=1))
        add(
            Scored, scores={"accuracy": float(primary == "pass")}, reason="", scorer="s",
            scorer_version="1",
        )  # fmt: skip


def rows(connection: psycopg.Connection[Any]) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every relation of every projection, as text, in a fixed order."""
    found = {}
    for projection in PROJECTIONS:
        for relation in projection.relations:
            statement = sql.SQL("SELECT r::text FROM projections.{} r ORDER BY 1").format(
                sql.Identifier(relation.name)
            )
            found[relation.name] = connection.execute(statement).fetchall()
    return found


def record(store: Store, events: Sequence[Event]) -> None:
    store.log.events.put(list(events))


def follow_to_the_end(connection: psycopg.Connection[Any]) -> None:
    while catch_up(connection):
        pass


@pytest.fixture(scope="module")
def world() -> World:
    return World(42)


@pytest.fixture
def followed(store: Store, world: World) -> dict[str, list[tuple[Any, ...]]]:
    """The rows after following the whole world in one batch."""
    record(store, world.events)
    with store.connect() as connection:
        prepare(connection)
        follow_to_the_end(connection)
        return rows(connection)


@pytest.mark.parametrize("batch", [1, 7, 100])
def test_where_a_batch_ends_does_not_matter(
    store: Store,
    world: World,
    followed: dict[str, list[tuple[Any, ...]]],
    batch: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batching, "BATCH_EVENTS", batch)
    with store.connect() as connection:
        rebuild(connection)
        assert rows(connection) == followed


def test_rebuilt_equals_followed_live(store: Store, world: World) -> None:
    with Follower(store.url):
        for start in range(0, len(world.events), 13):
            record(store, world.events[start : start + 13])
    with store.connect() as connection:
        live = rows(connection)
        assert all(live[relation.name] for p in PROJECTIONS for relation in p.relations)
        rebuild(connection)
        assert rows(connection) == live


def test_dropping_every_table_and_rebuilding_gives_the_same_rows(
    store: Store, followed: dict[str, list[tuple[Any, ...]]]
) -> None:
    with store.connect() as connection:
        connection.execute("DROP SCHEMA projections CASCADE")
        rebuild(connection)
        assert rows(connection) == followed


@pytest.mark.parametrize("projection", PROJECTIONS, ids=lambda p: p.name)
def test_each_can_be_rebuilt_alone(
    store: Store, followed: dict[str, list[tuple[Any, ...]]], projection: Any
) -> None:
    with store.connect() as connection:
        rebuild(connection, [projection.name])
        assert rows(connection) == followed


def test_a_table_that_somebody_dropped_comes_back_by_itself(
    store: Store, followed: dict[str, list[tuple[Any, ...]]]
) -> None:
    with store.connect() as connection:
        connection.execute("DROP TABLE projections.evaluations CASCADE")
        prepare(connection)
        follow_to_the_end(connection)
        assert rows(connection) == followed


def test_readers_see_the_old_rows_while_a_rebuild_goes_on(
    store: Store, followed: dict[str, list[tuple[Any, ...]]]
) -> None:
    seen = []
    with store.connect() as connection, store.connect() as reader:
        rebuild(connection, progress=lambda position, head: seen.append(rows(reader)))
        assert seen and all(each == followed for each in seen)


def test_another_version_in_the_code_is_rebuilt_when_next_followed(
    store: Store, followed: dict[str, list[tuple[Any, ...]]]
) -> None:
    with store.connect() as connection:
        connection.execute("UPDATE projections.positions SET version = 0 WHERE name = 'cost'")
        connection.execute("TRUNCATE projections.token_usage")
        prepare(connection)
        assert rows(connection) == followed
        assert [s.version for s in status(connection)] == [p.version for p in PROJECTIONS]


def test_a_program_of_another_version_does_not_write_into_rebuilt_tables(
    store: Store, followed: dict[str, list[tuple[Any, ...]]]
) -> None:
    with store.connect() as connection:
        connection.execute("UPDATE projections.positions SET version = 99 WHERE name = 'cost'")
        with pytest.raises(runner.OutdatedProjection, match="cost"):
            catch_up(connection)
        assert rows(connection) == followed


def test_two_rebuilds_at_once_take_turns(
    store: Store, followed: dict[str, list[tuple[Any, ...]]]
) -> None:
    def build() -> None:
        with store.connect() as connection:
            rebuild(connection)

    with ThreadPoolExecutor(2) as both:
        for done in [both.submit(build), both.submit(build)]:
            done.result(timeout=30)
    with store.connect() as connection:
        assert rows(connection) == followed


def test_nothing_is_lost_of_text_that_a_text_column_cannot_hold(
    store: Store, followed: dict[str, list[tuple[Any, ...]]]
) -> None:
    with store.connect() as connection:
        row = connection.execute(
            "SELECT response::text FROM projections.run_results WHERE response IS NOT NULL LIMIT 1"
        ).fetchone()
    assert row is not None and row[0] == '"odd \\u0000 \u202e \U0001f600"'


def test_an_unknown_price_is_null_and_never_zero(
    store: Store, followed: dict[str, list[tuple[Any, ...]]]
) -> None:
    with store.connect() as connection:
        unknown = connection.execute(
            "SELECT count(*) FROM projections.cost WHERE cost_usd IS NOT NULL"
        ).fetchone()
        assert unknown == (0,)
        connection.execute(
            "INSERT INTO failproof.prices VALUES (%s, 'small', 1, NULL, 2, 'test')", (RUN,)
        )
        known = connection.execute(
            "SELECT cost_usd FROM projections.cost WHERE model_key = 'small' AND purpose = 'judge'"
        ).fetchone()
        assert known is not None and known[0] > 0


def test_progress_adds_up_to_the_results(
    store: Store, followed: dict[str, list[tuple[Any, ...]]]
) -> None:
    with store.connect() as connection:
        differing = connection.execute(
            "SELECT p.model_key FROM projections.progress p WHERE p.run_id = %s AND ("
            "  p.scored <> (SELECT count(*) FROM projections.run_results r"
            "    WHERE r.run_id = p.run_id AND r.model_key = p.model_key AND status = 'scored')"
            "  OR p.requests <> (SELECT sum(attempts) FROM projections.run_results r"
            "    WHERE r.run_id = p.run_id AND r.model_key = p.model_key)"
            "  OR p.in_flight <> 0)",
            (RUN,),
        ).fetchall()
        assert differing == []


def test_an_unknown_projection_is_named(store: Store) -> None:
    with (
        store.connect() as connection,
        pytest.raises(runner.UnknownProjection, match="run_results"),
    ):
        rebuild(connection, ["nonsense"])
