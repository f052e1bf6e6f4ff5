"""The benchmarks work: each is carried out with so little that it takes seconds.

What they measure then means nothing. That they measure it is what is tested.
"""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.benchmarks import __main__ as benchmarks
from tests.benchmarks import peers
from tests.benchmarks.all import BENCHMARKS


@pytest.mark.slow
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
            assert taken["value"] > 0 or row["name"] == "rebuild-cores", row["name"]


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
