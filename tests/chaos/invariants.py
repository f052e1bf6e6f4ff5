"""What must be on record after a storm, whatever happened in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import psycopg

from failproof_es.engine.history import read_run
from failproof_es.engine.replays.replay import replay
from failproof_es.store.reading.reader import resolve_run
from failproof_es.store.store import Store
from projections.runner import catch_up, prepare, rebuild
from tests.acceptance.commands import run
from tests.conftest import as_administrator
from tests.integration.projections.world import rows

_ENDS = ("Scored", "EvaluationAbandoned")
_ONCE = ("RunStarted", "RunSealed")


def violations(
    store: Store, prompts: list[str], asked: Mapping[str, int], cwd: Path, home: Path
) -> list[str]:
    """Everything that is wrong with run 1, in which each prompt is one evaluation.

    `home` has the keys of those who drove it.
    """
    with store.connect() as connection:
        run_id = resolve_run(connection, "1")
        found = [
            *_of_run(connection, run_id, len(prompts)),
            *_of_evaluations(connection, prompts, asked),
        ]
    report = replay(store, run_id)
    if report.agree != len(prompts):
        found.append(f"replay agrees with {report.agree} of {len(prompts)}: {report.differences}")
    with psycopg.connect(as_administrator(store.url), autocommit=True) as administrator:
        found += _of_projections(administrator)
    verified = run(store.url, "verify", "--unsigned", cwd=cwd, FAILPROOF_ES_HOME=str(home))
    if verified.returncode != 0:
        found.append(f"verify: {verified.stdout} {verified.stderr}")
    return found


def _of_run(connection: psycopg.Connection[Any], run_id: UUID, planned: int) -> Iterator[str]:
    run = read_run(connection, run_id)
    if not run.ended or not run.sealed or run.validation is None:
        yield f"the run is {run.status}, sealed: {run.sealed}"
        return
    for finding in run.validation.findings:
        if finding.integrity:
            yield f"validation: {finding.kind}: {finding.message}"
    if run.counts is None or (run.counts.planned, run.counts.finished) != (planned, planned):
        yield f"the run counts {run.counts}, planned are {planned}"
    topics = connection.execute(
        "SELECT topic, count(*) FROM failproof.stored_events WHERE originator_id = %s GROUP BY 1",
        (run_id,),
    )
    times: dict[str, int] = dict(topics.fetchall())
    times["an end"] = times.get("RunCompleted", 0) + times.get("RunFailed", 0)
    for topic in (*_ONCE, "an end"):
        if times.get(topic) != 1:
            yield f"the run has {topic} {times.get(topic, 0)} times"


def _of_evaluations(
    connection: psycopg.Connection[Any], prompts: list[str], asked: Mapping[str, int]
) -> Iterator[str]:
    streams: dict[UUID, list[tuple[str, dict[str, Any]]]] = {}
    events = connection.execute(
        "SELECT stream_id, event_type, payload FROM failproof.event_log e WHERE stream_id IN "
        "(SELECT originator_id FROM failproof.stored_events WHERE topic = 'RequestSent') "
        "ORDER BY position"
    )
    for stream, topic, payload in events:
        streams.setdefault(stream, []).append((topic, payload))
    seen: Counter[str] = Counter()
    for stream, history in streams.items():
        body = next(orjson.loads(said["body"]) for topic, said in history if topic == "RequestSent")
        prompt = body["messages"][-1]["content"]
        seen[prompt] += 1
        for wrong in _of_evaluation(history, asked.get(prompt, 0)):
            yield f"{prompt!r} ({stream}): {wrong}; {[topic for topic, _ in history]}"
    if seen != Counter(prompts):
        yield f"{len(seen)} prompts were asked, {len(prompts)} are planned"


def _of_evaluation(history: list[tuple[str, dict[str, Any]]], asked: int) -> Iterator[str]:
    topics = [topic for topic, _ in history]
    ends = sum(topic in _ENDS for topic in topics)
    if ends != 1:
        yield f"{ends} final outcomes"
    if "ResponseReceived" in topics:
        after = topics[topics.index("ResponseReceived") :]
        if "RequestSent" in after or "ResponseReceived" in after[1:]:
            yield "asked again after its answer was recorded"
    attempts: dict[str, list[int]] = {"RequestSent": [], "AttemptOrphaned": [], "outcome": []}
    heard = 0
    for topic, said in history:
        if topic in ("RequestSent", "AttemptOrphaned"):
            attempts[topic].append(said["attempt"])
        elif topic in ("ResponseReceived", "ErrorRecorded"):
            attempts["outcome"].append(said["attempt"])
            heard += said.get("status") is not None
    sent, lost, outcomes = (sorted(each) for each in attempts.values())
    if sorted(lost + outcomes) != sent:
        yield f"attempts {sent} are not those lost {lost} and those with an outcome {outcomes}"
    if not heard <= asked <= len(outcomes) + len(lost):
        yield (
            f"the server was asked {asked} times; {heard} answers are on record, "
            f"{len(outcomes)} outcomes, {len(lost)} lost"
        )


def _of_projections(connection: psycopg.Connection[Any]) -> Iterator[str]:
    prepare(connection)
    while catch_up(connection):
        pass
    followed = rows(connection)
    rebuild(connection)
    again = rows(connection)
    for name, found in followed.items():
        if found != again[name]:
            yield f"projection {name}: followed {found} but rebuilt {again[name]}"
