"""Who gets the tokens of a share first. Pure: the time is given."""

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
    """The requests of one share that have tokens and are not sent, or wait for some.

    A request that has begun keeps its place at its server. If the share ended meanwhile, its tokens
    are gone, and nobody else may get any before it: who is promised tokens then waits for that
    place, and both would wait for ever. So tokens go first to who has begun, then to who waits.
    """

    def __init__(self, share: LocalShare) -> None:
        self._share = share
        self._unfinished: list[Permit] = []
        """Of requests that have begun and are not sent."""
        self._promised: dict[QueuedRequest, Permit] = {}
        """Of requests that waited for them, until they begin."""

    def begin(self, place: QueuedRequest, tokens: int, now: float) -> Permit | None:
        """Reserve the tokens of a request that begins now; `None` where it must wait."""
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
        """The tokens to ask for, where these many are waited for; 0 for none in particular."""
        void = (permit.tokens for permit in self._unfinished if self._share.is_void(permit))
        return next(void, 0) or min(waiting, default=0)

    def serve(
        self, waiting: Iterable[tuple[QueuedRequest, int]], now: float
    ) -> list[QueuedRequest]:
        """Promise tokens to those that wait for so many, as far as there are enough."""
        if not all(self._share.still_holds(permit, now) for permit in self._unfinished):
            return []
        served = []
        for place, tokens in waiting:
            if (permit := self._share.reserve(tokens, now)) is not None:
                self._promised[place] = permit
                served.append(place)
        return served

    def withdraw(self, place: QueuedRequest) -> bool:
        """Keep nothing for this request any more. Returns whether something was."""
        promised = self._promised.pop(place, None)
        if promised is not None:
            self._share.settle(promised, 0)
        return promised is not None

    def send(self, permit: Permit) -> None:
        """Note that its request is sent: the share may end from now on."""
        self._unfinished = [other for other in self._unfinished if other is not permit]

    def settle(self, permit: Permit, used: int | None) -> None:
        """Replace reserved tokens by those that were used; `None` where nobody knows."""
        self.send(permit)
        self._share.settle(permit, used)
