"""Workers whose requests wait for money, tokens and a slot: all that can happen next.

Each does what `Interpreter`, `ConcurrencyLimiter`, `KeyShare` and `SpendSlice` do, with the same
pure functions: `LocalShare`, `TokenQueue` and `share` of tokens and slots, `SliceBudget` and
`reserve` of money. Time is not counted: whatever ends may end at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from math import inf
from typing import Any
from uuid import UUID

from failproof_es.core.limits import KeyState, QueuedRequest, share
from failproof_es.core.spend import Charge, SpendState
from failproof_es.core.spend.slices import reserve, total_of
from tests.simulation.protocol.waiting_parts import Asking, Setting, Unsafe, Worker, copy_of

SHARE_S, _ENDED, _COUNTS_UNTIL = 15.0, 0.0, 1_000.0
_NEEDS, _USED = 2, 1
"""Tokens: what a request may need at most, and what it uses."""
_WORST, _CHARGE = Decimal(2), Decimal(1)
_NOTHING = Decimal(0)

Step = tuple[str, bool, Callable[["World"], None]]
"""What it is called, whether it leads on of itself (no mishap), and what it does."""


class World:
    """Everything there is."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.rules = setting.rules
        self.workers = [
            Worker(setting, number, number, SpendState()) for number in range(setting.workers)
        ]
        self.state = KeyState()
        self.rows: dict[int, SpendState] = {}
        self.held = self.paused = False
        self.turn = 0
        self.mishaps = setting.mishaps
        self.minute = 0
        """Tokens that were used within the present minute and are settled."""
        self.charged = _NOTHING

    def copy(self) -> World:
        """One that can change by itself."""
        new = copy_of(self)
        new.workers = [each.copy() for each in self.workers]
        new.rows = dict(self.rows)
        return new

    def key(self) -> tuple[Any, ...]:
        """What tells it from another one."""
        shares = (
            (
                own.int,
                held.concurrency,
                held.wanted_concurrency,
                held.tokens,
                held.waits,
                held.ends_at,
            )
            for own, held in sorted(self.state.shares.items())
        )
        return (
            tuple(each.key() for each in self.workers), tuple(shares), self.state.uses,
            tuple(sorted(self.rows.items())), self.held, self.paused, self.turn,
            self.mishaps, self.minute, self.charged,
        )  # fmt: skip

    @property
    def now(self) -> float:
        """It says only whose turn it is."""
        return 1.0 + 10.0 * self.turn

    @property
    def over(self) -> bool:
        """Whether nothing is left to be done: all is answered, or the ceiling is reached."""
        done = (each.phase == "done" for worker in self.workers for each in worker.asking)
        return self.paused or all(done)

    # -- what can happen -------------------------------------------------------------------

    def steps(self) -> Iterator[Step]:
        """All that can happen next."""
        if self.over:
            return
        if self.held:
            yield "the hold of the server ends", True, World._release
        if (
            self.minute
            or self.state.uses
            or any(held.ends_at == _ENDED for held in self.state.shares.values())
        ):
            yield "a minute passes", True, World._pass_a_minute
        if len(self.state.shares) > 1:
            yield "it is another's turn", True, World._turn
        living = [worker.own for worker in self.workers if worker.alive]
        for own, held in self.state.shares.items():
            if held.ends_at == inf and own not in living:
                yield (
                    f"the share of worker {own.int} ends",
                    True,
                    lambda new, own=own: (  # type: ignore[misc]
                        new._with_share(own, _ENDED)
                    ),
                )
        for at, worker in enumerate(self.workers):
            if worker.alive:
                yield from self._steps_of(at, worker)
            else:
                yield from self._steps_of_dead(at, worker)

    def _steps_of(self, at: int, worker: Worker) -> Iterator[Step]:
        name = f"worker {worker.own.int}"
        if self.setting.limits.any:
            yield f"{name} tells of its limits", True, lambda new: new._exchange(at)
        if self.setting.ceiling is not None:
            for late in (
                (False, True) if any(each.has_money for each in worker.asking) else (False,)
            ):
                told = f"{name} reports its spending" + (", 5 s later" if late else "")
                yield told, True, lambda new, late=late: new._report(at, late=late)  # type: ignore[misc]
        if worker.over:
            yield f"{name} begins its shard again", True, lambda new: new._begin_again(at)
        for number, each in enumerate(worker.asking):
            yield from self._steps_of_evaluation(at, number, f"{name} {number}", worker, each)
        if self.mishaps and "killed" in self.setting.kinds:
            yield f"{name} is killed", False, lambda new: new._kill(at)
        if self.mishaps and "cut off" in self.setting.kinds and worker.share.usable_until == inf:
            yield f"{name} is cut off for longer than its share", False, lambda new: new._cut(at)

    def _steps_of_dead(self, at: int, worker: Worker) -> Iterator[Step]:
        name = f"the shard of worker {worker.own.int}"
        living = [each for each in self.workers if each.alive]
        reserved = worker.number in self.rows and self.rows[worker.number].reserved
        if reserved and self.rules.dead_counted and any(each.refused for each in living):
            yield f"what {name} spent is counted", True, lambda new: new._count(at)
        if not living or any(each.over for each in living):
            yield f"{name} is taken over", True, lambda new: new._take_over(at)

    def _steps_of_evaluation(
        self, at: int, number: int, name: str, worker: Worker, each: Asking
    ) -> Iterator[Step]:
        if each.phase == "asks" and self._admits(worker, each):
            yield f"{name} enters", True, lambda new: new._enter(at, number)
        if each.phase == "begun" and self._may_go(worker):
            yield f"{name} sends if its tokens are there", True, lambda new: new._send(at, number)
        if each.phase == "sent":
            yield f"{name} is answered", True, lambda new: new._answer(at, number)
            if self.mishaps and "turned away" in self.setting.kinds:
                yield f"{name} is turned away", False, lambda new: new._turn_away(at, number)
        may_leave = self.mishaps and "left" in self.setting.kinds
        if may_leave and each.phase not in ("sent", "done", "left"):
            yield f"{name} is left", False, lambda new: new._leave(at, number)

    # -- a request -------------------------------------------------------------------------

    def _admits(self, worker: Worker, each: Asking) -> bool:
        if self.held:
            return False
        if each.keeps_place:
            return True
        inside = sum(other.inside for other in worker.asking)
        begun = sum(other.phase == "begun" for other in worker.asking)
        return inside < self.setting.places and worker.share.may_send(self.now, begun)

    def _may_go(self, worker: Worker) -> bool:
        return not self.held and worker.share.may_send(self.now)

    def _enter(self, at: int, number: int) -> None:
        """`Interpreter`: a place, then tokens, then money; what is there is given back."""
        worker = self.workers[at]
        each, place = worker.asking[number], _place(number)
        permit = each.permit or worker.queue.begin(place, _NEEDS, self.now)
        paid = permit is not None and self._reserved(worker, each)
        each.permit, each.keeps_place = permit, False
        if paid:
            each.phase = "begun"
            return
        each.phase = "for tokens" if permit is None else "for money"
        each.keeps_place = each.phase == self.rules.place_kept_by
        if permit is not None:
            worker.queue.settle(permit, 0)
            each.permit = None

    def _reserved(self, worker: Worker, each: Asking) -> bool:
        if self.setting.ceiling is None:
            return True
        self._keep_promise(worker, each)
        return worker.slice.reserve(_WORST)

    def _send(self, at: int, number: int) -> None:
        worker = self.workers[at]
        each = worker.asking[number]
        assert each.permit is not None
        if not worker.share.still_holds(each.permit, self.now):
            return
        worker.queue.send(each.permit)
        worker.share.send()
        each.phase, each.counted, each.is_covered = "sent", _NEEDS, True

    def _answer(self, at: int, number: int) -> None:
        self._ended(at, number, _USED, Charge(_CHARGE, is_known=True))
        self.workers[at].asking[number].phase = "done"

    def _turn_away(self, at: int, number: int) -> None:
        self._ended(at, number, 0, Charge(_NOTHING, is_known=True))
        self.workers[at].asking[number].phase = "asks"
        self.held = True
        self.mishaps -= 1

    def _ended(self, at: int, number: int, used: int, charge: Charge) -> None:
        worker = self.workers[at]
        each = worker.asking[number]
        assert each.permit is not None
        worker.queue.settle(each.permit, used)
        worker.share.end()
        self.minute += used if each.counted else 0
        each.permit, each.counted, each.is_covered = None, 0, False
        self._settle(worker, charge)

    def _settle(self, worker: Worker, charge: Charge) -> None:
        self.charged += charge.usd
        if self.setting.ceiling is not None:
            worker.slice.settle(_WORST, charge)

    def _leave(self, at: int, number: int) -> None:
        worker = self.workers[at]
        each = worker.asking[number]
        if each.phase == "begun":  # it is on record, and counts as lost
            self._settle(worker, Charge(_WORST, is_known=False))
        if each.permit is not None:
            worker.queue.settle(each.permit, 0)
            each.permit = None
        if self.rules.tokens_withdrawn:
            worker.queue.withdraw(_place(number))
        if self.rules.money_withdrawn:
            self._keep_promise(worker, each)
        each.phase, each.keeps_place = "left", False
        self.mishaps -= 1

    # -- limits ----------------------------------------------------------------------------

    def _exchange(self, at: int) -> None:
        """As `KeyShare` does, all of it at one moment."""
        worker, now = self.workers[at], self.now
        waiting = [
            (_place(number), _NEEDS)
            for number, each in enumerate(worker.asking)
            if each.phase == "for tokens"
        ]
        at_gate = sum(each.phase in ("asks", "begun") for each in worker.asking)
        needs = worker.queue.needs(tokens for _, tokens in waiting)
        claim = worker.share.claim(now, waiting=at_gate + len(waiting), needs_tokens=needs)
        self.state, answer = share(
            self.state, self.setting.limits, worker.own, claim, now=now, seconds=SHARE_S
        )
        worker.share.take_in(claim, answer, now, SHARE_S)
        for place in worker.queue.serve(waiting, now):
            worker.asking[place.version].phase = "asks"
        worker.share.usable_until = inf
        worker.share._claims = worker.share._used_requests = 0
        self._with_share(worker.own, inf)

    def _with_share(self, own: UUID, ends_at: float) -> None:
        held = replace(self.state.shares[own], ends_at=ends_at, claims=0)
        uses = sum(use[2] for use in self.state.uses)
        self.state = replace(
            self.state,
            shares={**self.state.shares, own: held},
            uses=((_COUNTS_UNTIL, 0, uses),) if uses else (),
        )

    def _cut(self, at: int) -> None:
        worker = self.workers[at]
        worker.share.usable_until = _ENDED
        worker.share.may_send(self.now)
        for each in worker.asking:
            each.is_covered = False
        if worker.own in self.state.shares:
            self._with_share(worker.own, _ENDED)
        self.mishaps -= 1

    def _release(self) -> None:
        self.held = False

    def _turn(self) -> None:
        self.turn = (self.turn + 1) % self.setting.workers

    def _pass_a_minute(self) -> None:
        self.minute = 0
        for worker in self.workers:
            for each in worker.asking:
                each.counted = 0
        live = {own: held for own, held in self.state.shares.items() if held.ends_at != _ENDED}
        self.state = replace(self.state, shares=live, uses=())

    # -- money -----------------------------------------------------------------------------

    def _report(self, at: int, *, late: bool) -> None:
        """As `SpendSlice` does. `late`: promises are old."""
        worker = self.workers[at]
        waiting = [each for each in worker.asking if each.phase == "for money"]
        give_back = worker.wanted_elsewhere or worker.refused
        if give_back and late and self.rules.promises_end:
            for each in worker.asking:
                self._keep_promise(worker, each)
        worker.wanted_elsewhere = False
        needs = _WORST if waiting else _NOTHING
        give_back = give_back and self.rules.unused_given_back
        report = worker.slice.report(needs, _NOTHING, give_back=give_back)
        if not self.rules.in_flight_kept:
            report = report._replace(keeps=report.keeps - worker.slice.own.reserved)
        ceiling = Decimal(self.setting.ceiling or 0)
        wanted = any(each.refused and each.alive for each in self.workers)
        rows, grant = reserve(ceiling, self.rows, worker.number, report, is_wanted=wanted)
        self.rows, worker.slice._reports = dict(rows), 0
        worker.slice.granted(grant)
        worker.wanted_elsewhere = wanted and not report.needs
        worker.refused = report.needs > _NOTHING and not grant.more
        for each in waiting:
            if worker.slice.reserve(_WORST):
                each.phase, each.has_money = "asks", True
            elif not worker.slice.may_fit_later(_WORST):
                self._pause(ceiling)

    def _pause(self, ceiling: Decimal) -> None:
        if self.charged + _WORST <= ceiling:
            raise Unsafe("the run is paused though the ceiling leaves room")
        self.paused = True

    def _keep_promise(self, worker: Worker, each: Asking) -> None:
        if each.has_money:
            worker.slice.settle(_WORST, Charge(_NOTHING, is_known=True))
            each.has_money = False

    # -- a worker --------------------------------------------------------------------------

    def _kill(self, at: int) -> None:
        worker = self.workers[at]
        worker.alive = False
        on_record = sum(each.phase in ("begun", "sent") for each in worker.asking)
        self.charged += on_record * _WORST
        spent = replace(worker.slice.own, reserved=_NOTHING)
        for _ in range(on_record):
            spent = spent.charging(Charge(_WORST, is_known=False))
        worker.slice.own = spent  # what the log says of the shard
        for each in worker.asking:
            self.minute += each.counted
            if each.phase != "done":
                each.phase, each.permit, each.has_money, each.counted = "asks", None, False, 0
            each.is_covered = False  # its share ends before others have it
        self.mishaps -= 1

    def _take_over(self, at: int) -> None:
        """By a process that begins anew. It counts in the log what the shard has spent."""
        dead = self.workers[at]
        new = Worker(self.setting, dead.number, dead.own.int + self.setting.workers, dead.slice.own)
        new.asking = [Asking(each.phase) for each in dead.asking]
        self._count(at)
        self.workers[at] = new

    def _count(self, at: int) -> None:
        self.rows[self.workers[at].number] = self.workers[at].slice.own

    def _begin_again(self, at: int) -> None:
        """Its shard is given up and claimed again: what is left of its slice is free."""
        worker = self.workers[at]
        if self.setting.ceiling is not None:
            for each in worker.asking:
                self._keep_promise(worker, each)
            report = worker.slice.report(_NOTHING, _NOTHING, give_back=True)
            rows, _ = reserve(worker.slice.ceiling, self.rows, worker.number, report)
            self.rows, worker.slice._reports = dict(rows), 0
        for each in worker.asking:
            each.phase = "asks" if each.phase == "left" else each.phase

    # -- what must hold --------------------------------------------------------------------

    def require_safe(self) -> None:
        """Raise `Unsafe` where more is promised or sent than is allowed."""
        setting = self.setting
        in_flight = sum(each.is_covered for worker in self.workers for each in worker.asking)
        if setting.slots is not None and in_flight > setting.slots:
            raise Unsafe(f"{in_flight} requests are in flight, {setting.slots} are allowed")
        counted = sum(each.counted for worker in self.workers for each in worker.asking)
        if setting.tokens is not None and self.minute + counted > setting.tokens:
            raise Unsafe(f"{self.minute + counted} tokens within a minute, not {setting.tokens}")
        if setting.ceiling is None:
            return
        on_record = sum(
            each.phase in ("begun", "sent") for worker in self.workers for each in worker.asking
        )
        if self.charged + on_record * _WORST > setting.ceiling:
            raise Unsafe("what is spent and in flight may cost more than the ceiling")
        if total_of(self.rows).committed > setting.ceiling:
            raise Unsafe("more is promised than the ceiling")
        if self.over and not self.paused:
            self._require_given_back()

    def _require_given_back(self) -> None:
        for worker in self.workers:
            if not worker.alive:
                continue
            kept = worker.share._reserved or worker.share.in_flight or worker.queue._promised
            if kept or worker.queue._unfinished or worker.slice.own.reserved:
                raise Unsafe(f"worker {worker.own.int} keeps something when all is done")


def _place(number: int) -> QueuedRequest:
    return QueuedRequest(UUID(int=0), number)
