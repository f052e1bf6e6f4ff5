"""The text of a request, and other recorded fields, as lines for people, not escaped yet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_NO_MESSAGES = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""The errors of reading messages in a body that has none."""


def told(value: Any) -> str:
    """A text as it is, any other value as JSON."""
    return value if type(value) is str else json.dumps(value, ensure_ascii=False)


def field(name: str, value: Any) -> Iterator[str]:
    """A field in one line; a text of several lines as a block that no line of it can leave."""
    if value is None or value in ("", [], {}):
        return
    text = told(value)
    if "\n" not in text:
        yield f"    {name}: {text}"
        return
    yield f"    {name}:"
    for line in text.split("\n"):
        yield f"      | {line}"


def body_lines(body: str, *, is_as_sent: bool) -> Iterator[str]:
    """The whole body of a request: each message by its role, then everything else."""
    if not is_as_sent:
        yield "    (the body below is not the one whose SHA-256 is on record)"
    try:
        asked = json.loads(body)
        messages = [(told(message["role"]), message["content"]) for message in asked["messages"]]
    except _NO_MESSAGES:
        yield from field("body", body)
        return
    for role, content in messages:
        yield from field(role, content)
    del asked["messages"]
    yield from field("beside the messages", asked)
