"""Histories as a run leaves them, and what it costs to follow them as they are written.

Following is measured in processor seconds, of the follower's process and of its server
process, without their start: that is what it takes from the run beside it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID, uuid4

import psutil
import psycopg

from failproof_es.core.case import Case, Turn, prompt_id
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.run import chunked
from failproof_es.engine.planning.asked_cases import PlannedCases
from failproof_es.events import (
    CasesPlanned,
    Classified,
    Event,
    ModelSnapshot,
    PromptStored,
    RequestSent,
    ResponseReceived,
    RunStarted,
    Scored,
    Usage,
)
from failproof_es.store.store import Store
from projections.follower import Follower
from projections.runner import status
from tests.benchmarks.servers import benchmark_store
from tests.benchmarks.watch import exact_processor_s

RUN = uuid4()
MODELS = (ModelSnapshot(key="model", provider="openai", model="m"),)
BATCH = 4_000
IN_FLIGHT = 100
EVENTS_PER_S = 4_000


def asked_of(evaluations: int, topic: object) -> list[Case]:
    """So many cases about something; the same ones whenever it is the same."""
    return [case_of(n, topic) for n in range(evaluations)]


def case_of(number: int, topic: object) -> Case:
    """One of them, in one of ten categories."""
    return Case(
        dialect="failproof", case_id=f"case-{number}", suite_id="suite",
        category=f"c{number % 10}",
        turns=(Turn(role="user", content=f"question {number} of {topic}"),),
    )  # fmt: skip


def begun(
    evaluations: int, run_id: UUID, number: int = 1, topic: object = None, *, stored: bool = False
) -> tuple[list[Event], list[UUID]]:
    """The cases of a run and its plan, as its first events; and the streams of the cases.

    Cases about the same topic are the same; where they are `stored` already, they are left out.
    """
    cases = asked_of(evaluations, topic or run_id)
    digests = [case.digest() for case in cases]
    asked = PlannedCases()
    for digest, case in zip(digests, cases, strict=True):
        asked.add(digest, case)
    prompts = [] if stored else list(map(stored_prompt, digests, cases))
    return [*prompts, *planned(asked, run_id, number)], [prompt_id(digest) for digest in digests]


def stored_prompt(digest: str, case: Case) -> PromptStored:
    """The one event of a case."""
    return PromptStored(
        originator_id=prompt_id(digest), originator_version=1, run_id=None,
        timestamp=datetime.now(UTC), digest=digest, case=case,
    )  # fmt: skip


def planned(asked: PlannedCases, run_id: UUID, number: int = 1) -> list[Event]:
    """How a run of these cases begins: its first event, and its plan."""
    now, cases = datetime.now(UTC), len(asked)

    def head(version: int) -> dict[str, object]:
        return {
            "originator_id": run_id, "originator_version": version, "run_id": run_id,
            "timestamp": now,
        }  # fmt: skip

    events: list[Event] = [
        RunStarted(
            **head(1), name="rebuilt", run_number=number, attempt=1,
            configuration={"execution": {"repetitions": 1}}, configuration_digest="0" * 64,
            experiment=asked.experiment({}, MODELS, ()), models=MODELS, suites=(),
            dialect="failproof", planned_cases=cases, planned_evaluations=cases,
            code_version="1", packages={}, who="w", where="h",
        )
    ]  # fmt: skip
    questions = chunked(asked.questions())
    for chunk, digests in enumerate(chunked(asked.digests())):
        events.append(
            CasesPlanned(**head(chunk + 2), chunk=chunk, digests=digests, questions=next(questions))
        )
    return events


def history(prompt: UUID, run_id: UUID, repetition: int = 1) -> Iterator[Event]:
    """The four events of an evaluation that went well, of ordinary size."""
    stream = EvaluationKey(run_id, prompt, "model", repetition).evaluation_id

    def head(version: int) -> dict[str, object]:
        return {
            "originator_id": stream, "originator_version": version, "run_id": run_id,
            "timestamp": datetime.now(UTC), "prompt_id": prompt, "model_key": "model",
            "repetition": repetition,
        }  # fmt: skip

    attempt = {"purpose": "target", "turn": 0, "attempt": 1}
    yield RequestSent(
        **head(1), **attempt, model="model", parameters={"max_tokens": 100},
        endpoint="http://127.0.0.1/v1/chat/completions", body='{"model": "m"}' * 20,
        body_sha256="0" * 64,
    )  # fmt: skip
    yield ResponseReceived(
        **head(2), **attempt, status=200, headers={"content-type": "application/json"},
        body='{"choices": []}' * 30, text="An answer of ordinary length. " * 5,
        finish_reason="stop", model="model", latency_ms=12.5,
        usage=Usage(input_tokens=50, output_tokens=30),
    )  # fmt: skip
    yield Classified(
        **head(3), primary="pass", details={"rule": "expected_response"}, classifier="c",
        classifier_version="1",
    )  # fmt: skip
    yield Scored(
        **head(4), scores={"accuracy": 1.0}, passed=True, reason="", scorer="s", scorer_version="1"
    )  # fmt: skip


def _write_at_pace(store: Store, evaluations: int, events_per_s: int) -> int:
    """Write with 100 evaluations in flight, as a run does; return how many events."""
    plan, cases = begun(evaluations, RUN)
    store.log.events.put(plan)
    prompts = iter(cases)
    written = 0
    began = time.perf_counter()
    for _ in range(evaluations // IN_FLIGHT):
        histories = [list(history(next(prompts), RUN)) for _ in range(IN_FLIGHT)]
        for events in zip(*histories, strict=True):
            store.log.events.put(list(events))
            written += len(events)
            time.sleep(max(0.0, written / events_per_s - (time.perf_counter() - began)))
    return written


def _server_processes(connection: psycopg.Connection[tuple[int]]) -> set[int]:
    found = connection.execute(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
    )
    return {pid for (pid,) in found}


def following(evaluations: int, events_per_s: int) -> tuple[float, float]:
    """Processor seconds for 100,000 events: the follower's process, its server process."""
    with benchmark_store() as url, Store.open(url) as store, store.connect() as connection:
        store.log.events.put(list(history(uuid4(), uuid4())))
        others = _server_processes(connection)
        children = _children()
        with Follower(url, 0):
            (follower,) = _children() - children
            while any(s.behind or s.updated_at is None for s in status(connection)):
                time.sleep(0.1)
            (server,) = _server_processes(connection) - others
            ours = [follower, server]
            before = [exact_processor_s(pid) for pid in ours]
            events = _write_at_pace(store, evaluations, events_per_s)
            while any(s.behind for s in status(connection)):
                time.sleep(0.1)
            spent = [exact_processor_s(p) - b for p, b in zip(ours, before, strict=True)]
    following, serving = (seconds * 100_000 / events for seconds in spent)
    return following, serving


def _children() -> set[int]:
    return {process.pid for process in psutil.Process().children()}
