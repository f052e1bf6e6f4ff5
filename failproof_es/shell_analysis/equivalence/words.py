"""Words after quote removal, with the parts marked that the shell still expands.

Two words with the same atoms give a program the same arguments, whatever their quoting:
`'a b'`, `"a b"` and `a\\ b` are one word; `'*'` and `*` are two.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

Form = Hashable
"""A normal form: nested tuples of words, strings and numbers. Equal forms mean equal commands."""


@dataclass(frozen=True, slots=True)
class Inert:
    """Characters that stand for themselves."""

    text: str


@dataclass(frozen=True, slots=True)
class Active:
    """Characters that the shell acts upon, such as an unquoted `*`."""

    text: str


@dataclass(frozen=True, slots=True)
class Expansion:
    """A parameter, command or arithmetic expansion; unquoted, it is split and globbed."""

    form: Form
    quoted: bool


Atom = Inert | Active | Expansion


@dataclass(frozen=True, slots=True)
class Word:
    """One word, as the parts that it is made of.

    `Inert("")` marks an empty quoted part, only in a word that may vanish without it.
    """

    atoms: tuple[Atom, ...]

    @property
    def text(self) -> str | None:
        """The word's text; `None` if it is not known before the command runs."""
        if len(self.atoms) == 1 and isinstance(self.atoms[0], Inert):
            return self.atoms[0].text
        return None

    @property
    def start(self) -> str:
        """The inert text that the word begins with; may be empty."""
        first = self.atoms[0]
        return first.text if isinstance(first, Inert) else ""

    @property
    def begins_unknown(self) -> bool:
        """Whether the beginning of the word is unknown, so that it could turn out to be a dash."""
        return not self.start

    @property
    def may_be_several(self) -> bool:
        """Whether the word may become none or several: it has an unquoted expansion."""
        return any(isinstance(atom, Expansion) and not atom.quoted for atom in self.atoms)

    @property
    def is_one_word(self) -> bool:
        """Whether the word is exactly one word, whatever the values and files."""
        return all(
            isinstance(atom, Inert) or (isinstance(atom, Expansion) and atom.quoted)
            for atom in self.atoms
        )

    def without_start(self, length: int) -> Word | None:
        """The word without its first `length` inert characters; `None` if nothing is left."""
        rest = self.start[length:]
        return joined(((Inert(rest),) if rest else ()) + self.atoms[1:])

    def substituted(self, mark: str, by: Atom) -> Word:
        """The word with every occurrence of `mark` in its inert text replaced by the part `by`."""
        atoms: list[Atom] = []
        for atom in self.atoms:
            if not isinstance(atom, Inert):
                atoms.append(atom)
                continue
            for number, part in enumerate(atom.text.split(mark)):
                atoms += ([by] if number else []) + ([Inert(part)] if part else [])
        return joined(atoms) or self


def joined(atoms: Iterable[Atom]) -> Word | None:
    """A word of these atoms, adjacent `Inert` ones merged; `None` if the word vanishes."""
    merged: list[Atom] = []
    for atom in atoms:
        if isinstance(atom, Inert) and merged and isinstance(merged[-1], Inert):
            merged[-1] = Inert(merged[-1].text + atom.text)
        else:
            merged.append(atom)
    substantial = any(
        (isinstance(a, Inert) and a.text)
        or isinstance(a, Active)
        or (isinstance(a, Expansion) and a.quoted)
        for a in merged
    )
    if substantial:
        merged = [atom for atom in merged if atom != Inert("")]
    elif Inert("") in merged:
        merged = [Inert(""), *(atom for atom in merged if atom != Inert(""))]
    return Word(tuple(merged)) if merged else None


def is_number(text: str | None) -> bool:
    """Whether programs read the text as a whole number: ASCII digits only."""
    return text is not None and text.isascii() and text.isdigit()


def literal(text: str) -> Word:
    """A word that is this text."""
    return Word((Inert(text),))


def in_order(forms: Iterable[Form]) -> tuple[Form, ...]:
    """The forms in a canonical order, for forms whose order doesn't matter."""
    return tuple(sorted(forms, key=repr))
