"""What can go wrong in a history, and how often: drawn once from its seed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

DatabaseFault = Literal["refused", "lost", "late"]
"""Refused: nothing was done. Lost: committed, and nobody is told. Late: nobody is told, and it is
done at some later moment, if it still may be."""
QueueFault = Literal["lost", "doubled"]
"""Lost: the job is gone. Doubled: it waits on for another worker. Stuck: nobody drives it."""
ServerFault = Literal[
    "unreachable", "silent", "rate_limited", "busy", "overloaded", "failing", "cut", "garbled",
    "other_model", "refusing", "closed",
]  # fmt: skip
_SERVER_FAULTS: tuple[ServerFault, ...] = (
    "unreachable", "silent", "rate_limited", "busy", "overloaded", "failing", "cut", "garbled",
    "other_model",
)  # fmt: skip
_RARE: tuple[ServerFault, ...] = ("refusing", "closed")


@dataclass(slots=True)
class Faults:
    """The faults of one history. `calm` ends them, so that it can end."""

    random: Random
    database: float
    server: float
    slow: float
    kinds: tuple[ServerFault, ...]
    queue: float = 0.0
    calm: bool = False

    @classmethod
    def draw(cls, random: Random) -> Faults:
        """Some histories have none of a sort, some have many."""
        return cls(
            random,
            database=random.choice((0.0, 0.02, 0.1, 0.3)),
            server=random.choice((0.0, 0.1, 0.3, 0.6)),
            slow=random.choice((0.0, 0.02, 0.1)),
            kinds=tuple(random.sample(_SERVER_FAULTS, random.randint(1, 4))),
            queue=random.choice((0.0, 0.05, 0.3)),
        )

    def of_database(self) -> DatabaseFault | None:
        """What goes wrong with this statement."""
        if self.calm or self.random.random() >= self.database:
            return None
        return self.random.choice(("refused", "lost", "late"))

    def of_repeating(self) -> bool:
        """Whether a statement that was cut off is made again at once."""
        return self.random.random() < 0.5

    def of_reading(self) -> bool:
        """Whether this connection is refused."""
        return not self.calm and self.random.random() < self.database / 2

    def of_queue(self) -> QueueFault | None:
        """What becomes of the job that a worker takes."""
        if self.calm or self.random.random() >= self.queue:
            return None
        return self.random.choice(("lost", "doubled"))

    def of_check(self) -> bool:
        """Whether a model looks unusable from the host that begins to drive a run."""
        return not self.calm and self.random.random() < self.server / 10

    def of_server(self) -> ServerFault | None:
        """What goes wrong with this request."""
        if self.calm or self.random.random() >= self.server:
            return None
        if self.random.random() < 0.03:
            return self.random.choice(_RARE)
        return self.random.choice(self.kinds)

    def thread_delay_s(self) -> float:
        """How long a thread, or the database behind it, lets wait."""
        if self.random.random() < self.slow:
            return self.random.random() * self.random.choice((0.1, 1.0, 30.0))
        return self.random.random() * 0.004

    def network_delay_s(self) -> float:
        """How long a message to or from a model server takes."""
        if self.random.random() < self.slow:
            return self.random.random() * self.random.choice((0.1, 1.0, 10.0))
        return self.random.random() * 0.05
