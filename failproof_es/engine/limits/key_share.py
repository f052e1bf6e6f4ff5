"""This process's share of a provider key's limits, and the task that keeps the share.

All limiters of one server and key draw from it. The task reports usage and the server's refusals to
the database, renews the share, and passes refusals reported by other workers on to the limiters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol
from uuid import UUID, uuid4

from failproof_es.core.limits import (
    GrantedShare,
    KeyLimits,
    KeyState,
    LocalShare,
    Permit,
    ProviderKey,
    QueuedRequest,
    ShareClaim,
    TokenQueue,
    share,
)
from failproof_es.core.spend import costs_nothing, most_output_tokens
from failproof_es.events import ErrorRecorded, EvaluationEvent, RequestSent, ResponseReceived
from failproof_es.store.outage import UNAVAILABLE
from failproof_es.store.writing.lease import passed_s

SHARE_S = 15.0
"""Seconds that a share lasts after its last renewal."""
CALM_S = 0.9
"""Seconds between renewals: the others learn of a server's refusal within this time."""
SOON_S = 0.4
"""Seconds between renewals while a request waits for the share."""


class KeyShareStore(Protocol):
    """Divides the limits of provider keys among processes, and keeps the shares."""

    def exchange(
        self, key: ProviderKey, limits: KeyLimits, own: UUID, claim: ShareClaim, seconds: float
    ) -> GrantedShare:
        """Report usage, refusals and needs (`claim`), and get a share for `seconds`.

        `own` is the id of the share. With 0 seconds it is given back. Blocks. Raises one of
        `UNAVAILABLE` in an outage.
        """


class Limiter(Protocol):
    """A `ConcurrencyLimiter`, as the share that it draws from sees it."""

    @property
    def unsent(self) -> int:
        """The number of requests that were let in and are not sent yet."""

    @property
    def waiting(self) -> int:
        """The number of requests that wait to enter the limiter."""

    def wake(self) -> None:
        """Wake all waiting requests; each checks again whether it may go on."""

    def hold(self, seconds: float) -> None:
        """Send nothing for `seconds`: the server told another worker so."""

    def cut(self) -> None:
        """Halve the limit: the server told another worker that it sends too much."""

    def hear_of_answer(self, seconds_ago: float) -> None:
        """Note that the server answered another worker so many seconds ago."""


NO_TOKENS = Permit(0, 0)
"""The permit of a request whose tokens are not counted."""


@dataclass(slots=True)
class _ShareWaiter:
    request: RequestSent
    reply: asyncio.Future[None]


class MemoryShares:
    """The `KeyShareStore` of a single process, which has every limit to itself."""

    def __init__(self, clock: Callable[[], float] = passed_s) -> None:
        self._clock = clock
        self._states: dict[str, KeyState] = {}

    def exchange(
        self, key: ProviderKey, limits: KeyLimits, own: UUID, claim: ShareClaim, seconds: float
    ) -> GrantedShare:
        """The share of the only process: all that the key's limits leave.

        Does not block, and raises nothing.
        """
        before = self._states.get(key.digest, KeyState())
        after, answer = share(before, limits, own, claim, now=self._clock(), seconds=seconds)
        self._states[key.digest] = after
        return answer


class KeyShare:
    """This process's share of the limits of one provider key, in an event loop.

    `open` it first, `close` it at the end. `clock` gives seconds of a monotonic clock.
    """

    def __init__(
        self,
        key: ProviderKey,
        limits: KeyLimits,
        store: KeyShareStore,
        clock: Callable[[], float] = passed_s,
    ) -> None:
        self.key = key
        self.lost: Exception | None = None
        """The error that ended the share: nothing is sent under it any more."""
        self._configured_limits = limits
        self.limiters: list[Limiter] = []
        self._local = LocalShare(limits)
        self._store = store
        self._clock = clock
        self._own = uuid4()
        self._waiting: list[_ShareWaiter] = []
        self._tokens = TokenQueue(self._local)
        self._heard = ShareClaim()
        """The server's refusals and answers, to be reported with the next claim."""
        self._held_until = -inf
        self._cuts: int | None = None
        self._own_cut = False
        self._refused_at: float | None = None
        self._asked_at = -inf
        self._exchanging = asyncio.Lock()
        self._changed = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Take the first share, learn of waits that the server demands, and begin to renew the
        share. An outage of the database is no error."""
        await self.refresh()
        self._task = asyncio.create_task(self._renew_until_closed(), name="limits of a key")

    async def refresh(self) -> None:
        """Read the servers' messages to other processes while nothing was sent here."""
        await self._exchange()
        self._asked_at = -inf  # the first request that waits renews the share at once

    async def close(self) -> None:
        """Give the share back. In an outage it expires by itself."""
        self._closing = True
        self._changed.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        claim = self._local.claim(self._clock(), waiting=0)
        claim = ShareClaim(
            used_requests=claim.used_requests, used_tokens=claim.used_tokens, number=claim.number
        )
        if self._local.limits.any and self.lost is None:
            with suppress(*UNAVAILABLE):
                await self._exchange_claim(claim, 0.0)

    # -- for the limiters -----------------------------------------------------------------------

    def join(self, limiter: Limiter) -> None:
        """Let a limiter draw from the share, which also tells it if the server asks to wait."""
        self.limiters.append(limiter)
        left_s = self._held_until - self._clock()
        if left_s > 0:
            limiter.hold(left_s)

    def leave(self, limiter: Limiter) -> None:
        """Remove a limiter: it draws from the share no more."""
        self.limiters.remove(limiter)

    def require(self) -> None:
        """Raise the error that ended the share. An outage of the database does not end it."""
        if self.lost is not None:
            raise self.lost

    def may_begin(self) -> bool:
        """Whether one more request may enter a limiter. If not, the share is renewed soon."""
        unsent = sum(limiter.unsent for limiter in self.limiters)
        return self._renew_soon_unless(self._local.may_send(self._clock(), unsent))

    def may_send(self, permit: Permit) -> bool:
        """Whether a request that has entered may be sent now.

        `permit` is for its tokens. If not, the share is renewed soon.
        """
        now = self._clock()
        return self._renew_soon_unless(
            self._local.may_send(now) and self._local.still_holds(permit, now)
        )

    def send(self, permit: Permit) -> None:
        """Note that the request of this permit is sent."""
        self._tokens.send(permit)
        self._local.send()

    def end(self) -> None:
        """Note that a request that was sent has ended."""
        self._local.end()
        if self._local.limits.any:
            self._wake()

    def reserve(self, request: RequestSent) -> Permit | None:
        """Reserve the tokens of a request, until `settle`.

        `None` if it must wait (`wait_for_tokens`).
        """
        return self._tokens.begin(_queued_request(request), most_tokens(request), self._clock())

    async def wait_for_tokens(self, request: RequestSent, stop: asyncio.Event) -> None:
        """Wait until the request's tokens are free and kept for it, or until `stop` is set.

        Raises the error that ended the share.
        """
        self.require()
        waiter = _ShareWaiter(request, asyncio.get_running_loop().create_future())
        self._waiting.append(waiter)
        self._renew_soon_unless(False)
        stopping = asyncio.ensure_future(stop.wait())
        try:
            both: set[asyncio.Future[Any]] = {waiter.reply, stopping}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            waiter.reply.cancel()
            self._waiting.remove(waiter)
        self.require()

    def withdraw(self, request: RequestSent) -> None:
        """Free the tokens that are kept for a request since `wait_for_tokens`, if it will not be
        sent."""
        if self._tokens.withdraw(_queued_request(request)):
            self._changed.set()

    def settle(self, permit: Permit, used: int | None) -> None:
        """End the reservation of `permit`: only the used tokens count.

        `used` of `None` means that their number is not known.
        """
        self._tokens.settle(permit, used)

    def hear(self, source: Limiter, *, hold_s: float = 0.0, cut: bool = False) -> None:
        """Note that the server refused a request of limiter `source`, and report it to other
        processes soon. `hold_s` are the seconds that the server asks to wait; `cut` says that
        `source` has halved its limit. The other limiters here follow at once."""
        heard = self._heard
        self._heard = heard._replace(
            hold_s=max(heard.hold_s, hold_s), was_cut=heard.was_cut or cut, was_refused=True
        )
        self._own_cut = self._own_cut or cut
        self._refused_at = self._clock()
        self._held_until = max(self._held_until, self._refused_at + hold_s)
        for limiter in self.limiters:
            if limiter is not source and hold_s:
                limiter.hold(hold_s)
            if limiter is not source and cut:
                limiter.cut()
        self._changed.set()

    def hear_answer(self) -> None:
        """Note that the server answered. Other processes learn of it if a refusal came before."""
        if self._refused_at is not None:
            self._refused_at = None
            self._heard = self._heard._replace(was_answered=True)

    def is_starving(self) -> bool:
        """Whether requests wait here, none is in flight, and the share lets none begin."""
        entering = sum(limiter.waiting + limiter.unsent for limiter in self.limiters)
        waiting = entering + len(self._waiting)
        idle = waiting > 0 and not self._local.in_flight
        return idle and not self._local.may_send(self._clock())

    # -- the task ----------------------------------------------------------------------------

    async def _renew_until_closed(self) -> None:
        while not self._closing:
            with suppress(TimeoutError):
                async with asyncio.timeout(CALM_S):
                    await self._changed.wait()
            self._changed.clear()
            if not self._closing and (self.limiters or self._local.in_flight):
                try:
                    await self._exchange()
                except Exception as error:
                    self._give_up(error)
                    return
                await asyncio.sleep(SOON_S / 8)  # a pause between exchanges, whatever happens

    def _give_up(self, error: Exception) -> None:
        """End the share: every request that waits, now or later, raises the error."""
        self.lost = error
        for waiter in self._waiting:
            waiter.reply.cancel()
        self._wake()

    def _renew_soon_unless(self, allowed: bool) -> bool:
        """Return `allowed`.

        If it is false, a request has to wait: then the share is renewed soon.
        """
        if not allowed and self._clock() - self._asked_at >= SOON_S:
            self._changed.set()
        return allowed

    async def _exchange(self) -> None:
        async with self._exchanging:
            await self._exchange_alone()

    async def _exchange_alone(self) -> None:
        waiting = [
            most_tokens(waiter.request) for waiter in self._waiting if not waiter.reply.done()
        ]
        unsent = sum(limiter.unsent for limiter in self.limiters)
        at_limiters = unsent + sum(limiter.waiting for limiter in self.limiters)
        claim = self._local.claim(
            self._clock(),
            waiting=at_limiters + len(waiting),
            needs_tokens=self._tokens.needs(waiting),
            entered=unsent,
        )
        heard, self._heard = self._heard, ShareClaim()
        claim = claim._replace(
            hold_s=heard.hold_s, was_cut=heard.was_cut, was_refused=heard.was_refused,
            was_answered=heard.was_answered,
        )  # fmt: skip
        try:
            await self._exchange_claim(claim, SHARE_S)
        except UNAVAILABLE:  # the share expires by itself
            self._local.not_told(claim)
            again = self._heard
            self._heard = heard._replace(
                hold_s=max(heard.hold_s, again.hold_s),
                was_cut=heard.was_cut or again.was_cut,
                was_refused=heard.was_refused or again.was_refused,
                was_answered=heard.was_answered or again.was_answered,
            )

    async def _exchange_claim(self, claim: ShareClaim, seconds: float) -> None:
        """Report a claim, and apply the granted share, which lasts for `seconds`; with 0 only
        report."""
        began = self._asked_at = self._clock()
        arguments = (self.key, self._configured_limits, self._own, claim, seconds)
        if isinstance(self._store, MemoryShares):
            answer = self._store.exchange(*arguments)
        else:
            answer = await asyncio.to_thread(self._store.exchange, *arguments)
        if seconds:
            self._local.take_in(claim, answer, began, seconds)
            self._pass_on(claim, answer)
            self._wake()

    def _pass_on(self, claim: ShareClaim, answer: GrantedShare) -> None:
        """Pass refusals and answers that other processes reported on to the limiters; then give
        free tokens to requests that wait for them."""
        now = self._clock()
        if answer.held_s > 0 or answer.cuts > (self._cuts or 0):
            self._refused_at = self._refused_at or now  # so that the next answer is reported
        if now + answer.held_s > self._held_until + CALM_S / 2:
            self._held_until = now + answer.held_s
            for limiter in self.limiters:
                limiter.hold(answer.held_s)
        if self._cuts is not None and answer.cuts > self._cuts and not self._own_cut:
            for limiter in self.limiters:
                limiter.cut()
        self._own_cut = self._own_cut and not claim.was_cut
        self._cuts = answer.cuts
        if answer.answered_s is not None and not claim.was_answered:
            for limiter in self.limiters:
                limiter.hear_of_answer(answer.answered_s)
        waiting = {
            _queued_request(waiter.request): waiter
            for waiter in self._waiting
            if not waiter.reply.done()
        }
        needs = [(place, most_tokens(waiter.request)) for place, waiter in waiting.items()]
        for place in self._tokens.serve(needs, now):
            waiting[place].reply.set_result(None)

    def _wake(self) -> None:
        for limiter in self.limiters:
            limiter.wake()


class KeyShares:
    """The open shares of this process, one for each provider key and its limits."""

    def __init__(self, store: KeyShareStore, clock: Callable[[], float] = passed_s) -> None:
        self._store = store
        self._clock = clock
        self._shares: dict[tuple[str, KeyLimits], KeyShare] = {}

    async def of(self, key: ProviderKey, limits: KeyLimits) -> KeyShare:
        """The open share of this key and its limits.

        A new share is opened if there is none, or if an error ended it.
        """
        share = self._shares.get((key.digest, limits))
        if share is None or share.lost is not None:
            share = KeyShare(key, limits, self._store, self._clock)
            await share.open()
            self._shares[key.digest, limits] = share
        elif not share.limiters:
            await share.refresh()
        return share

    def starving(self) -> list[ProviderKey]:
        """The keys for which requests wait here, none is in flight, and the share lets none
        begin."""
        return [share.key for share in self._shares.values() if share.is_starving()]

    async def close(self) -> None:
        """Give all shares back. They must not be used any more."""
        await asyncio.gather(*(share.close() for share in self._shares.values()))
        self._shares.clear()


def most_tokens(request: RequestSent) -> int:
    """The most tokens that a request may need: one per byte of its body, and its output limit."""
    return request.body_bytes + (most_output_tokens(request.parameters) or 0)


def tokens_used(outcome: EvaluationEvent) -> int | None:
    """The number of tokens that a request with this outcome used, input and output. 0 after an
    error that costs nothing; `None` if the number is not known."""
    if isinstance(outcome, ResponseReceived):
        usage = outcome.usage
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        return usage.input_tokens + usage.output_tokens
    return 0 if isinstance(outcome, ErrorRecorded) and costs_nothing(outcome) else None


def _queued_request(request: RequestSent) -> QueuedRequest:
    return QueuedRequest(request.originator_id, request.originator_version)
