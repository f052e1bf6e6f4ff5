"""Lists the models that a configured provider offers."""

from __future__ import annotations

from contextlib import suppress

from failproof_es.configuration.schema import Model
from failproof_es.models import create_provider
from failproof_es.models.catalog.listing import is_listed
from failproof_es.models.protocol import UnlistedModel

_TIMEOUT_MS = 10_000


async def available_models(model: Model) -> list[str]:
    """The names of the models that the provider of `model` offers, the configured one first.

    The models that the server lists; the embedded models with installed weights; the one class of
    a `python` provider. Raises `InvalidInput` if the provider can't be used.
    """
    provider = create_provider(model, timeout_ms=_TIMEOUT_MS, connections=1)
    try:
        with suppress(UnlistedModel):
            await provider.check()
        names = await provider.available_models()
    finally:
        await provider.close()
    first = [model.model] if not names or model.model in names else []
    return list(dict.fromkeys([*first, *names]))


def is_available(offered: list[str], name: str) -> bool:
    """Whether the model `name` is among the offered names; it may lack the suffix `:latest`."""
    return is_listed(name, offered)
