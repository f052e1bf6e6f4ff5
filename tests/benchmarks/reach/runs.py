"""A whole run by the command line, and what the log tells of it afterwards."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.acceptance.commands import mock_server, write_configuration, write_suite
from tests.benchmarks.installation import Installation
from tests.benchmarks.reach.bare import CONNECTIONS, PROMPT
from tests.benchmarks.watch import Ran, run_watched

SERVER = "tests.benchmarks.reach.server"

_FACTS = """
SELECT
    count(*),
    count(*) FILTER (WHERE topic = 'Scored'),
    extract(epoch FROM min(recorded_at) FILTER (WHERE topic = 'RequestSent')),
    extract(epoch FROM max(recorded_at) FILTER (WHERE topic = 'Scored')),
    extract(epoch FROM max(recorded_at) FILTER (WHERE topic = 'RunCompleted')),
    extract(epoch FROM max(recorded_at) FILTER (WHERE topic = 'RunSealed'))
FROM failproof.stored_events
"""


@dataclass(frozen=True)
class Facts:
    """What stands in a log that holds one run. Moments are seconds of the epoch."""

    events: int
    scored: int
    first_request: float
    last_score: float
    completed: float
    sealed: float
    database_bytes: int


@contextlib.contextmanager
def working_folder() -> Iterator[Path]:
    """A folder that the database's user may read, too; gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="failproof-es-benchmark-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def server(latency_ms: float = 0.0) -> Iterator[str]:
    """The counting mock, in a process of its own."""
    with mock_server(latency_ms, SERVER, warm=False) as base_url:
        yield base_url


def write_run(
    folder: Path, base_url: str, cases: int, connections: int = CONNECTIONS, **model: Any
) -> None:
    """`suite.jsonl` and `run.yaml`: so many cases of 600 bytes; `model` as in `models:`."""
    write_suite(folder, cases, PROMPT)
    asked = {"provider": "openai", "base_url": base_url, "model": "mock", **model}
    write_configuration(
        folder,
        base_url,
        models=[asked],
        execution={"parallel_workers": connections, "allow_unlisted": True},
    )


def run_command(one: Installation, folder: Path, *arguments: str) -> Ran:
    """A command of the program, watched. Raises `RuntimeError` where it fails."""
    ran = run_watched(one.command(*arguments), one.environment, folder, one.server_pid)
    if ran.code != 0:
        raise RuntimeError(f"{' '.join(arguments)} exited {ran.code}: {ran.output[-500:]}")
    return ran


def facts(one: Installation) -> Facts:
    """Of the one run in the log."""
    events, scored, first, last, completed, sealed = one.ask(_FACTS)
    [size] = one.ask("SELECT pg_database_size(current_database())")
    return Facts(events, scored, float(first), float(last), float(completed), float(sealed), size)


def behind(one: Installation) -> int:
    """How many positions the projection that is furthest behind has not read."""
    stand = json.loads(one.run("projections", "status", "--json"))
    return max(int(each["behind"]) for each in stand)
