"""Servers that want no more for now: the run waits, asks again, and abandons nothing."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from failproof_es.configuration.loading import load_configuration
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.engine.lifecycle import resume, start
from failproof_es.engine.replays.replay import replay
from failproof_es.events import Event, RequestSent
from failproof_es.store.reading.reader import find
from failproof_es.store.store import Store
from failproof_es.store.writing.journal import Journal
from tests.acceptance.commands import asked, invoke, write_configuration, write_suite
from tests.machine import slowness
from tests.servers.mock_server import MockServer

NOW_AND_THEN = {"parallel_workers": 4, "retry_attempts": 1, "retry_delay_ms": 20}


class Refusing(MockServer):
    """Answers only what it does not want to refuse, and keeps the time of each request."""

    def __init__(
        self,
        headers: dict[str, str] | None = None,
        latency_s: float = 0.0,
        error: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(latency_s)
        self.headers = headers or {}
        self.error = {"message": "slow down", **(error or {})}
        self.arrivals: list[float] = []

    def refuses(self, prompt: str) -> bool:
        return True

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        prompt: str = orjson.loads(await request.read())["messages"][-1]["content"]
        self.arrivals.append(time.monotonic())
        if self.refuses(prompt):
            self.asked[prompt] += 1
            body = orjson.dumps({"error": self.error})
            return web.Response(status=429, body=body, headers=self.headers)
        return await super()._complete(request)


class First(Refusing):
    """Refuses the first `refusals` requests."""

    refusals = 1

    def refuses(self, prompt: str) -> bool:
        return len(self.arrivals) <= self.refusals


def with_server(server: MockServer, work: Callable[[str], Awaitable[None]]) -> None:
    async def main() -> None:
        try:
            async with asyncio.timeout(60):
                await work(await server.start())
        finally:
            await server.stop()

    asyncio.run(main())


async def driven(store: Store, folder: Path, url: str, cases: int, **execution: Any) -> Outcome:
    write_suite(folder, cases)
    write_configuration(folder, url, execution={**NOW_AND_THEN, **execution})
    loaded = load_configuration(folder / "run.yaml")
    stop = asyncio.Event()
    return await start(loaded, store, observe=_nothing, stop=stop, say=_nothing)


async def resumed(store: Store, outcome: Outcome) -> Outcome:
    stop = asyncio.Event()
    return await resume(outcome.run_id, store, observe=_nothing, stop=stop, say=_nothing)


def _nothing(said: object) -> None:
    """Whatever is said."""


def recorded(store: Store, *topics: str) -> list[dict[str, Any]]:
    with store.connect() as connection:
        return [row.payload() for row in find(connection, topics=topics)]


@pytest.mark.slow
def test_seconds_of_429_use_up_no_attempt_and_every_one_of_them_is_on_record(
    store: Store, tmp_path: Path
) -> None:
    server = First()

    async def work(url: str) -> None:
        first: list[float] = []

        def refuses(prompt: str) -> bool:
            first.append(time.monotonic())  # a busy machine asks late
            return first[-1] - first[0] < 3.0

        server.refuses = refuses  # type: ignore[method-assign]
        outcome = await driven(store, tmp_path, url, 3)
        assert (outcome.status, outcome.counts.scored) == ("completed", 3)
        errors = recorded(store, "ErrorRecorded")
        assert len(errors) == len(server.arrivals) - 3 > 3 * 2
        assert {(e["status"], e["kind"], e["disposition"]) for e in errors} == {
            (429, "rate_limited", "deferred")
        }
        assert len(recorded(store, "RequestSent")) == len(server.arrivals)
        assert recorded(store, "LimitChanged")[0]["reason"] == "rate_limited"
        replayed = replay(store, outcome.run_id)
        assert (replayed.agree, replayed.differences) == (3, [])

    with_server(server, work)


@pytest.mark.slow
def test_a_server_that_refuses_everything_pauses_the_run_and_a_resume_asks_what_is_left(
    store: Store, tmp_path: Path
) -> None:
    server = Refusing()

    async def work(url: str) -> None:
        began = time.monotonic()
        outcome = await driven(store, tmp_path, url, 5, rate_limit_wait_ms=1_500)
        assert 1.4 < time.monotonic() - began < 30, "it waits for no longer than it may"
        assert outcome.status == "paused" and outcome.reason is not None
        for word in (url, "turned every request away for", "rate_limit_wait_ms", "slow down"):
            assert word in outcome.reason
        counts = outcome.counts
        assert (counts.finished, counts.abandoned) == (0, 0)
        refused = len(server.arrivals)
        assert len(recorded(store, "ErrorRecorded")) == refused
        replayed = replay(store, outcome.run_id)
        assert (replayed.not_finished, replayed.differences) == (5, [])
        again = await resumed(store, outcome)
        assert again.status == "paused", "it has its full time again, and no more"
        assert len(server.arrivals) > refused
        server.refuses = lambda prompt: False  # type: ignore[method-assign]
        done = await resumed(store, outcome)
        assert (done.status, done.counts.scored, done.counts.abandoned) == ("completed", 5, 0)
        assert replay(store, outcome.run_id).agree == 5

    with_server(server, work)


@pytest.mark.slow
def test_a_question_that_alone_is_refused_is_left_for_a_resume_once_the_rest_is_done(
    store: Store, tmp_path: Path
) -> None:
    server = Refusing(latency_s=0.15)

    async def work(url: str) -> None:
        server.refuses = lambda prompt: prompt == "Say number 1."  # type: ignore[method-assign]
        outcome = await driven(
            store, tmp_path, url, 30, rate_limit_wait_ms=1_000, parallel_workers=2
        )
        assert (outcome.status, outcome.counts.scored) == ("paused", 29)
        assert outcome.counts.abandoned == 0
        assert outcome.reason is not None
        assert "1 evaluation left unfinished; mock: " in outcome.reason and url in outcome.reason
        server.refuses = lambda prompt: False  # type: ignore[method-assign]
        done = await resumed(store, outcome)
        assert (done.status, done.counts.scored) == ("completed", 30)
        assert [count for prompt, count in server.asked.items() if prompt != "Say number 1."] == (
            [1] * 29
        )
        assert replay(store, outcome.run_id).agree == 30

    with_server(server, work)


def test_after_a_hold_what_had_entered_goes_out_by_the_halved_limit(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first request is refused while 39 others are put on record, each inside the gate."""
    server = First({"Retry-After": "1"}, latency_s=0.2)
    append = Journal.append
    slow: list[Sequence[Event]] = []

    async def appended(self: Journal, *events: Event) -> None:
        await append(self, *events)
        if isinstance(events[-1], RequestSent) and len(slow) < 40:
            slow.append(events)
            await asyncio.sleep(0.0 if len(slow) == 1 else 0.4)

    monkeypatch.setattr(Journal, "append", appended)

    async def work(url: str) -> None:
        outcome = await driven(store, tmp_path, url, 40, parallel_workers=40)
        assert outcome.counts.scored == 40
        refused, *later = server.arrivals
        assert later[0] - refused >= 1.0
        at_first = [at for at in later if at < later[0] + 0.15]
        assert len(at_first) <= 20, "half of what was allowed before"
        assert server.most_in_flight <= 22, "and one step more after each round of answers"

    with_server(server, work)


@pytest.mark.slow
@pytest.mark.parametrize(
    "value",
    ["0", "-5", "NaN", "Infinity", "1e999", "soon", "", "0.0000001", "\t 0",
     "Sat, 01 Jan 2000 00:00:00 GMT", "Mon, 99 Foo 2026", "2026-11-21T12:00:00Z"],
)  # fmt: skip
@pytest.mark.thinned(fast=1, whole=2)
def test_a_retry_after_that_says_nothing_holds_nobody_for_long_and_is_no_flood(
    store: Store, tmp_path: Path, value: str
) -> None:
    server = First({"Retry-After": value})
    server.refusals = 3

    async def work(url: str) -> None:
        slow = slowness()
        outcome = await driven(store, tmp_path, url, 1, retry_delay_ms=0)
        assert (outcome.status, outcome.counts.scored) == ("completed", 1)
        waited_s = server.arrivals[-1] - server.arrivals[0]
        slow = max(slow, slowness())
        assert 0.7 <= waited_s < 5.0 * slow, "0.1 s, then twice as long each time"
        assert len(server.arrivals) == 4

    with_server(server, work)


@pytest.mark.parametrize(
    "value", ["901", "86400", "9" * 400, "Sat, 21 Nov 9999 12:00:30 GMT", "31622400.5"]
)
@pytest.mark.thinned(fast=1, whole=2)
def test_a_retry_after_longer_than_the_run_waits_pauses_it_at_once_and_is_kept(
    store: Store, tmp_path: Path, value: str
) -> None:
    server = First({"Retry-After": value})

    async def work(url: str) -> None:
        outcome = await driven(store, tmp_path, url, 3, parallel_workers=1)
        assert outcome.status == "paused" and outcome.reason is not None
        assert f": {url} " in outcome.reason
        assert "asks to wait " in outcome.reason and "longer than the 900 s of" in outcome.reason
        assert outcome.counts.finished == 0 and len(server.arrivals) == 1
        (held,) = recorded(store, "LimitChanged")
        assert 900 < held["retry_after_s"] <= 366 * 86_400

    with_server(server, work)


def limits_that_end_in(seconds: float) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """What servers write of a limit that is whole again then, in headers or in a body."""
    minutes, rest = divmod(seconds, 60)
    moment = datetime.now(UTC) + timedelta(seconds=seconds)
    epoch_ms = f"{moment.timestamp() * 1000:.0f}"
    requests = {"x-ratelimit-reset-requests": f"{minutes:.0f}m{rest:g}s"}
    return [
        (requests | {"x-ratelimit-reset-tokens": "5ms"}, {}),
        ({"anthropic-ratelimit-requests-reset": moment.isoformat()}, {}),
        ({"X-RateLimit-Reset": epoch_ms, "X-RateLimit-Remaining": "0"}, {}),
        ({}, {"metadata": {"headers": {"X-RateLimit-Reset": epoch_ms}}}),
        ({}, {"details": [{"retryDelay": f"{seconds:g}s"}]}),
    ]


WORDS = (
    "x-ratelimit-reset-requests",
    "anthropic-ratelimit-requests-reset",
    *["x-ratelimit-reset"] * 2,
    "retryDelay",
)


@pytest.mark.parametrize("form", range(5))
@pytest.mark.thinned(fast=1, whole=2)
def test_a_limit_in_the_words_of_a_provider_is_waited_for_as_stated(
    store: Store, tmp_path: Path, form: int
) -> None:
    server = First()

    async def work(url: str) -> None:
        headers, error = limits_that_end_in(3.0)[form]
        server.headers, server.error = headers, server.error | error
        began = time.monotonic()
        outcome = await driven(store, tmp_path, url, 2, parallel_workers=1)
        assert (outcome.status, outcome.counts.scored) == ("completed", 2)
        assert len(server.arrivals) == 3, "one was refused, and none was asked in vain"
        assert server.arrivals[1] - began >= 1.9, "a date of HTTP has no fractions"
        (failed,) = recorded(store, "ErrorRecorded")
        assert 0 < failed["retry_after_s"] <= 4.0
        assert f"slow down ({WORDS[form]}: " in failed["message"]

    with_server(server, work)


@pytest.mark.parametrize("form", range(5))
@pytest.mark.thinned(fast=1, whole=2)
def test_a_limit_that_ends_too_late_pauses_at_once_and_says_why_and_until_when(
    store: Store, tmp_path: Path, form: int
) -> None:
    headers, error = limits_that_end_in(1_800.0)[form]
    server = First(headers, error=error)

    async def work(url: str) -> None:
        outcome = await driven(store, tmp_path, url, 3, parallel_workers=1)
        assert outcome.status == "paused" and outcome.reason is not None
        assert len(server.arrivals) == 1
        until = r", until 20\d\d-\d\d-\d\dT[\d:]{8}Z: "
        assert re.search(rf"{until}.*slow down \({WORDS[form]}: ", outcome.reason), outcome.reason

    with_server(server, work)


@pytest.mark.slow
def test_what_says_come_back_later_uses_up_no_attempt_whatever_its_status(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    suite = write_suite(tmp_path, 6)
    lines = suite.read_bytes().splitlines()
    for place, status in enumerate((b"429", b"503", b"529") * 2):
        lines[place] = lines[place].replace(b"Say ", b"[fault:busy" + status + b"*4] later ")
    suite.write_bytes(b"\n".join(lines))
    write_configuration(tmp_path, mock_url, execution={**NOW_AND_THEN, "retry_attempts": 0})
    done = invoke(store.url, "start", "run.yaml", "--json", "--quiet", cwd=tmp_path)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["counts"]["scored"] == 6
    errors = recorded(store, "ErrorRecorded")
    assert Counter(error["status"] for error in errors) == {429: 8, 503: 8, 529: 8}
    assert {error["disposition"] for error in errors} == {"deferred"}
    assert {count for prompt, count in asked(mock_url).items() if "later" in prompt} == {5}


@pytest.mark.slow
def test_a_pause_for_a_rate_limit_exits_with_1_and_says_how_to_go_on(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    write_suite(tmp_path, 2, prompt="paused {n} [fault:busy429*4]")
    write_configuration(tmp_path, mock_url, execution={**NOW_AND_THEN, "rate_limit_wait_ms": 500})
    paused = invoke(store.url, "start", "run.yaml", cwd=tmp_path)
    assert paused.exit_code == 1
    assert "run 1 paused: mock: http://" in paused.stderr
    assert "turned every request away for" in paused.stderr
    assert "resume it with `failproof-es resume 1`" in paused.stderr
    for _ in range(2 * 4):  # each resume asks at least once more
        resumed = invoke(store.url, "resume", 1, "--quiet", cwd=tmp_path)
        if resumed.exit_code == 0:
            break
    assert resumed.exit_code == 0, resumed.stderr
    assert recorded(store, "EvaluationAbandoned") == []
    assert invoke(store.url, "replay", 1, cwd=tmp_path).exit_code == 0


def test_a_resume_begins_with_the_limit_that_the_server_had_left(
    store: Store, tmp_path: Path
) -> None:
    """Only what begins below the ceiling can be raised: the first change says where it began."""
    server = Refusing()

    async def work(url: str) -> None:
        outcome = await driven(
            store, tmp_path, url, 30, parallel_workers=8, rate_limit_wait_ms=1_000
        )
        assert outcome.status == "paused"
        left = recorded(store, "LimitChanged")
        limit = left[-1]["limit_after"]
        assert limit <= 4, "it refused everything"
        server.refuses = lambda prompt: False  # type: ignore[method-assign]
        assert (await resumed(store, outcome)).status == "completed"
        since = recorded(store, "LimitChanged")[len(left) :]
        steps = [(change["limit_before"], change["limit_after"]) for change in since[:2]]
        assert steps == [(limit, limit + 1), (limit + 1, limit + 2)]

    with_server(server, work)
