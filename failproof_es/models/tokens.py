"""Tokens that a vendor's own library gets and renews, in place of a key in the environment."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from failproof_es.models.protocol import ModelError
from failproof_es.problems import InvalidInput

RENEWED_BEFORE_S = 300.0
"""A token that ends within this time is replaced before the next request."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token, and when it ends (seconds since 1970, UTC)."""

    text: str
    ends_at: float


class TokenSource:
    """The current token of one source. For one event loop at a time."""

    def __init__(self, name: str, fetch: Callable[[], Token]) -> None:
        """`name` stands in place of its tokens in what is recorded.

        `fetch` asks for one and waits. It raises `InvalidInput` where there are no credentials,
        and `ModelError` where it could not be asked for.
        """
        self._name = name
        self._fetch = fetch
        self._token: Token | None = None
        self._fetching: asyncio.Task[Token] | None = None
        self.given: dict[str, str] = {}
        """Every token so far, by the name under which it is replaced."""

    @property
    def text(self) -> str | None:
        """The last one; `None` before there is any."""
        return None if self._token is None else self._token.text

    async def renew(self) -> None:
        """Have a token that is valid now. Raises as `fetch` does.

        Where another can't be had, the one that there is stays until it ends.
        """
        left_s = 0.0 if self._token is None else self._token.ends_at - time.time()
        if left_s >= RENEWED_BEFORE_S:
            return
        try:
            await self._renewed()
        except (ModelError, InvalidInput):
            if left_s <= 0:
                raise

    async def _renewed(self) -> Token:
        """Ask once for all who wait."""
        if self._fetching is None:
            self._fetching = asyncio.create_task(asyncio.to_thread(self._fetch))
            self._fetching.add_done_callback(self._fetched)
        return await asyncio.shield(self._fetching)

    def _fetched(self, done: asyncio.Task[Token]) -> None:
        self._fetching = None
        if not done.cancelled() and done.exception() is None:
            self._token = done.result()
            number = len(self.given) + 1
            self.given[f"{self._name} {number}"] = self._token.text


async def require_token(tokens: TokenSource) -> None:
    """Get one before a run. Raises `InvalidInput`."""
    try:
        await tokens.renew()
    except ModelError as error:
        raise InvalidInput.because(str(error)) from None
