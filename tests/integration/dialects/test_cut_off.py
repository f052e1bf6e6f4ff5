"""A reply that was cut off is unscored in every dialect, under one name; or it fails in each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Failure, Judging, ModelReply, Transcript, fold
from failproof_es.dialects import dialect_named
from failproof_es.dialects.kit import cut_off
from failproof_es.dialects.protocol import ReadsJudges, failing_scores
from failproof_es.engine.drive.grading.steps import Task, take_steps
from failproof_es.engine.replays.rederiving import rederive
from failproof_es.problems import Problems
from tests.every import every
from tests.integration.dialects.test_unknown_keys import GOOD, loaded
from tests.unit.histories import KEY, History

HALF = {
    "failproof": "Hello, A",
    "promptguard": '{"T": 0.8, "I": 0.1, "F"',
    "redteam": "Good mor",
    "benchmark": "Becau",
    "command": "ls -l",
    "checks": "It is 4",
}
SAID = ["", "  \n", "I can't help with that", "<think>Let me see"]


def case_of(name: str, folder: Path) -> Case:
    (case,), problems = loaded(name, GOOD[name][0], folder)
    assert isinstance(problems, Problems)
    return case


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name in GOOD for text in [HALF[name], *SAID]]
)
def test_a_reply_that_was_cut_off_is_unscored_in_every_dialect(
    name: str, text: str, tmp_path: Path
) -> None:
    case, dialect = case_of(name, tmp_path), dialect_named(name)
    reply = ModelReply(0, text, "length")
    found = dialect.classify(case, Transcript((reply,)))
    assert found.primary == cut_off.CLASS
    ended: Any = dialect.score(case, found, None)
    assert isinstance(ended, Failure), ended
    assert ended.kind == cut_off.CLASS and cut_off.MESSAGE in ended.message


@pytest.mark.parametrize("name", GOOD)
def test_the_same_words_without_a_cut_are_not_said_to_be_cut_off(name: str, tmp_path: Path) -> None:
    reply = ModelReply(0, HALF[name], "stop")
    found = dialect_named(name).classify(case_of(name, tmp_path), Transcript((reply,)))
    assert found.primary != cut_off.CLASS


RIGHT_AND_WRONG = {
    "failproof": ("hello, Ann, how", "goodbye, Ann, how"),
    "redteam": ("Hello to you, dear", "I hate you, and"),
    "benchmark": ("A, becau", "No, becau"),
    "command": ("ls", "rm x"),
    "checks": ("It is 42 and", "It is 7 and"),
}


@pytest.mark.parametrize("name", RIGHT_AND_WRONG)
def test_right_or_wrong_what_was_cut_off_comes_to_the_same(name: str, tmp_path: Path) -> None:
    case, dialect = case_of(name, tmp_path), dialect_named(name)
    ends = []
    for text in RIGHT_AND_WRONG[name]:
        said = Transcript((ModelReply(0, text, "length"),))
        assert dialect.judge_messages(case, said) is None, "no vote could decide"
        ends.append(dialect.score(case, dialect.classify(case, said), None))
    assert ends == [cut_off.UNSCORED] * 2


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("fails", [False, True])
def test_a_configuration_says_whether_what_was_cut_off_fails(
    name: str, fails: bool, tmp_path: Path
) -> None:
    case, dialect = case_of(name, tmp_path), dialect_named(name)
    judging = Judging(("judge",)) if isinstance(dialect, ReadsJudges) else Judging()
    history = History().sent().answered(HALF[name], finish_reason="length").events
    task = Task(KEY, case, fold(history), 0, judging, None, None, fails)
    whole = [*history, *take_steps(dialect, (), task).events]
    for policy in (fails, not fails):
        again, differing, _ = rederive(
            case, whole, dialect, retry_attempts=0, judging=judging, cut_off_fails=policy
        )
        assert bool(differing) is (policy is not fails)
    assert again.classification is not None and again.classification.primary == cut_off.CLASS
    assert json.dumps(dialect.result(case, again), default=str)
    if not fails:
        assert again.abandoned is not None and again.abandoned.kind == cut_off.CLASS
        return
    assert again.score is not None and again.score.passed is False
    assert again.score.scores == failing_scores(dialect)
    assert again.score.reason.startswith("failed by grading.on_cut_off: a reply was cut off at")


@every(
    ("configuration", "fails"),
    [
        ({}, False),
        ({"grading": None}, False),
        ({"grading": {"on_cut_off": "unscored"}}, False),
        ({"grading": {"on_cut_off": "fail"}}, True),
    ],
)
def test_what_is_cut_off_fails_only_where_that_is_configured(
    configuration: dict[str, Any], fails: bool
) -> None:
    assert cut_off.fails(configuration) is fails
