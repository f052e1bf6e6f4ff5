"""`echo` joins its words with spaces, so the boundaries between words don't matter."""

from __future__ import annotations

from collections.abc import Sequence

from failproof_es.shell_analysis.equivalence.statements import Statements
from failproof_es.shell_analysis.equivalence.words import (
    Atom,
    Expansion,
    Form,
    Inert,
    Word,
    joined,
)


def normal_echo(name: str, program: str, words: Sequence[Word], statements: Statements) -> Form:
    """The normal form of an `echo` command: whether a newline is added, whether backslashes are
    interpreted, the text."""
    newline, escapes = True, False
    pending = list(words)
    while pending and _is_option(pending[0].text):
        for letter in str(pending.pop(0).text)[1:]:
            newline = newline and letter != "n"
            escapes = letter == "e" if letter in "eE" else escapes
    return ("call", name, newline, escapes, _text_form(pending))


def _is_option(text: str | None) -> bool:
    return text is not None and len(text) > 1 and text[0] == "-" and set(text[1:]) <= set("neE")


def _text_form(words: Sequence[Word]) -> Form:
    if not words or words[0].begins_unknown or not all(map(_is_single, words)):
        return tuple(words)
    atoms: list[Atom] = []
    for word in words:
        atoms += [Inert(" ")] * bool(atoms) + list(word.atoms)
    return (joined(atoms),)


def _is_single(word: Word) -> bool:
    """Whether the word is certainly one word; `"$@"` and arrays may be any number."""
    return word.is_one_word and not any(
        isinstance(atom, Expansion) and not _is_scalar(atom.form) for atom in word.atoms
    )


def _is_scalar(form: Form) -> bool:
    match form:
        case ("$", str(parameter)):
            return parameter != "@"
        case (str(kind), *_):
            return kind in ("substitution", "arithmetic")
    return False
