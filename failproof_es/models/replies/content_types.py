"""Detects a reply's real content type by its first bytes, if the declared one is wrong. Pure.

A JSON document begins with a bracket; server-sent events with a field name and a colon, or with a
comment; JSON Lines with a complete object and another one on the next line; AWS frames with their
length and its checksum.
"""

from __future__ import annotations

import re
from zlib import crc32

EVENTS, LINES = "text/event-stream", "application/x-ndjson"
FRAMES, _DOCUMENT = "application/vnd.amazon.eventstream", "application/json"
_BEGINS_EVENTS = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,99}(?:data|event|id|retry)?:")
_BEGINS_OBJECT = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,99}\{")
_ENDED_OBJECT = re.compile(rb"\}\s*\Z")
_PRELUDE = 12


def detect_content_type(declared: str, body: bytes) -> str | None:
    """The content type that the body has in place of the declared one.

    `None` if the declared one may stay: the body's type is not recognised or is the declared one,
    or the body is a JSON document that is not declared as an event stream.
    """
    detected = _detect_type(body)
    declared = declared.strip().lower()
    if detected == _DOCUMENT:  # valid JSON Lines, too
        return detected if declared.startswith(EVENTS) else None
    return None if detected is None or declared.startswith(detected) else detected


def _detect_type(body: bytes) -> str | None:
    if _BEGINS_EVENTS.match(body):
        return EVENTS
    if (opening := _BEGINS_OBJECT.match(body)) is not None:
        return LINES if _ends_in_its_line(body, opening.end()) else _DOCUMENT
    length = body[:8]
    is_frame = len(body) >= _PRELUDE and crc32(length) == int.from_bytes(body[8:_PRELUDE])
    return FRAMES if is_frame else None


def _ends_in_its_line(body: bytes, start: int) -> bool:
    """Whether the object that begins at `start` ends on its line, and another one follows."""
    end = body.find(b"\n", start)
    line_end, following = body[max(start, end - 99) : end], body[end + 1 : end + 200]
    return end > 0 and bool(_ENDED_OBJECT.search(line_end) and _BEGINS_OBJECT.match(following))
