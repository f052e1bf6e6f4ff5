"""What JUnit XML says of a failure: bounded, marked where it is cut, and writable as XML."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from failproof_es.core.case import Turn
from failproof_es.core.people import ReviewStatus
from failproof_es.core.run import Run
from failproof_es.events.base import RunStatus
from failproof_es.exports.junit import LONGEST_TEXT, _outcome, _test_case, _unfinished
from failproof_es.reading.recorded_run import PlannedOutcome
from failproof_es.testing.pytest_plugin.collecting import describe
from tests.every import every
from tests.unit.cli.samples import started
from tests.unit.cli.summaries import Counted, abandoned_one, an_outcome, scored_one

LONG = "long " * 5_000


def test_a_failure_names_what_was_asked_expected_and_got_and_marks_what_is_cut() -> None:
    case = ET.Element("testcase")
    told = [("prompt", LONG), ("expected", "^a$"), ("got", "b\x00\x1b\n]]>")]
    _outcome(case, "failure", "fail", "the reply is not what was expected", told)
    failure = ET.fromstring(ET.tostring(case)).find("failure")
    assert failure is not None
    message, text = failure.get("message", ""), failure.text or ""
    assert message.startswith("the reply is not what was expected; prompt: 'long long ")
    assert "expected: '^a$'; got: 'b" in message
    assert len(message) < 1_000 and len(text) < 3 * LONGEST_TEXT
    assert message.count("…") == 1 and text.count("…") == 1, "cut, and marked"
    assert "\x00" not in text and "got: b\\x00\\x1b\n]]>" in text


SAID: tuple[tuple[str, Counted, tuple[str, ...]], ...] = (
    ("passes with 0.6", scored_one(1, 0.6, passed=True), ()),
    ("passes as another class", scored_one(1, 0.0, passed=True, class_="fail"), ()),
    ("fails with 1", scored_one(1, 1.0, passed=False), ("failure",)),
    ("has no pass mark", scored_one(1, 0.6, passed=None), ("skipped",)),
    ("abandoned", abandoned_one(1), ("error",)),
    ("awaits review", abandoned_one(1, unscored_as="awaiting_people"), ("skipped",)),
    ("running", an_outcome(1), ("skipped",)),
)


@pytest.mark.parametrize(
    ("status", "tags"),
    [("awaiting", ["skipped"]), ("pass", []), ("fail", ["failure"]), ("disputed", ["skipped"]),
     ("unclear", ["skipped"])],
)  # fmt: skip
def test_a_test_case_that_was_left_to_people_ends_as_they_decided(
    status: ReviewStatus, tags: list[str]
) -> None:
    outcome, case = abandoned_one(1, unscored_as="awaiting_people")
    element = _test_case(PlannedOutcome(1, case, outcome, status))
    assert [each.tag for each in element if each.tag != "system-out"] == tags


@pytest.mark.parametrize(("planned", "tags"), [row[1:] for row in SAID], ids=[r[0] for r in SAID])
def test_a_test_case_fails_where_the_dialect_says_so_and_errs_where_it_was_abandoned(
    planned: Counted, tags: tuple[str, ...]
) -> None:
    outcome, case = planned
    assert tuple(each.tag for each in _test_case(PlannedOutcome(1, case, outcome))) == tags


@every(
    "status, reason, message",
    [
        ("paused", "the spend ceiling is reached", "run 3 is paused: the spend ceiling is reached"),
        ("given_up", "no key", "run 3 is given up: no key"),
        ("running", None, "run 3 is running"),
    ],
)
def test_a_run_that_is_not_completed_is_an_error(
    status: RunStatus, reason: str | None, message: str
) -> None:
    run = Run(manifest=started("mock", planned=1), status=status, reason=reason)
    (error,) = _unfinished(run)
    assert (error.tag, error.get("type"), error.get("message")) == ("error", status, message)


def test_junit_and_pytest_show_what_was_expected_beside_what_came() -> None:
    outcome, case = scored_one(1, 0.0, class_="fail", answer="Lima, Chile", reason="why")
    turns = (Turn(role="user", content="The capital?"),)
    expectation = {"expected_response": "Lima, Peru"}
    planned = PlannedOutcome(
        1, case.model_copy(update={"turns": turns, "expectation": expectation}), outcome
    )
    pairs = ['expected: contains "Lima, Peru"', "differs: Lima, [-Peru-]{+Chile+}"]
    report = describe(planned, 7).splitlines()
    assert report[:5] == [
        "not passed, fail: why",
        "question: The capital?",
        "answer: Lima, Chile",
        *pairs,
    ]
    failure = _test_case(planned).find("failure")
    assert failure is not None and failure.text is not None
    got = "got: Lima, Chile"
    assert failure.text.splitlines() == ["why", "prompt: The capital?", pairs[0], got, pairs[1]]
    unscored = describe(PlannedOutcome(1, case, abandoned_one(1)[0]), 7)
    assert unscored.startswith("no score: slow\nanswer: (none)\nlook further: ")
