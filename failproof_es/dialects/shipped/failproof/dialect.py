"""The FailProof dialect: implements `protocol.Dialect` (specification 000)."""

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
from failproof_es.dialects.protocol import Expectation, FixedOutcome, TakesADialect
from failproof_es.dialects.shipped.failproof.classifier import classify, is_bounded
from failproof_es.dialects.shipped.failproof.loader import load
from failproof_es.dialects.shipped.failproof.run_result import run_result
from failproof_es.dialects.shipped.failproof.scorer import expectations, fixed_outcome, score
from failproof_es.problems import Problems


class FailProof:
    """The dialect `failproof`: single-turn cases in JSON lines, graded by a pattern."""

    name = "failproof"
    suffixes: tuple[str, ...] = (".jsonl",)
    expected_in_results: Literal[True] = True
    default_for: frozenset[TakesADialect] = frozenset({"a file that is damaged"})

    def recognises(self, path: Path) -> bool:
        """Whether one of the file's first lines has a case's or a suite's key (§ 1)."""
        return first_lines_contain(path, (b'"case_id"', b'"suite_id"'), self.suffixes)

    def load(self, files: Sequence[Path], problems: Problems) -> Iterator[Case]:
        """Yield every valid case in file order; every defect goes to `problems`."""
        return (case for _, case in load(files, problems))

    def load_by_file(
        self, files: Sequence[Path], problems: Problems
    ) -> Iterator[tuple[Path, Case]]:
        """Yield every valid case with its file; every defect goes to `problems`."""
        return load(files, problems)

    def messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """The prompt behind the earlier messages; `None` once it is answered."""
        return None if transcript.replies else case.turns

    def classify(self, case: Case, transcript: Transcript) -> Classification:
        """`pass`, `fail`, `refusal` or another class of the reply, or of the failure."""
        return classify(case, transcript)

    def grading_is_bounded(self, case: Case, transcript: Transcript) -> bool:
        """Whether matching the case's pattern is certain to take little time."""
        return is_bounded(case, transcript)

    def judge_messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """Always `None`: specification 000 has no judge."""
        return None

    def score(
        self, case: Case, classification: Classification, judgement: Judgement | None
    ) -> Score | Failure:
        """`accuracy` 1 if the class is the expected one, else 0; or why there is no score."""
        return score(case, classification)

    def fixed_outcome(self, case: Case) -> FixedOutcome | None:
        """The outcome of a case that expects no text, or whose pattern any text matches.

        `None` for any other case.
        """
        return fixed_outcome(case)

    def expectations(self, case: Case, outcome: EvaluationOutcome) -> Sequence[Expectation]:
        """An answer or a refusal, if the case expects one; and the text that it has or lacks."""
        return expectations(case, outcome)

    def result(self, case: Case, evaluation: Evaluation) -> dict[str, Any]:
        """The evaluation in the JSON shape of specification 000's `RunResult`."""
        return run_result(case, evaluation)
