"""`PromptApi` (specification 003 § 4.5): the prompts for models and judges."""

from typing import Protocol

from failproof_es.abstraction.types import BenchmarkTask


class PromptApi(Protocol):
    """Builds the prompts for the models that answer and for the judge."""

    def build_generation_prompt(self, task: BenchmarkTask) -> str:
        """The prompt that asks a model under test to do the task."""
        ...

    def build_judge_prompt(self, task: BenchmarkTask, llm_response: str) -> str:
        """The prompt that asks the judge to grade an answer."""
        ...
