"""The provider for a user's own class with `get_completion` (specification 000 § 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import orjson

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.events import ModelSnapshot
from failproof_es.models.provider_type import (
    Capabilities,
    PriceSource,
)
from failproof_es.models.user_code.class_type import UserClassType

if TYPE_CHECKING:
    from failproof_es.models.providers.python.provider import PythonProvider


class PythonType(UserClassType):
    """The provider type `python`: a user's own class that turns a prompt into text.

    There are no raw bytes to record or to parse again.
    """

    name = "python"
    takes = frozenset({"class", "api_key_env"})
    needs = frozenset({"class"})
    capabilities = Capabilities(tools=False, schema=False, streaming=True, shows_version=False)

    def price_source(self, model: ModelSnapshot) -> PriceSource | None:
        """Always `None`: it is unknown which model a class calls."""
        return None

    def create(
        self, model: Model, *, timeout_ms: int, connections: int, key: str | None = None
    ) -> PythonProvider:
        """Create the model's `Provider`, without loading the class.

        `key` is passed to the class if the model names no variable for its key.
        """
        from failproof_es.models.providers.python.provider import PythonProvider

        return PythonProvider(model, timeout_ms=timeout_ms, key=key)

    def request_is_complete(self, body: bytes, messages: Sequence[Turn]) -> bool:
        """Whether the prompt in a request's body contains every message in full."""
        try:
            prompt = orjson.loads(body)["prompt"]
            return all(turn.content in prompt for turn in messages)
        except (orjson.JSONDecodeError, LookupError, TypeError):
            return False


PROVIDER = PythonType()
