"""Losing much of a run is no success: exit code 3, and why, for each model."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import orjson
import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke
from tests.acceptance.runs.test_gates import CASES, configured, gates, model, start


def test_a_run_that_lost_most_of_a_model_exits_3_and_says_why_everywhere(
    store: Store, tmp_path: Path
) -> None:
    configured(tmp_path, model("up"), model("down", breaks_at=list(range(12))))
    done = start(store, tmp_path, "--junit", "junit.xml")
    assert done.exit_code == 3, done.output
    judged = gates(store, 1)
    assert list(judged) == ["max_unscored_rate.down"], "of the other nothing was lost"
    gate = judged["max_unscored_rate.down"]
    assert (gate["limit"], gate["measured"], gate["of"]) == (0.1, 12 / CASES, CASES)
    said = "model down: 12 of 20 evaluations have no score: lost, "
    assert gate["why"].startswith(said) and "(12)" in gate["why"]
    assert said in done.stdout and "NOT MET" in done.stdout
    assert said in invoke(store.url, "show", 1, cwd=tmp_path).stdout
    assert said in invoke(store.url, "results", 1, cwd=tmp_path).stderr
    assert invoke(store.url, "report", 1, "-o", "report.html", cwd=tmp_path).exit_code == 0
    assert "max_unscored_rate.down" in (tmp_path / "report.html").read_text()
    junit = ET.parse(tmp_path / "junit.xml")
    (case,) = junit.findall("./testsuite[@name='gates']/testcase")
    assert case.get("name") == "max_unscored_rate.down" and case.find("failure") is not None
    assert invoke(store.url, "resume", 1, "--quiet", cwd=tmp_path).exit_code == 3


@pytest.mark.parametrize(("broken", "exit_code"), [(2, 0), (3, 3)])
def test_a_tenth_of_a_model_may_be_lost(
    store: Store, tmp_path: Path, broken: int, exit_code: int
) -> None:
    configured(tmp_path, model("m", breaks_at=list(range(broken))))
    assert start(store, tmp_path).exit_code == exit_code


def test_a_gate_says_that_more_may_be_lost(store: Store, tmp_path: Path) -> None:
    broken = model("m", breaks_at=list(range(10)))
    for limit, exit_code in ((0.5, 0), (0.49, 3)):
        configured(tmp_path, broken, gates={"max_unscored_rate": limit})
        assert start(store, tmp_path).exit_code == exit_code


def test_a_run_of_which_nothing_came_back_failed_and_says_why(store: Store, tmp_path: Path) -> None:
    configured(tmp_path, model("m", breaks_at=list(range(CASES))))
    done = start(store, tmp_path, "--json")
    assert done.exit_code == 1
    summary = orjson.loads(done.stdout.splitlines()[-1])
    assert summary["status"] == "failed"
    assert "model m: 20 of 20 evaluations have no score: lost, " in summary["reason"]
