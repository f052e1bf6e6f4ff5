"""The interface of an exporter, and what it is given: runs, the moment, a list of what is left out.

An exporter maps; it writes nothing. It gives files as pieces of bytes, made while they are taken,
so that a run of any size is exported in flat memory.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, Protocol, Self

from failproof_es.core.history_errors import ImpossibleHistory
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.problems import InvalidInput, Problem
from failproof_es.reading.recorded_run import PlannedOutcome, RecordedRun


class LeftOut:
    """What a format cannot hold, by what it is and why. Nothing is left out without an entry."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, what: str, why: str, count: int = 1) -> None:
        """Count something that is missing or changed in what is written."""
        if count:
            self._counts[what, why] += count

    def rows(self) -> list[dict[str, Any]]:
        """Everything that was counted, in the order in which it was met."""
        return [
            {"left_out": what, "why": why, "count": count}
            for (what, why), count in self._counts.items()
        ]


@dataclass(frozen=True, slots=True)
class Export:
    """One export: its moment, which all of its files share, and what its format cannot hold."""

    moment: datetime
    """UTC. It stands in the names of files."""
    left_out: LeftOut = field(default_factory=LeftOut)

    @property
    def prefix(self) -> str:
        """What names of files begin with: `YYYY-MM-DD_HH-MM-SS`."""
        return self.moment.strftime("%Y-%m-%d_%H-%M-%S")


class Pieces:
    """The bytes of a file, made and digested while they are taken.

    `make` is given the `Pieces` themselves, to count in `rows` what it writes.
    """

    def __init__(self, make: Callable[[Pieces], Iterable[bytes]]) -> None:
        self._make = make
        self._digest = hashlib.sha256()
        self.rows = 0
        """How many records were made so far."""

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._make(self):
            self._digest.update(piece)
            yield piece

    @property
    def sha256(self) -> str:
        """Of what was taken so far, in hexadecimal."""
        return self._digest.hexdigest()


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file to be written: its name below the folder, what it holds, its bytes."""

    name: PurePosixPath
    collection: str
    """What its records are, in a word."""
    pieces: Pieces


class Exporter(Protocol):
    """One format. Its name is that of its entry point in the group `failproof_es.exporters`.

    It may be `RequiresExtra`, and have `settings`, what `--with NAME=VALUE` takes.
    """

    @property
    def name(self) -> str:
        """What `export --shape` calls it."""

    @property
    def says(self) -> str:
        """What it writes, in a few words."""

    def with_settings(self, settings: Mapping[str, str]) -> Self:
        """The exporter with these settings. Raises `InvalidInput` with all that are wrong."""

    def files(self, runs: Sequence[RecordedRun], export: Export) -> Iterator[ExportedFile]:
        """The files, each to be written before the next is asked for."""


def refuse_settings(
    exporter: str, settings: Mapping[str, str], allowed: Sequence[str] = ()
) -> None:
    """Raise `InvalidInput` with every setting that the exporter does not know."""
    unknown = [name for name in settings if name not in allowed]
    if unknown:
        has = f"has the settings {', '.join(allowed)}" if allowed else "has no settings"
        raise InvalidInput(
            [
                Problem(f"the shape {exporter!r} {has}, not {name!r}", field="--with")
                for name in unknown
            ]
        )


def outcomes(run: RecordedRun) -> Iterator[PlannedOutcome]:
    """All planned evaluations, in plan order, a window of them in memory.

    Raises `ImpossibleHistory` where the record of one contradicts itself: no other tool may rely
    on it.
    """
    for planned in run.outcomes():
        require_possible(planned.outcome)
        yield planned


def require_possible(outcome: EvaluationOutcome) -> None:
    """Raise `ImpossibleHistory` where the record contradicts itself."""
    if outcome.impossible is not None:
        raise ImpossibleHistory(outcome.impossible)
