"""Explores every order in which workers can claim, renew, release and write under leases.

What a worker knows may be old: it goes on with the epoch that it got last, however late. The time
is not counted: a live lease may end at any moment.

A shard has one question here, which stands for all of its evaluations. A worker that claims the
shard reads how far it is, asks if there is no reply, and records the reply.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

from failproof_es.core.sharding import leases as rules_of_leases
from failproof_es.core.sharding.leases import RUN_ITSELF, LeaseRow, Leases

_NOW = 0.0
_SECONDS = 1.0
_LIVING, _GONE = 1, 0
"""Sessions: one that its process has, one that was cut or whose process is dead."""

Known = Literal["nothing", "open", "asked", "lost", "replied"]
"""What a worker knows of its shard: before it has read, no reply is there, it has asked itself,
another one asked and nobody knows what became of it, the reply is there."""


@dataclass(frozen=True)
class Rules:
    """The protocol, by function: a test puts a broken one in the place of each."""

    claim: Callable[..., tuple[Leases, int | None]] = rules_of_leases.claim
    renew: Callable[..., tuple[Leases, bool]] = rules_of_leases.renew
    release: Callable[..., tuple[Leases, bool]] = rules_of_leases.release
    may_append: Callable[..., bool] = rules_of_leases.may_append


class View(NamedTuple):
    """What a worker believes of a lease that it claimed."""

    epoch: int
    alone: bool
    known: tuple[Known, ...]
    """Of the shard, or of each shard where it holds the run alone."""


class State(NamedTuple):
    """All there is: the rows, what is on record of each shard, what each worker believes."""

    rows: tuple[LeaseRow | None, ...]
    """Of the run itself, then of each shard."""
    log: tuple[int, ...]
    """Of each shard: 0 where no question is open, the epoch's number above 0 of who asked,
    -1 once the reply is there."""
    workers: tuple[tuple[View, ...], ...]
    """Of each worker its view of the run itself, then of each shard."""


_REPLIED = -1
_NO_VIEW = View(0, False, ())
"""Of a lease that a worker does not think that it has."""


class Unsafe(Exception):
    """The protocol lets something happen that must not."""


@dataclass(frozen=True)
class Explored:
    """How much was explored."""

    states: int
    steps: int


@dataclass(frozen=True)
class Explorer:
    """Workers and shards, and the epochs up to which they are explored."""

    workers: int = 3
    shards: int = 2
    most_epochs: int = 2
    runs_alone: bool = False
    """Whether workers also claim the run with all its shards."""
    rules: Rules = Rules()

    def explore(self) -> Explored:
        """Visit every state. Raises `Unsafe`, with how it came to it."""
        gc.disable()  # all that is made here is kept, and holds no cycle
        try:
            return self._explored()
        finally:
            gc.enable()

    def _explored(self) -> Explored:
        begin = State(
            (None,) * (self.shards + 1),
            (0,) * self.shards,
            ((_NO_VIEW,) * (self.shards + 1),) * self.workers,
        )
        before: dict[State, tuple[State, str] | None] = {begin: None}
        waiting = deque([begin])
        steps = 0
        while waiting:
            state = waiting.popleft()
            try:
                self._require_safe(state)
                for did, after in self._steps(state):
                    steps += 1
                    after = _canonical(after)
                    if after not in before:
                        before[after] = state, did
                        waiting.append(after)
            except Unsafe as unsafe:
                story = "\n".join([*_story(before, state), str(unsafe)])
                raise Unsafe(f"{unsafe}, after\n{story}") from None
        return Explored(len(before), steps)

    # -- what can happen -------------------------------------------------------------------

    def _steps(self, state: State) -> Iterator[tuple[str, State]]:
        for place, row in enumerate(state.rows):
            if row is not None and row.ends_at > _NOW:
                ended = _with_row(state, place, row._replace(ends_at=_NOW))
                yield f"the lease {place - 1} ends", ended
        for worker, views in enumerate(state.workers):
            name = f"worker {worker}"
            if any(view.epoch for view in views):
                yield f"{name} dies", self._cut(state, worker, dies=True)
                yield f"{name} loses its session", self._cut(state, worker, dies=False)
            for place, view in enumerate(views):
                if not view.epoch:
                    if place or self.runs_alone:
                        yield from self._claim(name, state, worker, place)
                else:
                    yield from self._held(name, state, worker, place, view)

    def _claim(
        self, name: str, state: State, worker: int, place: int
    ) -> Iterator[tuple[str, State]]:
        shard, alone = place - 1, place == 0
        claimed, epoch = self._claimed(state, shard, alone=alone)
        if epoch is None or epoch > self.most_epochs:
            return
        self._require_free(state, place, alone)
        unread: Known = "nothing"
        known = (unread,) * (self.shards if alone else 1)
        after = _with_view(state, worker, place, View(epoch, alone, known))
        if any(row is not None and row.epoch > self.most_epochs for row in claimed):
            return
        yield f"{name} claims {shard}: epoch {epoch}", after._replace(rows=claimed)

    def _held(
        self, name: str, state: State, worker: int, place: int, view: View
    ) -> Iterator[tuple[str, State]]:
        shard = place - 1
        yield from self._renew(name, state, worker, place, view)
        row = state.rows[place]
        released, _ = self.rules.release(_leases(state), shard, view.epoch, now=_NOW)
        after = _rows(released, self.shards)
        if after[place] != row and (row is None or row.epoch != view.epoch):
            raise Unsafe(f"{name} released a lease of another")
        without = _with_view(state, worker, place, _NO_VIEW)
        yield f"{name} releases {shard}", without._replace(rows=after)
        for at, each in enumerate(range(self.shards) if view.alone else (shard,)):
            yield from self._write(name, state, worker, place, view, at, each)

    def _renew(
        self, name: str, state: State, worker: int, place: int, view: View
    ) -> Iterator[tuple[str, State]]:
        shard, row = place - 1, state.rows[place]
        renewed, held = self.rules.renew(
            _leases(state), shard, view.epoch, now=_NOW, seconds=_SECONDS, session=_LIVING
        )
        if held:
            if row is None or row.ends_at <= _NOW:
                raise Unsafe(f"{name} renewed a lease that had ended")
            if row.epoch != view.epoch:
                raise Unsafe(f"{name} renewed a lease of another")
            yield f"{name} renews {shard}", state._replace(rows=_rows(renewed, self.shards))
            return
        claimed, epoch = self._claimed(state, shard, alone=view.alone, after_epoch=view.epoch)
        if epoch is None:
            yield f"{name} has lost {shard}", _with_view(state, worker, place, _NO_VIEW)
        elif epoch <= self.most_epochs and not any(
            each is not None and each.epoch > self.most_epochs for each in claimed
        ):
            if row is None or row.epoch != view.epoch:
                raise Unsafe(f"{name} goes on with a lease that another had meanwhile")
            after = _with_view(state, worker, place, view._replace(epoch=epoch))
            yield f"{name} claims {shard} again: epoch {epoch}", after._replace(rows=claimed)

    def _write(
        self, name: str, state: State, worker: int, place: int, view: View, at: int, shard: int
    ) -> Iterator[tuple[str, State]]:
        """Read the shard; or append what follows from what the worker knows of it."""
        known, on_record = view.known[at], state.log[shard]
        if known == "replied":
            return

        def knowing(now: Known) -> State:
            told = (*view.known[:at], now, *view.known[at + 1 :])
            return _with_view(state, worker, place, view._replace(known=told))

        if known == "nothing":
            read: Known = "replied" if on_record == _REPLIED else "lost" if on_record else "open"
            yield f"{name} reads shard {shard}: {read}", knowing(read)
            return
        if not self.rules.may_append(_leases(state), [(place - 1, view.epoch)]):
            return  # it gets to know that the lease was lost: as when it renews it
        self._require_present(name, state, place, view)
        if known == "open":
            if on_record == _REPLIED:
                raise Unsafe(f"{name} asks for a reply that is on record")
            yield f"{name} asks", _with_log(knowing("asked"), shard, view.epoch)
        elif known == "lost":
            if on_record == _REPLIED:
                raise Unsafe(f"{name} records as lost what has its reply on record")
            yield f"{name} records the request as lost", _with_log(knowing("open"), shard, 0)
        elif known == "asked":
            if on_record <= 0:
                raise Unsafe(f"{name} records a reply where no question is open")
            yield f"{name} records the reply", _with_log(knowing("replied"), shard, _REPLIED)

    def _cut(self, state: State, worker: int, *, dies: bool) -> State:
        """The session of this worker is gone; it knows nothing of that, or nothing any more."""
        rows = list(state.rows)
        for place, view in enumerate(state.workers[worker]):
            row = rows[place]
            if row is not None and row.epoch == view.epoch:
                rows[place] = row._replace(session=_GONE if row.session is not None else None)
        after = state._replace(rows=tuple(rows))
        if dies:
            none = (_NO_VIEW,) * (self.shards + 1)
            workers = (*state.workers[:worker], none, *state.workers[worker + 1 :])
            after = after._replace(workers=workers)
        return after

    def _claimed(
        self, state: State, shard: int, *, alone: bool, after_epoch: int | None = None
    ) -> tuple[tuple[LeaseRow | None, ...], int | None]:
        claimed, epoch = self.rules.claim(
            _leases(state),
            shard,
            now=_NOW,
            seconds=_SECONDS,
            session=_LIVING,
            alone=alone,
            after_epoch=after_epoch,
            is_gone=lambda session: session == _GONE,
        )
        return _rows(claimed, self.shards), epoch

    # -- what must hold --------------------------------------------------------------------

    def _require_present(self, name: str, state: State, place: int, view: View) -> None:
        row = state.rows[place]
        if row is None or row.epoch != view.epoch:
            raise Unsafe(f"{name} appends under an epoch that is over")

    def _require_free(self, state: State, place: int, alone: bool) -> None:
        for other, row in enumerate(state.rows):
            concerned = other == place or alone or (row is not None and row.alone and place > 0)
            if row is None or not concerned or row.ends_at <= _NOW or row.session == _GONE:
                continue
            raise Unsafe(f"the lease {other - 1} is held, and {place - 1} was claimed")

    def _require_safe(self, state: State) -> None:
        """No two may write for one shard; and who holds nothing can take what nobody keeps."""
        leases = _leases(state)
        for shard in range(self.shards):
            writers = [
                worker
                for worker, views in enumerate(state.workers)
                for place, view in enumerate(views)
                if view.epoch
                and (place == shard + 1 or view.alone)
                and self.rules.may_append(leases, [(place - 1, view.epoch)])
            ]
            if len(writers) > 1:
                raise Unsafe(f"workers {writers} may all write for shard {shard}")
            if state.log[shard] != _REPLIED:
                self._require_claimable(leases, shard)

    def _require_claimable(self, leases: Leases, shard: int) -> None:
        """Once every lease that nobody renews has ended, somebody can claim the shard."""
        ended = {
            number: row._replace(ends_at=min(row.ends_at, _NOW)) for number, row in leases.items()
        }
        _, epoch = self.rules.claim(ended, shard, now=_NOW, seconds=_SECONDS)
        if epoch is None:
            raise Unsafe(f"nobody can ever claim shard {shard}")


def _leases(state: State) -> Leases:
    return _by_shard(state.rows)


@cache
def _by_shard(rows: tuple[LeaseRow | None, ...]) -> Leases:
    return {place - 1: row for place, row in enumerate(rows) if row is not None}


def _rows(leases: Leases, shards: int) -> tuple[LeaseRow | None, ...]:
    return tuple(leases.get(number) for number in range(RUN_ITSELF, shards))


def _with_row(state: State, place: int, row: LeaseRow) -> State:
    return state._replace(rows=(*state.rows[:place], row, *state.rows[place + 1 :]))


def _with_log(state: State, shard: int, on_record: int) -> State:
    return state._replace(log=(*state.log[:shard], on_record, *state.log[shard + 1 :]))


def _with_view(state: State, worker: int, place: int, view: View) -> State:
    views = state.workers[worker]
    changed = (*views[:place], view, *views[place + 1 :])
    return state._replace(workers=(*state.workers[:worker], changed, *state.workers[worker + 1 :]))


def _canonical(state: State) -> State:
    """The same state for all names that its workers and its shards can have."""
    rows, log, workers = state
    one = State(rows, log, tuple(sorted(workers)))
    if len(log) != 2:
        return one
    swapped = tuple(
        sorted([(_swapped(of_run), second, first) for of_run, first, second in workers])
    )
    other = State((rows[0], rows[2], rows[1]), (log[1], log[0]), swapped)
    return one if hash(one) <= hash(other) else other


def _swapped(view: View) -> View:
    return view._replace(known=view.known[::-1]) if view.alone else view


def _story(before: dict[State, tuple[State, str] | None], state: State) -> list[str]:
    """How it came to this state. The names of workers hold within one line."""
    story = []
    while (came := before[state]) is not None:
        state, did = came
        story.append(did)
    return story[::-1]
