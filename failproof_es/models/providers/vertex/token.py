"""A token of Google Cloud, from the credentials that `google-auth` finds (extra `google`)."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from failproof_es.models.protocol import ModelError
from failproof_es.models.tokens import Token
from failproof_es.problems import InvalidInput
from failproof_es.support.extras import require

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def google_token() -> Token:
    """Fetch a token; blocks.

    Raises `InvalidInput` if `google-auth` is not installed or finds no credentials, and
    `ModelError` if the request fails.
    """
    require("google", "the option `credentials` of the provider `vertex`")
    import google.auth
    from google.auth.exceptions import GoogleAuthError, RefreshError, TransportError
    from google.auth.transport.requests import Request

    try:
        credentials: Any = google.auth.default(scopes=[_SCOPE])[0]
        credentials.refresh(Request())
    except (TransportError, RefreshError) as error:
        passing = isinstance(error, TransportError) or error.retryable
        message = f"no token of Google Cloud: {error}"
        if passing:
            raise ModelError("connection", message, "transient") from None
        raise ModelError("authentication", message, "halting") from None
    except GoogleAuthError as error:
        raise InvalidInput.because(
            "no-access-token",
            f"google-auth finds no credentials: {error}",
            remedy="name a file of them in GOOGLE_APPLICATION_CREDENTIALS, or log in with gcloud",
        ) from None
    ends = credentials.expiry.replace(tzinfo=UTC).timestamp()
    return Token(str(credentials.token), ends)
