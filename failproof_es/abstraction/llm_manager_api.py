"""`LLMManagerApi` (specification 003 § 4.4): the available models."""

from collections.abc import Callable
from typing import Protocol


class LLMManagerApi(Protocol):
    """Lists, prepares and asks models."""

    def list_models(self) -> list[str]:
        """Every model that can be asked."""
        ...

    def prepare_model(self, name: str) -> None:
        """See to it that the model can answer at once, or raise."""
        ...

    def stream_generate(
        self, model_name: str, prompt: str, on_token: Callable[[str], None]
    ) -> None:
        """Ask, handing the answer on piece by piece; returns when it is complete."""
        ...

    def generate(self, model_name: str, prompt: str) -> str:
        """Ask, and return the whole answer."""
        ...
