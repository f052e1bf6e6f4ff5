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
from failproof_es.dialects.kit.looking import first_lines_contain
from failproof_es.dialects.protocol import FixedOutcome
from failproof_es.dialects.shipped.checks import grading
from failproof_es.dialects.shipped.checks.loader import NAME, load
from failproof_es.dialects.shipped.checks.result import result
from failproof_es.problems import Problems


class Checks:
    """One reply to a conversation, graded by deterministic checks, without a judge."""

    name = NAME
    suffixes: tuple[str, ...] = (".jsonl",)
    judged_by_people: Literal[True] = True

    def recognises(self, path: Path) -> bool:
        """Whether one of the file's first lines has the key `checks`."""
        return first_lines_contain(path, (b'"checks"',), self.suffixes)

    def load(self, files: Sequence[Path], problems: Problems) -> Iterator[Case]:
        """See `loader.load`."""
        return (case for _, case in load(files, problems))

    def load_by_file(
        self, files: Sequence[Path], problems: Problems
    ) -> Iterator[tuple[Path, Case]]:
        """See `loader.load`."""
        return load(files, problems)

    def messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """All messages of the case; `None` once they are answered."""
        return None if transcript.replies else case.turns

    def classify(self, case: Case, transcript: Transcript) -> Classification:
        """See `grading.classify`."""
        return grading.classify(case, transcript)

    def grading_is_bounded(self, case: Case, transcript: Transcript) -> bool:
        """See `grading.is_bounded`."""
        return grading.is_bounded(case, transcript)

    def judge_messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """Always `None`: the checks decide, or people."""
        return None

    def score(
        self, case: Case, classification: Classification, judgement: Judgement | None
    ) -> Score | Failure:
        """See `grading.score`."""
        return grading.score(case, classification)

    def fixed_outcome(self, case: Case) -> FixedOutcome | None:
        """See `grading.fixed_outcome`."""
        return grading.fixed_outcome(case)

    def result(self, case: Case, evaluation: Evaluation) -> dict[str, Any]:
        """See `result.result`."""
        return result(case, evaluation)
