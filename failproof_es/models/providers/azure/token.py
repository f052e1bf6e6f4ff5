"""A token of Entra, from the credentials that `azure-identity` finds (extra `azure`)."""

from __future__ import annotations

from typing import Any

from failproof_es.models.protocol import ModelError
from failproof_es.models.tokens import Token
from failproof_es.support.extras import require

_SCOPE = "https://cognitiveservices.azure.com/.default"


class EntraToken:
    """Fetches tokens of Entra.

    The library's credential is kept: it remembers which source works.
    """

    def __init__(self) -> None:
        self._credential: Any = None

    def __call__(self) -> Token:
        """Fetch a token; blocks.

        Raises `InvalidInput` if `azure-identity` is not installed, and `ModelError` if there are no
        credentials or the request fails.
        """
        require("azure", "the option `credentials` of the provider `azure`")
        from azure.core.exceptions import AzureError, ClientAuthenticationError
        from azure.identity import DefaultAzureCredential

        try:
            if self._credential is None:
                self._credential = DefaultAzureCredential()
            token = self._credential.get_token(_SCOPE)
        except ClientAuthenticationError as error:
            message = f"no token of Entra: {error.message}"
            raise ModelError("authentication", message, "halting") from None
        except AzureError as error:
            message = f"no token of Entra: {error.message}"
            raise ModelError("connection", message, "transient") from None
        return Token(str(token.token), float(token.expires_on))
