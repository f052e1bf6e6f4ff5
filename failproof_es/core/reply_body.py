"""Encodes and decodes the body of a reply for events. Pure.

Every event that holds a body is written and read through this module.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
from base64 import b64decode, b64encode
from typing import Any, Literal

import orjson

from failproof_es.events import Encoding, ErrorRecorded, ResponseReceived, Withheld

MOST_OF_AN_ERROR = 2**16
"""Maximum number of recorded bytes of an error's body, and of characters of its message."""

_QUOTES = '""'
"""The quotation marks of a JSON string."""


def whole_body(body: bytes) -> dict[str, Any]:
    """The fields `body` and `body_encoding` of an event, for a body that is recorded whole."""
    text, encoding = _encode_body(body)
    return {"body": text, "body_encoding": encoding}


def truncated_body(body: bytes) -> dict[str, Any]:
    """The event's fields for an error's body, cut at `MOST_OF_AN_ERROR` bytes.

    `withheld` is set if it was cut: it has the length and the digest of the whole.
    """
    if len(body) <= MOST_OF_AN_ERROR:
        return whole_body(body)
    excerpt = body[:MOST_OF_AN_ERROR]
    with contextlib.suppress(UnicodeDecodeError):  # text is not cut inside a character
        excerpt = codecs.getincrementaldecoder("utf-8")().decode(excerpt).encode()
    return {**whole_body(excerpt), "withheld": _withheld("long", body)}


def redacted_body(body: bytes, placeholder: str) -> dict[str, Any]:
    """The event's fields for a body that contains a secret: the placeholder stands for it.

    `withheld` has the length and the digest of the body.
    """
    return {"body": placeholder, "body_encoding": "utf-8", "withheld": _withheld("secret", body)}


def withheld_body(body: bytes) -> dict[str, Any]:
    """The event's fields for a body that cannot be searched for API keys, with a remark instead."""
    return {
        "body": "[not recorded: no UTF-8 text in which keys can be looked for]",
        "body_encoding": "utf-8",
        "withheld": _withheld("unsearchable", body),
    }


def is_text(body: bytes) -> bool:
    """Whether the body is UTF-8 without NUL (UTF-16 has NULs). The last character may be cut."""
    if 0 in body:
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        return False
    return True


def raw_body(event: ResponseReceived | ErrorRecorded) -> bytes | None:
    """The recorded bytes of the body; `None` without one."""
    if event.body is None:
        return None
    return b64decode(event.body) if event.body_encoding == "base64" else event.body.encode()


def body_text(event: ResponseReceived | ErrorRecorded) -> str | None:
    """The body as text for people, or as base64 if it is not UTF-8; `None` without one."""
    if event.body is None or event.body_encoding == "utf-8":
        return event.body
    try:
        return b64decode(event.body).decode()
    except UnicodeDecodeError:
        return event.body


def _encode_body(body: bytes) -> tuple[str, Encoding]:
    """Encode the bytes for JSON as text or base64, whichever is shorter; text if equal."""
    in_base64 = -(-len(body) // 3) * 4
    with contextlib.suppress(UnicodeDecodeError):
        text = body.decode("utf-8")
        if len(orjson.dumps(text)) - len(_QUOTES) <= in_base64:
            return text, "utf-8"
    return b64encode(body).decode("ascii"), "base64"


def _withheld(why: Literal["long", "secret", "unsearchable"], body: bytes) -> Withheld:
    return Withheld(why=why, length=len(body), sha256=hashlib.sha256(body).hexdigest())
