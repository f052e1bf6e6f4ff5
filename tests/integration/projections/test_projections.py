"""Every projection: rebuilt equals followed, wherever the batches end, whatever was dropped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from psycopg.rows import dict_row

import projections.batch as batching
import projections.runner as runner
from failproof_es.events import (
    Classified,
    EvaluationAbandoned,
    EvaluationEvent,
    RequestSent,
    ResponseReceived,
    Scored,
    Usage,
)
from failproof_es.store.store import Store
from projections import PROJECTIONS
from projections.follower import Follower
from projections.runner import catch_up, prepare, rebuild, status
from tests.integration.projections.world import (
    RUN,
    Rows,
    World,
    follow_to_the_end,
    record,
    rows,
)


def told(events: Sequence[EvaluationEvent]) -> dict[str, Any]:
    """What the events of an evaluation say, as a row of `run_results` does."""
    scored = next((each for each in events if isinstance(each, Scored)), None)
    ended = next((each for each in events if isinstance(each, EvaluationAbandoned)), None)
    made = next((each for each in events if isinstance(each, Classified)), None)
    end = scored or ended
    answers = [each for each in events if isinstance(each, ResponseReceived)]
    given = [each for each in answers if each.purpose == "target"]
    reply, used = (given[-1], given[-1].usage) if given else (None, Usage())
    return {
        "status": "scored" if scored else "abandoned" if ended else "unfinished",
        "requests": sum(isinstance(event, RequestSent) for event in events),
        "answer": reply and reply.text,
        "finish_reason": reply and reply.finish_reason,
        "model_answered": reply and reply.model,
        "class": made and made.primary,
        "details": (made and made.details) or None,
        "scores": scored and dict(scored.scores),
        "accuracy": scored and scored.scores["accuracy"],
        "error_kind": ended and ended.kind,
        "error_message": ended and ended.reason,
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "latency_ms": reply and reply.latency_ms,
        "started_at": events[0].timestamp,
        "finished_at": end and end.timestamp,
    }


def test_every_row_of_the_results_says_what_the_events_of_its_evaluation_say(
    store: Store, world: World, followed: Rows
) -> None:
    streams: defaultdict[UUID, list[EvaluationEvent]] = defaultdict(list)
    for event in world.events:
        if isinstance(event, EvaluationEvent):
            streams[event.originator_id].append(event)
    with store.connect() as connection, connection.cursor(row_factory=dict_row) as cursor:
        shown = cursor.execute("SELECT * FROM projections.run_results").fetchall()
    assert {row["evaluation_id"] for row in shown} == set(streams)
    for row in shown:
        said = told(streams[row["evaluation_id"]])
        assert {name: row[name] for name in said} == said


@pytest.mark.parametrize("batch", [pytest.param(1, marks=pytest.mark.slow), 7, 100])
def test_where_a_batch_ends_does_not_matter(
    store: Store,
    world: World,
    followed: Rows,
    batch: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batching, "BATCH_EVENTS", batch)
    with store.connect() as connection:
        rebuild(connection)
        assert rows(connection) == followed


@pytest.mark.parametrize("begin_after_s", [0.0, 0.2, 60.0])
def test_rebuilt_equals_followed_live(store: Store, world: World, begin_after_s: float) -> None:
    with Follower(store.url, begin_after_s) as follower:
        for start in range(0, len(world.events), 13):
            record(store, world.events[start : start + 13])
    assert follower.kept_up
    with store.connect() as connection:
        assert {stands.behind for stands in status(connection)} == {0}
        live = rows(connection)
        assert all(live[relation.name] for p in PROJECTIONS for relation in p.relations)
        rebuild(connection)
        assert rows(connection) == live


def test_dropping_every_table_and_rebuilding_gives_the_same_rows(
    store: Store, followed: Rows
) -> None:
    with store.connect() as connection:
        connection.execute("DROP SCHEMA projections CASCADE")
        rebuild(connection)
        assert rows(connection) == followed


@pytest.mark.parametrize("projection", PROJECTIONS, ids=lambda p: p.name)
def test_each_can_be_rebuilt_alone(store: Store, followed: Rows, projection: Any) -> None:
    with store.connect() as connection:
        rebuild(connection, [projection.name])
        assert rows(connection) == followed


def test_a_table_that_somebody_dropped_comes_back_by_itself(store: Store, followed: Rows) -> None:
    with store.connect() as connection:
        connection.execute("DROP TABLE projections.evaluations CASCADE")
        prepare(connection)
        follow_to_the_end(connection)
        assert rows(connection) == followed


def test_readers_see_the_old_rows_while_a_rebuild_goes_on(store: Store, followed: Rows) -> None:
    seen = []
    with store.connect() as connection, store.connect() as reader:
        rebuild(connection, progress=lambda position, head: seen.append(rows(reader)))
        assert seen and all(each == followed for each in seen)


def test_another_version_in_the_code_is_rebuilt_when_next_followed(
    store: Store, followed: Rows
) -> None:
    with store.connect() as connection:
        connection.execute(
            "UPDATE projections.positions SET version = 0 WHERE name = 'run_results'"
        )
        connection.execute("TRUNCATE projections.token_usage")
        prepare(connection)
        assert rows(connection) == followed
        assert [s.version for s in status(connection)] == [p.version for p in PROJECTIONS]


def test_a_program_of_another_version_does_not_write_into_rebuilt_tables(
    store: Store, followed: Rows
) -> None:
    with store.connect() as connection:
        connection.execute(
            "UPDATE projections.positions SET version = 99 WHERE name = 'run_results'"
        )
        with pytest.raises(runner.OutdatedProjection, match="run_results"):
            catch_up(connection)
        assert rows(connection) == followed


def test_two_rebuilds_at_once_take_turns(store: Store, followed: Rows) -> None:
    def build() -> None:
        with store.connect() as connection:
            rebuild(connection)

    with ThreadPoolExecutor(2) as both:
        for done in [both.submit(build), both.submit(build)]:
            done.result(timeout=30)
    with store.connect() as connection:
        assert rows(connection) == followed


def test_nothing_is_lost_of_text_that_a_text_column_cannot_hold(
    store: Store, followed: Rows
) -> None:
    with store.connect() as connection:
        row = connection.execute(
            "SELECT answer::text FROM projections.run_results WHERE answer IS NOT NULL LIMIT 1"
        ).fetchone()
    assert row is not None and row[0] == '"odd \\u0000 \u202e \U0001f600"'


def test_an_unknown_price_is_null_and_never_zero(store: Store, followed: Rows) -> None:
    with store.connect() as connection:
        costs = connection.execute(
            "SELECT model_key, cost_usd IS NULL, answers_without_usage > 0, price_version "
            "FROM projections.cost WHERE purpose = 'target' ORDER BY 1"
        ).fetchall()
    assert costs == [("large", True, True, None), ("small", True, True, "prices of that day")]


def test_each_answer_is_priced_by_its_own_size_and_not_their_sum(
    store: Store, world: World
) -> None:
    """Two answers of 3 tokens are two short requests; one of 5 is a long one."""
    known = [
        event.model_copy(update={"usage": Usage(input_tokens=size, output_tokens=1)})
        if isinstance(event, ResponseReceived) and (size := sizes.pop() if sizes else 3)
        else event
        for sizes in ([5],)
        for event in world.events
    ]
    record(store, known)
    with store.connect() as connection:
        prepare(connection)
        follow_to_the_end(connection)
        [(answers, cost)] = connection.execute(
            "SELECT requests, cost_usd FROM projections.cost "
            "WHERE purpose = 'target' AND model_key = 'small'"
        ).fetchall()
    short, long = Decimal("0.0005"), Decimal("0.007")
    assert answers > 2 and cost == long + (answers - 1) * short


def test_progress_adds_up_to_the_results(store: Store, followed: Rows) -> None:
    with store.connect() as connection:
        differing = connection.execute(
            "SELECT p.model_key FROM projections.progress p WHERE p.run_id = %s AND ("
            "  p.scored <> (SELECT count(*) FROM projections.run_results r"
            "    WHERE r.run_id = p.run_id AND r.model_key = p.model_key AND status = 'scored')"
            "  OR p.requests <> (SELECT sum(requests) FROM projections.run_results r"
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
