"""Having an Ollama server fetch a model: the one thing its OpenAI-compatible half can't do."""

from __future__ import annotations

import httpx
import orjson

from failproof_es.problems import InvalidInput

_ASK_S = 10.0
_PULL_S = 3600.0


async def pull(base_url: str, model: str) -> bool:
    """Fetch the model, if the server behind `base_url` is Ollama; whether it is.

    Returns when the model is there: minutes, for a large one. Raises `InvalidInput` when
    Ollama can't fetch it.
    """
    root = base_url.rstrip("/").removesuffix("/v1")
    async with httpx.AsyncClient(trust_env=False, timeout=_ASK_S) as client:
        if not await _is_ollama(client, root):
            return False
        try:
            request = {"model": model, "stream": False}
            reply = await client.post(f"{root}/api/pull", json=request, timeout=_PULL_S)
            said = orjson.loads(reply.content)
        except (httpx.HTTPError, orjson.JSONDecodeError) as error:
            raise _failed(model, root, f"{type(error).__name__}: {error}") from None
    if not isinstance(said, dict) or said.get("status") != "success":
        reason = said.get("error") if isinstance(said, dict) else said
        raise _failed(model, root, f"HTTP {reply.status_code}: {reason}")
    return True


async def _is_ollama(client: httpx.AsyncClient, root: str) -> bool:
    try:
        reply = await client.get(f"{root}/api/version")
        return reply.status_code == 200 and "version" in orjson.loads(reply.content)
    except (httpx.HTTPError, orjson.JSONDecodeError, TypeError):
        return False


def _failed(model: str, root: str, reason: str) -> InvalidInput:
    return InvalidInput.because(
        f"{root} could not fetch {model}: {reason}", remedy=f"try `ollama pull {model}` there"
    )
