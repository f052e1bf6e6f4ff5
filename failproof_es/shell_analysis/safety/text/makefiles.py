"""Finds the shell commands that `make` would run, if the command itself contains its rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.files.places import key
from failproof_es.shell_analysis.safety.text import marks

MAKES = frozenset({"make", "gmake", "bmake", "remake"})
_STANDARD_INPUT = frozenset({"-", "/dev/stdin", "/proc/self/fd/0"})
_DEFAULTS = ("GNUmakefile", "makefile", "Makefile")
_DRY = re.compile(r"-[bBdehiknpqrRsStvw]*n[bBdehiknpqrRsStvw]*")
_VARIABLE = re.compile(
    r"\s*(?:(?:export|override)\s+)*([\w.-]+)\s*(:{1,3}|[?+!])?=\s*(.*)", re.DOTALL
)
_REFERENCE = re.compile(r"\$(?:\(([\w.-]+)\)|\{([\w.-]+)\})")
_SHELL = re.compile(r"\$\(shell\s+((?:[^()]|\([^()]*\))*)\)|\$\{shell\s+([^{}]*)\}")
_LONGEST = 4096
_ROUNDS = 4
"""Most levels of variables in variables that are expanded."""


def reads_standard_input(command: ShellCommand) -> bool:
    """Whether `make` reads its rules from standard input: `make -f -`."""
    return command.name in MAKES and not _STANDARD_INPUT.isdisjoint(_list_makefiles(command))


def makefile_texts(command: ShellCommand) -> list[str]:
    """The known texts of the rules that `make` reads, each with content.

    They come from `--eval`, standard input, or files that an earlier part of the command wrote.
    """
    texts = command.values("E", "--eval")
    if reads_standard_input(command):
        texts.append(command.feed.text or "")
    folder = (command.values("C", "--directory") or [""])[-1]
    for path in _list_makefiles(command) or _DEFAULTS:
        place = f"{folder}/{path}" if folder and not path.startswith("/") else path
        texts.append(command.files.get(key(place, command.cwd), ""))
    return [text for text in texts if text]


def make_scripts(command: ShellCommand) -> list[str]:
    """The shell texts in the known rules: recipes, `$(shell ...)`, `NAME != ...`.

    Recipes are left out if `make` is only to print them. References to unset variables stay as
    written.
    """
    dry = any(map(_DRY.fullmatch, command.arguments)) or command.has(
        "", "--dry-run", "--just-print", "--recon"
    )
    overrides = {
        match[1]: match[3] for word in command.operands if (match := _VARIABLE.fullmatch(word))
    }
    scripts: list[str] = []
    for text in makefile_texts(command):
        lines = marks.plain(text).replace("\\\n", " ").split("\n")
        variables = _variables(lines) | overrides
        scripts += [_expand_variables(call, variables) for call in _shell_calls(lines)]
        recipes = [_expand_variables(recipe, variables) for recipe in _recipes(lines)]
        if not dry:
            scripts += recipes
            if ".ONESHELL" in text:
                scripts.append("\n".join(recipes))
    return list(dict.fromkeys(scripts))


def _list_makefiles(command: ShellCommand) -> list[str]:
    return command.values("f", "--file", "--makefile")


def _variables(lines: list[str]) -> dict[str, str]:
    """The variables that the lines of a makefile set, with their values, by name.

    `+=` appends, any other assignment replaces.
    """
    variables: dict[str, str] = {}
    for line in lines:
        assignment = None if line.startswith("\t") else _VARIABLE.fullmatch(line)
        if assignment:
            before = f"{variables.get(assignment[1], '')} " if assignment[2] == "+" else ""
            variables[assignment[1]] = before + assignment[3]
    return variables


def _shell_calls(lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield from (match[1] or match[2] for match in _SHELL.finditer(line))
        assignment = None if line.startswith("\t") else _VARIABLE.fullmatch(line)
        if assignment and assignment[2] == "!":
            yield assignment[3]


def _recipes(lines: list[str]) -> Iterator[str]:
    for line in lines:
        recipe = ""
        if line.startswith("\t"):
            recipe = line
        elif ":" in line.partition(";")[0] and not _VARIABLE.fullmatch(line):
            recipe = line.partition(";")[2]
        if recipe := recipe.strip().lstrip("@+- "):
            yield recipe


def _expand_variables(text: str, variables: dict[str, str]) -> str:
    for _ in range(_ROUNDS):
        filled = _REFERENCE.sub(lambda match: variables.get(match[1] or match[2], match[0]), text)
        if filled == text or len(filled) > _LONGEST:
            break
        text = filled
    return text.replace("$$", "$")
