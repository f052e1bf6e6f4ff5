"""`export` writes whatever shapes dialects offer, of runs of those dialects alone."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from failproof_es.dialects.protocol import CollectionExport
from failproof_es.dialects.shipped.failproof import FailProof
from tests.acceptance.commands import invoke
from tests.acceptance.conftest import RecordedLog

RUNS = """
SELECT to_json(run_id)::text, json_build_object('number', run_number)::text
FROM failproof.run_list WHERE run_id = ANY (%(runs)b)
"""
PROMPTS = """
SELECT to_json(originator_id)::text, json_build_object('known', true)::text
FROM failproof.stored_events WHERE originator_id = ANY (%(prompts)b)
"""


def test_a_shape_that_a_dialect_offers_is_listed_and_written(
    recorded_log: RecordedLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = {"numbers": CollectionExport("runs by number", {"runs": RUNS, "prompts": PROMPTS})}
    monkeypatch.setattr(FailProof, "exports", offered, raising=False)
    listed = invoke(recorded_log.url, "export", "--shape", "--json", cwd=tmp_path)
    told = {"shape": "numbers", "runs": "failproof", "writes": "runs by number"}
    assert told in orjson.loads(listed.stdout)
    options = ("--shape", "numbers", "-o", "out", "--json")
    done = invoke(recorded_log.url, "export", 1, *options, cwd=tmp_path)
    assert done.exit_code == 0, done.output
    counts = {each["collection"]: each["documents"] for each in orjson.loads(done.stdout)}
    assert counts == {"runs": 1, "prompts": 3}
    (runs,) = (tmp_path / "out").glob("*_runs.jsonl")
    assert orjson.loads(runs.read_bytes())["number"] == 1
    ours = ("--shape", "promptguard", "-o", "out")
    other = invoke(recorded_log.url, "export", 1, *ours, cwd=tmp_path)
    assert other.exit_code == 2 and "[wrong-dialect]" in other.stderr
    nowhere = invoke(recorded_log.url, "export", 1, "--shape", "odd", "-o", "out", cwd=tmp_path)
    assert nowhere.exit_code == 2 and "numbers, promptguard" in nowhere.stderr
