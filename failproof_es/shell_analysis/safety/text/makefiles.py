"""The shell commands that `make` would run, where the command itself holds its rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

from failproof_es.shell_analysis.safety.commands import Command
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
"""Variables in variables that are followed."""


def reads_standard_input(command: Command) -> bool:
    """Whether the rules come from standard input: `make -f -`."""
    return command.name in MAKES and not _STANDARD_INPUT.isdisjoint(_named(command))


def makefile_texts(command: Command) -> list[str]:
    """The rules that are known: fed, given by `--eval`, or written earlier in the same text."""
    found = command.values("E", "--eval")
    if reads_standard_input(command):
        found.append(command.feed.text or "")
    folder = (command.values("C", "--directory") or [""])[-1]
    for path in _named(command) or _DEFAULTS:
        place = f"{folder}/{path}" if folder and not path.startswith("/") else path
        found.append(command.files.get(key(place, command.cwd), ""))
    return [text for text in found if text]


def make_scripts(command: Command) -> list[str]:
    """The shell texts in these rules: recipes, `$(shell ...)`, `NAME != ...`.

    A reference to a variable that nobody sets stays as it is.
    """
    dry = any(map(_DRY.fullmatch, command.arguments)) or command.has(
        "", "--dry-run", "--just-print", "--recon"
    )
    given = {
        found[1]: found[3] for word in command.operands if (found := _VARIABLE.fullmatch(word))
    }
    scripts: list[str] = []
    for text in makefile_texts(command):
        lines = marks.plain(text).replace("\\\n", " ").split("\n")
        variables = _variables(lines) | given
        scripts += [_expanded(each, variables) for each in _shell_calls(lines)]
        recipes = [_expanded(each, variables) for each in _recipes(lines)]
        if not dry:
            scripts += recipes
            if ".ONESHELL" in text:
                scripts.append("\n".join(recipes))
    return list(dict.fromkeys(scripts))


def _named(command: Command) -> list[str]:
    return command.values("f", "--file", "--makefile")


def _variables(lines: list[str]) -> dict[str, str]:
    """What the rules set. `+=` adds, whichever came first otherwise gives way to the last."""
    found: dict[str, str] = {}
    for line in lines:
        said = None if line.startswith("\t") else _VARIABLE.fullmatch(line)
        if said:
            before = f"{found.get(said[1], '')} " if said[2] == "+" else ""
            found[said[1]] = before + said[3]
    return found


def _shell_calls(lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield from (found[1] or found[2] for found in _SHELL.finditer(line))
        said = None if line.startswith("\t") else _VARIABLE.fullmatch(line)
        if said and said[2] == "!":
            yield said[3]


def _recipes(lines: list[str]) -> Iterator[str]:
    for line in lines:
        recipe = ""
        if line.startswith("\t"):
            recipe = line
        elif ":" in line.partition(";")[0] and not _VARIABLE.fullmatch(line):
            recipe = line.partition(";")[2]
        if recipe := recipe.strip().lstrip("@+- "):
            yield recipe


def _expanded(text: str, variables: dict[str, str]) -> str:
    for _ in range(_ROUNDS):
        filled = _REFERENCE.sub(lambda found: variables.get(found[1] or found[2], found[0]), text)
        if filled == text or len(filled) > _LONGEST:
            break
        text = filled
    return text.replace("$$", "$")
