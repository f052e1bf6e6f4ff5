"""Caches a server's list of models: one lookup for all models on that server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any, TypeVar

from failproof_es.models.replies.model_name_check import without_route
from failproof_es.web.bounded_json import read_json

T = TypeVar("T")


class CheckCache:
    """Shares the replies to requests of several models: each key is requested once.

    For one event loop.
    """

    def __init__(self) -> None:
        self._made: dict[Hashable, asyncio.Task[Any]] = {}

    async def get(self, key: Hashable, look: Callable[[], Awaitable[T]]) -> T:
        """The result, or the exception, of the first `look` under this key.

        Later callers with the same key wait for that result, and their `look` is not called.
        """

        async def made() -> T:
            return await look()

        if key not in self._made:
            self._made[key] = asyncio.create_task(made())
        seen: T = await asyncio.shield(self._made[key])
        return seen


def listed_ids(listing: bytes) -> list[str]:
    """The names in `{"data": [{"id": ...}]}`. Raises `ValueError` for anything else."""
    try:
        return [str(entry["id"]) for entry in read_json(listing)["data"]]
    except (KeyError, TypeError) as error:
        raise ValueError("this is not a list of models") from error


def is_listed(name: str, names: Sequence[str]) -> bool:
    """Whether the model `name` is in the list `names`.

    It may lack the suffix `:latest`, and have one of OpenRouter's routes.
    """
    return any(form in names for form in (name, f"{name}:latest", without_route(name)))
