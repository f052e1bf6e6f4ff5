"""The benchmark dialect: implements `protocol.Dialect` (specification 003)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import (
    Classification,
    Evaluation,
    Failure,
    Judgement,
    ModelReply,
    Score,
    Transcript,
)
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.dialects.protocol import Expectation, JudgeReading
from failproof_es.dialects.shipped.benchmark import grading, loader, options, prompts
from failproof_es.dialects.shipped.benchmark.prompts import mark
from failproof_es.dialects.shipped.benchmark.reply import read_judgement as judgement_of
from failproof_es.dialects.shipped.benchmark.reply import schema
from failproof_es.dialects.shipped.benchmark.result import result
from failproof_es.problems import Problems


class Benchmark:
    """The dialect `benchmark`: tasks whose answer a judge scores against four descriptions."""

    name = "benchmark"
    suffixes: tuple[str, ...] = loader.SUFFIXES
    failing_scores: Mapping[str, float] = grading.FAILING_SCORES

    def __init__(self, settings: options.BenchmarkOptions | None = None) -> None:
        self._options = settings or options.BenchmarkOptions()

    def with_options(self, option_values: Mapping[str, Any]) -> Self:
        """The dialect with these `prompts.options`. Raises `InvalidInput` with every defect."""
        return type(self)(options.read_options(option_values))

    def recognises(self, path: Path) -> bool:
        """Whether the file is YAML and its beginning has a key of specification 003 alone."""
        return loader.looks_like_ours(path)

    def load(self, files: Sequence[Path], problems: Problems) -> Iterator[Case]:
        """Yield every valid task as a case, in file order; every defect goes to `problems`."""
        return loader.load(files, self._options, problems)

    def messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """The one message with the question; `None` once it is answered."""
        return None if transcript.replies else case.turns

    def classify(self, case: Case, transcript: Transcript) -> Classification:
        """The class of the answer, or `error` if the model gave no usable one."""
        return grading.classify(transcript)

    def grading_is_bounded(self, case: Case, transcript: Transcript) -> bool:
        """Always true: no pattern comes from a case, and reading a short text is quick."""
        return True

    def judge_messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """The question to each judge, as one user turn; `None` unless the class is `answered`."""
        return grading.judge_messages(case, transcript)

    def judge_schema(self, case: Case, transcript: Transcript) -> dict[str, Any]:
        """The JSON Schema of a judge's reply to its question about this answer."""
        return schema(mark(case.expectation, grading.graded_text(transcript)))

    def read_judgement(self, case: Case, transcript: Transcript, reply: ModelReply) -> JudgeReading:
        """The verdict in a judge's reply, or the problem why there is none.

        With the shipped judge prompt the reading's version includes the digest of that prompt; a
        custom template is part of the case.
        """
        graded = grading.graded_text(transcript)
        case_text = prompts.case_text(case.expectation)
        reading = judgement_of(reply, graded, mark(case.expectation, graded), case_text)
        if case.expectation.get("judge_template") is not None:
            return reading
        return replace(reading, version=f"{reading.version}+prompt.{prompts.digest('judge')}")

    def score(
        self, case: Case, classification: Classification, judgement: Judgement | None
    ) -> Score | Failure:
        """The judges' median score and whether it passes, or the reason why there is none."""
        return grading.score(classification, judgement)

    def expectations(self, case: Case, outcome: EvaluationOutcome) -> Sequence[Expectation]:
        """The task's four descriptions, from the best, as one statement."""
        return grading.expectations(case, outcome)

    def result(self, case: Case, evaluation: Evaluation) -> dict[str, Any]:
        """The evaluation in the JSON shape of specification 003's `Result`."""
        return result(case, evaluation)
