"""The order in which requests get the tokens of a share. Pure: time is an argument."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

from failproof_es.core.limits.local_share import LocalShare, Permit


class QueuedRequest(NamedTuple):
    """A request, by the stream and the version of its event."""

    stream: UUID
    version: int


class TokenQueue:
    """The requests of one share that have tokens and are not sent, or that wait for tokens.

    A request that has begun keeps its slot at its server. If the share ends meanwhile, the request
    loses its tokens, and must get new ones before any other request: a request that was promised
    tokens would wait for the slot, and both would wait for ever. So tokens go first to requests
    that have begun, then to those that wait.
    """

    def __init__(self, share: LocalShare) -> None:
        self._share = share
        self._unfinished: list[Permit] = []
        """Permits of requests that have begun and are not sent."""
        self._promised: dict[QueuedRequest, Permit] = {}
        """Permits of requests that waited for them, until the requests begin."""

    def begin(self, place: QueuedRequest, tokens: int, now: float) -> Permit | None:
        """Reserve `tokens` for a request that begins now; `None` if it must wait.

        Tokens that were promised to it (`serve`) are used first.
        """
        promised = self._promised.pop(place, None)
        if any(map(self._share.is_void, self._unfinished)):
            return None
        if promised is not None and self._share.still_holds(promised, now):
            permit: Permit | None = promised
        else:
            permit = self._share.reserve(tokens, now)
        if permit is not None and permit.tokens:
            self._unfinished.append(permit)
        return permit

    def needs(self, waiting: Iterable[int]) -> int:
        """The number of tokens to ask for; 0 if no request lacks any.

        `waiting` are the amounts that requests wait for.
        """
        void = (permit.tokens for permit in self._unfinished if self._share.is_void(permit))
        return next(void, 0) or min(waiting, default=0)

    def serve(
        self, waiting: Iterable[tuple[QueuedRequest, int]], now: float
    ) -> list[QueuedRequest]:
        """Promise tokens to waiting requests, as far as they suffice; return those requests.

        `waiting` are the requests in order, each with its tokens.
        """
        if not all(self._share.still_holds(permit, now) for permit in self._unfinished):
            return []
        served = []
        for place, tokens in waiting:
            if (permit := self._share.reserve(tokens, now)) is not None:
                self._promised[place] = permit
                served.append(place)
        return served

    def withdraw(self, place: QueuedRequest) -> bool:
        """Take back the tokens promised to this request. Return whether there were any."""
        promised = self._promised.pop(place, None)
        if promised is not None:
            self._share.settle(promised, 0)
        return promised is not None

    def send(self, permit: Permit) -> None:
        """Mark the permit's request as sent: from now on the share may end."""
        self._unfinished = [other for other in self._unfinished if other is not permit]

    def settle(self, permit: Permit, used: int | None) -> None:
        """Replace a permit's tokens by the number that its request used.

        `None`: unknown, so that all reserved ones count as used.
        """
        self.send(permit)
        self._share.settle(permit, used)
