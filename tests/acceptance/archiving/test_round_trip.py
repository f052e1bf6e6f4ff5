"""A run goes into a file and comes back: the log is whole before, meanwhile and after."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from typing import Any

from failproof_es.store.store import Store
from projections.runner import catch_up, prepare, rebuild
from tests.acceptance.archiving.conftest import Archive
from tests.acceptance.commands import ROOT, invoke

_TABLES = ("evaluations", "runs", "planned_cases", "run_groups", "token_usage", "audit_trail",
           "run_classes", "run_asking", "run_latencies", "run_clusters", "run_errors",
           "run_unscored", "unplaced_events", "prompts")  # fmt: skip
_OF_THE_TEST = ('"RunArchived"', '"RunAttached"', '"FileWritten"')


def _read_models(archive: Archive) -> dict[str, list[Any]]:
    """The rows of every read model, brought up; of the audit trail without what this test does."""
    with Store.open(archive.url) as store, store.connect() as connection:
        prepare(connection)
        while catch_up(connection):
            pass
    found: dict[str, list[Any]] = {}
    for table in _TABLES:
        rows = archive.query(f"SELECT to_json(t)::text FROM projections.{table} AS t")
        found[table] = sorted(
            row for (row,) in rows if not any(word in row for word in _OF_THE_TEST)
        )
    return found


def test_a_run_is_archived_and_attached_again_byte_for_byte(archive: Archive) -> None:
    before = archive.rows()
    other = archive.rows(2)
    shown = archive.does("show", "1"), archive.does("results", "1"), archive.does("runs")
    models = _read_models(archive)

    said = json.loads(archive.does("archive", "1", "--to", "old", "--json"))
    [told] = said if isinstance(said, list) else [said]
    file = archive.file()
    assert told["file"] == str(file)
    assert told["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert told["events"] == len(before) - len(
        [row for row in archive.rows() if row[1] == archive.run_id()]
    )

    # What happened in its evaluations is gone; its own stream, and the other run, are not.
    assert all(row[1] == archive.run_id() for row in archive.rows())
    assert archive.rows(2) == other
    kept = archive.query("SELECT count(*) FROM failproof.archived_events")
    assert kept == [(told["events"],)]

    # The file is evidence that both verifiers accept.
    archive.does("ledger", "key", "-o", "log.pub")
    key = str(archive.folder / "log.pub")
    assert "genuine" in archive.does("evidence", "verify", file, "--key", key, "--replay")
    second = subprocess.run(
        [sys.executable, ROOT / "docs/reference/verify_evidence.py", file, "--key", key],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert second.returncode == 0, second.stdout + second.stderr

    # The log verifies, and so does the other run, whose evidence counts this one as an attempt.
    verified = archive.does("verify")
    assert "genuine" in verified
    assert f"{told['events']:,} events of 1 run are archived" in verified
    assert "not checked" in verified
    checked = archive.does("verify", "--archive", "old")
    assert ": checked" in checked and "not checked" not in checked
    assert "genuine and whole" in archive.does("verify", "2")
    assert "as the log gives them" in archive.does("verify", "--tables")
    attach = f"attach it with `failproof-es attach {file}`"
    run_id, events = str(archive.run_id()), told["events"]
    left_out = {
        "left_out": [
            {"run_number": 1, "run_id": run_id, "why": "archived", "file": str(file),
             "sha256": told["sha256"], "events": events}
        ]
    }  # fmt: skip
    since, thrown_away = ("--since", "2026-01-01"), ("audit", "--only", "thrown-away")
    for words in (("requests",), ("requests", *since), ("requests", "1"), ("log",), thrown_away,
                  ("log", "1"), ("review", "disagreements")):  # fmt: skip
        done = invoke(archive.url, *words, "--json", cwd=archive.folder)
        assert attach in done.stderr, words
        assert json.loads(done.stdout.splitlines()[-1]) == left_out, words
    done = invoke(archive.url, "case", "case-00001", "--json", cwd=archive.folder)
    assert attach in done.stderr
    result, *_, last = json.loads(done.stdout)
    assert (result["source"], last) == ("projections", left_out)
    for words in (("requests", "2"), ("requests", "--until", "2026-01-01"), ("audit",)):
        assert attach not in archive.does(*words), words
    without = _read_models(archive)
    assert not any(str(archive.run_id()) in row for row in without["evaluations"] + without["runs"])
    assert len(without["evaluations"]) == 3
    with Store.open(archive.url) as store, store.connect() as connection:
        rebuild(connection)
    assert _read_models(archive) == without
    archive.does("evidence", "export", "2", "-o", "two.evidence")

    archive.does("attach", file)
    assert archive.rows() == before
    assert archive.query("SELECT count(*) FROM failproof.archived_events") == [(0,)]
    assert "archived" not in archive.does("verify")
    assert "genuine and whole" in archive.does("verify", "1")
    assert archive.does("results", "1") == shown[1]
    assert archive.does("runs") == shown[2]
    assert "as the log gives them" in archive.does("verify", "--tables")
    assert archive.does("show", "1").splitlines()[:5] == shown[0].splitlines()[:5]
    assert _read_models(archive) == models
    with Store.open(archive.url) as store, store.connect() as connection:
        rebuild(connection)
    assert _read_models(archive) == models
