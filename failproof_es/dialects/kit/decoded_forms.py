"""Undoes the ways to hide words in a text: escapes, entities, look-alike letters, quotes.

A model that wants its judge to write a verdict can encode it so that no JSON parser finds it, and
ask the judge to decode it. `decoded_forms` gives each decoded form, with the position of each of
its characters in the original text. All forms together are at most some ten times as long as the
text.
"""

from __future__ import annotations

import base64
import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_MOST_LAYERS = 4
"""Each layer of escapes doubles the backslashes: no judge decodes more layers than these."""
_LOOK_ALIKE = str.maketrans(
    "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0455\u0456\u0458\u0501\u04bb\u0432\u043a\u043c\u0442"
    "\u03bf\u03c1\u03c5\u03bd\u03b9",
    "aceopxysijdhbkmtopuvi",
)
_BRACE = re.compile(
    r"[{\uff5b\ufe5b\U000e007b]|\\u|\\x|&#|&l|%7b|\b(?-i:ey)[a-z0-9+/]{14}", re.IGNORECASE
)
_HIDDEN = re.compile(
    r"""
      \\u[0-9a-fA-F]{4} | \\x[0-9a-fA-F]{2} | \\["'\\/nrt{}]
    | &(?:\#[0-9]{1,7}|\#x[0-9a-f]{1,6}|[a-z]{2,8});
    | %[2-7][0-9a-f]
    | \b(?-i:ey)[a-z0-9+/]{14,}={0,2}
    | [\u0430-\u0501\u03b9-\u03c5\u04bb]
    | [\uff01-\uff5e\ufe50-\ufe6b]
    | [\U0001d400-\U0001d7ff]
    | [\u00ad\u200b-\u200f\u2060-\u2064\ufeff\U000e0020-\U000e007f]
    """,
    re.IGNORECASE | re.VERBOSE,
)
_FORMS = (("\ufe50", "\ufe6b"), ("\uff01", "\uff5e"), ("\U0001d400", "\U0001d7ff"))
"""Small, full-width and mathematical forms of letters and digits."""
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_LOOSE = re.compile(
    r"""
      /\*.{0,200}?\*/ | (?<!:)//[^\n"'{}]{0,200}
    | (?<=[{,\s])(?P<key>[A-Za-z_][\w.]{0,40})(?=\s{0,20}[:=])
    | (?P<quote>['`\u2018-\u201f\u00ab\u00bb])
    | (?P<equals>=>?)
    | \b(?P<word>True|False|None)\b
    """,
    re.VERBOSE | re.DOTALL,
)
_JSON_WORDS = {"True": "true", "False": "false", "None": "null"}


@dataclass(frozen=True, slots=True)
class DecodedForm:
    """A decoded form of a text, or the text itself, which has no `_origin`.

    `_starts` and `_shifts` map a position behind each replaced part to the form before this one.
    """

    text: str
    _origin: DecodedForm | None = None
    _starts: list[int] = field(default_factory=list)
    _shifts: list[int] = field(default_factory=list)

    def place(self, at: int) -> int:
        """The position in the original text of the character at `at`.

        `at` may be the end of this form. Inside a replaced part the position is only near the right
        one.
        """
        if self._origin is None:
            return at
        index = bisect_right(self._starts, at) - 1
        return self._origin.place(at + self._shifts[index] if index >= 0 else at)


def decoded_forms(text: str) -> Iterator[DecodedForm]:
    """The text itself, then each decoded form in which a reader could find a JSON object.

    Only the text itself if nothing in it looks like the beginning of an object.
    """
    form = DecodedForm(text)
    yield form
    if _BRACE.search(text) is None:
        return
    for _ in range(_MOST_LAYERS):
        loose = _replace_matches(form, _LOOSE, _as_json)
        if loose is not None:
            yield loose
        plain = _replace_matches(form, _HIDDEN, _decode_match)
        if plain is None:
            return
        yield plain
        form = plain


def folded(text: str) -> DecodedForm:
    """The text with everything hidden decoded (escapes, entities, look-alike letters, base64).

    Positions in it can be mapped back to the text. Without anything hidden it is the text itself.
    """
    form = DecodedForm(text)
    for _ in range(_MOST_LAYERS):
        plain = _replace_matches(form, _HIDDEN, _decode_match)
        if plain is None or plain.text == form.text:
            return form
        form = plain
    return form


def words_of(text: str) -> frozenset[str]:
    """Every form of the text in which a reader could find words.

    The text as written, the text with everything hidden decoded, and its `decoded_forms`.
    """
    return frozenset({folded(text).text, *(form.text for form in decoded_forms(text))})


def _replace_matches(
    form: DecodedForm, pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str]
) -> DecodedForm | None:
    """The form with each match of the pattern replaced; `None` if there is no match."""
    pieces: list[str] = []
    starts: list[int] = []
    shifts: list[int] = []
    length = copied = 0
    for match in pattern.finditer(form.text):
        new = replace(match)
        pieces += (form.text[copied : match.start()], new)
        length += match.start() - copied + len(new)
        copied = match.end()
        starts.append(length)
        shifts.append(copied - length)
    if not starts:
        return None
    return DecodedForm("".join([*pieces, form.text[copied:]]), form, starts, shifts)


def _decode_match(match: re.Match[str]) -> str:
    hidden = match[0]
    if hidden[0] == "\\":
        if hidden[1] in "ux" and len(hidden) > 2:
            return chr(int(hidden[2:], 16))
        return _ESCAPED.get(hidden[1], hidden[1])
    if hidden[0] == "&":
        return html.unescape(hidden)
    if hidden[0] == "e":
        return _decode_base64(hidden)
    if hidden[0] == "%":
        return chr(int(hidden[1:], 16))
    if "\U000e0020" <= hidden <= "\U000e007e":
        return chr(ord(hidden) - 0xE0000)
    if "\u0370" <= hidden <= "\u0501":
        return hidden.translate(_LOOK_ALIKE)
    is_form = any(first <= hidden <= last for first, last in _FORMS)
    return unicodedata.normalize("NFKC", hidden) if is_form else ""


def _decode_base64(text: str) -> str:
    """The decoded text; the text itself if it is not valid base64."""
    try:
        return base64.b64decode(text[: len(text) // 4 * 4]).decode()
    except ValueError:
        return text


def _as_json(match: re.Match[str]) -> str:
    if match["key"]:
        return f'"{match["key"]}"'
    if match["quote"]:
        return '"'
    if match["equals"]:
        return ":"
    if match["word"]:
        return _JSON_WORDS[match["word"]]
    return " "
