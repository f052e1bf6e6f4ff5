"""The ledger, events, streams, one evaluation, the search, the review queue: SQL says the same."""

from __future__ import annotations

from collections import Counter

import httpx

from tests.integration.console.numbers.explained import EXPLAINED
from tests.integration.console.numbers.log import (
    Ask,
    look,
    paged,
)


def test_ledger(served: str, ask: Ask) -> None:
    n = look("ledger", f"{served}/ledger", ask)
    [log] = ask("SELECT count(*) AS events FROM log")
    checkpoints = ask("SELECT tree_size FROM failproof.checkpoint_list ORDER BY 1 DESC")
    signed = checkpoints[0]["tree_size"]
    n.rows("ledger.checkpoints", checkpoints)
    anchored = n.document["ledger"]["anchored_outside"] or 0
    n.same("", {"events": log["events"], "not_signed": log["events"] - signed,
                "not_anchored": log["events"] - anchored, "ledger.signed": signed,
                "ledger.tree_size": log["events"],
                "ledger.behind_the_tree": 0})  # fmt: skip
    n.finish(EXPLAINED["ledger"])


def test_search(served: str, ask: Ask) -> None:
    n = look("search", f"{served}/search?q=nothing-like-this", ask)
    [log] = ask("SELECT count(*) AS looked_at FROM log")
    [answered] = ask("SELECT count(*) AS looked_at FROM evaluation WHERE answers > 0")
    [cases] = ask("SELECT count(*) AS looked_at FROM stored_case")
    what = {"provider request ids": log, "words in answers": answered, "words in cases": cases}
    n.rows("looked", [{"what": each} | of for each, of in what.items()])
    n.finish(EXPLAINED["search"])


def test_stream(served: str, ask: Ask) -> None:
    [chosen] = ask("SELECT id FROM evaluation WHERE retries > 0 ORDER BY first_position LIMIT 1")
    stream = chosen["id"]
    n = look("stream", f"{served}/streams/{stream}?topic=RequestSent", ask)
    topics = {
        each["topic"]: each["n"]
        for each in ask("SELECT topic, count(*) AS n FROM log WHERE stream = %s GROUP BY 1", stream)
    }
    n.one("topics{}", topics)
    rows = ask(
        "SELECT position, version, bytes FROM log WHERE stream = %s AND topic = 'RequestSent' "
        "ORDER BY position", stream
    )  # fmt: skip
    n.rows("rows", rows)
    paged(n, len(rows), sum(topics.values()))
    n.one("run_number", 1)
    n.finish(EXPLAINED["stream"])


def test_event(served: str, ask: Ask) -> None:
    [at] = ask(
        "SELECT position, stream FROM log WHERE topic = 'ErrorRecorded' ORDER BY position LIMIT 1"
    )
    n = look("event", f"{served}/events/{at['position']}", ask)
    columns = "SELECT position, version, bytes FROM log WHERE "
    for name, condition in (
        ("event", "position = %s AND stream = %s"),
        ("previous_in_stream", "position < %s AND stream = %s ORDER BY position DESC LIMIT 1"),
        ("next_in_stream", "position > %s AND stream = %s ORDER BY position LIMIT 1"),
        ("previous_in_log", "position < %s AND %s IS NOT NULL ORDER BY position DESC LIMIT 1"),
        ("next_in_log", "position > %s AND %s IS NOT NULL ORDER BY position LIMIT 1"),
    ):
        n.same(name, ask(columns + condition, at["position"], at["stream"])[0])
    n.one("event.run_number", 1)
    n.one("topics{}", {
        each["topic"]: each["n"]
        for each in ask("SELECT topic, count(*) AS n FROM log WHERE stream = %s GROUP BY 1",
                        at["stream"])
    })  # fmt: skip
    n.finish(EXPLAINED["event"])


BESIDE = (
    "SELECT id::text AS evaluation_id, number AS run_number, repetition, accuracy, latency_ms, "
    "CASE WHEN answers > 0 THEN cost_usd END AS cost_usd FROM evaluation WHERE prompt_id = %s "
)


def test_evaluation(served: str, ask: Ask) -> None:
    [own] = ask(
        "SELECT e.*, position FROM evaluation AS e JOIN stored_case USING (prompt_id) "
        "WHERE retries > 0 AND scored AND number = 1 "
        "ORDER BY first_position LIMIT 1"
    )
    n = look("evaluation", f"{served}/evaluations/{own['id']}", ask)
    n.same("", {"run_number": 1, "repetition": own["repetition"], "case.position": own["position"]})
    [usage] = ask(
        "SELECT sum(input_tokens)::int AS input_tokens, sum(output_tokens)::int AS output_tokens "
        "FROM answer WHERE evaluation = %s", own["id"]
    )  # fmt: skip
    names = ("requests", "retries", "orphaned_requests", "latency_ms", "cost_usd")
    n.same("verdict", {name: own[name] for name in names} | usage)
    n.one("verdict.scores{}", {"accuracy": own["accuracy"]})
    steps = ask(
        "SELECT position, version, extract(epoch FROM at - lag(at) OVER (ORDER BY version))"
        "::float8 * 1000 AS after_ms FROM log WHERE stream = %s ORDER BY version", own["id"]
    )  # fmt: skip
    n.rows("steps", steps)
    n.rows(
        "attempts",
        ask(
            'SELECT sent.position AS "request.position", came.position AS "response.position", '
            "(sent.p ->> 'attempt')::int AS attempt, (sent.p ->> 'turn')::int AS turn, "
            "(came.p ->> 'status')::int AS status, "
            "(came.p ->> 'latency_ms')::float8 AS latency_ms, "
            "(came.p #>> '{usage,input_tokens}')::int AS input_tokens, "
            "(came.p #>> '{usage,output_tokens}')::int AS output_tokens, a.cost_usd::float8 "
            "FROM log AS sent JOIN log AS came ON came.stream = sent.stream "
            "AND came.version = sent.version + 1 LEFT JOIN answer AS a "
            "ON a.position = came.position "
            "WHERE sent.stream = %s AND sent.topic = 'RequestSent' ORDER BY sent.position",
            own["id"],
        ),
    )
    n.rows(
        "graders",
        ask("SELECT position FROM log WHERE stream = %s AND topic IN ('Classified', 'Scored') "
            "ORDER BY position", own["id"]),
    )  # fmt: skip
    in_run = ask(BESIDE + "AND number = 1 AND id <> %s", own["prompt_id"], own["id"])
    n.rows("in_run", in_run, key=("evaluation_id",))
    elsewhere = ask(BESIDE + "AND number <> 1", own["prompt_id"])
    n.rows("elsewhere", elsewhere, key=("evaluation_id",))
    listed = httpx.get(f"{served}/runs/1/results.json?limit=200", timeout=60).json()["rows"]
    at = [each["evaluation_id"] for each in listed].index(str(own["id"]))
    columns = (
        "SELECT repetition, accuracy, requests, retries, latency_ms, "
        "CASE WHEN answers > 0 THEN cost_usd END AS cost_usd, last_position "
        "FROM evaluation WHERE id = %s"
    )
    for name, place in (("previous", at - 1), ("next", at + 1)):
        if place >= 0:
            n.same(name, ask(columns, listed[place]["evaluation_id"])[0])
        else:
            n.same(name, dict.fromkeys(ask(columns, own["id"])[0]))
    n.finish(EXPLAINED["evaluation"])


QUEUE = """
WITH left_to_people AS (
    SELECT e.*, run.name FROM evaluation AS e JOIN run USING (run_id)
    WHERE EXISTS (SELECT FROM log AS l WHERE l.stream = e.id AND l.topic = 'EvaluationAbandoned'
        AND l.p ->> 'kind' = 'awaiting_review')
), said AS (
    SELECT DISTINCT ON (p ->> 'evaluation_id', p ->> 'reviewer')
        (p ->> 'evaluation_id')::uuid AS id, p ->> 'verdict' AS verdict, position
    FROM log WHERE topic = 'Reviewed'
    ORDER BY p ->> 'evaluation_id', p ->> 'reviewer', position DESC
)
SELECT l.id::text AS evaluation_id, l.number AS run_number, l.repetition,
    l.last_position AS position, count(said.id) AS reviewers,
    CASE WHEN count(said.id) = 0 THEN 'awaiting' WHEN count(DISTINCT verdict) > 1 THEN 'disputed'
        ELSE max(verdict) END AS state
FROM left_to_people AS l LEFT JOIN said USING (id)
GROUP BY l.id, l.number, l.repetition, l.last_position ORDER BY 4
"""


def compare_review(url: str, ask: Ask) -> None:
    """For `test_review_queue.py`, whose log has reviews."""
    n = look("review", f"{url}/review?state=all", ask)
    queue = ask(QUEUE)
    names = ("evaluation_id", "run_number", "repetition", "position", "reviewers")
    n.rows("rows", [{name: each[name] for name in names} for each in queue], key=("evaluation_id",))
    paged(n, len(queue))
    states = Counter(each["state"] for each in queue)
    left = states["awaiting"] + states["disputed"] + states["unclear"]
    shown = {each["state"]: each["evaluations"] for each in n.document["states"]}
    assert shown == {**dict.fromkeys(shown, 0), **states, "open": left}
    n.one("states[].evaluations", list(shown.values()))
    n.one("runs[].open", [left])
    n.one("runs[].reviews.run_number", [1])
    n.one("runs[].reviews.states{}", [dict(states)])
    n.one("more_runs", 0)
    n.finish(EXPLAINED["review"])
