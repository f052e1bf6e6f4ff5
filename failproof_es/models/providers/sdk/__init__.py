"""A class that asks through a vendor's own client library, whose HTTP goes through here.

The library makes the request and reads the reply. In between, its bytes are recorded and sent as
those of any other provider are: recorded before they leave, sent once, kept raw when they come.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.events import ModelSnapshot, ResponseReceived
from failproof_es.models.protocol import Answer
from failproof_es.models.provider_type import (
    Capabilities,
    EntryProblem,
    PriceSource,
    provider_type,
)
from failproof_es.models.request_options import LEAVE_OUT, option_problems, unknown_options
from failproof_es.models.user_code.class_type import UserClassType

if TYPE_CHECKING:
    from failproof_es.models.http_type import HttpProviderType
    from failproof_es.models.providers.sdk.provider import SdkProvider


class SdkType(UserClassType):
    """The provider types `NAME-sdk`: a user's class that uses one vendor's client library.

    The vendor's provider over HTTP reads the replies.
    """

    takes = frozenset({"class", "base_url", "api_key_env", "options", "proxy", "ca_file"})
    needs = frozenset({"class", "base_url"})
    checked_by = ", and had it make a request; sent none"

    def __init__(self, reads_as: str, *, seed: bool = True) -> None:
        """`reads_as` is the name of the provider over HTTP with these requests and replies.

        `seed`: whether its requests can have a seed.
        """
        self.name = f"{reads_as}-sdk"
        self.capabilities = Capabilities(tools=False, schema=False, streaming=False, seed=seed)
        self._reads_as = reads_as

    @property
    def read_by(self) -> HttpProviderType:
        """The provider type over HTTP that reads the replies."""
        from failproof_es.models.http_type import HttpProviderType

        provider = provider_type(self._reads_as)
        assert isinstance(provider, HttpProviderType)
        return provider

    def problems(self, model: Model) -> Iterable[EntryProblem]:
        """Yield the errors in the options, and one for a class of the standard library."""
        yield from super().problems(model)
        yield from unknown_options(model, (LEAVE_OUT,))
        yield from option_problems(model)

    def destination(self, model: Model) -> str:
        """The receiver of the secrets, for people: the class, and the server that it calls."""
        return f"the class {model.class_}, and by it {super().destination(model)}"

    def price_source(self, model: ModelSnapshot) -> PriceSource | None:
        """The key of the model's published prices, as for the provider over HTTP."""
        return self.read_by.price_source(model)

    def create(
        self, model: Model, *, timeout_ms: int, connections: int, key: str | None = None
    ) -> SdkProvider:
        """Create the model's `Provider`, without loading the class.

        `key` is passed to the class if the model names no variable for its key. Raises
        `InvalidInput` if a required setting is missing.
        """
        from failproof_es.models.providers.sdk.provider import SdkProvider

        return SdkProvider(
            self.read_by, model, timeout_ms=timeout_ms, connections=connections, key=key
        )

    def reparse(self, response: ResponseReceived) -> Answer | None:
        """Parse a recorded reply again, by the functions that parsed it when it was received.

        Raises `ModelError` if the recorded bytes hold no answer.
        """
        return self.read_by.reparse(response)

    def request_is_complete(self, body: bytes, messages: Sequence[Turn]) -> bool:
        """Whether a request's body holds every message in full, as for the provider over HTTP."""
        return self.read_by.request_is_complete(body, messages)


OPENAI = SdkType("openai")
"""Chat completions through the package `openai`, or another with its protocol over httpx."""
OPENAI_RESPONSES = SdkType("openai-responses", seed=False)
"""OpenAI's Responses API through the package `openai`."""
ANTHROPIC = SdkType("anthropic", seed=False)
"""Anthropic's Messages API through the package `anthropic`."""
