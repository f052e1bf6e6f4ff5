"""Divides the limits of a provider key among workers. Pure.

`share` is the model of `store/functions/share_limits.sql`: a test compares them. Times are seconds
of the database's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil, floor, inf
from typing import NamedTuple
from uuid import UUID

MINUTE_S = 60.0
SAME_CUT_S = 2.0
"""Two workers whom the server tells within this time that they send too much count as one cut."""
REMEMBERED_S = 3600.0
"""Seconds for which an ended share is remembered, so that a late claim does not revive it."""
_TURN_S = 10.0
"""Seconds for which a worker has the remainder of a limit that does not divide evenly."""


@dataclass(frozen=True, slots=True)
class ProviderKey:
    """The owner of limits: a server together with the API keys that are used there.

    `digest` tells the keys of a server apart, by the names of the variables that hold them.
    """

    digest: str
    server: str


class KeyLimits(NamedTuple):
    """The configured limits of a provider key; `None` where there is none."""

    concurrency: int | None = None
    requests: int | None = None
    """Per minute."""
    tokens: int | None = None
    """Per minute."""

    @property
    def any(self) -> bool:
        """Whether any limit is set."""
        return self != NOT_LIMITED


NOT_LIMITED = KeyLimits()


class LateClaim(Exception):
    """A claim that arrives after a newer one of the same share: it changes nothing."""


class ShareClaim(NamedTuple):
    """A worker's report about a provider key, and the share that it asks for."""

    keeps_concurrency: int = 0
    """Concurrent requests that it keeps while it waits for the answer."""
    wants_concurrency: int = 0
    """Concurrent requests that it wants in total."""
    keeps_requests: int = 0
    wants_requests: int = 0
    """Requests wanted in addition to `keeps_requests`."""
    used_requests: int = 0
    """Requests sent since the last claim."""
    keeps_tokens: int = 0
    """Tokens that it keeps, those reserved for requests in flight included."""
    wants_tokens: int = 0
    used_tokens: int = 0
    waits: bool = False
    """Whether a request waits here: then all of `wants_tokens` is granted, or nothing."""
    hold_s: float = 0.0
    """Seconds from now for which the server asked for a pause."""
    was_cut: bool = False
    """Whether the server said that it was sent too much."""
    was_refused: bool = False
    was_answered: bool = False
    number: int = 1
    """Grows with each claim of a share. The newest claim changes nothing if it comes twice."""

    @property
    def has_news(self) -> bool:
        """Whether the claim reports anything about the server."""
        return self.hold_s > 0 or self.was_cut or self.was_refused or self.was_answered


class GrantedShare(NamedTuple):
    """A worker's share from now on, and all workers' reports about the server."""

    concurrency: int | None
    requests: int | None
    tokens: int | None
    fair: int | None
    """Requests that it may have in flight once those beyond have ended: other workers want them."""
    held_s: float = 0.0
    cuts: int = 0
    answered_s: float | None = None
    """Seconds since a worker last reported an answer; `None` if none did."""
    most_concurrency: int | None = None
    """The limit in force for all shares; likewise the next two."""
    most_requests: int | None = None
    most_tokens: int | None = None

    @property
    def limits(self) -> KeyLimits:
        """The limits in force for all shares."""
        return KeyLimits(self.most_concurrency, self.most_requests, self.most_tokens)


@dataclass(frozen=True, slots=True)
class WorkerShare:
    """The share of one worker: requests at once, and requests and tokens per minute that it holds.

    `ends_at` is the time at which it ends; `waits`: whether a request waits for it.
    """

    concurrency: int | None
    """`None` if no such limit is in force; likewise `requests` and `tokens`."""
    wanted_concurrency: int
    requests: int | None
    tokens: int | None
    waits: bool
    ends_at: float
    claims: int = 0
    """The number of the newest claim."""
    stated: KeyLimits = NOT_LIMITED
    """The limits that its worker was configured with."""


@dataclass(frozen=True, slots=True)
class KeyState:
    """The shares of a provider key, and the workers' reports about its server."""

    held_until: float = -inf
    cuts: int = 0
    cut_at: float = -inf
    answered_at: float = -inf
    shares: Mapping[UUID, WorkerShare] = field(default_factory=dict)
    uses: tuple[tuple[float, int, int], ...] = ()
    """(time until which they count, requests, tokens) of recent uses."""


def share(
    state: KeyState, limits: KeyLimits, own: UUID, claim: ShareClaim, *, now: float, seconds: float
) -> tuple[KeyState, GrantedShare]:
    """The state after a claim of the worker `own`, and the answer to it.

    The share is for `seconds` from `now`; with 0 it ends. `limits` are those that the worker was
    configured with. The lowest limits of all live shares are in force for every worker, also for
    one without limits. Raises `LateClaim` if a newer claim of this worker came before.
    """
    before = state.shares.get(own)
    other_shares = {
        worker: held
        for worker, held in state.shares.items()
        if worker != own and held.ends_at > now - REMEMBERED_S
    }
    live = {worker: held for worker, held in other_shares.items() if held.ends_at > now}
    lowest = lowest_of([limits, *(held.stated for held in live.values())])
    ends = seconds <= 0 and before is not None and before.ends_at > now
    noted = claim.has_news or lowest.any or ends
    if before is not None and noted:
        if before.claims > claim.number:
            raise LateClaim(f"claim {claim.number} comes after claim {before.claims}")
        if before.claims == claim.number:
            return state, _answer_without_share(state, lowest, now)._replace(
                concurrency=before.concurrency,
                requests=before.requests,
                tokens=before.tokens,
                fair=lowest.concurrency,
            )
    if claim.has_news:
        fresh = claim.was_cut and state.cut_at <= now - SAME_CUT_S
        state = replace(
            state,
            held_until=max(state.held_until, now + claim.hold_s),
            cuts=state.cuts + fresh,
            cut_at=now if claim.was_cut else state.cut_at,
            answered_at=now if claim.was_answered else state.answered_at,
        )
    if not noted:
        return state, _answer_without_share(state, lowest, now)
    if seconds <= 0:  # a share that ends keeps nothing
        lowest = KeyLimits(0, 0, 0)
    uses = tuple(use for use in state.uses if use[0] > now)
    if claim.used_requests or claim.used_tokens:
        uses += ((floor(now) + MINUTE_S + 1, claim.used_requests, claim.used_tokens),)
    counted = {
        worker: held for worker, held in other_shares.items() if held.ends_at > now - MINUTE_S
    }
    answer = _answer_without_share(state, lowest, now)._replace(
        **_concurrency(lowest.concurrency, own, claim, live, now),
        requests=_requests(lowest.requests, claim, counted, uses, now),
        tokens=_tokens(lowest.tokens, claim, counted, uses, now),
    )
    wanted_concurrency = claim.wants_concurrency
    if lowest.concurrency is not None:
        wanted_concurrency = min(wanted_concurrency, lowest.concurrency)
    shares = dict(other_shares)
    shares[own] = WorkerShare(
        answer.concurrency, wanted_concurrency, answer.requests, answer.tokens,
        claim.waits, now + seconds, claim.number, limits,
    )  # fmt: skip
    return replace(state, shares=shares, uses=uses), answer


def _answer_without_share(state: KeyState, lowest: KeyLimits, now: float) -> GrantedShare:
    """The answer to a claim, without a share: limits in force, pause, cuts and last answer."""
    return GrantedShare(
        None, None, None, None,
        max(0.0, state.held_until - now),
        state.cuts,
        None if state.answered_at == -inf else max(0.0, now - state.answered_at),
        *lowest,
    )  # fmt: skip


def lowest_of(stated: Iterable[KeyLimits]) -> KeyLimits:
    """For each kind of limit the lowest; `None` if none of them has it."""

    def lowest(limits: Iterable[int | None]) -> int | None:
        return min((limit for limit in limits if limit is not None), default=None)

    return KeyLimits(*map(lowest, zip(*stated, strict=True)))


def _concurrency(
    most: int | None, own: UUID, claim: ShareClaim, live: Mapping[UUID, WorkerShare], now: float
) -> dict[str, int]:
    if most is None:
        return {}
    fair = most
    if any(_starves(held) for held in live.values()):
        demanding = [worker for worker, held in live.items() if held.wanted_concurrency > 0]
        count = len(demanding) + 1
        place = sum(worker < own for worker in demanding) + floor(now / _TURN_S) % count
        fair = most // count + (place % count < most % count)
    target = max(claim.keeps_concurrency, min(claim.wants_concurrency, fair))
    free = most - sum(held.concurrency or 0 for held in live.values())
    return {"concurrency": max(0, min(free, target)), "fair": fair}


def _starves(held: WorkerShare) -> bool:
    return held.concurrency is not None and held.wanted_concurrency > held.concurrency


def _requests(
    most: int | None,
    claim: ShareClaim,
    shares: Mapping[UUID, WorkerShare],
    uses: tuple[tuple[float, int, int], ...],
    now: float,
) -> int | None:
    if most is None:
        return None
    free = most - sum(use[1] for use in uses) - sum(held.requests or 0 for held in shares.values())
    return rate_share(free, claim.keeps_requests, claim.wants_requests, 1 + _waiting(shares, now))


def _tokens(
    most: int | None,
    claim: ShareClaim,
    shares: Mapping[UUID, WorkerShare],
    uses: tuple[tuple[float, int, int], ...],
    now: float,
) -> int | None:
    if most is None:
        return None
    free = most - sum(use[2] for use in uses) - sum(held.tokens or 0 for held in shares.values())
    parts = 0 if claim.waits else 2 * (1 + _waiting(shares, now))
    return rate_share(free, claim.keeps_tokens, claim.wants_tokens, parts)


def rate_share(available: int, keeps: int, wants: int, parts: int) -> int:
    """The amount of a limit per minute that a share holds after a claim.

    `available` is neither used nor held by other shares. The share keeps `keeps`. Of the rest it
    gets what it wants, up to 1/`parts`; with 0 parts either all that it wants, or nothing.
    """
    rest = available - keeps
    whole = wants if wants <= rest else 0
    more = max(0, min(wants, ceil(rest / parts))) if parts else whole
    return max(0, min(available, keeps + more))


def _waiting(shares: Mapping[UUID, WorkerShare], now: float) -> int:
    return sum(held.waits and held.ends_at > now for held in shares.values())
