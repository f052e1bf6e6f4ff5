"""What a storm does, drawn from its seed: the size of the run, and what strikes when."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

LEASE_S = 3.0
"""How long the leases of the workers in a storm last."""
_STRIKE_BEFORE = 0.8
"""Of the answers: what strikes later meets a run that is nearly over."""

Kind = Literal[
    "kill worker", "stop worker", "drain worker", "kill follower", "kill database",
    "end sessions", "cut cable", "hold cable", "fill disk",
]  # fmt: skip
Finale = Literal["workers", "two resume"]

_KINDS: dict[Kind, int] = {
    "kill worker": 6, "stop worker": 4, "drain worker": 2, "kill follower": 2, "kill database": 2,
    "end sessions": 3, "cut cable": 3, "hold cable": 3, "fill disk": 1,
}  # fmt: skip
"""How often each strikes, beside the others."""
_TROUBLES = ("http500*1", "reset*1", "busy503*2", "notjson*1", "http400")


@dataclass(frozen=True, slots=True)
class Strike:
    """One thing that goes wrong."""

    after: int
    """When so many answers are on record."""
    kind: Kind
    worker: int
    """Which worker is struck, where one is."""
    lasts_s: float
    """Until it is mended, or replaced."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One storm."""

    seed: int
    workers: int
    cabled: frozenset[int]
    """The workers that reach the database over a cable, which can be cut."""
    most_shards: int
    at_once: int
    """`execution.parallel_workers`."""
    cases: int
    strikes: tuple[Strike, ...]
    finale: Finale
    """`two resume`: all workers are killed in the end, and two processes resume the run at once."""

    @classmethod
    def draw(cls, seed: int) -> Plan:
        """The plan of this seed: always the same."""
        random = Random(f"storm {seed}")
        workers = random.randint(2, 3)
        cabled = frozenset(n for n in range(workers) if random.random() < 0.5)
        cases = random.randint(40, 100)
        strikes = sorted(
            (_strike(random, workers, cabled, cases) for _ in range(random.randint(2, 5))),
            key=lambda strike: strike.after,
        )
        return cls(
            seed,
            workers,
            cabled,
            most_shards=random.choice((1, 2, 2, 4)),
            at_once=random.randint(2, 4),
            cases=cases,
            strikes=tuple(strikes),
            finale="two resume" if random.random() < 0.2 else "workers",
        )

    def prompts(self) -> list[str]:
        """What each case asks. Some servers' answers are errors, the first time or always."""
        random = Random(f"prompts {self.seed}")
        troubles = (
            f" [fault:{random.choice(_TROUBLES)}]" if random.random() < 0.08 else ""
            for _ in range(self.cases)
        )
        return [f"Storm {self.seed}, number {n}.{trouble}" for n, trouble in enumerate(troubles)]


def _strike(random: Random, workers: int, cabled: frozenset[int], cases: int) -> Strike:
    (kind,) = random.choices(list(_KINDS), list(_KINDS.values()))
    worker = random.randrange(workers)
    if kind in ("cut cable", "hold cable") and worker not in cabled:
        kind = "end sessions"
    longest_s = 1.5 * LEASE_S if kind in ("stop worker", "hold cable") else 1.0
    after = random.randrange(int(_STRIKE_BEFORE * cases))
    return Strike(after, kind, worker, random.uniform(0.1, longest_s))
