"""Decides when to give up an embedded model's answer: by its progress, not its duration. Pure.

The speed of answers depends on this machine and its other load. `max_tokens` and the context bound
the length of an answer, so an answer that makes progress ends.
"""

from __future__ import annotations

from dataclasses import dataclass

LOOKS = 4
"""Checks of progress within the time-out."""


@dataclass(slots=True)
class ServerActivity:
    """The last known state of a server, and the time of its last change. Seconds."""

    patience_s: float
    moved_at: float
    seen: bytes | None = None

    @property
    def look_every_s(self) -> float:
        """The interval between two checks, in seconds."""
        return self.patience_s / LOOKS

    def stalled(self, now: float, state: bytes | None) -> bool:
        """Record the state at the time `now`; return whether it has not changed for `patience_s`.

        `None` is the state of a server that did not answer: it counts as unchanged.
        """
        if state is not None and state != self.seen:
            self.seen, self.moved_at = state, now
        return now - self.moved_at >= self.patience_s
