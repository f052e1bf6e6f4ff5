"""The interface of an exporter and its inputs: runs, the moment, the list of what is left out.

An exporter writes no files. It yields each as pieces of bytes, made while they are consumed, so
that a run of any size is exported in flat memory.
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
    """Counts of data that a format cannot hold, by kind and reason. Every omission is counted."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, what: str, why: str, count: int = 1) -> None:
        """Count `count` data that are missing or changed in the export.

        `what` is the kind of data, a plural noun; `why` is the reason.
        """
        if count:
            self._counts[what, why] += count

    def rows(self) -> list[dict[str, Any]]:
        """The counts in order of first occurrence: keys `left_out`, `why` and `count`."""
        return [
            {"left_out": what, "why": why, "count": count}
            for (what, why), count in self._counts.items()
        ]


@dataclass(frozen=True, slots=True)
class Export:
    """One export: its moment, which all of its files share, and the data its format cannot hold."""

    moment: datetime
    """UTC. Part of the names of files."""
    left_out: LeftOut = field(default_factory=LeftOut)

    @property
    def prefix(self) -> str:
        """The beginning of names of files: `YYYY-MM-DD_HH-MM-SS`."""
        return self.moment.strftime("%Y-%m-%d_%H-%M-%S")


class Pieces:
    """The bytes of a file, made and digested while they are consumed.

    `make` receives the `Pieces`, to count the records in `rows`.
    """

    def __init__(self, make: Callable[[Pieces], Iterable[bytes]]) -> None:
        self._make = make
        self._digest = hashlib.sha256()
        self.rows = 0
        """Number of records made so far."""

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._make(self):
            self._digest.update(piece)
            yield piece

    @property
    def sha256(self) -> str:
        """The digest of the bytes consumed so far, in hexadecimal."""
        return self._digest.hexdigest()


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file to write: its path below the folder, the kind of its records, its bytes."""

    name: PurePosixPath
    collection: str
    """The kind of its records, in a word or two."""
    pieces: Pieces


class Exporter(Protocol):
    """One format of `export`. Its entry point, in the group `failproof_es.exporters`, has its name.

    It may be a `RequiresExtra`, and take settings from `--with NAME=VALUE`.
    """

    @property
    def name(self) -> str:
        """The exporter's name, as `export --shape` takes it."""

    @property
    def says(self) -> str:
        """The content of the exporter's files, in a few words, for the help."""

    def with_settings(self, settings: Mapping[str, str]) -> Self:
        """The exporter with these settings.

        Raises `InvalidInput` with all invalid or unknown ones.
        """

    def files(self, runs: Sequence[RecordedRun], export: Export) -> Iterator[ExportedFile]:
        """The files to write for these runs. The caller writes each before it takes the next."""


def refuse_settings(
    exporter: str, settings: Mapping[str, str], allowed: Sequence[str] = ()
) -> None:
    """Raise `InvalidInput` with every setting that is not in `allowed`.

    `exporter` is the exporter's name, for the message.
    """
    unknown = [name for name in settings if name not in allowed]
    if unknown:
        has = f"has the settings {', '.join(allowed)}" if allowed else "has no settings"
        raise InvalidInput(
            [
                Problem(
                    "invalid-option", f"the shape {exporter!r} {has}, not {name!r}", field="--with"
                )
                for name in unknown
            ]
        )


def outcomes(run: RecordedRun) -> Iterator[PlannedOutcome]:
    """All planned evaluations in plan order, finished or not, a window of them in memory.

    Raises `ImpossibleHistory` if the record of an evaluation contradicts itself: no other tool may
    rely on that record.
    """
    for planned in run.outcomes():
        require_possible(planned.outcome)
        yield planned


def require_possible(outcome: EvaluationOutcome) -> None:
    """Raise `ImpossibleHistory` if the evaluation's record contradicts itself."""
    if outcome.impossible is not None:
        raise ImpossibleHistory(outcome.impossible)
