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
"""So many bytes of an error's body are recorded, and so many characters of what it says."""

_QUOTES = '""'
"""What JSON writes around a text."""


def whole_body(body: bytes) -> dict[str, Any]:
    """The fields that hold all of a body."""
    text, encoding = _encoded(body)
    return {"body": text, "body_encoding": encoding}


def truncated_body(body: bytes) -> dict[str, Any]:
    """The fields that hold as much of an error's body as is recorded, and say so."""
    if len(body) <= MOST_OF_AN_ERROR:
        return whole_body(body)
    excerpt = body[:MOST_OF_AN_ERROR]
    with contextlib.suppress(UnicodeDecodeError):  # where it is text, no character is cut in two
        excerpt = codecs.getincrementaldecoder("utf-8")().decode(excerpt).encode()
    return {**whole_body(excerpt), "withheld": _withheld("long", body)}


def redacted_body(body: bytes, placeholder: str) -> dict[str, Any]:
    """The fields that hold a placeholder, where a secret stands in the body."""
    return {"body": placeholder, "body_encoding": "utf-8", "withheld": _withheld("secret", body)}


def withheld_body(body: bytes) -> dict[str, Any]:
    """The fields that hold a remark, where no key can be looked for in the body."""
    return {
        "body": "[not recorded: no UTF-8 text in which keys can be looked for]",
        "body_encoding": "utf-8",
        "withheld": _withheld("unsearchable", body),
    }


def is_text(body: bytes) -> bool:
    """Whether it is UTF-8 without NULs, such as UTF-16 has. Its last character may be cut."""
    if 0 in body:
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        return False
    return True


def raw_body(event: ResponseReceived | ErrorRecorded) -> bytes | None:
    """The bytes that are recorded, to the last one."""
    if event.body is None:
        return None
    return b64decode(event.body) if event.body_encoding == "base64" else event.body.encode()


def body_text(event: ResponseReceived | ErrorRecorded) -> str | None:
    """The body for people: its text; what is no UTF-8 in base64."""
    if event.body is None or event.body_encoding == "utf-8":
        return event.body
    try:
        return b64decode(event.body).decode()
    except UnicodeDecodeError:
        return event.body


def _encoded(body: bytes) -> tuple[str, Encoding]:
    """As JSON can hold the bytes: the shorter one of text and base64. Text, if they are equal."""
    in_base64 = -(-len(body) // 3) * 4
    with contextlib.suppress(UnicodeDecodeError):
        text = body.decode("utf-8")
        if len(orjson.dumps(text)) - len(_QUOTES) <= in_base64:
            return text, "utf-8"
    return b64encode(body).decode("ascii"), "base64"


def _withheld(why: Literal["long", "secret", "unsearchable"], body: bytes) -> Withheld:
    return Withheld(why=why, length=len(body), sha256=hashlib.sha256(body).hexdigest())
