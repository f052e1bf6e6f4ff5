"""Workers, and what each of them believes, in the exploration of waiting; its rules, its sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal, TypeVar
from uuid import UUID

from failproof_es.core.limits import KeyLimits, LocalShare, Permit, TokenQueue
from failproof_es.core.spend import SliceBudget, SpendState

T = TypeVar("T")
Phase = Literal["asks", "for tokens", "for money", "begun", "sent", "done", "left"]
"""It asks for a place at its server, waits for tokens or money, has a request on record that is not
sent, one that is, or an answer; or it was left: a stop, or a lease that may have ended."""


class Unsafe(Exception):
    """Something happens that must not."""


@dataclass(frozen=True)
class Rules:
    """The protocol of waiting; a test breaks one of them at a time."""

    queue: type[TokenQueue] = TokenQueue
    place_kept_by: Phase | None = None
    """Who waits for this keeps its place at the server. By our rules nobody does."""
    money_withdrawn: bool = True
    """What was promised to an evaluation is free once that is left; so are tokens."""
    tokens_withdrawn: bool = True
    promises_end: bool = True
    """Where others wait, promised money is free after some seconds."""
    unused_given_back: bool = True
    """Where others wait, or one waits itself, money that no request has is given back."""
    dead_counted: bool = True
    """Who waits for money frees what was reserved for a dead worker, whose shard nobody takes."""
    in_flight_kept: bool = True
    """What requests in flight may cost stays reserved."""


@dataclass(frozen=True)
class Setting:
    """How many there are, what they may have, and how much may go wrong."""

    workers: int = 2
    evaluations: int = 1
    """Of each worker."""
    slots: int | None = 1
    """Over all workers."""
    places: int = 1
    """Of each worker."""
    tokens: int | None = 3
    ceiling: int | None = 3
    mishaps: int = 2
    kinds: frozenset[str] = frozenset({"killed", "cut off", "left", "turned away"})
    rules: Rules = Rules()

    @property
    def limits(self) -> KeyLimits:
        """Of the provider key."""
        return KeyLimits(self.slots, None, self.tokens)


@dataclass(slots=True)
class Asking:
    """One evaluation."""

    phase: Phase = "asks"
    permit: Permit | None = None
    has_money: bool = False
    """Whether money is promised to it."""
    keeps_place: bool = False
    """Whether it waits with a place at the server, which no rule of ours allows."""
    counted: int = 0
    """Tokens that it sent within the present minute and are not settled."""
    is_covered: bool = False
    """Whether it is in flight under a share that has not ended since it was sent."""

    @property
    def inside(self) -> bool:
        """Whether it has a place at the server."""
        return self.keeps_place or self.phase in ("begun", "sent")


class Worker:
    """One worker, which drives one shard."""

    def __init__(self, setting: Setting, number: int, own: int, spent: SpendState) -> None:
        self.number = number
        self.own = UUID(int=own)
        self.alive = True
        self.share = LocalShare(setting.limits)
        self.queue = setting.rules.queue(self.share)
        self.slice = SliceBudget(Decimal(setting.ceiling or 0), spent)
        self.refused = self.wanted_elsewhere = False
        self.asking = [Asking() for _ in range(setting.evaluations)]

    def copy(self) -> Worker:
        """Another one, which can change by itself."""
        new = copy_of(self)
        permits: dict[int, Permit] = {}

        def permit_of(permit: Permit) -> Permit:
            return permits.setdefault(id(permit), replace(permit))

        new.share, new.slice = copy_of(self.share), copy_of(self.slice)
        new.queue = copy_of(self.queue)
        new.queue._share = new.share
        new.queue._unfinished = [permit_of(each) for each in self.queue._unfinished]
        new.queue._promised = {at: permit_of(each) for at, each in self.queue._promised.items()}
        new.asking = [
            Asking(  # `replace` takes three times as long, and this is what is done most
                each.phase,
                None if each.permit is None else permit_of(each.permit),
                each.has_money,
                each.keeps_place,
                each.counted,
                each.is_covered,
            )
            for each in self.asking
        ]
        return new

    def key(self) -> tuple[Any, ...]:
        """What tells it from another one."""
        share, own = self.share, self.slice

        def of_permit(permit: Permit | None) -> tuple[int, bool] | None:
            return None if permit is None else (permit.tokens, share.is_void(permit))

        return (
            self.alive, self.own.int, self.refused, self.wanted_elsewhere,
            share.usable_until, share.limits, share._cap, share._fair, share._tokens,
            share._reserved, share._used_tokens, share._before, share.in_flight,
            tuple(map(of_permit, self.queue._unfinished)),
            tuple((at.version, of_permit(each)) for at, each in self.queue._promised.items()),
            own.room, own.own, own.spending.spent,
            tuple(
                (
                    each.phase, of_permit(each.permit), each.has_money, each.keeps_place,
                    each.counted, each.is_covered,
                )
                for each in self.asking
            ),
        )  # fmt: skip

    @property
    def over(self) -> bool:
        """Whether it can do no more for its evaluations."""
        return all(each.phase in ("done", "left") for each in self.asking)


def copy_of(one: T) -> T:
    """Another one with the same attributes."""
    new = object.__new__(type(one))
    vars(new).update(vars(one))
    return new
