"""What every benchmark returns, and how it is printed and kept.

A `Benchmark` says which rows it fills, and measures them once for each round. A `Row` has its
wanted figure beside it. `Taken` is one measurement of one row.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal

NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class TargetFigure:
    """The figure to reach: at least so much, or at most."""

    relation: Literal[">=", "<="]
    value: float

    def met(self, value: float) -> bool:
        """Whether a measured value reaches it."""
        return value >= self.value if self.relation == ">=" else value <= self.value

    def __str__(self) -> str:
        return f"{self.relation} {number(self.value)}"


@dataclass(frozen=True)
class Row:
    """A row of the table: what is measured, in which unit, and how."""

    name: str
    what: str
    unit: str
    how: str
    wanted: TargetFigure | None = None


@dataclass(frozen=True)
class Measurement:
    """One measurement of the row `row`.

    `wall_s` and `cpu_s` are seconds on the clock and of the processor (of the command, what it
    starts, and the database's processes) where they mean something for the row. Without a
    `value` the `note` says why. `comparable` is false where less was measured than the wanted
    figure is about: nothing is then said of whether it was reached.
    """

    row: str
    value: float | None
    wall_s: float | None = None
    cpu_s: float | None = None
    note: str = ""
    comparable: bool = True


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    cases: int = 10_000
    replies: int = 2_000
    """Of 8 KB; an eighth of it of 256 KB."""
    log_cases: int = 20_000
    """Of the log that is verified and that the projections are rebuilt from."""
    commands: int = 500
    """Shell commands."""
    calls: int = 5
    """So often a short command is called in one round."""
    peer_cases: int = 500
    events: int = 50_000
    """Appended one by one, hashed, compared."""
    large_cases: int = 10_000
    """Of the planned and of the resumed run."""
    large: bool = False
    """Also measure the memory of 100,000 and of 1,000,000 cases."""


QUICK = Sizes(
    cases=60, replies=16, log_cases=60, commands=12, calls=1, peer_cases=8, events=400,
    large_cases=60,
)  # fmt: skip
"""So little that the numbers mean nothing: it shows that the benchmarks work."""

Measure = Callable[[], Iterable[Measurement]]


@dataclass(frozen=True)
class Benchmark:
    """Fills some rows. `begin` sets up what all rounds need and gives what measures one round.

    It is called with a Python interpreter that has the program installed, and the sizes.
    """

    name: str
    rows: tuple[Row, ...]
    begin: Callable[[str, Sizes], AbstractContextManager[Measure]]
    large: bool = False
    """Measured only with `--large`."""
    versions: bool = True
    """Measures any interpreter's program; else this one's alone."""


@dataclass
class Measured:
    """A row with everything that was measured of it, by version (`now`, `before`)."""

    row: Row
    benchmark: str
    rounds: dict[str, list[Measurement]] = field(default_factory=dict)

    def add(self, version: str, taken: Measurement) -> None:
        """Keep one more measurement."""
        self.rounds.setdefault(version, []).append(taken)

    def document(self) -> dict[str, Any]:
        """As JSON: the row, and for each version its rounds with median and spread."""
        return {
            "name": self.row.name,
            "what": self.row.what,
            "unit": self.row.unit,
            "wanted": str(self.row.wanted) if self.row.wanted else None,
            "how": self.row.how,
            "benchmark": self.benchmark,
            "measured": {
                version: {
                    **spread([each.value for each in taken if each.value is not None]),
                    "reached": self._reached(taken),
                    "rounds": [
                        {
                            "value": _rounded(each.value),
                            "wall_s": _rounded(each.wall_s),
                            "cpu_s": _rounded(each.cpu_s),
                            "note": each.note,
                        }
                        for each in taken
                    ],
                }
                for version, taken in self.rounds.items()
            },
        }

    def _reached(self, taken: Sequence[Measurement]) -> bool | None:
        values = [each.value for each in taken if each.value is not None and each.comparable]
        if self.row.wanted is None or not values:
            return None
        return self.row.wanted.met(statistics.median(values))


def spread(values: Sequence[float]) -> dict[str, float | None]:
    """Median, least and most."""
    if not values:
        return {"median": None, "min": None, "max": None}
    return {
        "median": _rounded(statistics.median(values)),
        "min": _rounded(min(values)),
        "max": _rounded(max(values)),
    }


def table(rows: Sequence[dict[str, Any]], versions: Sequence[str]) -> list[str]:
    """Markdown: wanted beside measured (median, and the spread in brackets)."""
    several = len(versions) > 1
    head = ["what", "wanted", *(versions if several else ["measured"]), "processor time", "reached"]
    lines = [_line(head), _line(["---"] * len(head))]
    for row in rows:
        newest = row["measured"].get(versions[-1], {})
        reached = {True: "yes", False: "**no**", None: "-"}[newest.get("reached")]
        lines.append(
            _line(
                [
                    row["what"],
                    row["wanted"] or "-",
                    *(cell(row, version) for version in versions),
                    processor_time(newest),
                    reached,
                ]
            )
        )
    return lines


def cell(row: dict[str, Any], version: str) -> str:
    """What was measured of a row: `0.43 (0.41-0.44)` with its unit, or why nothing was."""
    measured = row["measured"].get(version)
    if measured is None:
        return NOT_MEASURED
    if measured["median"] is None:
        notes = [each["note"] for each in measured["rounds"] if each["note"]]
        return notes[0] if notes else NOT_MEASURED
    unit = f" {row['unit']}" if row["unit"] else ""
    said = number(measured["median"])
    if sum(each["value"] is not None for each in measured["rounds"]) > 1:
        said += f" ({number(measured['min'])}-{number(measured['max'])})"
    return said + unit


def processor_time(measured: dict[str, Any]) -> str:
    """The median of a row's seconds of the processor, beside those on the clock."""
    cpu = [each["cpu_s"] for each in measured.get("rounds", ()) if each["cpu_s"] is not None]
    wall = [each["wall_s"] for each in measured.get("rounds", ()) if each["wall_s"] is not None]
    if not cpu or not wall:
        return "-"
    return f"{number(statistics.median(cpu))} s in {number(statistics.median(wall))} s"


def number(value: float) -> str:
    """Three digits that mean something; thousands in full."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.3f}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(each.replace("|", "\\|") for each in cells) + " |"
