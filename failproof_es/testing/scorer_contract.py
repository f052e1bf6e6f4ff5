"""The contract of scorers, as tests for any scorer.

    class TestMine(ScorerContract):
        scorer = "mine"
        answers = (SampleAnswer("four words are here", {"mine": 4.0}),)

The scorer has to be installed: the contract loads it by its name, as a run does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import (
    Classification,
    Failure,
    Judgement,
    ModelReply,
    Score,
    Transcript,
)
from failproof_es.dialects.protocol import Dialect
from failproof_es.dialects.scorers import BETWEEN, Scorer, grade, scorers_of
from failproof_es.problems import InvalidInput
from failproof_es.testing.replies import ENDINGS, TEXTS

_CLASSIFIED = Classification("right", {"why": ["said so"]}, "contract", "1")


@dataclass(frozen=True, slots=True)
class SampleAnswer:
    """An answer, and the scores that the scorer must give it, by their recorded names."""

    text: str
    numbers: Mapping[str, float]


class ScorerContract:
    """Contract tests of a scorer.

    Subclass it, set the attributes without a value, and let `pytest` collect the subclass.
    """

    scorer: ClassVar[str]
    """The name of the scorer under test."""
    options: ClassVar[Mapping[str, Any]] = {}
    """The options of the tests."""
    refused: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """Options that the scorer must refuse."""
    answers: ClassVar[Sequence[SampleAnswer]]
    """Answers with different numbers."""

    def case(self) -> Case:
        """The case of the answers. Override it if the scorer reads more than the answer."""
        turns = (Turn(role="user", content="What is 2 + 2?"), Turn(role="user", content="And 3?"))
        return Case(dialect="contract", case_id="c", suite_id="s", turns=turns)

    def test_it_is_found_under_its_name_and_says_its_version(self) -> None:
        mine = self.made()
        assert mine.name == self.scorer and BETWEEN not in mine.name
        assert str(mine.version).strip() and str(mine.version).isprintable()

    def test_an_answer_gets_the_numbers_that_are_said_of_it(self) -> None:
        for answered in self.answers:
            score = self._grade(self.made(), self._make_transcript(answered.text))
            assert isinstance(score, Score), score
            numbers = {name: number for name, number in score.scores.items() if name != "accuracy"}
            assert numbers == dict(answered.numbers), f"{answered.text[:40]!r}: {numbers}"
            assert score.graders == dict.fromkeys(numbers, str(self.made().version))
        all_numbers = [tuple(sorted(answer.numbers.items())) for answer in self.answers]
        assert len(set(all_numbers)) > 1, "give two answers with different numbers"

    def test_whatever_is_answered_it_gives_finite_numbers_and_the_same_each_time(self) -> None:
        mine = self.made()
        transcripts = [self._make_transcript(text) for text in TEXTS]
        transcripts += [self._make_transcript("4", *ending) for ending in ENDINGS]
        transcripts.append(Transcript((ModelReply(0, "4", "stop"), ModelReply(1, "7", "stop"))))
        for transcript in transcripts:
            score = self._grade(mine, transcript)
            assert isinstance(score, Score), f"{transcript.replies[-1].text[:40]!r}: {score}"
            again = self._grade(mine, transcript), self._grade(self.made(), transcript)
            assert again == (score, score), f"{transcript.replies[-1].text[:40]!r}: {again}"

    def test_another_process_gives_the_same_numbers(self) -> None:
        """A replay is another process: memory, set order and clock must not change a score."""
        transcripts = [self._make_transcript(text) for text in TEXTS] + [
            self._make_transcript("4", *ending) for ending in ENDINGS
        ]
        here = [
            self._numbers_of(self._grade(self.made(), transcript)) for transcript in transcripts
        ]
        (there,) = self._numbers_elsewhere(transcripts[::-1], self.options)
        for transcript, one, other in zip(transcripts, here, there[::-1], strict=True):
            text = transcript.replies[-1].text
            assert one == other, f"{text[:40]!r}: {one} here, {other} there"

    def test_options_of_one_run_do_not_show_in_another(self) -> None:
        transcripts = [self._make_transcript(answered.text) for answered in self.answers]
        (alone,) = self._numbers_elsewhere(transcripts, {})
        _, after = self._numbers_elsewhere(transcripts, self.options, {})
        assert alone == after, f"without options {alone}, after others gave {self.options} {after}"

    def test_it_changes_nothing_of_what_it_is_given(self) -> None:
        case, transcript = self.case(), self._make_transcript("4")
        classified = deepcopy(_CLASSIFIED)
        before = case.model_dump_json()
        self.made().score(case, transcript, classified)
        assert case.model_dump_json() == before
        assert (transcript, classified) == (self._make_transcript("4"), _CLASSIFIED)

    def test_options_that_it_does_not_take_are_refused_before_anything_is_sent(self) -> None:
        for options in ({"no such option \x00": [None]}, *self.refused):
            try:
                self.made(options)
            except InvalidInput as error:
                assert all(problem.message for problem in error.problems)
            else:
                raise AssertionError(f"it takes {options}")

    def made(self, options: Mapping[str, Any] | None = None) -> Scorer:
        """The scorer under test with these options, by default `options`.

        Raises `InvalidInput` if the scorer refuses the options.
        """
        configuration = {
            "name": self.scorer,
            "options": dict(self.options if options is None else options),
        }
        (scorer,) = scorers_of({"grading": {"scorers": [configuration]}})
        return scorer

    def _grade(self, scorer: Scorer, transcript: Transcript) -> Score | Failure:
        dialect = cast("Dialect", _PassingDialect())
        return grade(dialect, [scorer], self.case(), transcript, _CLASSIFIED, None)

    def _numbers_elsewhere(
        self, transcripts: Sequence[Transcript], *options: Mapping[str, Any]
    ) -> list[list[Any]]:
        """For each of the options, the scores of all transcripts, computed in another process."""
        return _run_in_another_process(
            {
                "path": sys.path,
                "scorers": [
                    {"name": self.scorer, "options": dict(settings)} for settings in options
                ],
                "case": self.case().model_dump(mode="json"),
                "transcripts": [
                    [(r.text, r.finish_reason, r.refusal) for r in t.replies] for t in transcripts
                ],
            }
        )

    @staticmethod
    def _numbers_of(score: Score | Failure) -> list[Any]:
        if isinstance(score, Failure):
            return [score.kind, score.message]
        return [dict(score.scores), dict(score.graders)]

    @staticmethod
    def _make_transcript(
        text: str, ended: str | None = "stop", refusal: str | None = None
    ) -> Transcript:
        return Transcript((ModelReply(0, text, ended, refusal),))


def _run_in_another_process(request: Mapping[str, Any]) -> list[Any]:
    """The result of `_answer_there` in a process with another hash seed, so another set order."""
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    done = subprocess.run(
        [sys.executable, "-c", _THERE],
        input=json.dumps(request),
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return results


def _answer_there(request: Mapping[str, Any]) -> None:
    case = Case.model_validate(request["case"])
    dialect = cast("Dialect", _PassingDialect())
    results = []
    for configuration in request["scorers"]:
        (scorer,) = scorers_of({"grading": {"scorers": [configuration]}})
        numbers = []
        for replies in request["transcripts"]:
            transcript = Transcript(
                tuple(ModelReply(turn, *reply) for turn, reply in enumerate(replies))
            )
            score = grade(dialect, [scorer], case, transcript, _CLASSIFIED, None)
            numbers.append(ScorerContract._numbers_of(score))
        results.append(numbers)
    sys.stdout.write(json.dumps(results))


_THERE = f"""
import json, sys
asked = json.load(sys.stdin)
sys.path[:] = asked["path"]
from {__name__} import _answer_there
_answer_there(asked)
"""


class _PassingDialect:
    """A dialect that passes everything: all scores but `accuracy` are the scorer's."""

    def score(
        self, case: Case, classification: Classification, judgement: Judgement | None
    ) -> Score:
        """A passing score for any case."""
        return Score({"accuracy": 1.0}, "", "contract", "1", passed=True)
