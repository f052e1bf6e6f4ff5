"""What keeps a share of a key's limits: what it waits out, and what it does not."""

from __future__ import annotations

import asyncio
import time
from typing import Any
from uuid import UUID

import psycopg
import pytest

from failproof_es.configuration.schema import Configuration
from failproof_es.core.limits import GrantedShare, KeyLimits, LocalShare, ProviderKey, ShareClaim
from failproof_es.engine.drive.targets import Targets
from failproof_es.engine.limits import key_share
from failproof_es.engine.limits.concurrency_limiter import ConcurrencyLimiter
from failproof_es.engine.limits.fair_semaphore import FairSemaphore
from failproof_es.engine.limits.key_share import KeyShare, KeyShares, MemoryShares
from failproof_es.models.trust.permissions import OWN
from failproof_es.store.outage import LogUnavailable
from tests.unit.core.test_spend import request

KEY = ProviderKey("digest", "https://here/v1")


class Book(MemoryShares):
    """Not a memory book for the share: it is asked in a thread, and may raise."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None
        self.claims: list[ShareClaim] = []

    def exchange(
        self, key: ProviderKey, limits: KeyLimits, own: UUID, claim: ShareClaim, seconds: float
    ) -> GrantedShare:
        self.claims.append(claim)
        if self.error is not None:
            raise self.error
        return super().exchange(key, limits, own, claim, seconds)


def gate_of(share: KeyShare, at_once: int = 4) -> ConcurrencyLimiter:
    gate = ConcurrencyLimiter(KEY.server, ["m"], at_once, FairSemaphore(4), 900.0)
    share.join(gate)
    gate.share = share
    return gate


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_share, "CALM_S", 0.02)
    monkeypatch.setattr(key_share, "SOON_S", 0.01)


@pytest.mark.parametrize(
    "error", [psycopg.OperationalError("away"), LogUnavailable("away")], ids=["cut", "long"]
)
def test_an_outage_is_waited_out_and_what_was_not_told_is_told_later(error: Exception) -> None:
    async def work() -> None:
        book = Book()
        shares = KeyShares(book)
        share = await shares.of(KEY, KeyLimits(2, 10))
        gate = gate_of(share)
        async with asyncio.timeout(5):
            assert await gate.acquire()
        book.error = error
        assert await gate.wait_to_send() is not None
        share.hear(gate, hold_s=3.0)
        await asyncio.sleep(0.1)
        book.error = None
        await asyncio.sleep(0.1)
        assert share.lost is None
        assert [claim.number for claim in book.claims] == [*range(1, len(book.claims) + 1)]
        assert any(claim.used_requests and claim.hold_s for claim in book.claims[-10:])
        await shares.close()

    asyncio.run(work())


def test_any_other_error_reaches_who_waits_and_who_comes() -> None:
    async def work() -> None:
        book = Book()
        shares = KeyShares(book)
        share = await shares.of(KEY, KeyLimits(1, 10))
        gate = gate_of(share)
        async with asyncio.timeout(5):
            assert await gate.acquire()
        assert await gate.wait_to_send() is not None
        waiting = asyncio.create_task(gate.acquire())
        await asyncio.sleep(0.05)
        book.error = psycopg.errors.UndefinedFunction("share_limits is not there")
        with pytest.raises(psycopg.errors.UndefinedFunction):
            async with asyncio.timeout(5):
                await waiting
        with pytest.raises(psycopg.errors.UndefinedFunction):
            await gate.acquire()
        told = len(book.claims)
        with pytest.raises(psycopg.errors.UndefinedFunction):
            await shares.of(KEY, KeyLimits(1, 10))
        book.error = None
        assert (again := await shares.of(KEY, KeyLimits(1, 10))) is not share
        assert again.lost is None
        assert len(book.claims) == told + 2
        await shares.close()

    asyncio.run(work())


def test_what_has_entered_is_not_sent_once_the_share_is_lost() -> None:
    async def work() -> None:
        book = Book()
        share = await KeyShares(book).of(KEY, KeyLimits(1, 10))
        gate = gate_of(share)
        async with asyncio.timeout(5):
            assert await gate.acquire()
        gate.hold(60)
        held_back = asyncio.create_task(gate.wait_to_send())
        book.error = RuntimeError("a defect")
        async with asyncio.timeout(5):
            assert await held_back is None
        await share.close()

    asyncio.run(work())


def targets_of(*variables: str | None, **limits: int) -> Targets:
    models: list[dict[str, Any]] = [
        {"provider": "openai", "base_url": KEY.server, "model": f"m{n}", "api_key_env": name}
        for n, name in enumerate(variables)
    ]
    models[0].update(limits)
    written: dict[str, Any] = {
        "test_run": {"name": "a"},
        "models": models,
        "prompts": {"path": "a.jsonl"},
        "execution": {"parallel_workers": 7},
    }
    return Targets(Configuration.model_validate(written), OWN)


def test_a_limit_belongs_to_one_key_whatever_others_a_configuration_has() -> None:
    alone = targets_of("K1", requests_per_minute=9)
    both = targets_of("K1", "K2", "K1", None, requests_per_minute=9)
    [(key, limits)] = alone.limited.values()
    assert both.limited[next(iter(alone.limited))] == (key, limits)
    assert [limits.requests for _, limits in both.limited.values()] == [9, None, None]
    assert len({key.digest for key, _ in both.limited.values()}) == 3
    assert both.by_server == [["m0", "m2"], ["m1"], ["m3"]]
    gates = [target.limiter for target in both.models.values()]
    assert gates[0] is gates[2]
    assert len(set(gates)) == 3


@pytest.mark.long
def test_tokens_that_were_promised_to_a_request_that_is_given_up_are_free_for_others() -> None:
    async def work() -> None:
        share = await KeyShares(Book()).of(KEY, KeyLimits(tokens=1_000))
        gate = gate_of(share)
        given_up, other = (
            request().model_copy(update={"originator_id": UUID(int=number), "body": "x" * 900})
            for number in (1, 2)
        )
        async with asyncio.timeout(10):
            await gate.wait_for_tokens(given_up, asyncio.Event())
            waiting = asyncio.create_task(gate.wait_for_tokens(other, asyncio.Event()))
            await asyncio.sleep(0.3)
            assert not waiting.done()
            gate.withdraw(given_up)
            await waiting
        assert gate.reserve_tokens(other) is not None
        share.leave(gate)
        await share.close()

    asyncio.run(work())


@pytest.mark.long
def test_a_request_that_has_begun_gets_its_tokens_again_when_its_share_ended() -> None:
    """It waits for the end of a hold, its share ends in an outage, and its tokens with it: it was
    never sent, because nobody asked for new ones. Another one that waits must not get them first:
    that one would wait for its place."""

    def minutes() -> float:
        """A clock that goes 60 times as fast."""
        return time.monotonic() * 60

    async def work() -> None:
        book = Book()
        book._clock = minutes
        share = await KeyShares(book, minutes).of(KEY, KeyLimits(tokens=1_000))
        gate = gate_of(share, at_once=1)
        begun, other = (
            request().model_copy(update={"originator_id": UUID(int=number), "body": "x" * 900})
            for number in (1, 2)
        )
        async with asyncio.timeout(20):
            await gate.wait_for_tokens(begun, asyncio.Event())
            assert await gate.acquire()
            permit = gate.reserve_tokens(begun)
            assert permit is not None
            gate.hold(1.5)
            sending = asyncio.create_task(gate.wait_to_send(permit))
            book.error = LogUnavailable("away")
            await asyncio.sleep(0.5)
            assert permit.era != share._local._era
            book.error = None
            waiting = asyncio.create_task(gate.wait_for_tokens(other, asyncio.Event()))
            assert await sending is not None
            gate.release(was_sent=True, permit=permit, used=10)
            await waiting
        gate.withdraw(other)
        share.leave(gate)
        await share.close()

    asyncio.run(work())


def test_tokens_are_reserved_again_within_a_limit_that_fell() -> None:
    """What is given back of them was not reserved: others got more than the limit."""
    share = LocalShare(KeyLimits(tokens=1_000))

    def told(now: float, limits: KeyLimits, needs: int) -> None:
        claim = share.claim(now, waiting=1, needs_tokens=needs)
        answer = GrantedShare(None, None, claim.keeps_tokens + claim.wants_tokens, None)
        share.take_in(claim, answer._replace(most_tokens=limits.tokens), now, 15.0)

    told(0.0, KeyLimits(tokens=1_000), 800)
    permit = share.reserve(800, 0.0)
    assert permit is not None
    assert not share.still_holds(permit, 100.0)
    told(200.0, KeyLimits(tokens=500), 500)
    assert share.still_holds(permit, 200.0)
    share.settle(permit, 100)
    assert (permit.tokens, share._reserved, share._tokens) == (500, 0, 400)
