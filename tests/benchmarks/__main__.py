"""`python -m tests.benchmarks`: measures every row, prints the table, keeps it as JSON.

    --only ROW,...      these rows or benchmarks, by name (`--list` prints the names)
    --quick             so little of everything that the numbers mean nothing
    --large             also 100,000 and 1,000,000 cases
    --size N            cases of the planned and of the resumed run
    --rounds N          three unless given
    --compare PYTHON    another installation's interpreter: measured in turn, before and now

The JSON goes to build/benchmarks/DATE.json: `tools.benchmarks_reference` makes the page of it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.benchmarks.all import BENCHMARKS
from tests.benchmarks.measured import (
    QUICK,
    Benchmark,
    Measured,
    Measurement,
    Sizes,
    cell,
    processor_time,
    table,
)
from tests.benchmarks.servers import benchmark_server

FOLDER = Path("build/benchmarks")
MILLION = 1_000_000


def chosen(only: str | None) -> list[Benchmark]:
    """The benchmarks with the rows that are named; all without a name. Raises `SystemExit`."""
    if only is None:
        return list(BENCHMARKS)
    names = {name.strip() for name in only.split(",")}
    found = []
    for benchmark in BENCHMARKS:
        rows = tuple(row for row in benchmark.rows if row.name in names or benchmark.name in names)
        names -= {benchmark.name, *(row.name for row in rows)} if rows else set()
        if rows:
            found.append(dataclasses.replace(benchmark, rows=rows))
    if names:
        raise SystemExit(f"no such row: {', '.join(sorted(names))} (--list prints the names)")
    return found


def measured(
    benchmarks: Sequence[Benchmark], versions: Mapping[str, str], sizes: Sizes, rounds: int
) -> Iterator[Measured]:
    """Every row, each version in turn in each round."""
    for benchmark in benchmarks:
        rows = {row.name: Measured(row, benchmark.name) for row in benchmark.rows}
        asked = versions if benchmark.versions else {"now": versions["now"]}
        if benchmark.large and not sizes.large:
            for row in rows.values():
                row.add("now", Measurement(row.row.name, None, note="not measured without --large"))
        else:
            _measure(benchmark, asked, sizes, rounds, rows)
        yield from rows.values()


def _measure(
    benchmark: Benchmark, versions: Mapping[str, str], sizes: Sizes, rounds: int,
    rows: Mapping[str, Measured],
) -> None:  # fmt: skip
    print(f"{benchmark.name} ...", file=sys.stderr, flush=True)
    with ExitStack() as stack:
        measures = {}
        for version, python in versions.items():
            try:
                measures[version] = stack.enter_context(benchmark.begin(python, sizes))
            except Exception as error:
                _failed(rows, version, error)
        for _ in range(rounds):
            for version, measure in measures.items():
                try:
                    for taken in measure():
                        if taken.row in rows:
                            rows[taken.row].add(version, taken)
                            _say(rows[taken.row], version, taken)
                except Exception as error:  # the other rows are measured all the same
                    _failed(rows, version, error)


def _failed(rows: Mapping[str, Measured], version: str, error: Exception) -> None:
    said = getattr(error, "stderr", None) or error
    note = f"failed: {type(error).__name__}: {said}".strip().replace("\n", " ")[:300]
    for row in rows.values():
        row.add(version, Measurement(row.row.name, None, note=note))
    print(f"  {version}: {note}", file=sys.stderr, flush=True)


def _say(row: Measured, version: str, taken: Measurement) -> None:
    one = Measured(row.row, row.benchmark, {version: [taken]}).document()
    cpu = processor_time(one["measured"][version])
    words = [cell(one, version), *([cpu] if cpu != "-" else []), *filter(None, [taken.note])]
    said = dict.fromkeys(words)
    print(f"  {row.row.name} ({version}): {'; '.join(said)}", file=sys.stderr, flush=True)


def commit_of(python: str) -> str:
    """The last commit that changed the program in an installation's worktree; with `+` where
    something in it is not committed."""
    find = "import failproof_es, pathlib; print(pathlib.Path(failproof_es.__file__).parents[1])"
    found = subprocess.run(
        [python, "-P", "-c", find], check=True, stdout=subprocess.PIPE, text=True
    )
    folder = found.stdout.strip()

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-c", f"safe.directory={folder}", "-C", folder, *arguments],
            check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--", "failproof_es", "projections")
    last = git("log", "-1", "--format=%h", "--abbrev=7", "--", "failproof_es", "projections")
    return last + ("+" if changed else "")


def postgres_version() -> str:
    """Of the embedded server."""
    import psycopg

    with benchmark_server() as server, psycopg.connect(server.url) as connection:
        row = connection.execute("SHOW server_version").fetchone()
    assert row is not None
    return str(row[0])


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--only", metavar="ROW,...")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--size", type=int, metavar="N")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--compare", metavar="PYTHON")
    parser.add_argument("--output", type=Path, metavar="FILE")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args(arguments)
    benchmarks = chosen(options.only)
    if options.list:
        for benchmark in benchmarks:
            print(f"{benchmark.name}: {', '.join(row.name for row in benchmark.rows)}")
        return
    sizes = QUICK if options.quick else Sizes()
    if options.large:
        sizes = dataclasses.replace(sizes, large=True, large_cases=MILLION)
    if options.size:
        sizes = dataclasses.replace(sizes, large_cases=options.size)
    versions = {"before": options.compare} if options.compare else {}
    versions["now"] = sys.executable
    began = datetime.now(UTC)
    file = options.output or FOLDER / f"{began:%Y-%m-%dT%H%M%S}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    rounds = options.rounds or (1 if options.quick else 3)
    for result in _results(began, benchmarks, versions, sizes, rounds):
        file.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print("\n".join(table(result["rows"], list(versions))))
    print(f"\nload average {result['load']['begin']:.1f} at the begin, {result['load']['end']:.1f} "
          f"at the end; kept in {file}")  # fmt: skip
    if options.quick and any(_is_failed(row) for row in result["rows"]):
        raise SystemExit("a benchmark failed")


def _is_failed(row: Mapping[str, Any]) -> bool:
    return any(
        each["note"].startswith("failed:")
        for measured in row["measured"].values()
        for each in measured["rounds"]
    )


def _results(
    began: datetime, benchmarks: Sequence[Benchmark], versions: Mapping[str, str], sizes: Sizes,
    rounds: int,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """What is to be kept, after each row: whoever stops a long sitting has what was measured."""
    load = os.getloadavg()[0]
    about = {
        "began": began.isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "postgres": postgres_version(),
        "system": platform.system(),
        "commits": {version: commit_of(python) for version, python in versions.items()},
        "sizes": dataclasses.asdict(sizes),
        "rounds": rounds,
        "quick": sizes == QUICK,
    }
    rows: list[dict[str, Any]] = []
    for row in measured(benchmarks, versions, sizes, rounds):
        rows.append(row.document())
        yield {
            **about,
            "ended": datetime.now(UTC).isoformat(timespec="seconds"),
            "load": {"begin": load, "end": os.getloadavg()[0]},
            "rows": rows,
        }


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped; what was measured is kept"))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background, too
    main()
