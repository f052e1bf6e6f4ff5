"""Makes an Ollama server pull a model, which its OpenAI-compatible interface can't do."""

from __future__ import annotations

import httpx
import orjson

from failproof_es.models.http import LONGEST_REPLY_BYTES
from failproof_es.problems import InvalidInput
from failproof_es.web.bounded_json import read_json
from failproof_es.web.client import UNUSABLE, fetch, open_client

_ASK_S = 10.0
_PULL_S = 3600.0


async def pull(base_url: str, model: str) -> bool:
    """Fetch the model if the server behind `base_url` is Ollama; returns whether it is.

    Returns when the model is complete, which takes minutes for a large one. Raises `InvalidInput`
    if Ollama can't fetch it.
    """
    root = base_url.rstrip("/").removesuffix("/v1")
    async with open_client(_ASK_S) as client:
        if not await _is_ollama(client, root):
            return False
    body = orjson.dumps({"model": model, "stream": False})
    async with open_client(_PULL_S) as client:
        try:
            reply = await fetch(
                client, "POST", f"{root}/api/pull",
                headers={"content-type": "application/json"}, content=body,
                limit=LONGEST_REPLY_BYTES, timeout_s=_PULL_S,
            )  # fmt: skip
            document = read_json(reply.body)
        except (*UNUSABLE, ValueError) as error:
            raise _pull_error(model, root, f"{type(error).__name__}: {error}") from None
    if not isinstance(document, dict) or document.get("status") != "success":
        reason = document.get("error") if isinstance(document, dict) else document
        raise _pull_error(model, root, f"HTTP {reply.status}: {reason}")
    return True


async def _is_ollama(client: httpx.AsyncClient, root: str) -> bool:
    try:
        reply = await fetch(
            client, "GET", f"{root}/api/version", limit=LONGEST_REPLY_BYTES, timeout_s=_ASK_S
        )
        return reply.status == 200 and "version" in read_json(reply.body)
    except (*UNUSABLE, ValueError, TypeError):
        return False


def _pull_error(model: str, root: str, reason: str) -> InvalidInput:
    return InvalidInput.because(
        "model-not-fetched",
        f"{root} could not fetch {model}: {reason}",
        remedy=f"try `ollama pull {model}` there",
    )
