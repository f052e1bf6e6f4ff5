"""`PromptApi`: the benchmark dialect's own prompts (specification 003 § 4.5)."""

from __future__ import annotations

from dataclasses import asdict

from failproof_es.abstraction.types import BenchmarkTask
from failproof_es.dialects.shipped.benchmark.options import BenchmarkOptions
from failproof_es.dialects.shipped.benchmark.prompts import generation_prompt, judge_prompt


class Prompts:
    """A `PromptApi` with the prompts of the benchmark dialect, from the templates in its
    options."""

    def __init__(self, options: BenchmarkOptions | None = None) -> None:
        self._options = options or BenchmarkOptions()

    def build_generation_prompt(self, task: BenchmarkTask) -> str:
        """The prompt for the model under test."""
        return generation_prompt(task.question, self._options.generation_template)

    def build_judge_prompt(self, task: BenchmarkTask, llm_response: str) -> str:
        """The prompt that asks the judge to grade an answer."""
        expectation = {
            "question": task.question,
            **asdict(task.expected_answer),
            "incorrect_direction": task.incorrect_direction,
        }
        return judge_prompt(expectation, llm_response, self._options.judge_template)
