"""Caches a server's list of models: one lookup for all models on that server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any, TypeVar

from failproof_es.web.bounded_json import read_json

T = TypeVar("T")


class CheckCache:
    """Looks at servers, each made once, however many models want to know what it saw.

    For one event loop.
    """

    def __init__(self) -> None:
        self._made: dict[Hashable, asyncio.Task[Any]] = {}

    async def get(self, key: Hashable, look: Callable[[], Awaitable[T]]) -> T:
        """What the first `look` under this key sees, or raises."""

        async def made() -> T:
            return await look()

        if key not in self._made:
            self._made[key] = asyncio.create_task(made())
        seen: T = await asyncio.shield(self._made[key])
        return seen


def listed_ids(listing: bytes) -> list[str]:
    """The names in `{"data": [{"id": ...}]}`. Raises `ValueError` where it is no such list."""
    try:
        return [str(entry["id"]) for entry in read_json(listing)["data"]]
    except (KeyError, TypeError) as error:
        raise ValueError("this is not a list of models") from error


def is_listed(name: str, names: Sequence[str]) -> bool:
    """Whether the model is among those listed; `:latest` is what some leave out."""
    return name in names or f"{name}:latest" in names
