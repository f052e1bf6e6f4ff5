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
from failproof_es.dialects.protocol import JudgeReading
from failproof_es.dialects.shipped.benchmark import grading, loader, options, prompts
from failproof_es.dialects.shipped.benchmark.prompts import mark
from failproof_es.dialects.shipped.benchmark.reply import read_judgement as judgement_of
from failproof_es.dialects.shipped.benchmark.reply import schema
from failproof_es.dialects.shipped.benchmark.result import result
from failproof_es.problems import Problems


class Benchmark:
    """Tasks with one question each, whose answer a judge scores against four descriptions."""

    name = "benchmark"
    suffixes: tuple[str, ...] = loader.SUFFIXES
    failing_scores: Mapping[str, float] = grading.FAILING_SCORES

    def __init__(self, settings: options.BenchmarkOptions | None = None) -> None:
        self._options = settings or options.BenchmarkOptions()

    def with_options(self, option_values: Mapping[str, Any]) -> Self:
        """See `options.read_options`."""
        return type(self)(options.read_options(option_values))

    def recognises(self, path: Path) -> bool:
        """See `loader.looks_like_ours`."""
        return loader.looks_like_ours(path)

    def load(self, files: Sequence[Path], problems: Problems) -> Iterator[Case]:
        """See `loader.load`."""
        return loader.load(files, self._options, problems)

    def messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """The one question; `None` once it is answered."""
        return None if transcript.replies else case.turns

    def classify(self, case: Case, transcript: Transcript) -> Classification:
        """See `grading.classify`."""
        return grading.classify(transcript)

    def grading_is_bounded(self, case: Case, transcript: Transcript) -> bool:
        """Always true: no pattern comes from a case, and reading a short text is quick."""
        return True

    def judge_messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """See `grading.judge_messages`."""
        return grading.judge_messages(case, transcript)

    def judge_schema(self, case: Case, transcript: Transcript) -> dict[str, Any]:
        """See `reply.schema`."""
        return schema(mark(case.expectation, grading.graded_text(transcript)))

    def read_judgement(self, case: Case, transcript: Transcript, reply: ModelReply) -> JudgeReading:
        """See `reply.read_judgement`.

        With the shipped judge prompt the version includes its digest; a custom template is part of
        the case.
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
        """See `grading.score`."""
        return grading.score(classification, judgement)

    def result(self, case: Case, evaluation: Evaluation) -> dict[str, Any]:
        """See `result.result`."""
        return result(case, evaluation)
