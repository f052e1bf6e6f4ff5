"""The concurrency limiter of one server: every request to that server passes it.

It is open until the server complains. A `Retry-After` then holds back every request to that
server, and a 429 lowers the number of concurrent requests (`server_limit`). Each change is passed
on to be recorded. A server that refuses everything for longer than the run waits makes the run
pause: `pause_reason` says so.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from failproof_es.core.limits import Permit
from failproof_es.engine.limits.fair_semaphore import FairSemaphore
from failproof_es.engine.limits.key_share import NO_TOKENS, KeyShare
from failproof_es.engine.limits.server_limit import Limit, Reason, is_outage
from failproof_es.events import Disposition, RequestSent
from failproof_es.models.protocol import RATE_LIMIT_KINDS, ModelError
from failproof_es.support import clock


@dataclass(frozen=True, slots=True)
class LimitUpdate:
    """A limit that was changed, as `LimitChanged` records it."""

    server: str
    models: tuple[str, ...]
    limit_before: int
    limit_after: int
    reason: Reason
    retry_after_s: float | None
    held_until: datetime | None


class ConcurrencyLimiter:
    """Limits the requests to one server, in the event loop of one run.

    `models` are the keys of the server's models, `ceiling` is the maximum of concurrent requests.
    `semaphore` limits the requests that the run has in flight on all of its servers; a request that
    waits for this server holds none of its slots. `max_wait_s` is how long the server may refuse
    everything.
    """

    def __init__(
        self,
        server: str,
        models: Sequence[str],
        ceiling: int,
        semaphore: FairSemaphore,
        max_wait_s: float,
    ) -> None:
        self.server = server
        self.max_wait_s = max_wait_s
        self.pause_reason: str | None = None
        """Why the run must pause instead of waiting for the server; `None` while it may wait."""
        self.refused_elsewhere: str | None = None
        """Why the run must stop waiting, if the server told another process so; else `None`."""
        self._models = tuple(models)
        self._limit = Limit.open(ceiling)
        self._semaphore = semaphore
        self._inside = 0
        """Requests that have entered, those in flight included."""
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._held_back: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._held_elsewhere = False
        """Whether the server told another process of the hold. That process records the hold."""
        self.share: KeyShare | None = None
        """Its share of limits that belong to more than this limiter; `None` without such limits."""
        self.on_change: Callable[[LimitUpdate], None] = lambda change: None

    def restore(self, allowed: int, held_until: datetime | None) -> None:
        """Continue with the limit of an earlier drive.

        `allowed` is its number of concurrent requests. No request is sent before `held_until`;
        `None` if the server did not ask to wait.
        """
        self._limit = replace(self._limit, allowed=max(1, min(allowed, self._limit.ceiling)))
        left_s = (held_until - clock.utc_now()).total_seconds() if held_until else 0.0
        if left_s > 0:
            self._limit = self._limit.hold(clock.monotonic_s(), left_s)
            self._wake_when_released()

    @property
    def ceiling(self) -> int:
        """The maximum of concurrent requests while the server does not complain."""
        return self._limit.ceiling

    @property
    def is_open(self) -> bool:
        """Whether a request could enter now without waiting."""
        return self._admits and self._semaphore.is_available

    async def acquire(self) -> bool:
        """Wait until a request may be prepared, and count it until `release`.

        False once the run stops, or must stop waiting for the server: then nothing is to be
        released. Raises the error that ended its share of limits.
        """
        while not self._closed and self.refused_elsewhere is None:
            if self.share is not None:
                self.share.require()
            if not self._admits:
                await self._wait_in(self._waiting)
                continue
            await self._semaphore.acquire(self.server)
            if self._admits and not self._closed:  # the wait may have been long
                self._inside += 1
                return True
            self._semaphore.release(self.server)
        return False

    async def wait_to_send(self, permit: Permit = NO_TOKENS) -> float | None:
        """Wait, right before sending, while the server asks to wait or the limit is reached.

        Either may happen after `acquire`. Returns the time of sending, in seconds of the monotonic
        clock, or `None` if the run or its share of limits ends before that. `permit` is what
        `reserve_tokens` gave.
        """
        while not self._closed and not self._shares_nothing and not self._may_go(permit):
            self._semaphore.release(self.server)
            try:
                await self._wait_in(self._held_back)
            finally:
                await self._semaphore.acquire(self.server)
        if not self._may_go(permit):
            return None
        self._under_way += 1
        if self.share is not None:
            self.share.send(permit)
        return clock.monotonic_s()

    def on_answer(self, sent_at: float) -> None:
        """Note that the request sent at `sent_at` (seconds of the monotonic clock) was answered."""
        before = self._limit
        self._limit = before.after_answer(sent_at)
        self.pause_reason = None
        if self.share is not None:
            self.share.hear_answer()
        if self._limit.allowed != before.allowed:
            self._report_change(before, "recovered", None)

    def disposition_of(self, error: ModelError, prompt_id: UUID) -> Disposition:
        """The disposition of an error of this case: `deferred` if the server is down.

        Otherwise that of the error.
        """
        if not is_outage(error):
            return error.disposition
        self._limit = self._limit.after_outage(prompt_id)
        return "deferred" if self._limit.is_down else error.disposition

    def on_error(
        self, sent_at: float, kind: str, retry_after_s: float | None, *, deferred: bool = False
    ) -> None:
        """Note that the request sent at `sent_at` (seconds of the monotonic clock) failed.

        `kind` is the kind of its error, `retry_after_s` are the seconds that the server asks to
        wait; `None` if it did not ask. `deferred` is whether its disposition is `deferred`.
        """
        before, now = self._limit, clock.monotonic_s()
        if kind in RATE_LIMIT_KINDS:
            self._limit = self._limit.after_rate_limit(sent_at, now)
        turned_away = deferred or kind in RATE_LIMIT_KINDS or retry_after_s is not None
        if turned_away:
            self._limit = self._limit.after_refusal(sent_at)
        if retry_after_s:
            self._limit = self._limit.hold(now, retry_after_s)
            self._held_elsewhere = False
            self._wake_when_released()
        if turned_away and self.share is not None:
            cut = self._limit.cut_at != before.cut_at
            self.share.hear(self, hold_s=retry_after_s or 0.0, cut=cut)
        if self._limit.holds_longer_than(before) or self._limit.allowed != before.allowed:
            reason: Reason = "rate_limited" if kind in RATE_LIMIT_KINDS else "retry_after"
            self._report_change(before, reason, retry_after_s)
        if turned_away and self._limit.refusing_for_s(now) >= self.max_wait_s:
            self.pause_reason = self._describe_refusal(now)

    def reserve_tokens(self, request: RequestSent) -> Permit | None:
        """Reserve the tokens of a request, until `release`.

        `None` if it must wait (`wait_for_tokens`).
        """
        return NO_TOKENS if self.share is None else self.share.reserve(request)

    async def wait_for_tokens(self, request: RequestSent, stop: asyncio.Event) -> None:
        """Wait until the request's tokens are free and kept for it, or until `stop` is set.

        Call it after `release`: the request must hold no slot meanwhile.
        """
        if self.share is not None:
            await self.share.wait_for_tokens(request, stop)

    def withdraw(self, request: RequestSent) -> None:
        """Free the tokens that are kept for a request since `wait_for_tokens`, if it will not be
        sent."""
        if self.share is not None:
            self.share.withdraw(request)

    def release(
        self, *, was_sent: bool, permit: Permit | None = None, used: int | None = None
    ) -> None:
        """End a request that `acquire` let in, whatever its outcome.

        `was_sent` says whether `wait_to_send` let it through. `used` is the number of tokens that
        it used of its `permit`; `None` if that is not known.
        """
        self._inside -= 1
        self._under_way -= was_sent
        if self.share is not None:
            if permit is not None:
                self.share.settle(permit, used if was_sent else 0)
            if was_sent:
                self.share.end()
        self._semaphore.release(self.server)
        self._wake()

    def close(self) -> None:
        """Admit no more requests: `acquire` returns false to all that wait."""
        self._closed = True
        self._wake(everyone=True)
        if self._timer is not None:
            self._timer.cancel()

    # -- what other processes were told ----------------------------------------------------

    def hold(self, seconds: float) -> None:
        """Send nothing for `seconds`: the server told another process so, which records it."""
        before = self._limit
        self._limit = before.hold(clock.monotonic_s(), seconds)
        self._held_elsewhere = self._held_elsewhere or before.held_until is None
        if seconds >= self.max_wait_s:
            self.refused_elsewhere = (
                f"{self.server} asks to wait {seconds:.0f} s, as another worker was told, longer "
                f"than the {self.max_wait_s:g} s of `execution.rate_limit_wait_ms`"
            )
            self.wake()
        self._wake_when_released()

    def cut(self) -> None:
        """Halve the limit: another process got a 429 of the server, and records it."""
        now = clock.monotonic_s()
        self._limit = self._limit.after_rate_limit(now, now)

    def hear_of_answer(self, seconds_ago: float) -> None:
        """Note that the server answered another process `seconds_ago`, so it does not refuse
        everything."""
        self._limit = self._limit.after_answer_elsewhere(clock.monotonic_s() - seconds_ago)
        if self._limit.refused_since is None:
            self.pause_reason = None

    # -- inside ----------------------------------------------------------------------------

    @property
    def unsent(self) -> int:
        """The number of requests that were let in and are not sent yet."""
        return self._inside - self._under_way

    @property
    def waiting(self) -> int:
        """The number of requests that wait in `acquire`."""
        return len(self._waiting)

    def wake(self) -> None:
        """Wake all waiting requests; each checks again whether it may go on."""
        self._wake(everyone=True)

    @property
    def _shares_nothing(self) -> bool:
        """Whether its share has ended: requests that wait here are never sent."""
        return self.share is not None and self.share.lost is not None

    @property
    def _admits(self) -> bool:
        return (
            self._inside < self._limit.allowed
            and self._limit.held_until is None
            and (self.share is None or self.share.may_begin())
        )

    def _may_go(self, permit: Permit) -> bool:
        return (
            self._under_way < self._limit.allowed
            and self._limit.held_until is None
            and (self.share is None or self.share.may_send(permit))
        )

    def _describe_refusal(self, now: float) -> str:
        """The message that the server has refused every request for too long, or asks to wait too
        long. `now` is in seconds of the monotonic clock."""
        assert self._limit.refused_since is not None
        past_s = now - self._limit.refused_since
        allowed = f"longer than the {self.max_wait_s:g} s of `execution.rate_limit_wait_ms`"
        if past_s >= self.max_wait_s:
            return f"{self.server} has turned every request away for {past_s:.0f} s, {allowed}"
        more_s = (self._limit.held_until or now) - now
        until = clock.utc_now() + timedelta(seconds=more_s)
        since = f"has turned every request away for {past_s:.0f} s and " if past_s >= 1 else ""
        end = f"until {until:%Y-%m-%dT%H:%M:%SZ}"
        return f"{self.server} {since}asks to wait {more_s:.0f} s, {allowed}, {end}"

    @staticmethod
    async def _wait_in(queue: deque[asyncio.Future[None]]) -> None:
        waiter = asyncio.get_running_loop().create_future()
        queue.append(waiter)
        await waiter

    def _wake(self, *, everyone: bool = False) -> None:
        allowed = 0 if self._limit.held_until is not None else self._limit.allowed
        for queue, occupied in ((self._held_back, self._under_way), (self._waiting, self._inside)):
            free = allowed - occupied
            while queue and (everyone or free > 0):
                waiter = queue.popleft()
                if not waiter.done():
                    waiter.set_result(None)
                    free -= 1

    def _wake_when_released(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._closed or self._limit.held_until is None:
            return
        left_s = max(0.0, self._limit.held_until - clock.monotonic_s())
        self._timer = asyncio.get_running_loop().call_later(left_s, self._release)

    def _release(self) -> None:
        before = self._limit
        self._limit = before.after_hold(clock.monotonic_s())
        if before.held_until is None:
            return
        if self._limit.held_until is not None:  # the timer came a moment early
            self._wake_when_released()
            return
        if not self._held_elsewhere:
            self._report_change(before, "released", None)
        self._held_elsewhere = False
        self._wake()

    def _report_change(self, before: Limit, reason: Reason, retry_after_s: float | None) -> None:
        held_until = None
        if self._limit.held_until is not None:
            remaining = timedelta(seconds=self._limit.held_until - clock.monotonic_s())
            held_until = clock.utc_now() + remaining
        self.on_change(
            LimitUpdate(
                self.server, self._models, before.allowed, self._limit.allowed, reason,
                retry_after_s, held_until,
            )
        )  # fmt: skip
