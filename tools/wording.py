"""Count what a machine can see of names and sentences: `python -m tools.wording`.

Prints the share of empty names, class names that stand more than once, the words of the pages that
people wrote, and sentences of the command line's help that are long.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import click

ROOT = Path(__file__).parents[1]
PRODUCT = ("failproof_es", "projections")
EMPTY_NAMES = frozenset(
    {
        *("each", "found", "said", "told", "given", "asked", "kept", "wanted", "left", "known"),
        *("chosen", "taken", "begun", "shown", "listed", "named", "written", "stands", "beside"),
        "others",
    }
)
"""Names that say nothing of what they are bound to."""
LONGEST_SENTENCE = 30
"""Words in a sentence of help."""


def bound_names(module: ast.Module) -> Iterator[str]:
    """Every name that a module binds: variables, parameters, functions, classes."""
    for node in ast.walk(module):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                yield name
            case ast.MatchAs(name=str(name)):
                yield name


def is_empty(name: str) -> bool:
    """Whether the name says nothing, a leading underscore aside. `_read` says nothing either."""
    return name.removeprefix("_") in EMPTY_NAMES or name == "_read"


class BoundNames(NamedTuple):
    """What one module binds."""

    names: Sequence[str]
    classes: Sequence[str]


@cache
def names_by_module() -> dict[str, BoundNames]:
    """What the product's Python files bind, by their paths.

    One syntax tree is held at a time: the garbage collector takes long for all of them.
    """
    modules = {}
    for file in (file for folder in PRODUCT for file in sorted((ROOT / folder).rglob("*.py"))):
        tree = ast.parse(file.read_text())
        classes = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        names = BoundNames(list(bound_names(tree)), classes)
        modules[file.relative_to(ROOT).as_posix()] = names
    return modules


def empty_share() -> tuple[int, int]:
    """How many bound names of the product are empty, and how many names it binds."""
    names = [name for module in names_by_module().values() for name in module.names]
    return sum(map(is_empty, names)), len(names)


def repeated_classes() -> dict[str, list[str]]:
    """Class names that stand in more than one place of the product, with their modules."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path, module in names_by_module().items():
        for name in module.classes:
            places[name].append(path)
    return {name: modules for name, modules in places.items() if len(modules) > 1}


def written_words() -> int:
    """Words of the README and of the pages that no tool generates, code blocks included."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = [page.read_text("utf-8") for page in pages]
    return sum(len(text.split()) for text in texts if "<!-- Generated:" not in text)


def long_sentences(command: click.Command, path: str = "failproof-es") -> Iterator[str]:
    """Sentences of a command's help, and of its options' and subcommands', that are long."""
    texts = [command.help or ""]
    texts += [getattr(parameter, "help", None) or "" for parameter in command.params]
    paragraphs = [paragraph for text in texts for paragraph in text.split("\n\n")]
    for paragraph in paragraphs:
        is_table = paragraph.lstrip().startswith("\b")
        sentences = [] if is_table else re.split(r"(?<=[.:])\s+", paragraph)
        for sentence in sentences:
            if len(sentence.split()) > LONGEST_SENTENCE:
                yield f"{path}: {' '.join(sentence.split())}"
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            if subcommand is not None:
                yield from long_sentences(subcommand, f"{path} {name}")


def main() -> None:
    """Print the counts."""
    from failproof_es.cli import main as program

    empty, names = empty_share()
    print(f"{empty} of {names:,} names are empty ({empty / names:.2%})")
    for name, modules in sorted(repeated_classes().items()):
        print(f"the class {name} stands in {', '.join(modules)}")
    print(f"{written_words():,} words in the README and in pages that people wrote")
    for sentence in long_sentences(program):
        print(f"more than {LONGEST_SENTENCE} words: {sentence}")


if __name__ == "__main__":
    main()
