"""The error for a server that refuses a key, or a request without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failproof_es.problems import InvalidInput

if TYPE_CHECKING:
    from failproof_es.models.http import HttpProvider


def key_refusal(
    provider: HttpProvider, server: str, status: int, field: str | None = None
) -> InvalidInput:
    """The error for a reply of this status; `server` begins its message."""
    key = "the key" if provider.sends_key else "a request without a key"
    return InvalidInput.because(
        "key-refused",
        f"{server} refuses {key} (HTTP {status})",
        remedy=_remedy(provider),
        field=field,
    )


def _remedy(provider: HttpProvider) -> str:
    model = provider.model
    variables = dict.fromkeys(filter(None, (model.api_key_env, *model.headers.values())))
    if variables:
        return f"check the key in {', '.join(variables)}"
    if provider.sends_key:
        return "check the key or the credentials"
    return "name the environment variable that holds the key (`api_key_env`)"
