"""Modes of `chmod`: which spellings have the same effect on every file and folder.

The rules of GNU chmod (`modechange.c`), and why each equality holds for any earlier mode and any
umask:

- An octal mode of up to four digits sets all of a file's bits. Of a folder it keeps set-user-id
  and set-group-id unless it names them. Leading zeros count only through the number of digits,
  so `755` is `0755` and `7` is `007`.
- An octal mode of five digits or more names every bit: `00755` takes set-group-id off a folder
  and is never `755`. Among themselves such modes are equal by value.
- `a` is `ugo`: both affect all bits. The letters of a clause are joined by "or", so neither their
  order nor repetition means anything.
- `=` clears the affected bits that it does not name, but keeps a folder's set-user-id and
  set-group-id as an octal mode does. So clauses that only assign `r`, `w`, `x` and together
  affect `u`, `g` and `o` equal the octal mode of their last assignments: `u=rw,go=r` is `644`.

Without `u`, `g`, `o` or `a` the umask counts, so `=r` is not `a=r`. Clauses that copy rights
(`g=u`), test for them (`X`) or name `s` or `t` are equal to no octal mode.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from failproof_es.shell_analysis.equivalence.arguments import Option
from failproof_es.shell_analysis.equivalence.words import Form, Word, literal

_OCTAL = re.compile(r"[0-7]{1,12}")
_SHORT_OCTAL = re.compile(r"[0-7]{1,4}")
_CLAUSE = re.compile(r"([ugoa]*)((?:[-+=][rwxXst]*)+)")
_ACTION = re.compile(r"([-+=])([rwxXst]*)")
_BITS = {"r": 4, "w": 2, "x": 1}
_ALL = frozenset("ugo")

_Clause = tuple[frozenset[str], tuple[tuple[str, frozenset[str]], ...]]


def normal_mode(word: Word) -> Form:
    """The canonical form of all modes of `chmod` with the same effect; the word itself if in
    doubt."""
    text = word.text
    if text is None:
        return word
    if _OCTAL.fullmatch(text):
        value = int(text, 8)
        if value > 0o7777:
            return word
        return ("every bit" if len(text) > 4 else "octal", value)
    clauses = [_CLAUSE.fullmatch(clause) for clause in text.split(",")]
    if not all(clauses):
        return word
    read = tuple(_parse_clause(match[1], match[2]) for match in clauses if match)
    assigned = _octal_value(read)
    return ("symbolic", read) if assigned is None else ("octal", assigned)


def with_plain_modes(options: Sequence[Option]) -> list[Option]:
    """The options, with leading zeros removed from an octal `-m` of up to four digits.

    `mkdir`, `mkfifo`, `mknod` and `install` read the mode by the same rules as `chmod`.
    """
    return [
        Option(option.name, literal(f"{int(text, 8):o}"))
        if option.name == "-m" and _SHORT_OCTAL.fullmatch(text := _text(option.value))
        else option
        for option in options
    ]


def normal_umask(words: Sequence[Word]) -> Form:
    """The normal form of the operands of `umask`: the value of an octal mask, else the words.

    XCU, `umask`.
    """
    text = _text(words[0]) if len(words) == 1 else ""
    if _SHORT_OCTAL.fullmatch(text) and int(text, 8) <= 0o777:
        return int(text, 8)
    return tuple(words)


def _text(word: Word | None) -> str:
    return (word.text or "") if word is not None else ""


def _parse_clause(who: str, actions: str) -> _Clause:
    affected = _ALL if "a" in who else frozenset(who)
    changes = tuple((match[1], frozenset(match[2])) for match in _ACTION.finditer(actions))
    return affected, changes


def _octal_value(clauses: tuple[_Clause, ...]) -> int | None:
    """The octal value of clauses that only assign r, w and x, and to all of `ugo`; else `None`."""
    rights: dict[str, int] = {}
    for affected, actions in clauses:
        (operator, letters), *more = actions
        if not affected or more or operator != "=" or not letters <= _BITS.keys():
            return None
        rights |= dict.fromkeys(affected, sum(_BITS[letter] for letter in letters))
    if rights.keys() != _ALL:
        return None
    return rights["u"] << 6 | rights["g"] << 3 | rights["o"]
