"""Benchmarks carried out with so little that each takes seconds.

What they measure then means nothing. That they measure it is what is tested. They share one
installation in each process, whose database and home are made anew each time.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType

import orjson
import pytest

from failproof_es.store.embedded.server import DATABASE, EmbeddedServer
from tests.acceptance.commands import mock_server
from tests.benchmarks import __main__ as benchmarks
from tests.benchmarks import reading
from tests.benchmarks.all import BENCHMARKS
from tests.benchmarks.console import log, pages
from tests.benchmarks.installation import THIS, Installation
from tests.benchmarks.reach import workers
from tests.benchmarks.scale import __main__ as scale
from tests.conftest import create_database, drop_database

MAY_BE_NOTHING = {
    "rebuild-cores",
    "cpu-per-evaluation",
    "coordination",
    "console-viewers",
    "console-viewers-throughput",
}
"""Differences of two measurements: of so little, one is not always more than the other."""


class Shared:
    """One installation in turn for all who ask for one."""

    def __init__(self, one: Installation) -> None:
        self.one = one
        self._lasting = set(self._files())
        create_database(one.server, "fresh", DATABASE)

    def anew(self) -> None:
        """An empty log, and nothing of those before in its home."""
        drop_database(self.one.server, DATABASE)
        create_database(self.one.server, DATABASE, "fresh")
        for path in set(self._files()) - self._lasting:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def _files(self) -> Iterator[Path]:
        """What stands in its home, and what it keeps of the log beside the key."""
        yield from self.one.home.iterdir()
        yield from (self.one.home / "ledger").iterdir()

    @contextmanager
    def installation(self, python: str = THIS) -> Iterator[Installation]:
        assert python == THIS
        self.anew()
        yield self.one

    @contextmanager
    def server(self) -> Iterator[EmbeddedServer]:
        self.anew()
        yield self.one.server


def modules_with(name: str) -> list[ModuleType]:
    """The modules of the benchmarks in which a function has this name, wherever it is defined."""
    return [
        module
        for place, module in list(sys.modules.items())
        if place.startswith("tests.benchmarks") and hasattr(module, name)
    ]


def make_quick(patched: pytest.MonkeyPatch, shared: Shared) -> None:
    """Let all benchmarks use the installation, warm servers and few rounds.

    What is the same for each of them (commit, version of the server) is looked up once; the runs
    that several of them compare with are driven once.
    """
    for module in modules_with("installation"):
        patched.setattr(module, "installation", shared.installation)
    for module in modules_with("benchmark_server"):
        if module is reading:  # it compares two logs, each on a server of its own
            continue
        patched.setattr(module, "benchmark_server", shared.server)
    for module in modules_with("mock_server"):
        patched.setattr(module, "mock_server", lambda ms, name, warm: mock_server(ms, name))
    for module in (benchmarks, scale):
        patched.setattr(module, "commit_of", cache(benchmarks.commit_of))
    patched.setattr(benchmarks, "postgres_version", cache(benchmarks.postgres_version))
    patched.setattr(workers, "drive", cache(workers.drive))
    patched.setattr(pages, "REQUESTS", 1)
    patched.setattr(log, "ASKED", 5)
    patched.setattr(reading, "ROUNDS", 2)


def check_every_row(name: str, folder: Path) -> None:
    """Measure one benchmark; each of its rows has a value, or says why it has none."""
    file = folder / "quick.json"
    benchmarks.main(["--quick", "--only", name, "--output", str(file)])
    measured = orjson.loads(file.read_bytes())
    assert measured["quick"]
    [benchmark] = [benchmark for benchmark in BENCHMARKS if benchmark.name == name]
    assert [row["name"] for row in measured["rows"]] == [row.name for row in benchmark.rows]
    for row in measured["rows"]:
        [taken] = row["measured"]["now"]["rounds"]
        if taken["value"] is None:
            assert taken["note"].startswith(("not installed: ", "not measured without --large"))
        else:
            assert taken["value"] > 0 or row["name"] in MAY_BE_NOTHING, row["name"]
