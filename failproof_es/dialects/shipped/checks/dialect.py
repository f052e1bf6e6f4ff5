"""The dialect `checks`: implements `protocol.Dialect`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import (
    Classification,
    Evaluation,
    Failure,
    Judgement,
    Score,
    Transcript,
)
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.dialects.kit.looking import first_lines_contain
from failproof_es.dialects.protocol import Expectation, FixedOutcome
from failproof_es.dialects.shipped.checks import grading
from failproof_es.dialects.shipped.checks.loader import NAME, load
from failproof_es.dialects.shipped.checks.result import result
from failproof_es.problems import Problems


class Checks:
    """The dialect `checks`: cases with one reply, graded by fixed checks, without a judge."""

    name = NAME
    suffixes: tuple[str, ...] = (".jsonl",)
    expected_in_results: Literal[True] = True
    judged_by_people: Literal[True] = True

    def recognises(self, path: Path) -> bool:
        """Whether one of the file's first lines has the key `checks`."""
        return first_lines_contain(path, (b'"checks"',), self.suffixes)

    def load(self, files: Sequence[Path], problems: Problems) -> Iterator[Case]:
        """Yield every valid case in file order; every defect goes to `problems`."""
        return (case for _, case in load(files, problems))

    def load_by_file(
        self, files: Sequence[Path], problems: Problems
    ) -> Iterator[tuple[Path, Case]]:
        """Yield every valid case with its file; every defect goes to `problems`."""
        return load(files, problems)

    def messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """All messages of the case; `None` once they are answered."""
        return None if transcript.replies else case.turns

    def classify(self, case: Case, transcript: Transcript) -> Classification:
        """`pass` if the reply meets every check of the case, else `fail` or another class."""
        return grading.classify(case, transcript)

    def grading_is_bounded(self, case: Case, transcript: Transcript) -> bool:
        """Whether matching each check is certain to take little time."""
        return grading.is_bounded(case, transcript)

    def judge_messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """Always `None`: the checks decide, or people."""
        return None

    def score(
        self, case: Case, classification: Classification, judgement: Judgement | None
    ) -> Score | Failure:
        """`accuracy` 1 if every check is met, else 0; or the reason why there is no score."""
        return grading.score(case, classification)

    def fixed_outcome(self, case: Case) -> FixedOutcome | None:
        """The outcome of any answer, if every text meets the checks or none does; else `None`."""
        return grading.fixed_outcome(case)

    def expectations(self, case: Case, outcome: EvaluationOutcome) -> Sequence[Expectation]:
        """Each check of the case, with whether the reply met it."""
        return grading.expectations(case, outcome)

    def result(self, case: Case, evaluation: Evaluation) -> dict[str, Any]:
        """The evaluation as JSON, without fields that are not known yet."""
        return result(case, evaluation)
