"""Reads the content of a message in any protocol: a text, or a list of parts. Pure.

The `type` of a text part differs between servers (`text`, `output_text`), or is absent, and some
servers write plain strings. So a part with the field `text` is text, unless it is a thought or a
refusal. Unreadable content is an error, not an empty answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

_Kind = Literal["text", "refusal", "thought", "other", "damaged"]
_THOUGHT = re.compile("think|thought|reason|summary", re.IGNORECASE)
"""Marks a thought, which is not part of the answer: in the type of a part, or in a field's name."""


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a message, as read."""

    text: str | None = None
    """All text parts, joined; `None` without any."""
    refusal: str | None = None
    is_damaged: bool = False
    """Whether a part's text, or the whole content, has the wrong JSON type."""
    has_other_parts: bool = False
    """Whether there are parts other than texts, refusals and thoughts."""

    @property
    def is_unreadable(self) -> bool:
        """Whether the content is damaged, or holds only parts of unknown types."""
        nothing = self.text is None and self.refusal is None
        return self.is_damaged or (self.has_other_parts and nothing)


def read_content(content: Any) -> Content:
    """The text and the refusal in the content of a message.

    `content` is a text, a part or a list of parts; `None` gives an empty `Content`, and any other
    type a damaged one.
    """
    if content is None:
        return Content()
    if isinstance(content, str):
        return Content(content)
    if not isinstance(content, list | dict):
        return Content(is_damaged=True)
    parts = [_read_part(part) for part in (content if isinstance(content, list) else [content])]
    kinds = {kind for kind, _ in parts}
    text = _join(text for kind, text in parts if kind == "text")
    refusal = _join(text for kind, text in parts if kind == "refusal")
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


def _join(texts: Iterable[str]) -> str | None:
    pieces = list(texts)
    return "".join(pieces) if pieces else None
