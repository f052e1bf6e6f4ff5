"""Installed scorers add numbers to a dialect's, under names of their own, and decide nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import Classification, Failure, ModelReply, Score, Transcript
from failproof_es.dialects import dialect_named
from failproof_es.dialects.scorers import (
    ENTRY_POINT_GROUP,
    SCORER_FAILED,
    SCORERS,
    Scorer,
    grade,
    packages_of_scorers,
    scorers_of,
)
from failproof_es.problems import InvalidInput
from tests.plugin_packages import install, look_again

CASE = Case(dialect="failproof", case_id="a", suite_id="s", turns=(Turn(role="user", content="?"),))
SAID = Transcript((ModelReply(1, "three short words", "stop"),))
PASSED = Classification("pass", {}, "x", "1")
LOST = Classification("error", {"rule": "http_500", "message": "no"}, "x", "1")


class Giving:
    """Returns, or raises, what it was made with."""

    version = "7"

    def __init__(self, gives: Any, name: str = "giving") -> None:
        self.gives, self.name = gives, name

    def score(self, case: Case, transcript: Transcript, classification: Classification) -> Any:
        if isinstance(self.gives, BaseException):
            raise self.gives
        return self.gives


def graded(*scorers: Scorer, classification: Classification = PASSED) -> Score | Failure:
    return grade(dialect_named("failproof"), scorers, CASE, SAID, classification, None)


def test_numbers_are_added_under_the_scorers_name_with_its_version() -> None:
    score = graded(Giving(3, "words"), Giving({"min": 1.5, "max": 2}, "length"))
    assert isinstance(score, Score)
    assert score.scores == {"accuracy": 1, "words": 3, "length:min": 1.5, "length:max": 2}
    assert score.graders == {"words": "7", "length:min": "7", "length:max": "7"}
    assert score.passed is True


def test_what_the_dialect_does_not_score_no_scorer_is_asked_about() -> None:
    ended = graded(Giving(RuntimeError("asked")), classification=LOST)
    assert isinstance(ended, Failure) and ended.kind == "http_500"


@pytest.mark.parametrize(
    ("gives", "said"),
    [
        (ZeroDivisionError("by zero"), "giving 7: ZeroDivisionError: by zero"),
        (float("nan"), "not a finite number"),
        (None, "TypeError"),
        ("0.5", "not a finite number"),
        ({"x": float("inf")}, "not a finite number"),
        ({"": 1.0}, "no name of a score"),
        ({"a\nb": 1.0}, "no name of a score"),
        ({1: 1.0}, "no name of a score"),
    ],
    ids=str,
)
def test_what_is_no_score_ends_the_evaluation_by_a_kind_of_its_own(gives: Any, said: str) -> None:
    ended = graded(Giving(gives))
    assert isinstance(ended, Failure)
    assert ended.kind == SCORER_FAILED and said in ended.message


class Mute(Exception):
    """Does not even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (Mute(), "giving 7: Mute: an error that does not say what it is"),
        (ValueError("half \ud800, \x00"), "giving 7: ValueError: half \\ud800, \x00"),
        (SystemExit(3), "giving 7: SystemExit: 3"),
        (ValueError("x" * 10_000_000), "[cut off: only so many characters are recorded]"),
    ],
    ids=["mute", "surrogate", "exit", "long"],
)  # fmt: skip
def test_whatever_a_scorer_raises_can_be_recorded(raised: BaseException, said: str) -> None:
    ended = graded(Giving(raised))
    assert isinstance(ended, Failure) and ended.kind == SCORER_FAILED
    assert said in ended.message
    assert len(ended.message.encode("utf-8")) < 70_000


def test_no_number_replaces_another() -> None:
    ended = graded(Giving(0, "accuracy"))
    assert isinstance(ended, Failure)
    assert ended.message == "accuracy 7: there is a score accuracy already"


SOURCE = """
class Words:
    name = "words"
    version = "1"
    def __init__(self, unit=1): self.unit = unit
    def with_options(self, options): return Words(options["unit"])
    def score(self, case, transcript, classification):
        return len(transcript.replies[-1].text.split()) / self.unit

class Plain:
    name = "plain"
    version = "2"
    def score(self, case, transcript, classification): return 1

class Odd(Plain):
    name = "odd:name"
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    offered = {
        "words": "their_scorers:Words",
        "plain": "their_scorers:Plain",
        "gone": "no:X",
        "odd:name": "their_scorers:Odd",
    }
    install(
        monkeypatch,
        tmp_path,
        "their-scorers",
        {ENTRY_POINT_GROUP: offered},
        {"their_scorers": SOURCE},
    )
    yield
    monkeypatch.undo()
    look_again()


def chosen(*scorers: str | Mapping[str, Any]) -> dict[str, Any]:
    return {"grading": {"scorers": list(scorers)}}


@pytest.mark.usefixtures("installed")
def test_a_configuration_names_installed_scorers_and_their_options() -> None:
    configuration = chosen({"name": "words", "options": {"unit": 2}}, "plain")
    words, plain = scorers_of(configuration)
    assert [words.name, plain.name] == ["words", "plain"]
    assert words.score(CASE, SAID, PASSED) == 1.5
    assert packages_of_scorers(configuration) == {"their-scorers": "1.0"}
    assert scorers_of({}) == () and scorers_of(chosen()) == ()


@pytest.mark.usefixtures("installed")
def test_everything_that_is_wrong_with_the_scorers_is_said_at_its_place() -> None:
    plain = {"name": "plain", "options": {"a": 1}}
    with pytest.raises(InvalidInput) as raised:
        scorers_of(chosen("words", "gone", "wrods", "words", plain))
    said = {problem.field: str(problem) for problem in raised.value.problems}
    assert "their-scorers 1.0 can't be loaded" in said["grading.scorers[1]"]
    assert "did you mean 'words'?" in said["grading.scorers[2]"]
    assert "named twice" in said["grading.scorers[3]"]
    assert "has no options" in said["grading.scorers[4].options"]
    assert len(said) == 4


@pytest.mark.usefixtures("installed")
def test_a_scorer_whose_name_could_be_another_ones_number_is_refused() -> None:
    with pytest.raises(InvalidInput, match="has a name that holds ':'"):
        SCORERS.load("odd:name")


@pytest.mark.parametrize(
    ("grading", "field"),
    [
        (3, "grading.scorers"),
        ([], None),
        (["words"], "grading.scorers"),
        ({"scorers": "words"}, "grading.scorers"),
        ({"scorers": {"name": "words"}}, "grading.scorers"),
        ({"scorers": 1.5}, "grading.scorers"),
        ({"scorers": [None]}, "grading.scorers[0]"),
        ({"scorers": [{"name": ["words"]}]}, "grading.scorers[0]"),
        ({"scorers": [{"options": {}}]}, "grading.scorers[0]"),
        ({"scorers": [{"name": "words", "options": 3}]}, "grading.scorers[0]"),
        ({"scorers": [{"name": "words", "options": []}]}, "grading.scorers[0]"),
    ],
    ids=repr,
)
def test_scorers_on_record_that_no_engine_wrote_are_told_with_their_place(
    grading: Any, field: str | None
) -> None:
    """A recorded configuration comes from whoever hands out the log or the evidence."""
    for read in (scorers_of, packages_of_scorers):
        if field is None:
            assert not read({"grading": grading})
            continue
        with pytest.raises(InvalidInput) as raised:
            read({"grading": grading})
        said = [problem.field for problem in raised.value.problems]
        assert said == [field] or read is packages_of_scorers
