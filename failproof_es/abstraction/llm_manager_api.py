"""`LLMManagerApi` (specification 003 § 4.4): the available models."""

from collections.abc import Callable
from typing import Protocol


class LLMManagerApi(Protocol):
    """Lists, prepares and asks models."""

    def list_models(self) -> list[str]:
        """The names of all models that can be asked."""
        ...

    def prepare_model(self, name: str) -> None:
        """Make the model ready to answer. Raises an error if it can't be."""
        ...

    def stream_generate(
        self, model_name: str, prompt: str, on_token: Callable[[str], None]
    ) -> None:
        """Ask the model; `on_token` gets the answer in pieces. Returns after the last piece."""
        ...

    def generate(self, model_name: str, prompt: str) -> str:
        """Ask the model; returns the whole answer."""
        ...
