"""Decodes server-sent events from bytes that arrive in any pieces. Pure.

The rules are those of the HTML standard, "Server-sent events", § 9.2.6: lines end with CR, LF
or both, a blank line ends an event, an event without a blank line after it never happened.
Written here because the libraries that decode them keep no raw bytes, and the record does.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from typing import Literal

_STEP_BYTES = 2**16


class EventStream:
    """Feed bytes, get the data of every event that they complete.

    `errors` says what to do about bytes that are no UTF-8.
    """

    def __init__(self, errors: Literal["strict", "replace"] = "strict") -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self._line: list[str] = []
        """The pieces of the line that has begun: joined once, when it ends."""
        self._data: io.StringIO | None = None
        """The data of the event that has begun: one text, however many lines it comes in."""
        self._begun = False
        self._after_cr = False

    def feed(self, piece: bytes) -> Iterator[str]:
        """The data of each event that ends in this piece.

        Raises `UnicodeDecodeError`.
        """
        for start in range(0, len(piece), _STEP_BYTES):  # a line takes twenty times its length
            for line in self._lines(self._decoder.decode(piece[start : start + _STEP_BYTES])):
                if line:
                    self._field(line)
                elif self._data is not None:
                    data, self._data = self._data.getvalue(), None
                    yield data

    @property
    def pending(self) -> str:
        """The data of an event that nothing has ended, its last line included."""
        rest = [] if self._data is None else [self._data.getvalue()]
        line = "".join(self._line)
        if line.startswith("data:"):
            rest.append(_value(line))
        return "\n".join(rest)

    def _lines(self, text: str) -> Iterator[str]:
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

    def _field(self, line: str) -> None:
        if line == "data" or line.startswith("data:"):
            if self._data is None:
                self._data = io.StringIO()
            else:
                self._data.write("\n")
            self._data.write(_value(line))


def _value(line: str) -> str:
    return line.partition(":")[2].removeprefix(" ")
