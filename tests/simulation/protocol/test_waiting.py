"""Waiting for money, tokens and a slot, explored whole for a few workers; and broken on purpose."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from failproof_es.core.limits import Permit, QueuedRequest, TokenQueue
from tests.selection import slow_except, wide_except
from tests.simulation.protocol.waiting_explorer import Stuck, explore
from tests.simulation.protocol.waiting_parts import Rules, Setting, Unsafe

ALONE = Setting(workers=1, evaluations=2, slots=None)
SETTINGS = {
    "one worker": replace(ALONE, mishaps=0),
    "one worker, tokens": replace(ALONE, ceiling=None, mishaps=1),
    "one worker, money": replace(ALONE, tokens=None, mishaps=1),
    "two workers, slots and tokens": Setting(ceiling=None, mishaps=0),
    "two workers, money": Setting(slots=None, tokens=None, mishaps=1),
}
LARGE = {
    "one worker": replace(ALONE, mishaps=1),
    "one worker, tokens": replace(ALONE, ceiling=None, mishaps=2),
    "two workers, slots and tokens": Setting(ceiling=None, mishaps=1),
    "two workers, slots and money": Setting(tokens=None, mishaps=0),
    "two workers, two evaluations": Setting(2, 2, slots=None, tokens=None, ceiling=4, mishaps=0),
}
_EACH_RULE = {"one worker", "two workers, two evaluations"}


@pytest.mark.slow
@pytest.mark.parametrize("name", wide_except(_EACH_RULE, LARGE))
@pytest.mark.wide
def test_nobody_waits_in_a_circle_where_more_can_happen(name: str) -> None:
    """The same, over tens of thousands of states."""
    explored = explore(LARGE[name])
    print(f"{name}: {explored}")
    assert explored.states > 10_000, explored


@pytest.mark.parametrize("name", SETTINGS)
def test_nobody_waits_in_a_circle(name: str) -> None:
    """Never is more promised than allowed, and from every state something leads to the end."""
    explored = explore(SETTINGS[name])
    print(f"{name}: {explored}")
    assert explored.states > 400, explored


class AsWaitersOnly(TokenQueue):
    """Who has begun is not asked for, as it was at first."""

    def begin(self, place: QueuedRequest, tokens: int, now: float) -> Permit | None:
        promised = self._promised.pop(place, None)
        return promised or self._share.reserve(tokens, now)


class NewcomersFirst(TokenQueue):
    """Tokens are asked for who has begun, and given to who waits."""

    def serve(
        self, waiting: Iterable[tuple[QueuedRequest, int]], now: float
    ) -> list[QueuedRequest]:
        kept, self._unfinished = self._unfinished, []
        served = super().serve(waiting, now)
        self._unfinished = kept
        return served


class NeverSettled(TokenQueue):
    """Tokens that a request did not use are not given back."""

    def settle(self, permit: Permit, used: int | None) -> None:
        self.send(permit)


LIMITS = SETTINGS["one worker, tokens"]
MONEY = SETTINGS["one worker, money"]
SHARED = SETTINGS["two workers, money"]
PARTS = LARGE["two workers, two evaluations"]
BROKEN: dict[str, tuple[Setting, Rules]] = {
    "promised money of an evaluation that is left stays promised": (
        MONEY,
        Rules(money_withdrawn=False, promises_end=False),
    ),
    "promised tokens of an evaluation that is left stay promised": (
        LIMITS,
        Rules(tokens_withdrawn=False),
    ),
    "who waits for money keeps its place": (
        SETTINGS["one worker"],
        Rules(place_kept_by="for money", promises_end=False),
    ),
    "nobody gives back money that it does not use": (PARTS, Rules(unused_given_back=False)),
    "what was reserved for a dead worker stays reserved": (SHARED, Rules(dead_counted=False)),
    "money in flight is given back": (SHARED, Rules(in_flight_kept=False)),
    "nobody asks for tokens for who has begun": (LIMITS, Rules(queue=AsWaitersOnly)),
    "tokens go to who waits before who has begun": (LIMITS, Rules(queue=NewcomersFirst)),
    "tokens are not settled": (LIMITS, Rules(queue=NeverSettled)),
}


QUICK = {name for name in BROKEN if name != "nobody gives back money that it does not use"}
"""The other one takes two evaluations of two workers, and tens of thousands of states."""


@pytest.mark.parametrize("name", slow_except(QUICK, BROKEN))
@pytest.mark.thinned(fast=3, whole=6)
def test_what_is_broken_is_found(name: str) -> None:
    setting, rules = BROKEN[name]
    with pytest.raises((Unsafe, Stuck)) as found:
        explore(replace(setting, rules=rules))
    print(f"{name}: {found.type.__name__}: {found.value}")
