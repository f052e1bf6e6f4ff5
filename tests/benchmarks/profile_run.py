"""Where a run's time goes: the main thread under cProfile, and who holds the interpreter.

`python -m tests.benchmarks.profile_run [--cases 10000] [--python PYTHON]` prints two tables in
Markdown. PYTHON is another installation's interpreter (another commit's worktree). Each table is
of a run of its own, the whole command, of cases of 600 bytes over a server that answers at once:

- the main thread, every call counted: the top 25 by own time (cProfile, which slows Python
  functions down and C functions hardly)
- all threads, sampled a hundred times a second: who holds the interpreter lock (py-spy, where it
  is installed or named by `--py-spy`)
"""

from __future__ import annotations

import argparse
import os
import pstats
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.acceptance.commands import mock_server, write_configuration, write_suite
from tests.benchmarks.installation import THIS, Installation, installation

CONNECTIONS = 100
PROMPT = "Say {n}. " + "Answer in one short sentence, and add nothing to it. " * 11
"""600 bytes."""
_PLACES = re.compile(r".*(?:/site-packages/|/lib/python3\.\d+/|/(?=(?:failproof_es|projections)/))")
_WAITING = re.compile(r"'poll' of 'select|time\.sleep|'acquire' of '_thread")
_RUNNER = """
import cProfile, sys
from failproof_es.cli import main
profile = cProfile.Profile()
profile.enable()
try:
    main(sys.argv[2:])
finally:
    profile.disable()
    profile.dump_stats(sys.argv[1])
"""


def write_run(folder: Path, base_url: str, cases: int) -> Path:
    """The suite and the configuration of the run."""
    write_suite(folder, cases, PROMPT)
    return write_configuration(folder, base_url, execution={"parallel_workers": CONNECTIONS})


def main_thread(one: Installation, folder: Path, top: int) -> list[str]:
    """The table of the main thread."""
    file = folder / "profile"
    subprocess.run(
        [one.python, "-c", _RUNNER, str(file), "start", "run.yaml", "--quiet"],
        env=one.environment, cwd=folder, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return calls_table(pstats.Stats(str(file)), top)


def calls_table(stats: pstats.Stats, top: int) -> list[str]:
    """A row for each of the functions that took longest by themselves."""
    found = stats.stats  # type: ignore[attr-defined]
    working = {where: row for where, row in found.items() if not _WAITING.search(where[2])}
    waiting = sum(row[2] for row in found.values()) - sum(row[2] for row in working.values())
    total = sum(own for _, _, own, _, _ in working.values())
    rows = sorted(working.items(), key=lambda item: -item[1][2])[:top]
    calls = sum(row[1] for row in found.values())
    lines = [
        f"Main thread: {total:.1f} s in {calls:,} calls, profiled, and {waiting:.1f} s of waiting "
        "for the network or another thread.",
        "",
        "| own time, s | share | with what it calls, s | calls | function |",
        "|---|---|---|---|---|",
    ]
    for (file, line, name), (_, times, own, cumulative, _) in rows:
        lines.append(
            f"| {own:.2f} | {own / total:.1%} | {cumulative:.2f} | {times:,} "
            f"| `{place(file, line, name)}` |"
        )
    packages: Counter[str] = Counter()
    for (file, _, name), row in working.items():
        packages[package(file, name)] += row[2]
    lines += ["", "The same by package.", "", "| share | package |", "|---|---|"]
    lines += [f"| {own / total:.1%} | `{name}` |" for name, own in packages.most_common(top // 2)]
    return lines


def package(file: str, name: str) -> str:
    """Where a function is from: the package, and of ours the part of it; C code by its type."""
    if file == "~":
        match = re.search(r"of '([\w.]+)'|built-in method (\w+)", name)
        return "C: " + ((match[1] or match[2]).split(".")[0] if match else "other")
    parts = _PLACES.sub("", file).split("/")
    return "/".join(parts[:2]) if parts[0] == "failproof_es" else parts[0]


def place(file: str, line: int, name: str) -> str:
    """A function, by the path of its module inside its package: no path of a machine."""
    if file == "~":
        return re.sub(r" at 0x[0-9a-f]+", "", name).strip("<>")
    return f"{_PLACES.sub('', file)}:{line} {name}"


def holders(one: Installation, folder: Path, py_spy: str, top: int) -> list[str]:
    """The tables of who holds the interpreter: by thread, and by function."""
    file = folder / "stacks"
    record = [py_spy, "record", "--gil", "--threads", "--nonblocking", "--rate", "100"]
    command = ["--", *one.command("start", "run.yaml", "--quiet")]
    done = subprocess.run(
        [*record, "--format", "raw", "--output", str(file), *command],
        env=one.environment, cwd=folder, check=False, capture_output=True, text=True,
    )  # fmt: skip
    if not file.exists():
        return [f"py-spy failed: {done.stderr.strip().splitlines()[-1:]}"]
    return holders_tables(file.read_text(encoding="utf-8"), top)


def holders_tables(stacks: str, top: int) -> list[str]:
    """From lines `thread;outer;...;inner samples`, as py-spy writes them."""
    threads: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    for line in stacks.splitlines():
        if (match := re.fullmatch(r"(.*) (\d+)", line)) is None:
            continue  # a name with a line break in it
        (frames, samples) = match.groups()
        thread, *inner = frames.split(";")
        threads[re.sub(r"thread \(\S+\)(: )?", "", thread) or "?"] += int(samples)
        if inner:
            functions[_frame(inner[-1])] += int(samples)
    total = sum(threads.values())
    lines = [f"All threads: {total:,} samples with the interpreter lock held.", ""]
    for title, found in (("thread", threads), ("function", functions)):
        lines += [f"| share | {title} |", "|---|---|"]
        lines += [f"| {n / total:.1%} | `{name}` |" for name, n in found.most_common(top)]
        lines.append("")
    return lines[:-1]


def _frame(frame: str) -> str:
    """`name (path:line)` as `path name`: by function, not by line."""
    match = re.fullmatch(r"(.*) \((.*):\d+\)", frame)
    return f"{_PLACES.sub('', match[2])} {match[1]}" if match else frame


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--top", type=int, default=25)
    parser.add_argument("--python", default=THIS)
    parser.add_argument("--py-spy", default=shutil.which("py-spy"))
    options = parser.parse_args()
    print(f"Load average {os.getloadavg()[0]:.1f} at the begin.\n")
    with mock_server(0) as base_url, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        write_run(folder, base_url, options.cases)
        with installation(options.python) as one:
            print("\n".join(main_thread(one, folder, options.top)), flush=True)
        print()
        if options.py_spy is None:
            print("py-spy is not installed: pip install py-spy", file=sys.stderr)
            return
        with installation(options.python) as one:
            print("\n".join(holders(one, folder, options.py_spy, options.top)))


if __name__ == "__main__":
    main()
