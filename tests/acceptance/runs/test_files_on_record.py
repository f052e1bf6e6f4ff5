"""Every file that is written about a run is in the run's audit trail (specification 001 § 8.2)."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration

VERDICT = b64encode(b'{"T": 0.9, "I": 0.1, "F": 0.0, "reasoning": "a question"}').decode()


def start(store: Store, folder: Path, mock_url: str, run: int) -> None:
    prompt = {
        "prompt_id": f"p-{run}",
        "content": f"{run} [answer:{VERDICT}]",
        "category": "any",
        "expected_label": "reciprocal",
    }
    (folder / "prompts.jsonl").write_bytes(orjson.dumps(prompt))
    prompts = {"path": "prompts.jsonl", "dialect": "promptguard"}
    write_configuration(folder, mock_url, prompts=prompts)
    done = invoke(store.url, "start", "run.yaml", "--quiet", cwd=folder)
    assert done.exit_code == 0, done.output


def files_of(store: Store, folder: Path, run: int) -> list[dict[str, Any]]:
    shown = invoke(store.url, "audit", run, "--format", "jsonl", cwd=folder)
    records = [json.loads(line) for line in shown.stdout.splitlines()]
    return [record["details"] for record in records if record["event"] == "FileWritten"]


@pytest.mark.slow
def test_whatever_is_written_about_a_run_is_in_its_audit_trail(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    for run in (1, 2):
        start(store, tmp_path, mock_url, run)
    commands: tuple[tuple[str, ...], ...] = (
        ("report", "1", "2", "-o", "a.html"),
        ("report", "1", "2", "--slide", "--pool", "-o", "f.md"),
        ("results", "1", "--junit", "b.xml"),
        ("evidence", "export", "1", "-o", "c.evidence"),
        ("review", "export", "1", "d.csv"),
        ("export", "1", "2", "--shape", "promptguard", "--output", "e"),
        ("report", "1", "-o", "-"),
    )
    for command in commands:
        done = invoke(store.url, *command, cwd=tmp_path)
        assert done.exit_code == 0, done.output
        assert "not on record" not in done.stderr
    assert "Counted together: runs 1, 2." in (tmp_path / "f.md").read_text()
    first, second = (files_of(store, tmp_path, run) for run in (1, 2))
    assert [each["kind"] for each in first] == (
        ["report", "report", "report", "evidence", "review_sheet"] + 4 * ["export"]
    )
    assert [each["kind"] for each in second] == ["report", "report"] + 4 * ["export"]
    for each in (*first, *second):
        content = Path(each["path"]).read_bytes()
        assert (each["bytes"], each["sha256"]) == (
            len(content),
            hashlib.sha256(content).hexdigest(),
        )
        assert each["who"] and each["where"]
    assert invoke(store.url, "verify", cwd=tmp_path).exit_code == 0
