"""`register` records a plan before the data; the run that follows it says what has changed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite

ALONE = Path(__file__).parents[3] / "docs" / "reference" / "verify_evidence.py"


class Registering:
    """Commands in a folder with a configuration of two cases."""

    def __init__(self, store: Store, mock_url: str, folder: Path) -> None:
        self.store, self.folder, self.mock_url = store, folder, mock_url
        write_suite(folder, 2)
        write_configuration(folder, mock_url)

    def do(self, *arguments: object, code: int = 0) -> str:
        done = invoke(self.store.url, *arguments, cwd=self.folder)
        assert done.exit_code == code, (arguments, done.output)
        return done.output

    def register(self, *options: object) -> dict[str, Any]:
        done = invoke(self.store.url, "register", "run.yaml", *options, "--json", cwd=self.folder)
        assert done.exit_code == 0, done.output
        facts: dict[str, Any] = json.loads(done.stdout)
        return facts

    def follow(self, facts: dict[str, Any], *options: object, code: int = 0) -> str:
        plan = ("--registration", facts["registration"])
        return self.do("start", "run.yaml", "--quiet", *plan, *options, code=code)

    def proven(self, run: int) -> list[str]:
        """What both verifiers say of the run's evidence."""
        self.do("ledger", "key", "-o", "log.pub")
        self.do("evidence", "export", run, "-o", "run.evidence")
        said = self.do("evidence", "verify", "run.evidence", "--key", "log.pub")
        alone = subprocess.run(
            [sys.executable, ALONE, "run.evidence", "--key", "log.pub"],
            cwd=self.folder, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert alone.returncode == 0, alone.stdout + alone.stderr
        lines = [line for line in said.splitlines() if line.startswith("registered at ")]
        assert all(line in alone.stdout for line in lines)
        return lines


@pytest.fixture
def registering(store: Store, mock_url: str, tmp_path: Path) -> Registering:
    return Registering(store, mock_url, tmp_path)


def test_a_run_follows_its_plan_unchanged_and_evidence_proves_it(registering: Registering) -> None:
    facts = registering.register("-o", "plan.tlog-proof")
    assert facts["runs"] == 1 and facts["evaluations"] == 2
    registering.follow(facts)
    (line,) = registering.proven(1)
    told = f"({facts['registration']}) for 1 run; unchanged since; attempts before it: 0"
    assert line.endswith(told)
    proof = registering.do("evidence", "verify", "plan.tlog-proof", "--key", "log.pub")
    assert "PlanRegistered" in proof and facts["registration"] in proof
    shown = json.loads(registering.do("show", 1, "--json"))
    assert shown["registration"]["changed"] == []
    assert any("unchanged since" in remark for remark in shown["remarks"])
    registering.do("report", 1, "-o", "report.md")
    assert "unchanged since" in (registering.folder / "report.md").read_text()
    assert registering.do("verify", 1)
    trail = registering.do("audit", facts["registration"])
    assert "PlanRegistered" in trail


def test_what_has_changed_is_named_and_earlier_attempts_are_counted(
    registering: Registering,
) -> None:
    registering.do("start", "run.yaml", "--quiet")
    facts = registering.register("--runs", 2)
    registering.follow(facts, "--set", "execution.retry_attempts=7")
    (line,) = registering.proven(2)
    assert "for 2 runs; changed since: configuration.execution; attempts before it: 1" in line
    write_suite(registering.folder, 3)
    registering.follow(facts)
    (line,) = registering.proven(3)
    assert "changed since: cases, experiment, planned_evaluations;" in line


def test_no_further_run_than_was_registered_follows_the_plan(registering: Registering) -> None:
    facts = registering.register()
    registering.follow(facts)
    said = registering.follow(facts, code=2)
    assert "registration-used" in said and "1 began" in said
    unknown = registering.follow({"registration": uuid4()}, code=2)
    assert "unknown-registration" in unknown and "failproof-es register" in unknown


def test_the_log_is_signed_when_a_plan_is_registered(registering: Registering) -> None:
    facts = registering.register()
    checkpoint = registering.do("ledger", "checkpoint").splitlines()
    assert int(checkpoint[1]) >= facts["tree_size"]
    assert re.fullmatch("[0-9a-f]{64}", facts["leaf"])


def test_a_case_that_changes_its_suite_or_severity_has_changed(registering: Registering) -> None:
    """It decides gates, though it is the same question."""
    facts = registering.register()
    suite = registering.folder / "suite.jsonl"
    first, *rest = suite.read_text().splitlines()
    case = json.loads(first)
    key = next(name for name in case if "suite" in name)
    suite.write_text("\n".join([json.dumps({**case, key: "elsewhere"}), *rest]) + "\n")
    registering.follow(facts)
    (line,) = registering.proven(1)
    assert "changed since: cases;" in line


def test_answers_that_are_older_than_the_plan_follow_none(registering: Registering) -> None:
    registering.do("start", "run.yaml", "--quiet")
    reuse = ("--set", "reuse.from_run=1")
    said = registering.do("register", "run.yaml", *reuse, code=2)
    assert "registration-with-reuse" in said
    said = registering.follow(registering.register(), *reuse, code=2)
    assert "registration-with-reuse" in said


def test_an_authority_that_is_missing_does_not_hide_the_plan(registering: Registering) -> None:
    said = registering.do(
        "register", "run.yaml", "--time-stamp", "http://127.0.0.1:1/", "-o", "plan.proof", code=3
    )
    assert re.search("^registered: [0-9a-f-]{36}$", said, re.MULTILINE)
    assert "did not stamp the checkpoint" in said and "tree_root" in said
    assert (registering.folder / "plan.proof").read_text().startswith("c2sp.org/tlog-proof@v1")
    said = registering.do("register", "run.yaml", "-o", "/dev/full", code=2)
    assert re.search("^registered: [0-9a-f-]{36}$", said, re.MULTILINE)
