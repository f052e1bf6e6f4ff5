"""The benchmark dialect: implements `protocol.Dialect` (specification 003)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Self

from failproof_es.core.case import Case
from failproof_es.core.evaluation import ModelReply, Transcript
from failproof_es.dialects.kit import one_request
from failproof_es.dialects.protocol import JudgeReading
from failproof_es.dialects.shipped.benchmark import (
    grading,
    loader,
    options,
    prompts,
    result,
)
from failproof_es.dialects.shipped.benchmark.reply import read_judgement, schema
from failproof_es.problems import Problems


class Benchmark:
    """The dialect `benchmark`: tasks whose answer a judge scores against four descriptions."""

    name = "benchmark"
    suffixes: tuple[str, ...] = loader.SUFFIXES
    failing_scores: Mapping[str, float] = grading.FAILING_SCORES

    recognises = staticmethod(loader.looks_like_ours)
    messages = staticmethod(one_request.messages)
    classify = staticmethod(grading.classify)
    judge_messages = staticmethod(grading.judge_messages)
    score = staticmethod(grading.score)
    expectations = staticmethod(grading.expectations)
    result = staticmethod(result.result)

    def __init__(self, settings: options.BenchmarkOptions | None = None) -> None:
        self._options = settings or options.BenchmarkOptions()

    def with_options(self, option_values: Mapping[str, Any]) -> Self:
        """The dialect with these `prompts.options`. Raises `InvalidInput` with every defect."""
        return type(self)(options.read_options(option_values))

    def load(self, files: Sequence[Path], problems: Problems) -> Iterator[Case]:
        """Yield every valid task as a case, in file order; every defect goes to `problems`."""
        return loader.load(files, self._options, problems)

    def grading_is_bounded(self, case: Case, transcript: Transcript) -> bool:
        """Always true: no pattern comes from a case, and reading a short text is quick."""
        return True

    def reference_answer(self, case: Case) -> str:
        """The description of a perfect answer."""
        return str(case.expectation["most_expected"])

    def reordered_rubric(self, case: Case, draw: Random) -> Case | None:
        """The case with its descriptions in another order; `None` if its template has none."""
        template = case.expectation.get("judge_template")
        return _with_template(case, prompts.reordered_prompt(template, draw))

    def rephrased_rubric(self, case: Case) -> Case | None:
        """The case with the shipped question in other words; `None` with another template."""
        template = case.expectation.get("judge_template")
        return _with_template(case, prompts.rephrased_prompt(template))

    def judge_schema(self, case: Case, transcript: Transcript) -> dict[str, Any]:
        """The JSON Schema of a judge's reply to its question about this answer."""
        return schema(prompts.mark(case.expectation, grading.graded_text(transcript)))

    def read_judgement(self, case: Case, transcript: Transcript, reply: ModelReply) -> JudgeReading:
        """The verdict in a judge's reply, or the problem why there is none.

        With the shipped judge prompt the reading's version includes the digest of that prompt; a
        custom template is part of the case.
        """
        graded = grading.graded_text(transcript)
        case_text = prompts.case_text(case.expectation)
        reading = read_judgement(reply, graded, prompts.mark(case.expectation, graded), case_text)
        if case.expectation.get("judge_template") is not None:
            return reading
        return replace(reading, version=f"{reading.version}+prompt.{prompts.digest('judge')}")


def _with_template(case: Case, template: str | None) -> Case | None:
    """The case with this question to judges; `None` without a template."""
    if template is None:
        return None
    return case.model_copy(update={"expectation": {**case.expectation, "judge_template": template}})
