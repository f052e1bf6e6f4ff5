"""Limits a worker's requests to its share of a provider key's limits. Pure: time is an argument.

Times are seconds of a monotonic clock of this host that also runs while the machine is suspended.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from failproof_es.core.limits.shared import GrantedShare, KeyLimits, ShareClaim, lowest_of

UNUSED_PART = 3
"""Nothing is sent in the last 1/`UNUSED_PART` of a share's time, so that requests in flight have
time to end before other workers get the share."""
_ANY_NUMBER = 10**9
"""The highest limit that can be configured: no claim asks for more, no request counts as more."""


@dataclass(slots=True)
class Permit:
    """A reservation of tokens for one request. `era` counts how often reservations ended before."""

    tokens: int
    era: int


class LocalShare:
    """This process's share of one provider key's limits. No call blocks."""

    def __init__(self, limits: KeyLimits) -> None:
        self._stated = limits
        self.limits = limits
        """The limits in force: the lowest that any worker is configured with, by the last answer.
        """
        self.in_flight = 0
        self.usable_until = -inf
        """The time from which nothing may be sent, unless the share is renewed."""
        self._era = 0
        """Grows each time that all reservations become void, as when the share ends."""
        self._cap = 0
        self._fair: int | None = None
        self._requests = 0
        self._tokens = 0
        self._reserved = 0
        self._used_requests = 0
        self._used_tokens = 0
        self._claims = 0
        self._before = (0, 0, 0)
        """The demand, used requests and used tokens at the last claim."""

    # -- sending -----------------------------------------------------------------------------

    def may_send(self, now: float, entered: int = 0) -> bool:
        """Whether one more request may be sent, in addition to `entered` that are about to be.

        Always true if no limit is in force.
        """
        if not self.limits.any:
            return True
        if self._has_ended(now):
            return False
        if self.limits.concurrency is not None and self.in_flight + entered >= self._most_now:
            return False
        return self.limits.requests is None or self._requests > entered

    def send(self) -> None:
        """Count a request as sent, after `may_send` allowed it."""
        self.in_flight += 1
        self._used_requests += 1
        if self.limits.requests is not None:
            self._requests -= 1

    def end(self) -> None:
        """Count a sent request as ended."""
        self.in_flight -= 1

    def reserve(self, tokens: int, now: float) -> Permit | None:
        """Reserve `tokens`, the most that a request may need; `None` if they are not free now.

        A request that may need more than the limit per minute waits for the whole limit.
        """
        if self.limits.tokens is None:
            return Permit(0, self._era)
        tokens = min(tokens, self.limits.tokens)
        if self._has_ended(now) or tokens > self._tokens:
            return None
        self._tokens -= tokens
        self._reserved += tokens
        return Permit(tokens, self._era)

    def still_holds(self, permit: Permit, now: float) -> bool:
        """Whether the permit's tokens are reserved.

        If they were lost, tries to reserve them anew.
        """
        if self.limits.tokens is None:
            return True
        if self._has_ended(now):
            return False
        if permit.tokens and permit.era != self._era:
            again = self.reserve(permit.tokens, now)
            if again is None:
                return False
            permit.tokens, permit.era = again.tokens, again.era
        return True

    def is_void(self, permit: Permit) -> bool:
        """Whether the permit lost its tokens because its share ended: reserve them again."""
        limited = self.limits.tokens is not None
        return limited and permit.tokens > 0 and permit.era != self._era

    def settle(self, permit: Permit, used: int | None) -> None:
        """Replace a permit's tokens by the number that its request used.

        `None`: unknown, so that all reserved ones count as used.
        """
        used = permit.tokens if used is None else max(0, min(used, _ANY_NUMBER))
        if permit.era != self._era:  # the void reservation counts as used already
            self._used_tokens += max(0, used - permit.tokens)
            return
        self._used_tokens += used
        self._reserved -= permit.tokens
        self._tokens += max(0, permit.tokens - used)

    # -- claiming ----------------------------------------------------------------------------

    def claim(
        self, now: float, *, waiting: int, needs_tokens: int = 0, entered: int = 0
    ) -> ShareClaim:
        """The claim to send now. From now on the share is only what the claim keeps.

        `waiting` is the number of requests that wait for this share, `entered` the number of them
        that have begun, `needs_tokens` the least number of tokens that one of them waits for. While
        it waits for tokens, a worker keeps no slot for requests that have not begun: another worker
        may have the tokens, and wait for the slot.
        """
        self._has_ended(now)
        demand = self.in_flight + waiting
        latest, used_requests, used_tokens = self._before
        self._before = demand, self._used_requests, self._used_tokens
        most_at_once, most_requests, most_tokens = (
            _ANY_NUMBER if most is None else most for most in self.limits
        )
        wants = min(max(demand, latest), most_at_once)
        self._cap = min(self._most_now, wants)
        if needs_tokens:
            self._cap = min(self._cap, self.in_flight + entered)
        requests = min(waiting + 2 * max(used_requests, self._used_requests), most_requests)
        self._requests = min(self._requests, requests)
        tokens = 2 * max(used_tokens, self._used_tokens)
        if needs_tokens:
            self._tokens = 0
            tokens = needs_tokens
        tokens = min(tokens, most_tokens)
        self._claims += 1
        self._tokens = min(self._tokens, tokens)
        claim = ShareClaim(
            max(self._cap, min(self.in_flight, most_at_once)), wants,
            self._requests, requests - self._requests, self._used_requests,
            self._tokens + self._reserved, tokens - self._tokens, self._used_tokens,
            waits=waiting > 0, number=self._claims,
        )  # fmt: skip
        self._used_requests = self._used_tokens = 0
        return claim

    def not_told(self, claim: ShareClaim) -> None:
        """Take back a claim without an answer: its uses are reported again with the next claim.

        If the claim did arrive, its uses count twice.
        """
        self._used_requests += claim.used_requests
        self._used_tokens += claim.used_tokens

    def take_in(
        self, claim: ShareClaim, answer: GrantedShare, began: float, seconds: float
    ) -> None:
        """Apply the answer to the last claim.

        `began` is the time of the claim, `seconds` is for how long the share was claimed.
        """
        self.usable_until = began + seconds * (1 - 1 / UNUSED_PART)
        self._adopt(lowest_of([self._stated, answer.limits]))
        if answer.concurrency is not None:
            self._cap, self._fair = answer.concurrency, answer.fair
        if answer.requests is not None:
            self._requests += answer.requests - claim.keeps_requests
        if answer.tokens is not None:
            self._tokens += answer.tokens - claim.keeps_tokens

    def _adopt(self, limits: KeyLimits) -> None:
        """Put these limits in force."""
        if limits.concurrency is None:
            self._cap, self._fair = 0, None
        if limits.requests is None:
            self._requests = 0
        if (limits.tokens is None) != (self.limits.tokens is None):
            self._void_reservations()
        self.limits = limits

    def _void_reservations(self) -> None:
        """End all reservations: their tokens may have been used, so they count as used."""
        self._era += 1
        self._used_tokens += self._reserved
        self._tokens = self._reserved = 0

    @property
    def _most_now(self) -> int:
        """Maximum number of requests in flight. Slots that others want are not filled again."""
        return self._cap if self._fair is None else min(self._cap, self._fair)

    def _has_ended(self, now: float) -> bool:
        """Whether the share has ended; if so, ends its reservations and gives up its slots."""
        if now < self.usable_until:
            return False
        if self.usable_until > -inf:
            self.usable_until = -inf
            self._void_reservations()
            self._cap = self._requests = 0
        return True
