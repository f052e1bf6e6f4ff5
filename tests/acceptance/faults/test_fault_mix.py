"""A bad day of a provider: whatever it does, everything is on record and nothing is made up."""

from __future__ import annotations

import json
import time
from base64 import b64encode
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import orjson
import pytest

from failproof_es.store.reading.reader import RecordedEvent, find
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, mock_server
from tests.machine import slowness
from tests.servers.fault_mix_server import OUTAGE_S

PROMPTS = 200
MODELS = ("claude-sonnet-4.5", "gpt-4o")
RETRIES = 3
VERDICT = '{"T": 0.8, "I": 0.1, "F": 0.9, "reasoning": "it asks for all"}'
KINDS = {
    "connection": "reset",
    "malformed_response": "notjson",
    "rate_limited": "http429",
    "timeout": "silent",
}
TURNED_AWAY = ("http429", "outage")
ON_THE_WAY_S = 0.25
"""A request that left before the client had recorded the Retry-After arrives in less than this, on
a machine that does nothing else."""
ROUNDING_S = 0.02


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    with mock_server(latency_ms=20, module="tests.servers.fault_mix_server") as url:
        yield url


@dataclass(frozen=True, slots=True)
class BadDay:
    """What the run said at its end, what is on record, and what the server saw."""

    outcome: dict[str, Any]
    events: list[RecordedEvent]
    arrivals: list[dict[str, Any]]
    errors: str
    slowness: float

    def of(self, topic: str) -> list[dict[str, Any]]:
        return [row.payload() for row in self.events if row.topic == topic]


@pytest.fixture
def bad_day(store: Store, provider: str, tmp_path: Path) -> BadDay:
    answer = b64encode(VERDICT.encode()).decode()
    prompts = [
        {
            "prompt_id": f"p-{n:03}",
            "content": f"{n}: please grade this [answer:{answer}]",
            "category": "manipulative",
            "expected_label": "manipulative",
            "source": "test",
            "created_at": "2026-11-21T08:00:00Z",
        }
        for n in range(PROMPTS)
    ]
    (tmp_path / "prompts.jsonl").write_bytes(b"\n".join(map(orjson.dumps, prompts)))
    configuration = {
        "test_run": {"name": "bad-day"},
        "models": [{"provider": "openai", "base_url": provider, "model": name} for name in MODELS],
        "prompts": {"source": "file", "path": "prompts.jsonl"},
        "execution": {
            "parallel_workers": 24,
            "retry_attempts": RETRIES,
            "retry_delay_ms": 50,
            "timeout_per_request_ms": 5_000,
        },
    }
    (tmp_path / "run.yaml").write_bytes(orjson.dumps(configuration))
    before = slowness()
    done = invoke(store.url, "start", "run.yaml", "--json", cwd=tmp_path)
    slow = max(before, slowness())
    assert done.exit_code == 0, done.output
    arrivals = httpx.get(provider.removesuffix("/v1") + "/arrivals", verify=False).json()
    with store.connect() as connection:
        events = list(find(connection))
    assert invoke(store.url, "replay", "latest", cwd=tmp_path).exit_code == 0
    outcome = json.loads(done.stdout.splitlines()[-1])
    return BadDay(outcome, events, arrivals, done.stderr, slow)


@pytest.mark.slow
def test_a_bad_day_is_on_record_whole_and_no_wish_of_the_provider_is_ignored(
    bad_day: BadDay,
) -> None:
    every_evaluation_is_accounted_for(bad_day)
    nothing_is_scored_that_was_not_answered(bad_day)
    the_log_and_the_server_count_the_same(bad_day)
    retries_are_bounded_as_configured(bad_day)
    no_request_comes_before_its_retry_after_allows(bad_day)
    every_limit_that_changed_is_an_event(bad_day)


def every_evaluation_is_accounted_for(day: BadDay) -> None:
    counts = day.outcome["counts"]
    planned = PROMPTS * len(MODELS)
    assert counts["planned"] == counts["finished"] == planned
    assert counts["scored"] + counts["abandoned"] == planned
    assert len(day.of("Scored")) == counts["scored"]
    assert len(day.of("EvaluationAbandoned")) == counts["abandoned"]
    assert counts["scored"] > planned * 0.95


def nothing_is_scored_that_was_not_answered(day: BadDay) -> None:
    answered = {row.stream_id for row in day.events if row.topic == "ResponseReceived"}
    scored = {row.stream_id for row in day.events if row.topic == "Scored"}
    assert scored == answered
    assert all(each["text"] == VERDICT for each in day.of("ResponseReceived"))


def the_log_and_the_server_count_the_same(day: BadDay) -> None:
    assert len(day.of("RequestSent")) == len(day.arrivals)
    got = Counter(arrival["got"] for arrival in day.arrivals)
    recorded = Counter(error["kind"] for error in day.of("ErrorRecorded"))
    assert recorded.pop("server_error") == got["http500"] + got["outage"]
    assert recorded == {kind: got[fault] for kind, fault in KINDS.items()}
    assert len(day.of("ResponseReceived")) == got["answer"]
    assert min(got[fault] for fault in (*KINDS.values(), "http500", "outage")) > 0, got
    assert all(error["stack_trace"] for error in day.of("ErrorRecorded"))


def retries_are_bounded_as_configured(day: BadDay) -> None:
    """By what was tried; what was turned away for now is asked again however often."""
    tried = Counter(
        (arrival["model"], arrival["prompt"])
        for arrival in day.arrivals
        if arrival["got"] not in TURNED_AWAY
    )
    assert len(tried) == PROMPTS * len(MODELS)
    assert 1 < max(tried.values()) <= RETRIES + 1
    errors = Counter(
        row.stream_id
        for row in day.events
        if row.topic == "ErrorRecorded" and row.payload()["disposition"] == "transient"
    )
    abandoned = [row.stream_id for row in day.events if row.topic == "EvaluationAbandoned"]
    assert all(errors[stream] == RETRIES + 1 for stream in abandoned)


def no_request_comes_before_its_retry_after_allows(day: BadDay) -> None:
    """By the server's clock; what was on its way already when the client heard of it may come.

    A busy client hears late: it was overtaken once by 0.34 s. So the way counts from its record.
    """
    times = [arrival["at"] for arrival in day.arrivals]
    heard = outcomes_recorded_at(day)
    for told in day.arrivals:
        recorded_at = heard[told["model"], told["prompt"]].popleft()
        if wait_s := told["retry_after"]:
            assert told["at"] < recorded_at, "one clock for both"
            begin = recorded_at + ON_THE_WAY_S * day.slowness
            end = told["at"] + wait_s - ROUNDING_S
            early = [at - told["at"] for at in times if begin < at < end]
            assert not early, f"{told['got']} asked for {wait_s} s; requests came after {early}"


def outcomes_recorded_at(day: BadDay) -> dict[tuple[str, str], deque[float]]:
    """By model and prompt, when the client recorded the outcome of each request, in order: by the
    monotonic clock, which the server has, too."""
    ahead = time.time() - time.monotonic()
    prompts: dict[UUID, str] = {}
    recorded_at: dict[tuple[str, str], deque[float]] = defaultdict(deque)
    for row in day.events:
        if row.topic == "RequestSent":
            prompts[row.stream_id] = orjson.loads(row.payload()["body"])["messages"][-1]["content"]
        elif row.topic in ("ResponseReceived", "ErrorRecorded"):
            key = (row.payload()["model_key"], prompts[row.stream_id])
            recorded_at[key].append(row.event().timestamp.timestamp() - ahead)
    return recorded_at


def every_limit_that_changed_is_an_event(day: BadDay) -> None:
    changes = day.of("LimitChanged")
    reasons = Counter(change["reason"] for change in changes)
    assert set(reasons) == {"rate_limited", "retry_after", "released", "recovered"}
    assert reasons["released"] == sum(change["held_until"] is not None for change in changes if
                                      change["reason"] in ("rate_limited", "retry_after")
                                      and begins_a_hold(changes, change))  # fmt: skip
    limit = 24
    for change in changes:
        assert change["limit_before"] == limit and set(change["models"]) == set(MODELS)
        limit = change["limit_after"]
        assert 1 <= limit <= 24
    outage = [change for change in changes if (change["retry_after_s"] or 0) > 1]
    assert outage and outage[0]["retry_after_s"] == OUTAGE_S


def begins_a_hold(changes: list[dict[str, Any]], change: dict[str, Any]) -> bool:
    """Whether nothing was held back when this change came."""
    held = False
    for each in changes:
        if each is change:
            return not held
        held = each["held_until"] is not None
    raise AssertionError("not one of the changes")


def test_no_fault_strikes_every_evaluation_alike() -> None:
    """The mix is what it says: else the assertions above hold for nothing."""
    from tests.servers.fault_mix_server import fault_of

    drawn: dict[str | None, int] = defaultdict(int)
    for n in range(20_000):
        drawn[fault_of("m", str(n), 1)] += 1
    assert 0.015 < drawn["http500"] / 20_000 < 0.025
    assert 0.015 < drawn["http429"] / 20_000 < 0.025
    assert 0.007 < drawn["reset"] / 20_000 < 0.013
    assert 0.003 < drawn["notjson"] / 20_000 < 0.007
    assert 0.003 < drawn["silent"] / 20_000 < 0.007
