"""`PromptApi` (specification 003 § 4.5): the prompts for models and judges."""

from typing import Protocol

from failproof_es.abstraction.types import BenchmarkTask


class PromptApi(Protocol):
    """Builds prompts."""

    def build_generation_prompt(self, task: BenchmarkTask) -> str:
        """The prompt for the model under test."""
        ...

    def build_judge_prompt(self, task: BenchmarkTask, llm_response: str) -> str:
        """The prompt that asks the judge to grade an answer."""
        ...
