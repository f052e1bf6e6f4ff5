"""The dialect `quiz`: questions with a choice of answers, in JSON Lines.

    {"quiz": "geo", "question_id": "g1", "question": "The capital of France?",
     "choices": ["Lyon", "Paris"], "answer": "B", "level": "easy"}

A reply passes when the one letter that it names is the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from failproof_es.case import Case, Turn
from failproof_es.dialects.kit import cut_off
from failproof_es.dialects.kit.json_lines import read_objects
from failproof_es.dialects.kit.looking import first_lines_contain
from failproof_es.dialects.kit.taken_ids import SeenIds
from failproof_es.dialects.kit.unknown_keys import UnknownKeys
from failproof_es.evaluation import (
    Classification,
    Evaluation,
    Failure,
    Judgement,
    Score,
    Transcript,
)
from failproof_es.problems import Problems

KEYS = ("quiz", "question_id", "question", "choices", "answer", "level")
LEVELS = ("easy", "hard")
LETTER = re.compile(r"(?<![A-Za-z])([A-Z])(?![A-Za-z])")
CLASSIFIER, CLASSIFIER_VERSION = "quiz.classifier", "1"
SCORER, SCORER_VERSION = "quiz.scorer", "1"


class Quiz:
    """Questions with a choice of answers, graded without a judge."""

    name = "quiz"
    suffixes: tuple[str, ...] = (".jsonl",)

    # -- reading files: the only part that does I/O ----------------------------------------

    def recognises(self, path: Path) -> bool:
        """Whether one of the file's first lines has a `question_id`."""
        return first_lines_contain(path, [b'"question_id"'], self.suffixes)

    def load(self, files: Sequence[Path], problems: Problems) -> Iterator[Case]:
        """Every good question in file order; every defect goes to `problems`."""
        with SeenIds() as taken:
            for path in files:
                unknown = UnknownKeys(problems)
                for line, question in read_objects(path, problems):
                    before = len(problems.errors)
                    for key in sorted(question.keys() - set(KEYS)):
                        unknown.report(key, KEYS, question, path=path, line=line, field=key)
                    for key, message in _defects(question):
                        problems.error("invalid-question", message, path=path, line=line, field=key)
                    if len(problems.errors) > before:
                        continue
                    quiz, question_id = question["quiz"], question["question_id"]
                    if first := taken.claim(quiz, question_id, path, line):
                        message = f"{question_id!r} is taken: {first}"
                        problems.error(
                            "duplicate-id", message, path=path, line=line, field="question_id"
                        )
                        continue
                    yield _case(question)

    # -- asking and grading: pure, whatever a model says -----------------------------------

    def messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """The question; nothing once it is answered."""
        return None if transcript.replies else case.turns

    def classify(self, case: Case, transcript: Transcript) -> Classification:
        """`right`, `wrong` or `no_choice`, with the letter that was chosen."""
        primary, chosen = _reading(case, transcript)
        details = {} if chosen is None else {"choice": chosen}
        return Classification(primary, details, CLASSIFIER, CLASSIFIER_VERSION)

    def judge_messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """Nothing: no judge is needed."""
        return None

    def score(
        self, case: Case, classification: Classification, judgement: Judgement | None
    ) -> Score | Failure:
        """A right choice passes; what was cut off, or never came, has no score."""
        if classification.primary == cut_off.CLASS:
            return cut_off.UNSCORED
        if classification.primary == "error":
            return Failure("error", "nothing came back")
        passed = classification.primary == "right"
        return Score(
            {"accuracy": float(passed)},
            classification.primary,
            SCORER,
            SCORER_VERSION,
            passed=passed,
        )

    def result(self, case: Case, evaluation: Evaluation) -> dict[str, Any]:
        """The result as `failproof-es results --format json` prints it."""
        classification, score = evaluation.classification, evaluation.score
        return {
            "quiz": case.suite_id,
            "question_id": case.case_id,
            "choice": classification.details.get("choice") if classification else None,
            "answer": case.expectation["answer"],
            "passed": None if score is None else score.passed,
            "scores": {} if score is None else score.scores,
        }


def _reading(case: Case, transcript: Transcript) -> tuple[str, str | None]:
    """The class of what came back, and the letter that it names, where it names one."""
    if transcript.failure is not None:
        return "error", None
    reply = transcript.replies[-1]
    if reply.cut_off:
        return cut_off.CLASS, None
    named = set(LETTER.findall(reply.answer)) & set(_letters(case.document["choices"]))
    if len(named) != 1:
        return "no_choice", None
    (chosen,) = named
    return ("right" if chosen == case.expectation["answer"] else "wrong"), chosen


def _defects(question: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with a line, each as the field and what is said of it."""
    for key in ("quiz", "question_id", "question"):
        if not isinstance(question.get(key), str) or not question[key]:
            yield key, "must be a text"
    choices = question.get("choices")
    if not isinstance(choices, list) or not all(isinstance(each, str) for each in choices):
        yield "choices", "must be a list of texts"
    elif not 2 <= len(choices) <= len(ascii_uppercase):
        yield "choices", "must be 2 to 26 texts"
    elif question.get("answer") not in list(_letters(choices)):
        yield "answer", f"must be one of {', '.join(_letters(choices))}"
    if question.get("level", "easy") not in LEVELS:
        yield "level", f"must be one of {', '.join(LEVELS)}"


def _case(question: dict[str, Any]) -> Case:
    """A question as the engine runs it: the text to send stands in its turns, complete."""
    lettered = zip(_letters(question["choices"]), question["choices"], strict=True)
    listed = [f"{letter}. {choice}" for letter, choice in lettered]
    asked = "\n".join([question["question"], *listed, "Answer with the letter alone."])
    return Case(
        dialect=Quiz.name,
        case_id=question["question_id"],
        suite_id=question["quiz"],
        turns=(Turn(role="user", content=asked),),
        expectation={"answer": question["answer"]},
        category=question.get("level", "easy"),
        document=question,
    )


def _letters(choices: Sequence[str]) -> str:
    return ascii_uppercase[: len(choices)]
