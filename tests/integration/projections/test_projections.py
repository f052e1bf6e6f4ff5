"""Every projection: rebuilt equals followed, wherever the batches end, whatever was dropped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
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


@pytest.mark.parametrize(
    ("bound", "most"),
    [pytest.param("BATCH_BYTES", 1, marks=pytest.mark.slow), ("BATCH_EVENTS", 7)],
)
def test_where_a_batch_ends_does_not_matter(
    store: Store,
    world: World,
    followed: Rows,
    bound: str,
    most: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batching, bound, most)
    with store.connect() as connection:
        rebuild(connection)
        assert rows(connection) == followed


def test_a_rebuild_gives_the_same_rows_whatever_was_there_and_readers_see_the_old_ones_meanwhile(
    store: Store, followed: Rows
) -> None:
    seen = []
    with store.connect() as connection, store.connect() as reader:
        rebuild(connection, progress=lambda position, head: seen.append(rows(reader)))
        assert seen and all(each == followed for each in seen)
        for projection in PROJECTIONS:
            rebuild(connection, [projection.name])
            assert rows(connection) == followed, projection.name
        with pytest.raises(runner.UnknownProjection, match="run_results"):
            rebuild(connection, ["nonsense"])
        connection.execute("DROP TABLE projections.evaluations CASCADE")
        prepare(connection)
        follow_to_the_end(connection)
        assert rows(connection) == followed, "the table comes back by itself"
        connection.execute("DROP SCHEMA projections CASCADE")
        rebuild(connection)
        assert rows(connection) == followed


def test_an_older_version_is_rebuilt_when_next_followed_and_a_newer_one_is_left_alone(
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
        connection.execute(
            "UPDATE projections.positions SET version = 99 WHERE name = 'run_results'"
        )
        with pytest.raises(runner.OutdatedProjection, match="run_results"):
            catch_up(connection)
        assert rows(connection) == followed


def test_odd_text_unknown_prices_and_progress_are_as_they_were_recorded(
    store: Store, followed: Rows
) -> None:
    with store.connect() as connection:
        row = connection.execute(
            "SELECT answer::text FROM projections.run_results WHERE answer IS NOT NULL LIMIT 1"
        ).fetchone()
        assert row is not None and row[0] == '"odd \\u0000 \u202e \U0001f600"'
        costs = connection.execute(
            "SELECT model_key, cost_usd IS NULL, answers_without_usage > 0, price_version "
            "FROM projections.cost WHERE purpose = 'target' AND requests > 0 ORDER BY 1"
        ).fetchall()
        assert costs == [("large", True, True, None), ("small", True, True, "prices of that day")]
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
            "WHERE purpose = 'target' AND model_key = 'small' AND requests > 0"
        ).fetchall()
    short, long = Decimal("0.0005"), Decimal("0.007")
    assert answers > 2 and cost == long + (answers - 1) * short
