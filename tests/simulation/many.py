"""Many histories, one after the other or on several cores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from tests.simulation.history import History
from tests.simulation.invariants import violations
from tests.simulation.workers import WorkersHistory

HISTORIES = 200
"""So many are in the slow set of tests."""
FAST = 120
"""The first of them are in the fast set. Each mutation is found within the first 100."""
KINDS: Sequence[str] = ("alone", "workers", "ceiling", "judges")
"""What a history is about, by its seed in turn: one process drives a run; several workers do; the
run has a spend ceiling; its replies are judged. The last two by one process or by workers."""
_BLOCK = 250


def history_of(seed: int) -> History:
    """The history of this seed."""
    kind = KINDS[seed % len(KINDS)]
    shared = kind == "workers" or (kind != "alone" and Random(f"{seed}/kind").random() < 0.5)
    made = WorkersHistory if shared else History
    return made(seed, ceiling=kind == "ceiling", judged=kind == "judges")


def broken_in(seeds: Iterable[int]) -> dict[int, list[str]]:
    """Those of these seeds whose histories violate an invariant, and how."""
    found = {}
    for seed in seeds:
        history = history_of(seed)
        try:
            history.run()
            wrong = violations(history)
        except Exception as error:  # one that breaks hides none of the others
            wrong = [f"{type(error).__name__}: {error}"]
        if wrong:
            found[seed] = wrong
    return found


def blocks(kind: str) -> list[range]:
    """The seeds of the slow set whose histories are of this kind, in blocks."""
    seeds = range(FAST + KINDS.index(kind), HISTORIES, len(KINDS))
    return [seeds[first : first + _BLOCK] for first in range(0, len(seeds), _BLOCK)]


def require_unbroken(seeds: range) -> None:
    """Fail with what shows each history that violates an invariant."""
    broken = broken_in(seeds)
    assert not broken, "\n".join(f"{command_of(seed)}: {broken[seed][0]}" for seed in broken)


def command_of(seed: int) -> str:
    """The command that shows the history of this seed."""
    return f"python -m tests.simulation --seed {seed}"
