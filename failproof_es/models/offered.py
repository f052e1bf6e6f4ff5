"""Which models a configured provider has to offer, beside the one that is configured."""

from __future__ import annotations

import os

from failproof_es.configuration.schema import Model
from failproof_es.models import create_provider
from failproof_es.models.http import LONGEST_REPLY_BYTES
from failproof_es.models.weights import INSTALLABLE, location
from failproof_es.web.bounded_json import read_json
from failproof_es.web.client import UNUSABLE, fetch, open_client

_TIMEOUT_MS = 10_000


async def offered_models(model: Model) -> list[str]:
    """The names of the models that the provider of `model` offers, the configured one first.

    Those that an OpenAI-compatible server lists; the embedded models whose weights are
    here; the one class of a `python` provider. Raises `InvalidInput` when it can't be used.
    """
    provider = create_provider(model, timeout_ms=_TIMEOUT_MS, connections=1)
    try:
        await provider.check()
    finally:
        await provider.close()
    match model.provider:
        case "openai":
            listed = await _listed(model)
            first = [model.model] if model.model in listed or not listed else []
        case "local":
            listed = [name for name, weights in INSTALLABLE.items() if location(weights)]
            first = [model.model]
        case _:
            listed, first = [], [model.model]
    return list(dict.fromkeys([*first, *listed]))


async def _listed(model: Model) -> list[str]:
    """What the server lists; nothing where it lists nothing that could be read."""
    key = os.environ.get(model.api_key_env or "", "")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    where = f"{(model.base_url or '').rstrip('/')}/models"
    timeout_s = _TIMEOUT_MS / 1000
    async with open_client(timeout_s) as client:
        try:
            reply = await fetch(
                client,
                "GET",
                where,
                headers=headers,
                limit=LONGEST_REPLY_BYTES,
                timeout_s=timeout_s,
            )
            return [str(entry["id"]) for entry in read_json(reply.body)["data"]]
        except (*UNUSABLE, ValueError, KeyError, TypeError):
            return []
