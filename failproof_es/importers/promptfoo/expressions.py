r"""Rewrites regular expressions of JavaScript, which promptfoo matches without flags, for `regex`.

The result decides alike, but for texts with rare characters: JavaScript counts two for one beyond
U+FFFF, and its `.` and `\s` differ for a few line ends and control characters. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"(?P<set>\[\^?(?:[^\]\\]|\\.)*\])"
    r"|(?P<escape>\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[0-9]{1,9}|.))"
    r"|(?P<open>\((?:\?(?:<[=!]|<[A-Za-z_$][\w$]*>|[:=!])|(?!\?)))"
    r"|(?P<repeat>(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??(?![*+?]))"
    r"|(?P<wrong>[\[\\(*+?]|\{[0-9]+(?:,[0-9]*)?\})|.",
    re.DOTALL,
)
_MEMBER = re.compile(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[0-9]{1,9}|.)|.", re.DOTALL)
_MAY_BE_UNSET = re.compile(r"\||\)(?:[?*]|\{0)")
"""A group that may match nothing: a reference to it fails, but is empty in JavaScript."""
_WORD = "A-Za-z0-9_"
_CLASSES = {
    r"\d": "[0-9]",
    r"\D": "[^0-9]",
    r"\w": f"[{_WORD}]",
    r"\W": f"[^{_WORD}]",
    r"\s": r"\s",
    r"\S": r"\S",
    r"\b": r"(?a:\b)",
    r"\B": r"(?a:\B)",
}
_CLASSES_IN_SET = {
    r"\d": "0-9",
    r"\D": r"\x00-/:-\U0010ffff",
    r"\w": _WORD,
    r"\W": r"\x00-/:-@\[-\^`{-\U0010ffff",
    r"\s": r"\s",
    r"\S": r"\S",
}
_NOT_REPEATED = frozenset({"", "^", "$", r"\b", r"\B", "(?<=", "(?<!"})
_OPPOSITES = (frozenset({r"\d", r"\D"}), frozenset({r"\w", r"\W"}), frozenset({r"\s", r"\S"}))
_ANY, _NONE = r"[\s\S]", "(?!)"


class NotTranslated(ValueError):
    """An expression has a part, `expression`, that is invalid or another one in JavaScript."""

    def __init__(self, expression: str) -> None:
        super().__init__("its regular expression means something else in JavaScript, or nothing")
        self.expression = expression


def python_expression(source: str) -> str:
    """The expression for `regex` that decides as `source` does in JavaScript.

    Raises `NotTranslated` if there is none for certain.
    """
    return "".join(_rewritten(source))


def _rewritten(source: str) -> Iterator[str]:
    groups: list[tuple[str, int | None]] = []
    count = 0
    closed: set[int] = set()
    may_be_unset = _MAY_BE_UNSET.search(source) is not None
    last = ""
    """What a repeat repeats: of a group, its beginning."""
    for token in _TOKEN.finditer(source):
        part = token[0]
        match token.lastgroup:
            case "wrong":
                raise NotTranslated(part)
            case "set":
                yield _set(part)
            case "escape" if part[1] in "123456789":
                if int(part[1:]) not in closed or may_be_unset:
                    raise NotTranslated(part)
                yield part
            case "escape":
                yield _CLASSES.get(part) or _character(part)
            case "open":
                is_counted = part == "(" or part.endswith(">")
                count += is_counted
                groups.append((part, count if is_counted else None))
                yield "(" if is_counted else part
            case "repeat":
                if last in _NOT_REPEATED or last > "\uffff":
                    raise NotTranslated(last + part)
                yield part
            case _:
                yield {"$": r"\Z", "{": r"\{"}.get(part) or _literal(part)
        last = part
        if part == ")" and groups:
            last, number = groups.pop()
            closed |= set() if number is None else {number}


def _set(text: str) -> str:
    """The character class of `[...]`."""
    negated = text.startswith("[^")
    members = _MEMBER.findall(text[1 + negated : -1])
    if not members or any(pair <= set(members) for pair in _OPPOSITES):
        return _NONE if negated is bool(members) else _ANY
    return f"[{'^' if negated else ''}{''.join(_members(members))}]"


def _members(members: list[str]) -> Iterator[str]:
    """The members of a class; a hyphen is a range only between two characters."""
    at = 0
    while at < len(members):
        first, hyphen, last = (*members[at : at + 3], "", "")[:3]
        if hyphen == "-" and last and not _CLASSES_IN_SET.keys() & {first, last}:
            yield f"{_member(first)}-{_member(last)}"
            at += 3
        else:
            yield _CLASSES_IN_SET.get(first) or _member(first)
            at += 1


def _member(member: str) -> str:
    if member == r"\b":
        return r"\x08"
    if member == r"\B" or ord(member[-1]) > 0xFFFF:
        raise NotTranslated(member)
    if len(member) > 1:
        return _character(member)
    return f"\\{member}" if member in "[]^&|~-" else _literal(member)


def _character(escape: str) -> str:
    """The escape of one character: any letter without a meaning stands for itself."""
    kind = escape[1]
    match kind:
        case "t" | "n" | "f" | "r":
            return escape
        case "v":
            return r"\x0b"
        case "x" | "u" if len(escape) > 2:
            if "d800" <= escape[2:].lower() < "e000" and kind == "u":
                raise NotTranslated(escape)
            return escape
        case "c" if len(escape) > 2:
            return f"\\x{ord(escape[2]) % 32:02x}"
        case "0" if escape == r"\0":
            return r"\x00"
        case "c" | "k":
            raise NotTranslated(escape)
        case _ if kind.isdecimal():
            raise NotTranslated(escape)
        case _:
            is_mark = kind.isascii() and not kind.isalpha() and not kind.isspace()
            return escape if is_mark else _literal(kind)


def _literal(character: str) -> str:
    if "\ud800" <= character < "\ue000":
        raise NotTranslated(character)
    return character
