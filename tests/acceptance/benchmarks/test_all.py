"""Every benchmark is tested, and says what it lacks; the curve of a run is measured."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.acceptance.benchmarks import (
    test_console_pages,
    test_single_parts,
    test_whole_commands,
    test_working_together,
)
from tests.benchmarks import peers
from tests.benchmarks.all import BENCHMARKS
from tests.benchmarks.scale import __main__ as scale


def test_every_benchmark_is_tested_in_one_file() -> None:
    files = (test_console_pages, test_single_parts, test_whole_commands, test_working_together)
    names = [name for file in files for name in file.NAMES]
    assert sorted(names) == sorted(benchmark.name for benchmark in BENCHMARKS)


@pytest.mark.wide
@pytest.mark.usefixtures("quick")
def test_the_curve_of_a_run_is_measured_to_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "curve.json"
    how = ["--workers", "2", "--connections", "8", "--output", str(file)]
    scale.main(["--sizes", "60", *how])
    [curve] = orjson.loads(file.read_bytes())["curves"]
    assert [name for name, value in curve.items() if value is None] == []
    assert curve["asked_again"] <= curve["lost"]
    assert {"command", "worker", "database", "report"} <= curve["peaks_mb"].keys()
    assert "not measured" not in capsys.readouterr().out


def test_a_peer_that_is_not_there_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("PEERS", "")
    measured = [peers._peer(peer, "http://127.0.0.1:1/v1", 1) for peer in peers.PEERS]
    assert [taken.note for taken in measured] == [
        "not installed: inspect_ai, install with `pip install inspect_ai openai`",
        "not installed: promptfoo, install with `npm install promptfoo`",
        "not installed: lm-eval, install with `pip install 'lm-eval[api]'`",
    ]
    assert all(taken.value is None for taken in measured)
