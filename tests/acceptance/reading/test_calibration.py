"""Judges are measured by people's labels of a drawn sample, and their rates are corrected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import pytest

from failproof_es.engine.calibration.calibrations import newest_sample
from failproof_es.engine.history import read_run, recorded_evaluations
from failproof_es.engine.reviews.people import Reviewing, ReviewInput, record_reviews
from failproof_es.events import ReviewVerdict
from failproof_es.store.reading.reader import resolve_run
from failproof_es.store.store import Store
from failproof_es.support.percentages import percent
from tests.acceptance.commands import invoke
from tests.acceptance.reading.test_review import reviewable

CASES = 60
TRUE_RATE = 0.6


def judged_good(number: int) -> bool:
    return number % 10 < 8


def is_good(number: int) -> bool:
    return number % 10 in range(2, 8)


def judged_run(store: Store, folder: Path, url: str, *judges: str, cases: int = CASES) -> None:
    """A run whose judges pass 80 % of answers of which 60 % are good."""
    questions = [
        f"Question {number}{'' if judged_good(number) else ' [forbidden]'}"
        for number in range(cases)
    ]
    reviewable(store, folder, url, *questions, judges=judges or ("judge",))


def calibrate(store: Store, folder: Path, *arguments: str) -> Any:
    return invoke(store.url, "calibrate", *arguments, cwd=folder)


def shown(store: Store, folder: Path, run: str = "latest") -> dict[str, Any]:
    document: dict[str, Any] = orjson.loads(calibrate(store, folder, "show", run, "--json").stdout)
    return document


def sampled(store: Store, run: str = "latest") -> Iterator[tuple[UUID, int]]:
    """(evaluation, number of its case) of the drawn evaluations, in their order."""
    with store.lend() as connection:
        run_id = resolve_run(connection, run)
        numbers = {
            recorded.key.evaluation_id: int(recorded.case.case_id.removeprefix("RT-"))
            for recorded in recorded_evaluations(connection, read_run(connection, run_id))
        }
        sample = newest_sample(connection, run_id)
    assert sample is not None
    for evaluation_id in sample.evaluations:
        yield evaluation_id, numbers[evaluation_id]


def label(
    store: Store, numbered: Sequence[tuple[UUID, int]], reviewer: str = "jane", *,
    blind: bool = True, wrong: frozenset[int] = frozenset(),
) -> None:  # fmt: skip
    """Label evaluations by the truth, except those whose case is in `wrong`."""

    def verdict(number: int) -> ReviewVerdict:
        return "pass" if is_good(number) is not (number in wrong) else "fail"

    with store.lend() as connection:
        run_id = resolve_run(connection, "latest")
    reviews = {evaluation_id: ReviewInput(verdict(number)) for evaluation_id, number in numbered}
    record_reviews(store, Reviewing(run_id, reviewer, blind=blind), reviews)


@pytest.mark.slow
def test_a_corrected_rate_holds_the_truth_that_the_judged_one_misses(
    store: Store, judging_url: str, tmp_path: Path
) -> None:
    judged_run(store, tmp_path, judging_url)
    before = shown(store, tmp_path)
    assert before["calibration"] is None and before["rates"][0]["corrected"] is None
    assert before["remarks"] == ["Nobody has measured how often these judges err."]

    drawn = calibrate(store, tmp_path, "run.yaml", "--labels", "40", "--seed", "3")
    assert drawn.exit_code == 0, drawn.stderr
    numbered = list(sampled(store))
    assert len({evaluation for evaluation, _ in numbered}) == 40
    asked = invoke(
        store.url, "review", "latest", "--queue", "calibration-1", cwd=tmp_path, answers="quit\n"
    )
    assert "the label policy:\n  An evaluation passes if" in asked.stderr
    assert "== 1 of 40 ==" in asked.stdout
    label(store, numbered[:20])
    label(store, numbered[20:30], blind=False)
    early = calibrate(store, tmp_path, "close", "latest")
    assert early.exit_code == 2 and "[labels-missing]" in early.stderr, "an unblind look labels"
    label(store, numbered[20:])
    refused = calibrate(store, tmp_path, "close", "latest")
    assert refused.exit_code == 2, "who saw the verdict once is never blind again"
    label(store, numbered[20:30], "joe")
    label(store, numbered[:5], "joe", wrong=frozenset([numbered[0][1]]))
    closed = calibrate(store, tmp_path, "close", "latest")
    assert closed.exit_code == 0, closed.stderr

    document = shown(store, tmp_path)
    calibration, (rate,) = document["calibration"], document["rates"]
    assert (calibration["labels"], calibration["undecided"]) == (39, 1)
    assert calibration["labelled_by"] == {"jane": 30, "joe": 15}
    assert calibration["reliability"] < 1
    low, high = rate["corrected_interval"]
    assert rate["judged"] == pytest.approx(0.8)
    assert low <= TRUE_RATE <= high < rate["judged"] and rate["by"] == "labels"
    whole = calibration["errors"][0]
    assert (whole["by"], whole["what"]) == ("judges", "verdict")
    assert whole["true_positive_rate"]["low"] <= 1.0 <= whole["true_positive_rate"]["high"]
    assert whole["false_positive_rate"]["low"] <= 0.5 <= whole["false_positive_rate"]["high"]

    report = tmp_path / "report.html"
    written = invoke(store.url, "report", "latest", "--output", str(report), cwd=tmp_path)
    assert written.exit_code == 0, written.stderr
    page = report.read_text()
    assert "Passed by the judges, and corrected" in page and "Errors of the judges" in page
    assert f"talker passes {percent(rate['corrected'])}" in page
    assert "Nobody has measured" not in page

    facts = invoke(store.url, "show", "latest", cwd=tmp_path).stdout
    assert "judges measured on 39 labels, kappa 0." in facts
    printed = calibrate(store, tmp_path, "show", "latest")
    assert printed.exit_code == 0 and percent(0.8) in printed.stdout


@pytest.mark.slow
def test_gates_on_judges_need_a_calibration_that_holds(
    store: Store, judging_url: str, tmp_path: Path
) -> None:
    judged_run(store, tmp_path, judging_url, cases=40)
    configuration = orjson.loads((tmp_path / "run.yaml").read_bytes())
    limits = {"min_judge_agreement": 0.5, "min_corrected_accuracy": 0.55, "max_judge_age": 30}

    def started(exit_code: int = 3, **sections: Any) -> dict[str, dict[str, Any]]:
        written = configuration | {"gates": limits} | sections
        (tmp_path / "gated.yaml").write_bytes(orjson.dumps(written))
        run = invoke(store.url, "start", "gated.yaml", "--quiet", cwd=tmp_path)
        assert run.exit_code == exit_code, run.stderr
        gates: dict[str, dict[str, Any]] = facts(store)["gates"]
        return gates

    def facts(store: Store) -> dict[str, Any]:
        shown = invoke(store.url, "show", "latest", "--json", cwd=tmp_path)
        document: dict[str, Any] = orjson.loads(shown.stdout)
        return document

    never = started(gates=limits | {"by": "people", "min_accuracy": 0.5})
    assert {never[name]["why"] for name in limits} == {
        "these judges were never calibrated: `failproof-es calibrate 2 --labels 100`"
    }
    (tmp_path / "2").write_text("a file with the name of a run")
    assert calibrate(store, tmp_path, "2", "--labels", "40").exit_code == 0
    label(store, list(sampled(store)))
    closed = calibrate(store, tmp_path, "close", "latest")
    assert closed.exit_code == 0, closed.stderr
    gates = facts(store)["gates"]
    assert [gates[name]["met"] for name in limits] == [True, True, True]
    assert gates["min_corrected_accuracy"]["measured"] == pytest.approx(TRUE_RATE)
    assert 0.5 < gates["min_judge_agreement"]["measured"] < 0.6

    by_people = invoke(store.url, "review", "close", "2", cwd=tmp_path)
    assert "gate min_accuracy 0.5" in by_people.stdout
    assert "never calibrated" not in by_people.stdout, "the calibration judged these gates since"
    branch = invoke(store.url, "resume", "2", "--again", "failed", "--quiet", cwd=tmp_path)
    assert branch.exit_code == 3, branch.stderr
    again = facts(store)["gates"]["min_corrected_accuracy"]
    assert not again["met"] and "asked again only what had failed in run 2" in again["why"]

    rows = invoke(store.url, "runs", "--format", "jsonl", cwd=tmp_path).stdout.splitlines()
    met = {row["run_number"]: row["gates_met"] for row in map(orjson.loads, rows)}
    assert (met[2], met[3]) == (True, False), "as show says, not as the run ended"

    transferred = started(0, models=[{**configuration["models"][0], "model": "other"}])
    assert [transferred[name]["met"] for name in limits] == [True, True, True]
    (rate,) = shown(store, tmp_path)["rates"]
    low, high = rate["corrected_interval"]
    assert rate["by"] == "error rates" and low <= TRUE_RATE <= high

    stale = started(judges=[{**configuration["judges"][0], "model": "judge-strict"}])
    assert stale["max_judge_age"]["why"].startswith("these judges were never calibrated")
    changed = started(judges=[{**configuration["judges"][0], "temperature": 0.5}])
    assert "other judges, other parameters or another rule" in changed["max_judge_age"]["why"]
    fewer = started(selection={"limit": 30})
    assert "is stale: other cases or rubrics" in fewer["min_corrected_accuracy"]["why"]
    document = shown(store, tmp_path)
    assert document["rates"][0]["corrected"] is None and document["calibration"]["stale"]


def test_labels_need_a_run_that_ended_and_was_judged(
    store: Store, judging_url: str, tmp_path: Path
) -> None:
    reviewable(store, tmp_path, judging_url, "One?", judges=())
    for arguments in (("latest", "--labels", "5"), ("show", "latest")):
        refused = calibrate(store, tmp_path, *arguments)
        assert refused.exit_code == 2 and "[nothing-judged]" in refused.stderr
    (tmp_path / "policy.txt").write_bytes(b"\xef\xbb\xbf \n")
    empty = calibrate(store, tmp_path, "latest", "--labels", "5", "--policy", "policy.txt")
    assert empty.exit_code == 2 and "[empty-file]" in empty.stderr
    assert "[no-sample]" in calibrate(store, tmp_path, "close", "latest").stderr
    sheet = invoke(
        store.url, "review", "export", "latest", "s.csv", "--queue", "calibration-1", cwd=tmp_path
    )
    assert sheet.exit_code == 2 and "[unknown-queue]" in sheet.stderr
    changed = tmp_path / "run.yaml"
    changed.write_bytes(changed.read_bytes().replace(b"reviewed", b"renamed"))
    unknown = calibrate(store, tmp_path, "run.yaml", "--labels", "5")
    assert unknown.exit_code == 2 and "[unknown-run]" in unknown.stderr
    needed = calibrate(
        store, tmp_path, "needed", "--width", "0.1", "--evaluations", "2000", "--passed", "0.8"
    )
    assert needed.exit_code == 0 and needed.stdout == "80\n"
    for shares in (("--width", "0.01"), ("--width", "0.1", "--true-positive-rate", "0.5")):
        wrong = calibrate(
            store, tmp_path, "needed", *shares, "--evaluations", "200", "--passed", "0.8"
        )
        assert wrong.exit_code == 2 and "[out-of-range]" in wrong.stderr
