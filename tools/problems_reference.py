"""The page `docs/reference/problems.md`, generated from the source code.

python -m tools.problems_reference > docs/reference/problems.md
"""

from __future__ import annotations

import ast
import gc
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from failproof_es.problem_codes import CODES

ROOT = Path(__file__).parents[1]
ROOMS = ("failproof_es", "projections")
_PROBLEMS = ROOT / "failproof_es" / "problems.py"
_OTHER = ROOT / "failproof_es" / "shell_analysis"
"""Its codes name the faults of a shell command."""
CODE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+){0,3}")
_UNKNOWN = "..."

_INTRODUCTION = """\
# Codes of problems

<!-- Generated: python -m tools.problems_reference > docs/reference/problems.md -->

An error or a warning ends with its code in brackets: `[unknown-field]`. In JSON the code is `code`.
A code keeps its meaning, the sentences may be improved. Each code below has its meaning and at most
three of its sentences; `{NAME}` and `{...}` are values. Codes with `key` are about API keys, codes
with `signing-key` about the keys that sign the log. A plug-in may have codes of its own.
"""
_MOST_SAMPLES, _FEWEST_WORDS = 3, 3


class Sentence(NamedTuple):
    """A message and what to do about it, with placeholders for values."""

    message: str
    remedy: str | None


def reference() -> str:
    """The whole page."""
    return "\n".join([_INTRODUCTION, *_sections()]) + "\n"


def _sections() -> Iterator[str]:
    sentences = codes()
    for code, meaning in CODES.items():
        yield f"## {code}\n\n{meaning}\n"
        if samples := _samples(sentences[code]):
            yield "\n".join(samples) + "\n"


def _samples(sentences: Iterable[Sentence]) -> list[str]:
    """The sentences with the fewest unknown parts as list items; none that has almost no words."""
    remedies: dict[str, str] = {}
    for message, remedy in sorted(set(sentences), key=str):
        remedies[message] = f" ({remedy})" if remedy and _words(remedy) else ""
    items = [
        f"- {message}{remedy}"
        for message, remedy in sorted(remedies.items(), key=lambda sentence: not sentence[1])
        if _words(message) and len(_words(message + remedy)) >= _FEWEST_WORDS
    ]
    return sorted(items, key=lambda item: item.count(_UNKNOWN))[:_MOST_SAMPLES]


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", re.sub(r"\{[^{}]*\}", "", text))


def codes() -> Mapping[str, Sequence[Sentence]]:
    """The sentences of each code that the source code names."""
    sentences: dict[str, list[Sentence]] = defaultdict(list)
    for tree in _trees():
        for call, function in _calls(tree):
            arguments = _arguments(call, tree)
            message = _template(arguments.get("message"), function)
            remedy = _template(arguments.get("remedy"), function)
            for code in _texts(arguments.get("code")):
                sentences[code].append(Sentence(message or _UNKNOWN, remedy))
    return sentences


@cache
def _trees() -> list[ast.Module]:
    files = [file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py"))]
    texts = [file.read_text("utf-8") for file in files if _OTHER not in file.parents]
    gc.disable()  # or it looks again and again through nodes that all stay: two thirds of the time
    try:
        return [ast.parse(text) for text in texts]
    finally:
        gc.enable()


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, ast.AST]]:
    """Each call in a module with the innermost function that makes it, or with the module itself.

    In no order.
    """
    waiting: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
    while waiting:
        node, function = waiting.pop()
        if isinstance(node, ast.Call):
            yield node, function
        inner = node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else function
        waiting += [(child, inner) for child in ast.iter_child_nodes(node)]


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Each statement below `node`; expressions, which are most of a module, are left out."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield child
            yield from _statements(child)


@cache
def _parameters(tree: ast.Module) -> Mapping[str, Sequence[str]]:
    """The parameters of each function and class of a module, by its name; one that takes a code
    hides others."""
    found: dict[str, Sequence[str]] = {}
    for node in _statements(tree):
        match node:
            case ast.FunctionDef(name=name):
                parameters = _parameters_of(node)
            case ast.ClassDef(name=name, body=body):
                fields = (line for line in body if isinstance(line, ast.AnnAssign))
                parameters = [ast.unparse(line.target) for line in fields]
                parameters += [
                    parameter
                    for line in body
                    if isinstance(line, ast.FunctionDef) and line.name == "__init__"
                    for parameter in _parameters_of(line)
                ]
            case _:
                continue
        if "code" in parameters or name not in found:
            found[name] = parameters
    return found


def _parameters_of(function: ast.FunctionDef) -> list[str]:
    arguments = [*function.args.args, *function.args.kwonlyargs]
    return [argument.arg for argument in arguments if argument.arg not in ("self", "cls")]


@cache
def _all_parameters() -> Mapping[str, Sequence[str]]:
    """The parameters of each function and class that takes a code.

    Those of `failproof_es/problems.py` hide others of their names.
    """
    return {
        name: parameters
        for tree in [*_trees(), ast.parse(_PROBLEMS.read_text("utf-8"))]
        for name, parameters in _parameters(tree).items()
        if "code" in parameters
    }


def _arguments(call: ast.Call, tree: ast.Module) -> Mapping[str, ast.expr]:
    """The arguments of a call by name; empty unless what is called takes a code.

    A function of the call's own module hides others of its name.
    """
    match call.func:
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            pass
        case ast.Attribute(attr=name) | ast.Name(id=name):
            owner = ""
        case _:
            return {}
    parameters = _parameters(tree).get(name) or _all_parameters().get(name, ())
    if "code" not in parameters or owner in ("logger", "_log"):
        return {}
    named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    return dict(zip(parameters, call.args, strict=False)) | named


def _texts(argument: ast.expr | None) -> Iterator[str]:
    """The codes that an argument can be: a literal, a choice, or the result of a function."""
    match argument:
        case ast.Constant(value=str(code)):
            yield code
        case ast.IfExp(body=body, orelse=other):
            yield from _texts(body)
            yield from _texts(other)
        case ast.Call(func=ast.Name(id=name)):
            yield from _returned(name)


@cache
def _returned(name: str) -> Sequence[str]:
    """The codes that functions of this name return."""
    returned = (
        node.value
        for function in _functions().get(name, ())
        for node in _statements(function)
        if isinstance(node, ast.Return)
    )
    return [code for value in returned for code in _texts(value)]


@cache
def _functions() -> Mapping[str, Sequence[ast.FunctionDef]]:
    """All functions by their names."""
    functions: dict[str, list[ast.FunctionDef]] = defaultdict(list)
    for tree in _trees():
        for node in _statements(tree):
            if isinstance(node, ast.FunctionDef):
                functions[node.name].append(node)
    return functions


def _template(argument: ast.expr | None, function: ast.AST) -> str | None:
    """A text of the program with `{NAME}` for each value; `None` for an absent one."""
    match argument:
        case None | ast.Constant(value=None):
            return None
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_part(part) for part in parts)
        case ast.Name(id=name):
            return _assigned(name, function, argument.lineno) or _UNKNOWN
        case _:
            return _UNKNOWN


def _part(part: ast.expr) -> str:
    match part:
        case ast.Constant(value=str(text)):
            return text
        case ast.FormattedValue(value=ast.Name(id=name) | ast.Attribute(attr=name)):
            return f"{{{name}}}"
        case _:
            return "{...}"


def _assigned(name: str, function: ast.AST, line: int) -> str | None:
    """The text that the function assigns to the variable `name` last before a line."""
    values = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and node.lineno < line
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]
    last = max(values, key=lambda value: value.lineno, default=None)
    return _template(last, function) if isinstance(last, ast.Constant | ast.JoinedStr) else None


if __name__ == "__main__":
    sys.stdout.write(reference())
