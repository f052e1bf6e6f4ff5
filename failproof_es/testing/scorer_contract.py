"""The contract of scorers, as tests for any scorer.

    class TestMine(ScorerContract):
        scorer = "mine"
        answers = (Answered("four words are here", {"mine": 4.0}),)

The scorer has to be installed: it is found under its name, as in a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import (
    Classification,
    Failure,
    Judgement,
    Reply,
    Score,
    Transcript,
)
from failproof_es.dialects.protocol import Dialect
from failproof_es.dialects.scorers import BETWEEN, Scorer, grade, scorers_of
from failproof_es.problems import InvalidInput
from failproof_es.testing.dialect_contract import ENDINGS, TEXTS

_CLASSIFIED = Classification("right", {"why": ["said so"]}, "contract", "1")


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, and the numbers that it gets under the names that they are recorded under."""

    text: str
    numbers: Mapping[str, float]


class ScorerContract:
    """Subclass it, set what has no value, and have `pytest` collect the subclass."""

    scorer: ClassVar[str]
    """Its name."""
    options: ClassVar[Mapping[str, Any]] = {}
    """The options that it is tested with."""
    refused: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """Options that it does not take."""
    answers: ClassVar[Sequence[Answered]]
    """Answers with different numbers."""

    def case(self) -> Case:
        """What was asked. Override it where the scorer looks at more than the answer."""
        asked = (Turn(role="user", content="What is 2 + 2?"), Turn(role="user", content="And 3?"))
        return Case(dialect="contract", case_id="c", suite_id="s", turns=asked)

    def test_it_is_found_under_its_name_and_says_its_version(self) -> None:
        mine = self.made()
        assert mine.name == self.scorer and BETWEEN not in mine.name
        assert str(mine.version).strip() and str(mine.version).isprintable()

    def test_an_answer_gets_the_numbers_that_are_said_of_it(self) -> None:
        for answered in self.answers:
            score = self._graded(self.made(), self._said(answered.text))
            assert isinstance(score, Score), score
            numbers = {name: each for name, each in score.scores.items() if name != "accuracy"}
            assert numbers == dict(answered.numbers), f"{answered.text[:40]!r}: {numbers}"
            assert score.graders == dict.fromkeys(numbers, str(self.made().version))
        told = [tuple(sorted(each.numbers.items())) for each in self.answers]
        assert len(set(told)) > 1, "give two answers with different numbers"

    def test_whatever_is_answered_it_gives_finite_numbers_and_the_same_each_time(self) -> None:
        mine = self.made()
        said = [self._said(text) for text in TEXTS]
        said += [self._said("4", *ending) for ending in ENDINGS]
        said.append(Transcript((Reply(0, "4", "stop"), Reply(1, "7", "stop"))))
        for transcript in said:
            score = self._graded(mine, transcript)
            assert isinstance(score, Score), f"{transcript.replies[-1].text[:40]!r}: {score}"
            again = self._graded(mine, transcript), self._graded(self.made(), transcript)
            assert again == (score, score), f"{transcript.replies[-1].text[:40]!r}: {again}"

    def test_it_changes_nothing_of_what_it_is_given(self) -> None:
        case, transcript = self.case(), self._said("4")
        classified = deepcopy(_CLASSIFIED)
        before = case.model_dump_json()
        self.made().score(case, transcript, classified)
        assert case.model_dump_json() == before
        assert (transcript, classified) == (self._said("4"), _CLASSIFIED)

    def test_options_that_it_does_not_take_are_refused_before_anything_is_sent(self) -> None:
        for options in ({"no such option \x00": [None]}, *self.refused):
            try:
                self.made(options)
            except InvalidInput as error:
                assert all(each.message for each in error.problems)
            else:
                raise AssertionError(f"it takes {options}")

    def made(self, options: Mapping[str, Any] | None = None) -> Scorer:
        """The scorer as a configuration with these options has it. Raises `InvalidInput`."""
        named = {"name": self.scorer, "options": dict(self.options if options is None else options)}
        (found,) = scorers_of({"grading": {"scorers": [named]}})
        return found

    def _graded(self, scorer: Scorer, transcript: Transcript) -> Score | Failure:
        dialect = cast("Dialect", _Passing())
        return grade(dialect, [scorer], self.case(), transcript, _CLASSIFIED, None)

    @staticmethod
    def _said(text: str, ended: str | None = "stop", refusal: str | None = None) -> Transcript:
        return Transcript((Reply(0, text, ended, refusal),))


class _Passing:
    """Scores everything, so that all other numbers are the scorer's."""

    def score(
        self, case: Case, classification: Classification, judgement: Judgement | None
    ) -> Score:
        """A pass."""
        return Score({"accuracy": 1.0}, "", "contract", "1", passed=True)
