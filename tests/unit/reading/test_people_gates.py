"""Gates by people have every safeguard of gates that are judged when the run ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from failproof_es.core.case import Case
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.people import ReviewStatus
from failproof_es.gates import ASKED_ONCE, RetryBias
from failproof_es.reading.people_gates import judge_reviewed
from failproof_es.reading.recorded_run import PlannedOutcome
from tests.unit.summaries import abandoned_outcome, scored_outcome, summary_of

Reviewed = tuple[EvaluationOutcome, ReviewStatus]
AWAITED = abandoned_outcome(awaiting=True)


def case(number: int) -> Case:
    return Case(dialect="plain", case_id=f"c{number}", suite_id="s", turns=(), severity="S0")


def judge(*reviewed: Reviewed, again: RetryBias = ASKED_ONCE, **gates: Any) -> dict[str, Any]:
    run = summary_of({"m": []}, planned=len(reviewed)).run
    configuration = {
        "test_run": {"name": "n"},
        "models": [{"provider": "openai", "model": "m"}],
        "prompts": {"path": "s.jsonl"},
        "gates": {"by": "people", **gates},
    }
    manifest = run.started.model_copy(update={"configuration": configuration})
    evaluations = [
        (PlannedOutcome(n, case(n), outcome), status)
        for n, (outcome, status) in enumerate(reviewed, 1)
    ]
    return judge_reviewed(replace(run, manifest=manifest), evaluations, again).gates


def test_what_was_asked_again_because_it_failed_is_not_judged_by_people_either() -> None:
    again = RetryBias("run 2 asked again only what had failed")
    gates = judge((AWAITED, "pass"), again=again, min_accuracy=0.0, no_failures_at=["S0"])
    assert {(gate["measured"], gate["met"]) for gate in gates.values()} == {(None, False)}
    assert judge((AWAITED, "pass"), min_accuracy=1.0)["min_accuracy"]["met"]


def test_a_part_of_which_most_is_lost_is_not_met_by_people_either() -> None:
    lost: list[Reviewed] = [(abandoned_outcome(), "awaiting")] * 49
    gates = judge((AWAITED, "pass"), *lost, min_accuracy_by_suite={"s": 0.9})
    (name,) = gates
    assert name == "min_accuracy_by_suite.s", "the gate on unscored ones is judged at the end"
    assert not gates[name]["met"]
    assert "49 of 50 evaluations of it have no score, more than 0.1" in gates[name]["why"]
    assert judge((AWAITED, "pass"), *lost, min_accuracy_by_suite={"s": 0.9}, max_unscored_rate=1.0)[
        name
    ]["met"]


def test_a_lower_end_is_judged_on_what_people_decided() -> None:
    limits: dict[str, Any] = {"min_accuracy": 0.9, "judge": "lower"}
    many: list[Reviewed] = [(scored_outcome(0.0), "pass")] * 1000
    assert judge(*many, **limits)["min_accuracy"]["met"]
    few = judge(*many[:5], **limits)["min_accuracy"]
    assert (few["measured"], few["met"], few["cannot_tell"]) == (1.0, False, True)
    assert few["interval"][0] < 0.9
