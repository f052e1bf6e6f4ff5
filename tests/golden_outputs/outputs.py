"""What is compared: reading commands in every format, and the pages of the console as data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psycopg

from tests.acceptance.commands import invoke

EXPECTED = Path(__file__).parent / "expected"
RUNS = range(1, 7)
JUDGED = 3
"""The run with judges, reviews and two models."""
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Command(NamedTuple):
    """A command, and the file of what it prints."""

    file: str
    arguments: tuple[str, ...]


def commands() -> Iterator[Command]:
    """The reading commands that say something of the log."""
    for kind in ("table", "json", "jsonl"):
        yield Command(f"runs.{kind}", ("runs", "--format", kind))
        yield Command(f"diff-1-2.{kind}", ("diff", "1", "2", "--format", kind))
    yield Command("runs-total.table", ("runs", "--total"))
    yield Command("runs-total.json", ("runs", "--total", "--experiment", "1", "--json"))
    yield Command("diff-1-4.table", ("diff", "1", "4", "--format", "table"))
    for run in RUNS:
        yield from _of_run(str(run))
    yield Command("report-1-2.json", ("report", "1", "2", "--format", "json", "-o", "-"))


def _of_run(run: str) -> Iterator[Command]:
    """Of every run its tables and documents; of one with judges, its rows in each format."""
    every_format = int(run) == JUDGED
    for kind in ("table", "json", "jsonl") if every_format else ("table", "json"):
        yield Command(f"{run}/show.{kind}", ("show", run, "--format", kind))
        yield Command(f"{run}/results.{kind}", ("results", run, "--format", kind))
    for kind in ("table", "json", "jsonl") if every_format else ("table",):
        failed = ("results", run, "--failed", "--format", kind)
        yield Command(f"{run}/results-failed.{kind}", failed)
        yield Command(f"{run}/replay.{kind}", ("replay", run, "--format", kind))
    for kind in ("table", "jsonl") if every_format else ("table",):
        yield Command(f"{run}/log.{kind}", ("log", run, "--format", kind))
        yield Command(f"{run}/audit.{kind}", ("audit", run, "--format", kind))
    for kind in ("json", "md", "csv") if every_format else ("json", "md"):
        yield Command(f"{run}/report.{kind}", ("report", run, "--format", kind, "-o", "-"))
    yield Command(f"{run}/review-status.json", ("review", "status", run, "--format", "json"))


def printed(url: str, command: Command, folder: Path) -> str:
    """What a command prints, and how it ends; without the steps that a slow machine shows."""
    done = invoke(url, *command.arguments, cwd=folder)
    stderr = re.sub(r"(?m)^.* \.\.\.\n", "", done.stderr)
    said = f"exit code {int(done.exit_code)}\n{stderr}{done.stdout}"
    return steady(said, folder)


def exported(url: str, shape: str, run: int, folder: Path) -> dict[str, str]:
    """The text files of an export, by name."""
    into = folder / f"{shape}-{run}"
    invoke(url, "export", str(run), "--shape", shape, "-o", str(into), cwd=folder)
    return {
        re.sub(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d", "TIME", file.name): steady(
            file.read_text("utf-8"), folder
        )
        for file in sorted(into.rglob("*"))
        if file.is_file() and file.suffix in (".csv", ".xml", ".json", ".jsonl")
    }


def pages(base: str, connection: psycopg.Connection[Any]) -> Iterator[tuple[str, str]]:
    """The console's pages as data: a file, and what is in it."""
    paths = ["runs", "suites", "cases", "review", "compare?base=1&other=2", "search?q=c-01"]
    for run in RUNS:
        paths += [
            f"runs/{run}{of}"
            for of in ("", "/results", "/matrix", "/trend", "/charts", "/cost", "/archive")
        ]
    paths.append(f"runs/{JUDGED}/agreement?one=judges&other=ann&on=verdicts")
    rows = connection.execute(
        "SELECT DISTINCT ON (run_id) originator_id FROM failproof.stored_events "
        "WHERE topic = 'RequestSent' ORDER BY run_id, notification_id"
    ).fetchall()
    paths += [f"evaluations/{stream}" for (stream,) in rows]
    paths += [f"streams/{stream}" for (stream,) in rows]
    with httpx.Client(base_url=base, timeout=60) as client:
        for path in paths:
            page, _, query = path.partition("?")
            reply = client.get(f"/{page}.json" + (f"?{query}" if query else ""))
            name = re.sub(r"[^\w/.-]+", "-", path)
            yield f"console/{name}.json", steady(f"{reply.status_code}\n{reply.text}\n")


_UNSTEADY: Mapping[str, str] = {
    r'"run_results": ?\d+': '"run_results": VERSION',
    r'"made_at": ?"[^"]+"': '"made_at": "TIME"',
    r"as the log stood on [\d :-]+ UTC": "as the log stood on TIME",
    r"http://127\.0\.0\.1:\d+": "http://127.0.0.1:PORT",
}


def steady(said: str, folder: Path | None = None) -> str:
    """The text without what differs from one reading to the next: folders, the time, a port."""
    said = said if folder is None else said.replace(str(folder), "FOLDER")
    for pattern, instead in _UNSTEADY.items():
        said = re.sub(pattern, instead, said)
    return said
