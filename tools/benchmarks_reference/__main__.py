"""The page `docs/reference/benchmarks.md`, generated from what `make benchmarks` kept.

python -m tools.benchmarks_reference build/benchmarks/*.json > docs/reference/benchmarks.md
python -m tools.benchmarks_reference > docs/reference/benchmarks.md

The second form takes the files in `results/` beside this module: those that the committed page is
made of. `results/` and the page are committed together.

A row is taken from the last file that measured it at the size that its target is about. What people
wrote stands beside this module: the page around the tables in `page.md`, where `<!-- cell ROW -->`
is what was measured of a row, and in `remarks.toml`, by the row's name, what stands in the way of a
row that is not reached, and what it would take.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.benchmarks.all import BENCHMARKS
from tests.benchmarks.measured import Benchmark, Measured, Row, cell, table

HERE = Path(__file__).parent
_VERSION = "now"
"""The version of the program that the page is about."""


def reference(
    results: Sequence[Mapping[str, Any]],
    template: str,
    remarks: Mapping[str, str],
    benchmarks: Sequence[Benchmark] = BENCHMARKS,
) -> str:
    """The page, with every row of the benchmarks. `results` are the kept files, oldest first."""
    known = {row.name: row for benchmark in benchmarks for row in benchmark.rows}
    rows: dict[str, Any] = {
        row.name: Measured(row, benchmark.name).document()
        for benchmark in benchmarks
        for row in benchmark.rows
    }
    for result in results:
        if result["quick"]:
            raise SystemExit(
                f"the numbers of {result['began']} are from --quick: they mean nothing"
            )
        for row in result["rows"]:
            if row["name"] in rows and _replaces(row, rows[row["name"]]):
                rows[row["name"]] = _restated(row, known[row["name"]])
    wanted = [row for row in rows.values() if row["wanted"]]
    parts = {
        "sittings": _sittings(results, rows),
        "wanted": table(wanted, [_VERSION]),
        "others": table([row for row in rows.values() if not row["wanted"]], [_VERSION]),
        "missed": list(_missed(wanted, remarks)),
        "how": list(_how(list(known.values()))),
    }
    page = re.sub(r"<!-- (\w+) -->", lambda part: "\n".join(parts[part[1]]), template)
    return re.sub(r"<!-- cell ([\w-]+) -->", lambda name: cell(rows[name[1]], _VERSION), page)


def _how(rows: Sequence[Row]) -> Iterator[str]:
    """How each row is measured; once for rows that are measured alike."""
    for how, alike in groupby(rows, key=lambda row: row.how):
        yield f"- {' '.join(f'`{row.name}`: {row.what}.' for row in alike)} {how}"


def _replaces(row: Mapping[str, Any], earlier: Mapping[str, Any]) -> bool:
    """Whether a row is shown in place of an earlier measurement of it.

    A failed measurement never is, and one of less than the target is about (`comparable`) only
    where the earlier one was no better.
    """
    if not earlier["measured"]:
        return True
    newest, before = (each["measured"].get(_VERSION, {}) for each in (row, earlier))
    if newest.get("median") is None:
        return False
    return newest["reached"] is not None or before.get("reached") is None


def _restated(row: Mapping[str, Any], known: Row) -> dict[str, Any]:
    """A kept row with what the program says of it today: words, unit, and target."""
    measured = row["measured"].get(_VERSION, {})
    if measured.get("reached") is not None and known.wanted is not None:
        measured["reached"] = known.wanted.met(measured["median"])
    target = None if known.wanted is None else str(known.wanted)
    words = {"what": known.what, "unit": known.unit, "how": known.how}
    return {**row, **words, "wanted": target}


def _sittings(results: Sequence[Mapping[str, Any]], rows: Mapping[str, Any]) -> list[str]:
    """When, what and on which machine, for each file that a row was taken from."""
    lines = []
    for result in results:
        taken = [
            row["name"]
            for row in result["rows"]
            if rows[row["name"]]["measured"] is row["measured"]
        ]
        if not taken:
            continue
        lines.append(
            f"- {_minute(result['began'])} to {_minute(result['ended'])}, "
            f"{_rounds(result['rounds'])}. Commit {result['commits'][_VERSION]}. "
            f"{result['system']}, {result['cores']} cores, Python {result['python']}, "
            f"PostgreSQL {result['postgres']}, load average {result['load']['begin']:.1f} at the "
            f"begin and {result['load']['end']:.1f} at the end. {len(taken)} rows."
        )
        if max(result["load"].values()) > result["cores"]:
            lines[-1] += " Other work was on the machine: compare ratios and processor time."
    return lines


def _minute(time: str) -> str:
    return f"{datetime.fromisoformat(time):%Y-%m-%d %H:%M} UTC"


def _rounds(number: int) -> str:
    return "one round" if number == 1 else f"{number} rounds"


def _missed(wanted: Sequence[dict[str, Any]], remarks: Mapping[str, str]) -> Iterator[str]:
    """A point for each row that was not reached, and one that names those not measured."""
    unknown = []
    for row in wanted:
        newest = row["measured"].get(_VERSION, {})
        if newest.get("median") is None:
            unknown.append(f"`{row['name']}`")
        if newest.get("reached") is not False:
            continue
        remark = remarks.get(row["name"])
        if remark is None:
            print(f"no remark on {row['name']} in remarks.toml", file=sys.stderr)
            remark = "No reason is known yet."
        said = cell(row, _VERSION)
        yield f"- **{row['what']}**: {said}, wanted {row['wanted']}. {' '.join(remark.split())}"
    if unknown:
        yield f"- Not measured: {', '.join(unknown)}."


def page(files: Sequence[Path]) -> str:
    """The page, of these files and what stands beside this module."""
    results = [json.loads(each.read_text(encoding="utf-8")) for each in files]
    template = (HERE / "page.md").read_text(encoding="utf-8")
    remarks = tomllib.loads((HERE / "remarks.toml").read_text(encoding="utf-8"))
    return reference(sorted(results, key=lambda each: str(each["began"])), template, remarks)


def committed() -> list[Path]:
    """The files that the committed page is made of."""
    return sorted((HERE / "results").glob("*.json"))


def main() -> None:
    """Print the page."""
    sys.stdout.write(page([Path(name) for name in sys.argv[1:]] or committed()))


if __name__ == "__main__":
    main()
