"""Attacks on the rows that results are read from: the log is whole, and a run seems to pass."""

from __future__ import annotations

import json

import psycopg
import pytest

from failproof_es.store.schema.installation import PROJECTOR, WRITER
from tests.acceptance.attacks.conftest import Attacked
from tests.acceptance.attacks.world import CASES, FAILED, PASSED

FORGED = (
    f"UPDATE projections.evaluations SET passed = true, class = 'pass' WHERE run_id = '{FAILED}'",
    f"UPDATE projections.run_groups SET passed = scored, failed = 0 WHERE run_id = '{FAILED}'",
    f"UPDATE projections.run_classes SET class = 'pass' WHERE run_id = '{FAILED}'",
)
"""What makes a run in which everything failed pass in `results`, `show` and `runs`."""


@pytest.fixture
def shown(log: Attacked) -> Attacked:
    """The log, with its read models."""
    assert log.command("runs", url=log.url).exit_code == 0
    return log


def test_rows_changed_are_named_and_in_no_file_on_record(shown: Attacked) -> None:
    url = shown.url.replace(f"//{WRITER}@", f"//{PROJECTOR}@")
    with psycopg.connect(url, autocommit=True) as projector:
        for statement in FORGED:
            projector.execute(statement.encode())
    assert shown.command("results", FAILED, "--failed", "--json").stdout == "[]\n"
    verified = shown.command("verify", FAILED, "--json")
    told = json.loads(verified.stdout)
    assert (verified.exit_code, told["genuine"], told["verdict"]) == (1, False, "rows changed")
    named = [row for row in told["tables"]["changed"] if row["table"] == "projections.evaluations"]
    assert len(named) == 10 and told["tables"]["changed_rows"] > CASES
    assert "passed is true, by the log false" in named[0]["message"]
    assert named[0]["columns"]["passed"] == {"in_table": True, "by_log": False}
    assert named[0]["row"]["case"].startswith("asked-")
    assert shown.command("verify", PASSED).exit_code == 0
    whole = shown.command("verify", "--tables", "--json")
    told = json.loads(whole.stdout)
    assert (whole.exit_code, told["genuine"], told["verdict"]) == (1, False, "rows changed")
    assert "passed is true, by the log false" in told["tables"]["changed"][0]["message"]
    report = shown.folder / "report.json"
    made = shown.command("report", FAILED, "-o", report, "--junit", "junit.xml", url=shown.url)
    assert made.exit_code == 0
    (asked,) = json.loads(report.read_text("utf-8"))["asked"]
    assert asked["run"]["as_of"]["source"] == "log"
    assert (asked["run"]["passed"]["passed"], asked["run"]["passed"]["total"]) == (0, CASES)
    assert f'failures="{CASES}"' in (shown.folder / "junit.xml").read_text("utf-8")
    assert shown.command("audit", "--file", report).exit_code == 0
    assert shown.command("projections", "rebuild", url=shown.url).exit_code == 0
    assert shown.command("verify", FAILED).exit_code == 0


def test_rows_that_a_changed_log_contradicts_are_to_be_kept(shown: Attacked) -> None:
    shown.tamper(f"DELETE FROM failproof.events WHERE run_id = '{PASSED}' AND topic = 'Scored'")
    verified = shown.command("verify", PASSED)
    assert verified.exit_code == 1
    assert "do not rebuild these rows" in " ".join(verified.output.split())


def test_a_policy_that_shows_an_auditor_other_rows_is_named(shown: Attacked) -> None:
    url = shown.url.replace(f"//{WRITER}@", f"//{PROJECTOR}@")
    with psycopg.connect(url, autocommit=True) as projector:
        projector.execute("ALTER TABLE projections.evaluations ENABLE ROW LEVEL SECURITY")
        projector.execute("CREATE POLICY all_rows ON projections.evaluations USING (true)")
    verified = shown.command("verify", FAILED)
    assert verified.exit_code == 1
    assert "the policy all_rows on projections.evaluations was not installed" in verified.stdout
