"""`ModelClient`, exactly as in specification 000 § 3.

A user's own class of this shape is named in a configuration (`provider: python`,
`class: package.module:Name`) and runs in a thread, off the event loop.
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
    """A client that can also give its answer piece by piece, for `stream: true`."""

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        """See `ModelClient`."""
        ...

    def stream_completion(self, prompt: str, params: dict[str, Any]) -> Iterable[str]:
        """The same response in pieces, as they come: a generator, for example. Raises as
        `get_completion` does; what came before is no answer."""
        ...
