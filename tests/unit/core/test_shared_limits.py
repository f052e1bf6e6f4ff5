"""Limits that workers share: whatever they do, no limit is exceeded, and nobody waits for ever."""

from __future__ import annotations

from contextlib import suppress
from math import inf
from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as some

from failproof_es.core.limits import (
    NOT_LIMITED,
    KeyLimits,
    KeyState,
    LateClaim,
    LocalShare,
    ShareClaim,
    lowest_of,
    share,
)

SECONDS = 15.0
WORKERS = [UUID(int=n) for n in range(3)]


class Server:
    """What a server sees: requests in flight, and each request sent."""

    def __init__(self) -> None:
        self.sent: list[float] = []

    def most_in_a_minute(self) -> int:
        return max(
            (sum(then <= at < then + 60 for at in self.sent) for then in self.sent), default=0
        )


class Worker:
    """A worker that sends whatever its share lets it, and may be paused or lose answers."""

    def __init__(self, own: UUID, limits: KeyLimits) -> None:
        self.own = own
        self.stated = limits
        self.local = LocalShare(limits)


actions = some.lists(
    some.tuples(
        some.sampled_from(
            ["exchange"] * 3
            + ["send"] * 3
            + ["lost", "unheard", "late", "arrives", "twice", "end", "give back", "die"]
        ),
        some.integers(0, 2),
        some.sampled_from([0.0, 0.01, 1.0, 4.0, 9.9, 12.0, 40.0]),
    ),
    min_size=30,
    max_size=120,
)


@given(actions, some.integers(1, 7), some.integers(1, 12))
def test_no_limit_is_exceeded_whatever_is_lost_paused_or_killed(
    done: list[tuple[str, int, float]], concurrency: int, requests: int
) -> None:
    """`lost`: the answer does not arrive, `unheard`: the claim, which may arrive late, after others
    of its share. Clocks of hosts begin anywhere."""
    limits = KeyLimits(concurrency, requests)
    state, now, server = KeyState(), 1_000.0, Server()
    late: list[tuple[UUID, ShareClaim]] = []
    workers = [Worker(own, limits) for own in WORKERS]
    for what, index, passed in done:
        now += passed
        worker = workers[index]
        clock = now + 777 * index
        if what in ("exchange", "lost", "unheard", "late", "twice"):
            claim = worker.local.claim(clock, waiting=3)
            if what in ("exchange", "lost", "twice"):
                state, answer = share(state, limits, worker.own, claim, now=now, seconds=SECONDS)
            if what == "twice":
                again = share(state, limits, worker.own, claim, now=now, seconds=SECONDS)
                assert (state, answer[:3]) == (again[0], again[1][:3])
            if what == "late":
                late.append((worker.own, claim))
            if what in ("exchange", "twice"):
                worker.local.take_in(claim, answer, clock, SECONDS)
            else:
                worker.local.not_told(claim)
        elif what == "arrives" and late:
            own, claim = late.pop(0)
            with suppress(LateClaim):
                state, _ = share(state, limits, own, claim, now=now, seconds=SECONDS)
        elif what == "give back":
            claim = worker.local.claim(clock, waiting=0)
            given = ShareClaim(used_requests=claim.used_requests, number=claim.number)
            state, _ = share(state, limits, worker.own, given, now=now, seconds=0)
            workers[index] = Worker(UUID(int=worker.own.int + 10), limits)
            with pytest.raises(LateClaim):
                share(
                    state, limits, worker.own, ShareClaim(5, 5, number=0), now=now, seconds=SECONDS
                )
        elif what == "send":
            while worker.local.may_send(clock):
                worker.local.send()
                server.sent.append(now)
                assert state.shares[worker.own].ends_at > now, "its share is not another's yet"
        elif what == "end" and worker.local.in_flight:
            worker.local.end()
        elif what == "die":
            workers[index] = Worker(UUID(int=worker.own.int + 10), limits)
        live = [held for held in state.shares.values() if held.ends_at > now]
        assert sum(held.concurrency or 0 for held in live) <= concurrency
        usable = [
            each.local for n, each in enumerate(workers) if now + 777 * n < each.local.usable_until
        ]
        assert sum(local._most_now for local in usable) <= concurrency
        assert server.most_in_a_minute() <= requests


@pytest.mark.parametrize(
    "stated",
    [
        [KeyLimits(20), KeyLimits(5)],
        [KeyLimits(9, 90), KeyLimits(2), NOT_LIMITED],
        [KeyLimits(1), KeyLimits(2)],
        [KeyLimits(10**9, 10**9, 10**9), KeyLimits(3, 30, 900)],
        [KeyLimits(requests=60), KeyLimits(requests=20), KeyLimits(requests=40)],
        [KeyLimits(tokens=9_000), KeyLimits(tokens=600)],
        [NOT_LIMITED, KeyLimits(tokens=600)],
    ],
    ids=str,
)
@pytest.mark.long
def test_each_gets_its_part_whatever_limits_each_states(stated: list[KeyLimits]) -> None:
    """Each request takes half a second and 30 tokens."""
    lowest = lowest_of(stated)
    state = KeyState()
    workers = [Worker(own, limits) for own, limits in zip(WORKERS, stated, strict=False)]
    sent: dict[UUID, list[float]] = {worker.own: [] for worker in workers}
    order = Random(7)
    for turn in range(400):
        now = 1_000.0 + turn
        for worker in order.sample(workers, len(workers)):
            local = worker.local
            while local.in_flight:
                local.end()
            claim = local.claim(now, waiting=9, needs_tokens=30)
            said = worker.stated
            state, answer = share(state, said, worker.own, claim, now=now, seconds=SECONDS)
            local.take_in(claim, answer, now, SECONDS)
            for _ in range(9):
                if local.may_send(now) and (permit := local.reserve(30, now)) is not None:
                    local.send()
                    local.settle(permit, 30)
                    sent[worker.own].append(now)
        if turn and lowest.concurrency is not None:
            assert sum(each.local.in_flight for each in workers) <= lowest.concurrency
    later = sorted(at for each in sent.values() for at in each if at >= 1_100)
    if lowest.requests is not None or lowest.tokens is not None:
        most = min(lowest.requests or 10**9, (lowest.tokens or 10**9) // 30)
        assert max(sum(then <= at < then + 60 for at in later) for then in later) <= most
    counts = [len(each) for each in sent.values()]
    assert min(counts) > 0.3 * max(counts), counts


@given(some.integers(1, 6), some.integers(2, 3))
def test_each_worker_gets_its_part_even_of_a_limit_below_their_number(
    limit: int, count: int
) -> None:
    limits = KeyLimits(concurrency=limit)
    state = KeyState()
    workers = [Worker(own, limits) for own in WORKERS[:count]]
    turns = dict.fromkeys(WORKERS[:count], 0)
    for second in range(90):
        now = 1_000.0 + second
        for worker in workers:
            while worker.local.in_flight:  # each request takes less than a second
                worker.local.end()
            claim = worker.local.claim(now, waiting=9)
            state, answer = share(state, limits, worker.own, claim, now=now, seconds=SECONDS)
            worker.local.take_in(claim, answer, now, SECONDS)
            while worker.local.may_send(now):
                worker.local.send()
                turns[worker.own] += 1
        assert sum(worker.local.in_flight for worker in workers) <= limit
    assert min(turns.values()) > 0.5 * max(turns.values()), turns


def test_a_share_that_ended_comes_back_and_what_it_held_of_a_minute_a_minute_later() -> None:
    limits = KeyLimits(concurrency=4, requests=10)
    claim = ShareClaim(wants_concurrency=4, wants_requests=10)
    state, first = share(KeyState(), limits, WORKERS[0], claim, now=0, seconds=SECONDS)
    assert (first.concurrency, first.requests) == (4, 10)
    for now, expected in ((14, (0, 0)), (16, (4, 0)), (74, (4, 0)), (76, (4, 10))):
        _, second = share(state, limits, WORKERS[1], claim, now=now, seconds=SECONDS)
        assert (second.concurrency, second.requests) == expected, now


def test_what_is_given_back_is_free_at_once_and_what_was_used_is_not() -> None:
    limits = KeyLimits(requests=10)
    state, _ = share(
        KeyState(), limits, WORKERS[0], ShareClaim(wants_requests=10), now=0, seconds=SECONDS
    )
    given_back = ShareClaim(used_requests=3, number=2)
    state, _ = share(state, limits, WORKERS[0], given_back, now=5, seconds=0)
    _, answer = share(
        state, limits, WORKERS[1], ShareClaim(wants_requests=10), now=5, seconds=SECONDS
    )
    assert answer.requests == 7
    _, later = share(
        state, limits, WORKERS[1], ShareClaim(wants_requests=10), now=66, seconds=SECONDS
    )
    assert later.requests == 10


def test_tokens_are_given_whole_to_who_waits_and_settled_by_what_was_used() -> None:
    limits = KeyLimits(tokens=100)
    local = LocalShare(limits)
    claim = local.claim(0, waiting=1, needs_tokens=80)
    state, answer = share(KeyState(), limits, WORKERS[0], claim, now=0, seconds=SECONDS)
    local.take_in(claim, answer, 0, SECONDS)
    permit = local.reserve(80, 0)
    assert permit is not None and local.reserve(80, 0) is None
    waits = ShareClaim(wants_tokens=30, waits=True)
    assert share(state, limits, WORKERS[1], waits, now=1, seconds=SECONDS)[1].tokens == 0
    local.settle(permit, 10)
    claim = local.claim(2, waiting=0)
    assert (claim.used_tokens, claim.keeps_tokens) == (10, 20)
    state, _ = share(state, limits, WORKERS[0], claim, now=2, seconds=SECONDS)
    assert share(state, limits, WORKERS[1], waits, now=2, seconds=SECONDS)[1].tokens == 30


def test_more_tokens_than_a_minute_has_wait_for_all_of_them() -> None:
    local = LocalShare(KeyLimits(tokens=50))
    claim = local.claim(0, waiting=1, needs_tokens=999)
    assert claim.wants_tokens == 50
    _, answer = share(KeyState(), local.limits, WORKERS[0], claim, now=0, seconds=SECONDS)
    local.take_in(claim, answer, 0, SECONDS)
    assert local.reserve(999, 0) is not None


def test_what_was_reserved_under_a_share_that_ended_is_void() -> None:
    local = LocalShare(KeyLimits(tokens=50))
    claim = local.claim(0, waiting=1, needs_tokens=50)
    state, answer = share(KeyState(), local.limits, WORKERS[0], claim, now=0, seconds=SECONDS)
    local.take_in(claim, answer, 0, SECONDS)
    permit = local.reserve(50, 1)
    assert permit is not None and local.still_holds(permit, 9)
    assert not local.still_holds(permit, 10.01), "a third before the end nothing is sent any more"
    claim = local.claim(30, waiting=1)
    assert claim.used_tokens == 50, "it may have been sent"
    _, answer = share(state, local.limits, WORKERS[0], claim, now=30, seconds=SECONDS)
    local.take_in(claim, answer, 30, SECONDS)
    assert not local.still_holds(permit, 30)


def test_what_one_was_told_the_others_hear_and_two_cuts_at_once_are_one() -> None:
    told = ShareClaim(hold_s=30, was_cut=True, was_refused=True)
    state, _ = share(KeyState(), NOT_LIMITED, WORKERS[0], told, now=100, seconds=SECONDS)
    state, second = share(state, NOT_LIMITED, WORKERS[1], told, now=101, seconds=SECONDS)
    assert (second.held_s, second.cuts) == (30, 1)
    state, third = share(state, NOT_LIMITED, WORKERS[2], told, now=110, seconds=SECONDS)
    assert (third.held_s, third.cuts) == (30, 2)
    answered = ShareClaim(was_answered=True, number=2)
    state, heard = share(state, NOT_LIMITED, WORKERS[0], answered, now=139, seconds=SECONDS)
    assert (heard.held_s, heard.answered_s) == (1, 0)
    _, over = share(state, NOT_LIMITED, WORKERS[1], ShareClaim(), now=141, seconds=SECONDS)
    assert (over.held_s, over.cuts, over.answered_s) == (0, 2, 2)


def test_without_limits_nothing_has_to_be_asked() -> None:
    local = LocalShare(NOT_LIMITED)
    assert local.may_send(inf, entered=10_000)
    assert local.reserve(10**9, 0) is not None


@pytest.mark.parametrize("every_s", [0.9, 3.0, 5.63])
@pytest.mark.parametrize("first", [0, 1])
def test_a_place_and_tokens_are_not_held_apart_for_ever(every_s: float, first: int) -> None:
    """One worker has the tokens of its request, another the only place and too few tokens.

    Both tell seldom: a simulated history did not end, because the place went round in ten seconds.
    """
    limits = KeyLimits(concurrency=1, tokens=600)
    state = KeyState()
    with_tokens, with_place = LocalShare(limits), LocalShare(limits)
    owns = WORKERS[first], WORKERS[1 - first]

    def tell(local: LocalShare, own: UUID, now: float, waiting: int, needs_tokens: int) -> None:
        nonlocal state
        claim = local.claim(now, waiting=waiting, needs_tokens=needs_tokens)
        state, answer = share(state, limits, own, claim, now=now, seconds=SECONDS)
        local.take_in(claim, answer, now, SECONDS)

    tell(with_place, owns[1], 0.0, 1, 0)
    tell(with_tokens, owns[0], 0.1, 1, 322)
    assert with_tokens.reserve(322, 0.1) is not None
    rounds = round(60 / every_s)
    for number in range(1, rounds):
        now = 0.3 + number * every_s
        tell(with_tokens, owns[0], now, 1, 0)
        if with_tokens.may_send(now):
            break
        tell(with_place, owns[1], now + 0.36, 1, 324)
    assert with_tokens.may_send(now)
