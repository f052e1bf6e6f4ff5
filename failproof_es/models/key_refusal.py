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
    if not provider.sends_key:
        return InvalidInput.because(
            "key-refused",
            f"{server} refuses a request without a key (HTTP {status})",
            remedy="name the environment variable that holds the key (`api_key_env`)",
            field=field,
        )
    model = provider.model
    variables = dict.fromkeys(filter(None, (model.api_key_env, *model.headers.values())))
    return InvalidInput.because(
        "key-refused",
        f"{server} refuses the key (HTTP {status})",
        remedy=f"check the key in {', '.join(variables) or 'the credentials'}",
        field=field,
    )
