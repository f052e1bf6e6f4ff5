"""Makes untrusted text visible: hidden, reordering and control characters become escapes.

Model output, case files and database rows may hold escape sequences that repaint a
terminal, bidirectional controls that reorder what is read, and characters that nobody
sees. They are shown as escapes instead (`\\x1b`, `\\u202e`), never dropped: what stands
in the record stays visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which no UTF-8 holds."""
_UNSAFE_RANGES = (
    (0x00, 0x1F),  # C0 controls, ESC among them
    (0x7F, 0x9F),  # DEL and C1 controls: U+009B is an escape sequence's opener of its own
    (0xAD, 0xAD),  # soft hyphen
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x0600, 0x0605),  # Arabic number signs
    (0x061C, 0x061C),  # Arabic letter mark
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0x115F, 0x1160),  # Hangul fillers: letters that show nothing
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),  # zero-width characters, directional marks
    (0x2028, 0x202E),  # line and paragraph separators, embeddings and overrides
    (0x2060, 0x206F),  # word joiner, invisible operators, isolates
    (0x3164, 0x3164),
    (0xD800, 0xDFFF),  # lone surrogates: no encoding takes them
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xFFFE, 0xFFFF),  # never characters: XML takes neither
    (0xE0000, 0xE0FFF),  # tags and their neighbours
)
_CLASS = "".join(f"{chr(first)}-{chr(last)}" for first, last in _UNSAFE_RANGES)
_UNSAFE = re.compile(f"[{_CLASS}]")
_UNSAFE_IN_LINES = re.compile(f"(?![\n\t])[{_CLASS}]")
"""Every unsafe character but line feeds and tabs."""

_WHITESPACE = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def one_line(text: object) -> str:
    """`text` on one line, for a table cell or a message: line breaks and tabs are escaped, too."""
    return _UNSAFE.sub(_escape, str(text))


def lines(text: object) -> str:
    """`text` for a block of its own: unsafe characters but line feeds and tabs become escapes."""
    return _UNSAFE_IN_LINES.sub(_escape, str(text))


def marked_lines(text: object) -> Iterator[tuple[str, bool]]:
    """The pieces of `lines(text)`; the boolean says whether the piece is an escape.

    A page can mark escapes, so that an escaped character differs from an escape that the model
    wrote.
    """
    whole = str(text)
    end = 0
    for match in _UNSAFE_IN_LINES.finditer(whole):
        if match.start() > end:
            yield whole[end : match.start()], False
        yield _escape(match), True
        end = match.end()
    if end < len(whole):
        yield whole[end:], False


def shortened(text: str, width: int) -> str:
    """`text` in at most `width` characters, its end replaced by `…`.

    For display, never for data.
    """
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def shortened_inside(text: str, width: int) -> str:
    """`text` in at most `width` characters, its middle replaced by `…`.

    For names that are alike at their start.
    """
    if len(text) <= width:
        return text
    end = max(width - 1, 0) // 2
    return text[: max(width - 1 - end, 0)] + "…" + text[len(text) - end :]


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _WHITESPACE:
        return _WHITESPACE[character]
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def json_text(document: str) -> str:
    """An equivalent JSON document that is safe to show.

    Outside its strings JSON has no unsafe character but white space, so each one can become the
    `\\uXXXX` that JSON itself allows.
    """
    return _UNSAFE_IN_LINES.sub(_json_escape, document)


def _json_escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
