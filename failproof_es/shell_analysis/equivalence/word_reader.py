"""Converts words of the syntax tree to `Word`s: quotes, braces, tildes, globs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from failproof_es.shell_analysis.equivalence.braces import Piece, Unquoted, expand_braces
from failproof_es.shell_analysis.equivalence.words import (
    Active,
    Atom,
    Expansion,
    Form,
    Inert,
    Word,
    joined,
)

Node = dict[str, Any]

_ESCAPE = re.compile(
    r"""\\(?:(?P<letter>[abeEfnrtv\\'"?])|x(?P<hex>[0-9a-fA-F]{1,2})|(?P<octal>[0-7]{1,3})"""
    r"""|u(?P<short>[0-9a-fA-F]{1,4})|U(?P<long>[0-9a-fA-F]{1,8}))"""
)
_LETTERS = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))
_IN_BRACKETS = "!^-:.=["
_GLOB_SIGNS = frozenset(f"*?]{_IN_BRACKETS}")
_LONG_OPTION = re.compile(r"--[A-Za-z][\w-]*=")


class WordReader:
    """Reads words of the syntax tree; `expansion` returns the normal form of an expansion node.

    `bash`: whether the shell expands braces and has bash's redirections.
    """

    def __init__(self, expansion: Callable[[Node], Form], *, bash: bool) -> None:
        self._expansion = expansion
        self.bash = bash

    def words(self, node: Node) -> list[Word]:
        """The words of an argument after brace expansion and before pathname expansion."""
        pieces = list(self._pieces(node))
        spread = expand_braces(pieces) if self.bash else [pieces]
        words = [
            word
            for expansion in spread
            if (word := joined(_globs(_expand_tildes(expansion)))) is not None
        ]
        return [_without_idle_globs(word) for word in words]

    def value(self, node: Node | None) -> Word:
        """A word that is neither split nor globbed: an assignment's value, a `case` subject.

        `None` is a missing word, which is an empty one.
        """
        if node is None:
            return Word((Inert(""),))
        pieces = _expand_tildes(list(self._pieces(node)), colons=True)
        return _unsplit_word(pieces)

    def pattern(self, node: Node) -> Word:
        """A pattern of `case` or `[[`: globs act, nothing is split."""
        pieces = [
            Expansion((piece.quoted, piece.form), True) if isinstance(piece, Expansion) else piece
            for piece in self._pieces(node)
        ]
        return joined(_globs(_expand_tildes(pieces))) or Word((Inert(""),))

    def document(self, node: Node | None, *, literal: bool, tabs_go: bool) -> Word:
        """The body of a here-document; `None` is an empty one.

        `literal`: its delimiter is quoted, so that nothing is expanded. `tabs_go`: its operator is
        `<<-`, which removes tabs at the start of lines.
        """
        atoms: list[Atom] = []
        at_start = True
        for part in (node or {}).get("Parts") or []:
            if part["Type"] != "Lit":
                atoms.append(Expansion(self._expansion(part), True))
                at_start = False
                continue
            text = part.get("Value", "")
            if tabs_go:
                text = re.sub(r"(?m)^\t+", "", text) if at_start else re.sub(r"\n\t+", "\n", text)
            at_start = text.endswith("\n")
            atoms.append(Inert(text if literal else re.sub(r"\\(?:\n|([\\$`]))", r"\1", text)))
        return joined(atoms) or Word((Inert(""),))

    def _pieces(self, node: Node) -> Iterator[Piece]:
        for part in node.get("Parts") or []:
            match part["Type"]:
                case "Lit":
                    yield from _read_unquoted(part.get("Value", ""))
                case "SglQuoted" if part.get("Dollar"):
                    yield _decode_ansi(part.get("Value", ""))
                case "SglQuoted":
                    yield Inert(part.get("Value", ""))
                case "DblQuoted":
                    yield Inert("")
                    for inner in part.get("Parts") or []:
                        if inner["Type"] == "Lit":
                            yield Inert(
                                re.sub(r"\\(?:\n|([\\$`\"]))", r"\1", inner.get("Value", ""))
                            )
                        else:
                            yield Expansion(self._expansion(inner), True)
                case "ExtGlob":
                    yield Active(f"{part['Op']}{part['Pattern'].get('Value', '')})")
                case _:
                    yield Expansion(self._expansion(part), False)


def _read_unquoted(text: str) -> Iterator[Piece]:
    characters = iter(text)
    for character in characters:
        if character != "\\":
            yield Unquoted(character)
            continue
        escaped = next(characters, None)
        if escaped is None:
            yield Inert("\\")
        elif escaped != "\n":
            yield Inert(escaped)


def _decode_ansi(text: str) -> Piece:
    """The text between the quotes of `$'...'`, decoded.

    Left to the shell, as written, if an escape stands for no plain character.
    """
    if re.search(r"\\c|\\x[89a-fA-F]|\\[2-7][0-7]{2}|\\(?:x0{0,2}|0+)(?![0-9a-fA-F])", text):
        return Active(f"$'{text}'")

    def decoded(match: re.Match[str]) -> str:
        if match["letter"]:
            return _LETTERS[match["letter"]]
        if match["octal"]:
            return chr(int(match["octal"], 8))
        code = int(match["hex"] or match["short"] or match["long"], 16)
        return chr(code) if code < 0x110000 else match[0]

    return Inert(_ESCAPE.sub(decoded, text))


def _expand_tildes(pieces: Sequence[Piece], *, colons: bool = False) -> list[Piece]:
    """The pieces with a leading `~` as `"$HOME"`; with `colons`, also one after a colon."""
    expanded: list[Piece] = []
    for index, piece in enumerate(pieces):
        before = pieces[index - 1] if index else None
        if piece == Unquoted("~") and (before is None or (colons and before == Unquoted(":"))):
            name = _login_name(pieces[index + 1 :])
            if name == "":
                expanded.append(Expansion(("$", "HOME"), True))
                continue
            if name is not None:
                expanded.append(Active("~"))
                continue
        expanded.append(piece)
    return expanded


def _login_name(pieces: Sequence[Piece]) -> str | None:
    """The text between a tilde and the next slash or colon; `None` if some of it is quoted.

    `pieces` are those after the tilde. Empty text means the user's own home.
    """
    name = ""
    for piece in pieces:
        if piece in (Unquoted("/"), Unquoted(":")):
            break
        if not isinstance(piece, Unquoted):
            return None
        name += piece.character
    return name


def _globs(pieces: Sequence[Piece]) -> Iterator[Atom]:
    index = 0
    closes = {at for at, piece in enumerate(pieces) if piece == Unquoted("]")}
    last = max(closes, default=-1)
    while index < len(pieces):
        piece = pieces[index]
        index += 1
        if not isinstance(piece, Unquoted):
            yield piece
        elif piece.character in "*?":
            yield Active(piece.character)
        elif piece.character == "[" and last > index:
            end = next(at for at in range(index + 1, last + 1) if at in closes)
            yield Active("[")
            for inner in pieces[index:end]:
                if not isinstance(inner, Unquoted):
                    yield inner
                else:
                    yield (Active if inner.character in _IN_BRACKETS else Inert)(inner.character)
            yield Active("]")
            index = end + 1
        else:
            yield Inert(piece.character)


def _without_idle_globs(word: Word) -> Word:
    """The word with inert globs if it is a long option with a value: no file has such a name."""
    if not _LONG_OPTION.match(word.start):
        return word
    atoms = (
        Inert(atom.text) if isinstance(atom, Active) and atom.text in _GLOB_SIGNS else atom
        for atom in word.atoms
    )
    return joined(atoms) or word


def _unsplit_word(pieces: Sequence[Piece]) -> Word:
    atoms: list[Atom] = []
    for piece in pieces:
        if isinstance(piece, Unquoted):
            atoms.append(Inert(piece.character))
        elif isinstance(piece, Expansion) and _is_scalar(piece.form):
            atoms.append(Expansion(piece.form, True))
        else:
            atoms.append(piece)
    return joined(atoms) or Word((Inert(""),))


def _is_scalar(form: Form) -> bool:
    """Whether quotes around the expansion don't matter where no word is split.

    False for `$*`, `$@` and `${x:-"y"}`.
    """
    match form:
        case ("$", str(name)):
            return name not in ("*", "@")
        case (str(kind), *_):
            return kind in ("substitution", "arithmetic")
    return False
