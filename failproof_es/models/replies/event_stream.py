"""Decodes server-sent events from bytes that arrive in any pieces. Pure.

The rules are those of the HTML standard, "Server-sent events", § 9.2.6: lines end with CR, LF
or both, a blank line ends an event, an event without a blank line after it is discarded.
The libraries that decode such events keep no raw bytes, which the record needs.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from typing import Literal

DONE = "[DONE]"
"""The data of the last event of OpenAI's streams, and of other streams behind some gateways."""
_STEP_BYTES = 2**16


class EventStream:
    """Decodes server-sent events: feed bytes, and get the data of each completed event.

    `errors`: the handling of bytes that are not UTF-8, as for `bytes.decode`.
    """

    def __init__(self, errors: Literal["strict", "replace"] = "strict") -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self._line: list[str] = []
        """The pieces of the current line, joined when it ends."""
        self._data: io.StringIO | None = None
        """The data of the current event, from one or more lines."""
        self._begun = False
        self._after_cr = False

    def feed(self, piece: bytes) -> Iterator[str]:
        """Yield the data of each event that ends in this piece.

        Raises `UnicodeDecodeError` if the bytes are not UTF-8 and `errors` is `strict`.
        """
        # A line takes 20 times its length in memory.
        for start in range(0, len(piece), _STEP_BYTES):
            for line in self._split_lines(self._decoder.decode(piece[start : start + _STEP_BYTES])):
                if line:
                    self._read_field(line)
                elif self._data is not None:
                    data, self._data = self._data.getvalue(), None
                    yield data

    @property
    def pending(self) -> str:
        """The data of the current, unfinished event, its unfinished line included."""
        rest = [] if self._data is None else [self._data.getvalue()]
        line = "".join(self._line)
        if line.startswith("data:"):
            rest.append(_field_value(line))
        return "\n".join(rest)

    def _split_lines(self, text: str) -> Iterator[str]:
        if not text:
            return
        if not self._begun:
            self._begun = True
            text = text.removeprefix("\ufeff")
        if self._after_cr:
            text = text.removeprefix("\n")
        self._after_cr = text.endswith("\r")
        *complete, rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if complete:
            complete[0] = "".join([*self._line, complete[0]])
            self._line.clear()
        self._line.append(rest)
        yield from complete

    def _read_field(self, line: str) -> None:
        if line == "data" or line.startswith("data:"):
            if self._data is None:
                self._data = io.StringIO()
            else:
                self._data.write("\n")
            self._data.write(_field_value(line))


def _field_value(line: str) -> str:
    return line.partition(":")[2].removeprefix(" ")
