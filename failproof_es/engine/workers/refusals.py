"""The runs that this host cannot drive, and until when each is left to other hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

from failproof_es.engine.history import UNREADABLE
from failproof_es.engine.preflight.record import Say
from failproof_es.problems import InvalidInput
from failproof_es.support import clock

TRY_AGAIN_S = 30.0
"""Seconds until a worker that waits for work tries a refused run again, doubled after each further
refusal up to `LONGEST_WITHOUT_S`."""
LONGEST_WITHOUT_S = 600.0


def unreadable(error: Exception) -> InvalidInput:
    """The error with which a run is refused whose record cannot be read; `error` is that of reading
    it."""
    return InvalidInput.because(
        "log-changed", str(error), remedy="`failproof-es verify` says what was changed"
    )


class RefusedWork:
    """The runs that this host cannot drive, and why. With `for_good` no run is tried again.

    It calls `let_go` with a run that is refused: no more shards of it are to be taken.
    """

    def __init__(self, say: Say, let_go: Callable[[UUID], None], *, for_good: bool) -> None:
        self.why: dict[UUID, InvalidInput] = {}
        """The reason by run, as long as the run is left to others."""
        self._say = say
        self._let_go = let_go
        self._for_good = for_good
        self._times: dict[UUID, tuple[int, float]] = {}
        """By run, the number of its refusals, and until when the last one holds, by the monotonic
        clock."""

    def add(self, run_id: UUID, error: InvalidInput) -> None:
        """Leave the run to other hosts, and say so: for a while, longer after each refusal, or for
        good. Something that it needs is missing here."""
        times, _ = self._times.get(run_id, (0, 0.0))
        without_s = min(TRY_AGAIN_S * 2.0 ** min(times, 30), LONGEST_WITHOUT_S)
        self._times[run_id] = times + 1, clock.monotonic_s() + without_s
        self.why[run_id] = error
        reasons = "; ".join(str(problem) for problem in error.problems)
        again = "" if self._for_good else f"; tried again in {without_s:.0f} s"
        self._let_go(run_id)
        self._say(f"run {run_id} cannot be driven here: {reasons}{again}")

    def add_unexpected(self, run_id: UUID, error: Exception) -> None:
        """Report an unexpected error, and leave the run to other hosts, which may drive it."""
        self._say(f"error: run {run_id}: {type(error).__name__}: {error}")
        message = f"{type(error).__name__}, of which this worker's output says more"
        # Other hosts show the message.
        self.add(run_id, InvalidInput.because("unexpected-error", message))

    @contextmanager
    def adding(self, run_id: UUID) -> Iterator[None]:
        """Refuse the run if the block raises that it cannot be driven here, or cannot be read.

        The error ends there.
        """
        try:
            yield
        except InvalidInput as error:
            self.add(run_id, error)
        except UNREADABLE as error:
            self.add(run_id, unreadable(error))

    def holds(self, run_id: UUID) -> bool:
        """Whether the run is left to others now.

        A worker that waits for work tries again in the end: the cause may be gone, such as a server
        that did not answer.
        """
        if run_id in self.why and not self._for_good:
            _, until = self._times[run_id]
            if clock.monotonic_s() >= until:
                del self.why[run_id]
        return run_id in self.why

    def forget(self, run_id: UUID) -> None:
        """Forget how often a run was refused, after it could be opened here."""
        self._times.pop(run_id, None)
