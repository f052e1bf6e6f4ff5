"""Texts as a page shows them: cut if long, with the number of characters left out."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice, pairwise

import orjson

from failproof_es.dialects.kit.judging.quotation import spans_of
from failproof_es.support.document import Document
from failproof_es.support.text_differences import marked_difference

MOST_CHARACTERS = 6_000
MOST_LINES = 200
_SEARCHED = 500_000
"""Characters of a text that are searched for quotations."""
_PRETTY = 1_000_000


class Piece(Document):
    """A part of a text, and the judges that quote it."""

    text: str
    quoted_by: tuple[str, ...] = ()
    differs: bool = False
    """Whether the text that it is compared with lacks the part."""


class TextShown(Document):
    """The beginning of a text, how long it is, and where the whole is."""

    pieces: tuple[Piece, ...]
    characters: int
    more_characters: int
    """Number of characters that are not shown."""
    more_lines: int
    whole: str | None
    """URL of the whole text as a download; `None` where nothing is cut."""


class Quotation(Document):
    """A judge's quotation, and whether the answer contains it."""

    judge: str
    quote: str
    found: str
    """`marked`, `beyond` what is shown, or `not found` in the last answer."""


def text_shown(text: str, whole: str | None) -> TextShown:
    """The text, cut where it is very long."""
    return _cut_pieces([Piece(text=text)], whole)


def compared_texts(expected: str, got: str, to_the_letter: str | None) -> tuple[TextShown, ...]:
    """Both texts, cut where they are very long.

    If the text `to_the_letter` is expected, it is shown, and the words that differ are marked.
    """
    difference = marked_difference(to_the_letter, got)
    if difference is None:
        return text_shown(expected, None), text_shown(got, None)
    return tuple(
        _cut_pieces([Piece(text=part.text, differs=part.differs) for part in parts], None)
        for parts in difference
    )


def pretty(body: bytes | None, whole: str | None) -> TextShown | None:
    """The body as indented JSON; `None` where it is no JSON, or too long to be readable."""
    if body is None or len(body) > _PRETTY:
        return None
    try:
        indented_json = orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2).decode()
    except (ValueError, TypeError, RecursionError):
        return None
    return text_shown(indented_json, whole)


def with_quotations(
    text: str, quotes: Sequence[tuple[str, str]], whole: str | None
) -> tuple[TextShown, tuple[Quotation, ...]]:
    """The text with judges' quotations marked. `quotes` are pairs of judge and quotation."""
    end = _end(text)
    searched = text[:_SEARCHED]
    spans: list[tuple[int, int, str]] = []
    quotations = []
    quote_spans = spans_of([quote for _, quote in quotes], searched)
    for (judge, quote), span in zip(quotes, quote_spans, strict=True):
        if span is not None:
            spans.append((*span, judge))
        quotations.append(
            Quotation(
                judge=judge,
                quote=quote,
                found="not found" if span is None else "marked" if span[1] <= end else "beyond",
            )
        )
    borders = sorted({0, len(text), *(at for span in spans for at in span[:2])})
    pieces = [
        Piece(
            text=text[begin:until],
            quoted_by=tuple(sorted({who for b, e, who in spans if b <= begin and until <= e})),
        )
        for begin, until in pairwise(borders)
    ]
    return _cut_pieces(pieces, whole), tuple(quotations)


def _end(text: str) -> int:
    """Index at which the text is cut."""
    at = -1
    for _ in range(MOST_LINES):
        at = text.find("\n", at + 1, MOST_CHARACTERS)
        if at < 0:
            return min(len(text), MOST_CHARACTERS)
    return at


def _cut_pieces(pieces: Sequence[Piece], whole: str | None) -> TextShown:
    text = "".join(piece.text for piece in pieces)
    left = end = _end(text)
    shown = []
    for piece in pieces:
        if left > 0:
            shown.append(piece.model_copy(update={"text": piece.text[:left]}))
        left -= len(piece.text)
    return TextShown(
        pieces=tuple(shown),
        characters=len(text),
        more_characters=len(text) - end,
        more_lines=text.count("\n", end) if end < len(text) else 0,
        whole=whole if end < len(text) else None,
    )


def quotes_in(judge: str, verdict: object, most: int = 100) -> list[tuple[str, str]]:
    """Pairs of judge and quotation in a verdict: its texts under keys such as `quote`."""
    quotes: list[tuple[str, str]] = []
    waiting = deque([verdict])
    while waiting and len(quotes) < most:
        node = waiting.popleft()
        if isinstance(node, dict):
            for name, value in node.items():
                if name in ("quote", "quotation", "quotes", "quotations"):
                    texts = value if isinstance(value, list) else [value]
                    quotes += [
                        (judge, one) for one in texts if isinstance(one, str) and one.strip()
                    ]
                else:
                    waiting.append(value)
        elif isinstance(node, list):
            waiting.extend(node)
    return list(islice(dict.fromkeys(quotes), most))
