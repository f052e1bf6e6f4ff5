"""Decides by its progress, not its duration, when to give up an embedded model's answer. Pure.

How fast it answers is a matter of this machine and of what else that does. The length of an
answer is bounded by `max_tokens` and the context, so whatever goes on comes to an end.
"""

from __future__ import annotations

from dataclasses import dataclass

LOOKS = 4
"""How often progress is checked within the time allowed."""


@dataclass(slots=True)
class ServerActivity:
    """What was last seen of a server's work, and since when nothing else was. Seconds."""

    patience_s: float
    moved_at: float
    seen: bytes | None = None

    @property
    def look_every_s(self) -> float:
        """How long to wait before looking (again)."""
        return self.patience_s / LOOKS

    def stalled(self, now: float, state: bytes | None) -> bool:
        """Whether nothing has moved for too long, now that its state is this.

        `None` is the state of a server that did not say: nobody saw it move.
        """
        if state is not None and state != self.seen:
            self.seen, self.moved_at = state, now
        return now - self.moved_at >= self.patience_s
