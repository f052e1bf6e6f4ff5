"""Traversals of shfmt's syntax tree that several checkers use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from failproof_es.shell_analysis.parse.shell import Node


def walk(tree: Any) -> Iterator[Node]:
    """Every node, parents first, in text order; positions are not nodes."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield node
            inner = [
                child
                for child in node.values()
                if child.__class__ is list or (child.__class__ is dict and "Line" not in child)
            ]
            inner.reverse()
            pending += inner
        else:
            pending += reversed(node)


def calls(tree: Node) -> Iterator[list[str | None]]:
    """The words of every simple command in a tree; `None` for a word that is unknown before a
    run."""
    return calls_among(walk(tree))


def calls_among(nodes: Iterable[Node]) -> Iterator[list[str | None]]:
    """The words of the simple commands among these nodes; `None` for a word that is unknown before
    a run. Commands below the nodes are not included."""
    for node in nodes:
        if node.get("Type") == "CallExpr" and node.get("Args"):
            yield [literal(word) for word in node["Args"]]


def literal(word: Node) -> str | None:
    """A word without its quotes; `None` if it holds an expansion.

    Glob characters and a leading tilde stay as they are, quoted or not.
    """
    texts = [_text(part, quoted=False) for part in word.get("Parts", [])]
    return None if None in texts else "".join(text for text in texts if text is not None)


def _text(part: Node, *, quoted: bool) -> str | None:
    match part["Type"]:
        case "Lit":
            return unescape(part["Value"], quoted=quoted)
        case "SglQuoted" if not part.get("Dollar"):
            return str(part.get("Value", ""))
        case "DblQuoted":
            texts = [_text(child, quoted=True) for child in part.get("Parts", [])]
            return None if None in texts else "".join(t for t in texts if t is not None)
        case _:
            return None


def closing_brace(
    items: Sequence[object], start: int, opening: object, comma: object, closing: object
) -> tuple[int | None, list[int]]:
    """The index of the brace that closes the one at `start`, and the indexes of its own commas.

    `items` are characters or pieces of a word; the last three arguments are the signs among them.
    `None` if the brace is not closed.
    """
    depth = 0
    commas: list[int] = []
    for at in range(start, len(items)):
        if items[at] == opening:
            depth += 1
        elif items[at] == comma and depth == 1:
            commas.append(at)
        elif items[at] == closing:
            depth -= 1
            if depth == 0:
                return at, commas
    return None, commas


def unescape(text: str, *, quoted: bool) -> str:
    """The text without its backslashes, as the shell reads it outside quotes.

    `quoted`: as it reads the text inside double quotes.
    """
    if "\\" not in text:
        return text
    characters = []
    at = 0
    while at < len(text):
        if text[at] != "\\" or at + 1 == len(text):
            characters.append(text[at])
        else:
            at += 1
            if quoted and text[at] not in '$`"\\\n':
                characters.append("\\")
            if text[at] != "\n":
                characters.append(text[at])
        at += 1
    return "".join(characters)
