"""`python -m tests.benchmarks.scale`: see the package."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.benchmarks.__main__ import FOLDER, commit_of
from tests.benchmarks.measured import number
from tests.benchmarks.scale.curve import measure

_BUSY = "machine busy"
_BYTES_EACH = 12_000
"""What must be free on the disk for each evaluation: database, write-ahead log, suite."""
_COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("planned_s", "to the first request", "s"),
    ("first_rate", "rate until the kill", "/s"),
    ("resumed_s", "resume to the next request", "s"),
    ("second_rate", "rate until the last score", "/s"),
    ("ended_s", "gates, validation, seal", "s"),
    ("caught_up_s", "from the seal to the end", "s"),
    ("verify_s", "`verify RUN`", "s"),
    ("rates_s", "`report --format csv`", "s"),
    ("report_s", "`report`, with the transcript of each failure", "s"),
    ("rebuild_s", "`projections rebuild`", "s"),
    ("events", "events", ""),
    ("lost", "requests orphaned by the kill", ""),
    ("asked_again", "requests repeated", ""),
    ("most_behind", "projections behind, at most", "positions"),
)


def is_busy(kept: Mapping[str, Any]) -> bool:
    """Whether other work was on the machine when the sitting began: then no times are told."""
    return bool(kept["load"] > kept["cores"])


def rows(curves: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[str]]]:
    """What is told of each size: a row of the table, its cells by size."""
    for name, what, unit in _COLUMNS:
        timed = unit in ("s", "/s", "positions")
        yield (
            what,
            [
                _BUSY if timed and curve.get("busy") else _cell(curve.get(name), unit)
                for curve in curves
            ],
        )
    yield "database, for an evaluation", [_size(curve) for curve in curves]
    kinds = dict.fromkeys(kind for curve in curves for kind in curve["peaks_mb"])
    for kind in kinds:
        cells = [_cell(curve["peaks_mb"].get(kind), "MB") for curve in curves]
        yield f"peak memory: {kind}", cells
    for kind in dict.fromkeys(kind for curve in curves for kind in curve["cpu_s"]):
        cells = [_each(curve["cpu_s"].get(kind), curve["cases"]) for curve in curves]
        yield f"processor time for an evaluation: {kind}", cells


_UNMEASURED = "-"


def table(curves: Sequence[Mapping[str, Any]]) -> list[str]:
    """Markdown: a column for each size, and a row for each figure that any of them has."""
    head = ["evaluations", *(f"{curve['cases']:,}" for curve in curves)]
    figures = [[what, *cells] for what, cells in rows(curves) if {*cells} != {_UNMEASURED}]
    lines = [head, ["---"] * len(head), *figures]
    return [f"| {' | '.join(line)} |" for line in lines]


def _cell(value: float | None, unit: str) -> str:
    if value is None:
        return _UNMEASURED
    shown = f"{value:,}" if isinstance(value, int) else number(value)
    return f"{shown}{unit}" if unit == "/s" else f"{shown} {unit}".strip()


def _size(curve: Mapping[str, Any]) -> str:
    size = curve["database_bytes"]
    return _cell(None if size is None else size // curve["cases"], "bytes")


def _each(cpu_s: float | None, cases: int) -> str:
    return _cell(None if cpu_s is None else 1000 * cpu_s / cases, "ms")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each size, keep and print it."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.scale")
    parser.add_argument("--sizes", default="1000,10000", metavar="N,...")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--connections", type=int, default=100, help="of each worker")
    parser.add_argument("--latency-ms", type=float, default=50.0)
    parser.add_argument("--output", type=Path, metavar="FILE")
    parser.add_argument("--show", type=Path, metavar="FILE", help="print what was kept")
    options = parser.parse_args(arguments)
    if options.show:
        shown = json.loads(options.show.read_bytes())
        busy = {"busy": is_busy(shown)}
        print("\n".join(table([{**curve, **busy} for curve in shown["curves"]])))
        return
    sizes = [int(each) for each in options.sizes.split(",")]
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if free < max(sizes) * _BYTES_EACH:
        raise SystemExit(f"the disk has {free:,} bytes, {max(sizes) * _BYTES_EACH:,} are needed")
    began = datetime.now(UTC)
    file: Path = options.output or FOLDER / f"scale-{began:%Y-%m-%dT%H%M%S}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    about = {
        "began": began.isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "commit": commit_of(sys.executable),
        "load": os.getloadavg()[0],
        "connections": options.connections,
        "latency_ms": options.latency_ms,
    }
    done: list[dict[str, Any]] = []

    def keep(*more: dict[str, Any]) -> None:
        ended = {"ended": datetime.now(UTC).isoformat(timespec="seconds")}
        kept = {**about, **ended, "load_end": os.getloadavg()[0], "curves": [*done, *more]}
        file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")

    for cases in sizes:
        print(f"{cases:,} ...", file=sys.stderr, flush=True)
        curve = measure(
            sys.executable, cases, options.workers, options.connections, options.latency_ms, keep
        )
        done.append(asdict(curve))
        keep()
    print("\n".join(table([{**curve, "busy": is_busy(about)} for curve in done])))
    print(f"\nkept in {file}")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped; what was measured is kept"))
    main()
