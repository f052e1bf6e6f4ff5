"""The provider for a user's own class with `get_completion` (specification 000 § 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import orjson

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.events import ModelSnapshot
from failproof_es.models.catalog.packages import package_of
from failproof_es.models.provider_type import (
    BaseProviderType,
    Capabilities,
    EntryProblem,
    PriceSource,
)
from failproof_es.models.user_code.finding import OF_PYTHON, is_of_standard_library

if TYPE_CHECKING:
    from failproof_es.models.providers.python.provider import PythonProvider


class PythonType(BaseProviderType):
    """The provider type `python`: a user's own class that turns a prompt into text.

    There are no raw bytes to record or to parse again.
    """

    name = "python"
    takes = frozenset({"class", "api_key_env"})
    needs = frozenset({"class"})
    capabilities = Capabilities(tools=False, schema=False, streaming=True, shows_version=False)

    def destination(self, model: Model) -> str:
        """Where the secrets are sent, for people: the class."""
        return f"the class {model.class_}"

    def describe_check(self, model: Model, *, offline: bool) -> str:
        """What a check did, for people: it constructed the class; `offline`: it did not run it."""
        if offline:
            return f"not run: the class {model.class_}; `validate --run-classes` runs it"
        key = f"with the key in {model.api_key_env}" if model.api_key_env else "without a key"
        return f"constructed the class {model.class_} {key}"

    def problems(self, model: Model) -> Iterable[EntryProblem]:
        """Yield an error for a class of the standard library.

        `timeit:timeit` would run the model's name as code.
        """
        if is_of_standard_library((model.class_ or "-").partition(":")[0]):
            yield EntryProblem("class", OF_PYTHON, "name a class of your own")

    def packages(self, model: Model) -> Mapping[str, str]:
        """Name and version of the package that the class comes from; empty without a package."""
        package = package_of(model.class_ or "")
        return {} if package is None else dict([package])

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
