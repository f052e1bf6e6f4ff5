"""Holds imported answers in a temporary file, between reading and recording, by evaluation.

A source is read once, whole, before anything is recorded. Memory does not grow with the answers'
texts.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from typing import Any
from uuid import UUID

import orjson

_IN_MEMORY = 2**22

AnswerKey = tuple[UUID, str, int]
"""The prompt, the key of the model, the number of the repetition."""


class AnswerSpool:
    """Imported answers in a temporary file, by evaluation: the fields of each event
    `AnswerImported`."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - see `close`
        self._places: dict[AnswerKey, tuple[int, int]] = {}
        self._end = 0

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: AnswerKey) -> bool:
        return key in self._places

    def add(self, key: AnswerKey, fields: dict[str, Any]) -> None:
        """Keep the fields of one answer. Raises `OSError` if the temporary folder is full."""
        encoded = orjson.dumps(fields)
        self._file.seek(self._end)
        self._file.write(encoded)
        self._places[key] = self._end, len(encoded)
        self._end += len(encoded)

    def get(self, key: AnswerKey) -> dict[str, Any] | None:
        """The fields of an evaluation's answer; `None` if there is no answer."""
        place = self._places.get(key)
        if place is None:
            return None
        self._file.seek(place[0])
        fields: dict[str, Any] = orjson.loads(self._file.read(place[1]))
        return fields

    def close(self) -> None:
        """Delete the temporary file."""
        with suppress(OSError):  # the buffer may not fit on disk; nobody reads it any more
            self._file.close()

    __del__ = close
