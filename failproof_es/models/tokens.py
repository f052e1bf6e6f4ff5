"""Tokens that a vendor's library fetches and renews, in place of a key in the environment."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from failproof_es.models.protocol import ModelError
from failproof_es.problems import InvalidInput

RENEWED_BEFORE_S = 300.0
"""A token that expires within this time is replaced before the next request."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token and its expiry (seconds since 1970, UTC)."""

    text: str
    ends_at: float


class TokenSource:
    """Holds the current token of a vendor's library, and renews it before it expires.

    For one event loop at a time.
    """

    def __init__(self, name: str, fetch: Callable[[], Token]) -> None:
        """`name` and a number replace each token in the record.

        `fetch` requests a token and blocks. It raises `InvalidInput` if the library or the
        credentials are missing, and `ModelError` if the request fails.
        """
        self._name = name
        self._fetch = fetch
        self._token: Token | None = None
        self._fetching: asyncio.Task[Token] | None = None
        self.given: dict[str, str] = {}
        """All tokens so far, by the name that replaces them in the record."""

    @property
    def text(self) -> str | None:
        """The latest token; `None` before the first."""
        return None if self._token is None else self._token.text

    async def renew(self) -> None:
        """Fetch a new token if the current one expires within 5 minutes. Raises as `fetch` does.

        If that fails, the current token stays in use until it expires.
        """
        left_s = 0.0 if self._token is None else self._token.ends_at - time.time()
        if left_s >= RENEWED_BEFORE_S:
            return
        try:
            await self._fetch_shared()
        except (ModelError, InvalidInput):
            if left_s <= 0:
                raise

    async def _fetch_shared(self) -> Token:
        """Fetch a token; concurrent callers share one request."""
        if self._fetching is None:
            self._fetching = asyncio.create_task(asyncio.to_thread(self._fetch))
            self._fetching.add_done_callback(self._store_token)
        return await asyncio.shield(self._fetching)

    def _store_token(self, done: asyncio.Task[Token]) -> None:
        self._fetching = None
        if not done.cancelled() and done.exception() is None:
            self._token = done.result()
            number = len(self.given) + 1
            self.given[f"{self._name} {number}"] = self._token.text


async def require_token(tokens: TokenSource) -> None:
    """Fetch a token before a run. Raises `InvalidInput` if none can be fetched."""
    try:
        await tokens.renew()
    except ModelError as error:
        raise InvalidInput.because("no-access-token", str(error)) from None
