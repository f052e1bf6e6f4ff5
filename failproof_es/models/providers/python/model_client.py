"""`ModelClient`, exactly as in specification 000 § 3.

A configuration names a user's own class with this interface (`provider: python`,
`class: package.module:Name`). It runs in a thread, off the event loop.
"""

from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable


class ModelClient(Protocol):
    """An interface for a client that communicates with a large language model."""

    def __init__(self, api_key: str, model_id: str):
        """Take the credentials and the specific model to be used."""
        ...

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        """The model's response to `prompt`; raises an exception if the call fails."""
        ...


@runtime_checkable
class StreamingClient(Protocol):
    """A client that can also stream its answer, for `stream: true`."""

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        """The model's response to `prompt`; raises an exception if the call fails."""
        ...

    def stream_completion(self, prompt: str, params: dict[str, Any]) -> Iterable[str]:
        """Yield the response in pieces as they arrive, for example as a generator.

        Raises as `get_completion` does; the pieces before an exception are not an answer.
        """
        ...
