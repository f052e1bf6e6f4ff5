"""What a worker sends within its share of a provider key's limits. Pure: the time is given.

Times are seconds of one monotonic clock of this host, those of a suspended machine included.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from failproof_es.core.limits.shared import GrantedShare, KeyLimits, ShareClaim, lowest_of

UNUSED_PART = 3
"""In the last of so many parts of its time nothing is sent under a share: what was sent before has
time to end before others have it."""
_ANY_NUMBER = 10**9
"""As high as a limit can be configured: more is neither wanted nor counted of one request."""


@dataclass(slots=True)
class Permit:
    """Tokens that are reserved for a request."""

    tokens: int
    era: int


class LocalShare:
    """The share that this process has of one provider key. Every call is instant."""

    def __init__(self, limits: KeyLimits) -> None:
        self._stated = limits
        self.limits = limits
        """Those that hold: the lowest that any worker states, as it was told last."""
        self.in_flight = 0
        self.usable_until = -inf
        """From then on nothing may be sent, unless it is renewed."""
        self._era = 0
        """Grows each time the share ended unused: what was reserved before is void."""
        self._cap = 0
        self._fair: int | None = None
        self._requests = 0
        self._tokens = 0
        self._reserved = 0
        self._used_requests = 0
        self._used_tokens = 0
        self._claims = 0
        self._before = (0, 0, 0)
        """What was in demand, and used of requests and tokens, when it was told last."""

    # -- sending -----------------------------------------------------------------------------

    def may_send(self, now: float, entered: int = 0) -> bool:
        """Whether one more request may be sent, beside so many that are about to be."""
        if not self.limits.any:
            return True
        if self._has_ended(now):
            return False
        if self.limits.concurrency is not None and self.in_flight + entered >= self._most_now:
            return False
        return self.limits.requests is None or self._requests > entered

    def send(self) -> None:
        """Note that a request is sent: `may_send` said that it may."""
        self.in_flight += 1
        self._used_requests += 1
        if self.limits.requests is not None:
            self._requests -= 1

    def end(self) -> None:
        """Note that a request that was sent has ended."""
        self.in_flight -= 1

    def reserve(self, tokens: int, now: float) -> Permit | None:
        """Reserve the tokens that a request may need at most; `None` if they are not free now.

        One that may need more than the limit of a minute waits until it has all of it.
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
        """Whether its tokens are reserved: if the share ended meanwhile, they are again now."""
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
        """Whether its tokens went with a share that ended: they must be reserved again."""
        limited = self.limits.tokens is not None
        return limited and permit.tokens > 0 and permit.era != self._era

    def settle(self, permit: Permit, used: int | None) -> None:
        """Replace reserved tokens by those that were used; `None` where nobody knows."""
        used = permit.tokens if used is None else max(0, min(used, _ANY_NUMBER))
        if permit.era != self._era:  # it counts as used already
            self._used_tokens += max(0, used - permit.tokens)
            return
        self._used_tokens += used
        self._reserved -= permit.tokens
        self._tokens += max(0, permit.tokens - used)

    # -- telling -----------------------------------------------------------------------------

    def claim(
        self, now: float, *, waiting: int, needs_tokens: int = 0, entered: int = 0
    ) -> ShareClaim:
        """What to tell now. What it does not keep may not be used from now on.

        `waiting` are the requests that wait for this share, `entered` those of them that have
        entered, `needs_tokens` the least that one of them waits for. Who waits for tokens keeps no
        place for what has not entered: another worker may have the tokens, and wait for the place.
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
        """Take back a claim that nobody answered. If it was heard, its uses count twice."""
        self._used_requests += claim.used_requests
        self._used_tokens += claim.used_tokens

    def take_in(
        self, claim: ShareClaim, answer: GrantedShare, began: float, seconds: float
    ) -> None:
        """Take in the answer to the last claim, which was made at that time for so long."""
        self.usable_until = began + seconds * (1 - 1 / UNUSED_PART)
        self._adopt(lowest_of([self._stated, answer.limits]))
        if answer.concurrency is not None:
            self._cap, self._fair = answer.concurrency, answer.fair
        if answer.requests is not None:
            self._requests += answer.requests - claim.keeps_requests
        if answer.tokens is not None:
            self._tokens += answer.tokens - claim.keeps_tokens

    def _adopt(self, limits: KeyLimits) -> None:
        """Go by these limits from now on."""
        if limits.concurrency is None:
            self._cap, self._fair = 0, None
        if limits.requests is None:
            self._requests = 0
        if (limits.tokens is None) != (self.limits.tokens is None):
            self._void()
        self.limits = limits

    def _void(self) -> None:
        """What was reserved may be used, and counts as used."""
        self._era += 1
        self._used_tokens += self._reserved
        self._tokens = self._reserved = 0

    @property
    def _most_now(self) -> int:
        """How many requests may be in flight: what others want is not filled again."""
        return self._cap if self._fair is None else min(self._cap, self._fair)

    def _has_ended(self, now: float) -> bool:
        """Whether nothing may be sent now. What it held is void then."""
        if now < self.usable_until:
            return False
        if self.usable_until > -inf:
            self.usable_until = -inf
            self._void()
            self._cap = self._requests = 0
        return True
