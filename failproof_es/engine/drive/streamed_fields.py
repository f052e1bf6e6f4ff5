"""Joins the pieces of each text field of a stream. Pure.

A stream sends every text in pieces, also texts that we do not parse. A secret may be split over
events, so that no single event holds it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from failproof_es.models.replies.event_stream import EventStream
from failproof_es.web.bounded_json import read_json

_MOST_FIELDS = 1_000
"""Limit of separate fields. Further fields are joined into one text, in order of arrival."""
_DEEPEST = 64
_Path = tuple[str | int, ...]


def joined_fields(body: bytes) -> list[str]:
    """Every text field of a streamed `body`, its pieces joined.

    Never raises. The body consists of server-sent events or lines of JSON, of any provider. Empty
    for a document that was not streamed.
    """
    texts = []
    for is_cut, parts in ((b"data:" in body, _events), (_is_lines(body), _lines)):
        if is_cut:
            joined = _FieldTexts()
            for part in parts(body):
                joined.add(_document(part), ())
            texts += joined.texts()
    return texts


def _is_lines(body: bytes) -> bool:
    """Whether the body has several lines, and one of them begins a JSON object."""
    # One byte is found ten times as fast as two, and most documents are one line.
    return (b"\n" in body and b"\n{" in body) or (b"\r" in body and b"\r{" in body)


def _lines(body: bytes) -> Iterator[str]:
    return iter(body.decode(errors="replace").splitlines())


def _events(body: bytes) -> Iterator[str]:
    """The data of each event, also of a last one without its end."""
    stream = EventStream(errors="replace")
    yield from stream.feed(body)
    yield stream.pending


def _document(data: str) -> Any:
    """An event's JSON value if it can hold text, else the event's data as text."""
    try:
        document = read_json(data)
    except ValueError:
        return data
    return document if isinstance(document, dict | list | str) else data


class _FieldTexts:
    """The text of each field so far.

    A field is known by its path in the documents of the stream.
    """

    def __init__(self) -> None:
        self._by_path: dict[_Path, io.StringIO] = {}
        self._others = io.StringIO()

    def add(self, value: Any, path: _Path) -> None:
        """Append every text in `value`, a JSON value at `path`, to the text of its field.

        The entries of a list share one field, unless an `index` distinguishes them.
        """
        if type(value) is str:
            text = self._by_path.get(path)
            if text is None:
                few = len(self._by_path) < _MOST_FIELDS
                text = self._by_path.setdefault(path, io.StringIO()) if few else self._others
            text.write(value)
        elif type(value) is dict and len(path) < _DEEPEST:
            index = value.get("index")
            inside = path if index is None else (*path, str(index))
            for name, child in value.items():
                if type(child) in _HOLD_TEXT:
                    self.add(child, (*inside, name))
        elif type(value) is list and len(path) < _DEEPEST:
            inside = (*path, 0)
            for child in value:
                if type(child) in _HOLD_TEXT:
                    self.add(child, inside)

    def texts(self) -> list[str]:
        return [text.getvalue() for text in (*self._by_path.values(), self._others)]


_HOLD_TEXT = frozenset({str, dict, list})
