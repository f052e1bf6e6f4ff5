"""Reads the content of a message in any protocol: a text, or a list of parts. Pure.

Servers give parts of text types of their own (`text`, `output_text`), none at all, or write plain
strings. So a part is text by its `text`, unless it is a thought or a refusal. Content of which
nothing can be read is no empty answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

_Kind = Literal["text", "refusal", "thought", "other", "damaged"]
_THOUGHT = re.compile("think|thought|reason|summary", re.IGNORECASE)
"""In the type of a part: its text is none of the answer. In the name of a field: so is its value.
"""


@dataclass(frozen=True, slots=True)
class Content:
    """What was read of a message's content."""

    text: str | None = None
    """All text, joined; `None` where there is none."""
    refusal: str | None = None
    is_damaged: bool = False
    """The text of a part, or the content itself, is no text."""
    has_other_parts: bool = False
    """There are parts besides texts, refusals and thoughts."""

    @property
    def is_unreadable(self) -> bool:
        """Whether it holds something of which nothing, or not all that is text, can be read."""
        nothing = self.text is None and self.refusal is None
        return self.is_damaged or (self.has_other_parts and nothing)


def read_content(content: Any) -> Content:
    """The text and the refusal in the content of a message."""
    if content is None:
        return Content()
    if isinstance(content, str):
        return Content(content)
    if not isinstance(content, list | dict):
        return Content(is_damaged=True)
    parts = [_read_part(part) for part in (content if isinstance(content, list) else [content])]
    kinds = {kind for kind, _ in parts}
    text = _joined(text for kind, text in parts if kind == "text")
    refusal = _joined(text for kind, text in parts if kind == "refusal")
    return Content(text, refusal, "damaged" in kinds, "other" in kinds)


def _read_part(part: Any) -> tuple[_Kind, str]:
    if isinstance(part, str):
        return "text", part
    if not isinstance(part, dict):
        return "other", ""
    kind = str(part.get("type"))
    if part.get("thought") is True or _THOUGHT.search(kind):
        return "thought", ""
    is_refusal = kind == "refusal"
    text = part.get("refusal") if is_refusal and "refusal" in part else part.get("text")
    if text is None:
        silent = "text" not in part and all(map(_THOUGHT.search, part.keys() - {"type"}))
        return ("thought" if silent and part.get("type") is None else "other"), ""
    if not isinstance(text, str):
        return "damaged", ""
    return ("refusal" if is_refusal else "text"), text


def _joined(texts: Iterable[str]) -> str | None:
    pieces = list(texts)
    return "".join(pieces) if pieces else None
