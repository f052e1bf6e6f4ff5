"""The benchmarks work: each is carried out with so little that it takes seconds.

What they measure then means nothing. That they measure it is what is tested. They share one
installation here, whose database and home are made anew each time.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest

from failproof_es.store.embedded.server import DATABASE, EmbeddedServer
from tests.acceptance.commands import mock_server
from tests.benchmarks import __main__ as benchmarks
from tests.benchmarks import peers, reading, servers
from tests.benchmarks.all import BENCHMARKS
from tests.benchmarks.console import pages
from tests.benchmarks.installation import THIS, Installation, installation
from tests.benchmarks.reach import large, live, log, replies, runs, starting, whole, workers
from tests.benchmarks.scale import __main__ as scale
from tests.benchmarks.scale import curve
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
        self.kept = set(one.home.iterdir())
        create_database(self.administered, "fresh", DATABASE)

    @property
    def administered(self) -> EmbeddedServer:
        return self.one.server

    def anew(self) -> None:
        """An empty log, and nothing of those before in its home."""
        drop_database(self.administered, DATABASE)
        create_database(self.administered, DATABASE, "fresh")
        for each in set(self.one.home.iterdir()) - self.kept:
            if each.is_dir():
                shutil.rmtree(each)
            else:
                each.unlink()

    @contextmanager
    def installation(self, python: str = THIS) -> Iterator[Installation]:
        assert python == THIS
        self.anew()
        yield self.one

    @contextmanager
    def server(self) -> Iterator[EmbeddedServer]:
        self.anew()
        yield self.one.server


@pytest.fixture(scope="module")
def shared() -> Iterator[None]:
    with installation() as one, pytest.MonkeyPatch.context() as patched:
        found = Shared(one)
        for module in (whole, workers, large, live, log, starting, replies, peers, curve):
            patched.setattr(module, "installation", found.installation)
        for module in (benchmarks, servers):
            patched.setattr(module, "benchmark_server", found.server)
        for module in (runs, workers, curve):
            patched.setattr(module, "mock_server", lambda ms, name, warm: mock_server(ms, name))
        patched.setattr(pages, "REQUESTS", 1)
        patched.setattr(reading, "ROUNDS", 2)
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("name", [each.name for each in BENCHMARKS])
def test_a_benchmark_measures_every_row(name: str, tmp_path: Path) -> None:
    file = tmp_path / "quick.json"
    benchmarks.main(["--quick", "--only", name, "--output", str(file)])
    kept = orjson.loads(file.read_bytes())
    assert kept["quick"]
    [benchmark] = [each for each in BENCHMARKS if each.name == name]
    assert [row["name"] for row in kept["rows"]] == [row.name for row in benchmark.rows]
    for row in kept["rows"]:
        [taken] = row["measured"]["now"]["rounds"]
        if taken["value"] is None:
            assert taken["note"].startswith(("not installed: ", "not measured without --large"))
        else:
            assert taken["value"] > 0 or row["name"] in MAY_BE_NOTHING, row["name"]


@pytest.mark.slow
@pytest.mark.usefixtures("shared")
def test_the_curve_of_a_run_is_measured_to_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "curve.json"
    how = ["--workers", "2", "--connections", "8", "--output", str(file)]
    scale.main(["--sizes", "60", *how])
    [found] = orjson.loads(file.read_bytes())["curves"]
    assert [name for name, value in found.items() if value is None] == []
    assert found["asked_again"] <= found["lost"]
    assert {"command", "worker", "database", "report"} <= found["peaks_mb"].keys()
    assert "not measured" not in capsys.readouterr().out


def test_a_peer_that_is_not_there_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("PEERS", "")
    said = [peers._peer(each, "http://127.0.0.1:1/v1", 1) for each in peers.PEERS]
    assert [each.note for each in said] == [
        "not installed: inspect_ai, install with `pip install inspect_ai openai`",
        "not installed: promptfoo, install with `npm install promptfoo`",
        "not installed: lm-eval, install with `pip install 'lm-eval[api]'`",
    ]
    assert all(each.value is None for each in said)
