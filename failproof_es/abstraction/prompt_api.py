"""`PromptApi` (specification 003 § 4.5): the prompts for models and judges."""

from typing import Protocol

from failproof_es.abstraction.types import BenchmarkTask


class PromptApi(Protocol):
    """Builds prompts."""

    def build_generation_prompt(self, task: BenchmarkTask) -> str:
        """What the model under test is asked."""
        ...

    def build_judge_prompt(self, task: BenchmarkTask, llm_response: str) -> str:
        """What the judge is asked about an answer."""
        ...
