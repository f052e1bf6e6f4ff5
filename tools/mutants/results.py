"""The file of results, one JSON object a line, and what is printed of it."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from tools.mutants.drawing import Mutant

KILLED, SURVIVED, NOT_REACHED, LEFT = "killed", "survived", "not reached", "not killed in time"

TIMEOUT = "time-out"
"""How `Result.by` begins where pytest did not end."""


@dataclass(frozen=True)
class Result:
    """What became of a mutant."""

    id: str
    path: str
    line: int
    function: str
    operator: str
    room: str
    diff: str
    outcome: str
    by: str = ""
    """The test that failed, or that pytest did not end."""
    passed: list[str] = field(default_factory=list)
    """The test files that passed with it."""
    left: list[str] = field(default_factory=list)
    """Test files that reach it and were left out: too long."""
    seconds: float = 0.0

    @classmethod
    def of(
        cls,
        mutant: Mutant,
        outcome: str,
        *,
        by: str = "",
        passed: Sequence[str] = (),
        left: Sequence[str] = (),
        seconds: float = 0.0,
    ) -> Self:
        """Of that mutant."""
        return cls(
            mutant.id, mutant.path, mutant.line, mutant.place.qualified_name,
            mutant.mutation.operator, mutant.room, mutant.diff, outcome, by, list(passed),
            list(left), round(seconds, 1),
        )  # fmt: skip


class Results:
    """A file to which results are added; of a mutant the last one counts."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self.by_id = {result.id: result for result in read_results(file)} if file.exists() else {}

    def add(self, result: Result) -> None:
        """In the file when this returns; unless it is there already."""
        with self._lock, self._file.open("a") as lines:
            if self.by_id.get(result.id) == result:
                return
            lines.write(json.dumps(asdict(result)) + "\n")
            self.by_id[result.id] = result


def read_results(file: Path) -> Iterator[Result]:
    """Those of the file, in its order."""
    for line in file.read_text().splitlines():
        yield Result(**json.loads(line))


def summary(results: Iterable[Result], drawn: int, cap_s: float) -> Iterator[str]:
    """The survivors by room, each with its place and change, then how many are killed."""
    results = list(results)
    rooms: defaultdict[str, list[Result]] = defaultdict(list)
    for result in results:
        if result.outcome != KILLED:
            rooms[result.room].append(result)
    for room, survivors in sorted(rooms.items()):
        yield f"{room}: {len(survivors)} of {sum(each.room == room for each in results)} survive"
        for result in sorted(survivors, key=lambda result: (result.path, result.line)):
            yield f"  {_place(result)}: {_what(result, cap_s)}"
            yield from (f"    {line}" for line in result.diff.splitlines())
    killed = [result for result in results if result.outcome == KILLED]
    if endless := [result for result in killed if result.by.startswith(TIMEOUT)]:
        yield f"killed by a time-out: {', '.join(sorted(map(_place, endless)))}"
    if len(results) < drawn:
        yield f"{drawn - len(results)} mutants were not run"
    yield f"killed {len(killed)} of {drawn}"


def _place(result: Result) -> str:
    return f"{result.path}:{result.line} {result.function} [{result.operator}] {result.id}"


def _what(result: Result, cap_s: float) -> str:
    match result.outcome:
        case "survived":
            return f"survived {len(result.passed)} test files"
        case "not killed in time":
            return (
                f"not killed within {cap_s:.0f} s: {len(result.passed)} test files passed, "
                f"{len(result.left)} left out"
            )
    return result.outcome


def comparison(before: Mapping[str, Result], after: Mapping[str, Result]) -> Iterator[str]:
    """How many mutants are killed in both, and which in one alone."""
    both = before.keys() & after.keys()
    killed_before = {mutant for mutant in both if before[mutant].outcome == KILLED}
    killed_after = {mutant for mutant in both if after[mutant].outcome == KILLED}
    for title, ids in (
        ("lost: killed before alone", killed_before - killed_after),
        ("gained: killed after alone", killed_after - killed_before),
    ):
        yield f"{title}: {len(ids)}"
        for result in sorted((after[mutant] for mutant in ids), key=_place):
            change = [f"{one.outcome} {one.by}".strip() for one in (before[result.id], result)]
            yield f"  {_place(result)}: {' -> '.join(change)}"
            yield from (f"    {line}" for line in result.diff.splitlines())
    for name, one, other in (("before", before, after), ("after", after, before)):
        if alone := one.keys() - other.keys():
            yield f"drawn {name} alone (their function changed): {len(alone)}"
    yield f"killed in both: {len(killed_before & killed_after)}"
    yield f"killed before: {len(killed_before)}, after: {len(killed_after)}, of {len(both)} in both"
