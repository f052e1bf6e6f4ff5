"""Where a mutant's probes stand, and which test files the record of a run with probes names.

A place that an import executes (a constant, a class's attribute, a default) has no probe of its
own: the import happens in every process. Its probes are at the beginning of the functions that can
tell: the function of the default, and for a name (of a constant, a class, and of what is made of
it) all functions that mention it, with the methods of the class. A test file that mentions the name
reaches it, too.
"""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tools.mutants.drawing import Mutant
from tools.mutants.operators import Edit, Function, Source, is_compound

PROBE = "_mutant_probe"
"""The module that probes call, in the first package of the copy."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class _Mentions:
    """Names in the product: in which functions, and in which statements of imports."""

    functions: Mapping[str, Sequence[tuple[str, Function]]]
    made_of: Mapping[str, set[str]]
    """By a name the names of constants and classes that imports make of it."""

    @classmethod
    def of(cls, sources: Mapping[str, Source]) -> _Mentions:
        functions: defaultdict[str, list[tuple[str, Function]]] = defaultdict(list)
        made_of: defaultdict[str, set[str]] = defaultdict(set)
        for path, source in sources.items():
            for function in _functions(source.tree):
                for name in _names(function.body):
                    functions[name].append((path, function))
            for statement in source.tree.body:
                if targets := _targets(statement):
                    for name in _names([statement], with_functions=False) - targets:
                        made_of[name] |= targets
        return cls(functions, made_of)

    def closure(self, names: Iterable[str]) -> set[str]:
        """The names, and all that is made of them."""
        result, waiting = set(), list(names)
        while waiting:
            if (name := waiting.pop()) not in result:
                result.add(name)
                waiting += self.made_of.get(name, ())
        return result


def _functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS))


def _names(statements: Iterable[ast.stmt], *, with_functions: bool = True) -> set[str]:
    names, waiting = set(), list[ast.AST](statements)
    while waiting:
        node = waiting.pop()
        if isinstance(node, _FUNCTIONS) and not with_functions:
            waiting += [*node.decorator_list, *node.args.defaults]
            continue
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        waiting += ast.iter_child_nodes(node)
    return names


def _targets(statement: ast.stmt) -> set[str]:
    match statement:
        case ast.ClassDef(name=name):
            return {name}
        case ast.Assign(targets=targets):
            return {
                node.id
                for target in targets
                for node in ast.walk(target)
                if isinstance(node, ast.Name)
            }
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
            return {name}
    return set()


class Probes:
    """The probes of mutants: edits of the files, and names by which test files reach some."""

    def __init__(
        self, sources: Mapping[str, Source], mutants: Sequence[Mutant], package: str
    ) -> None:
        """The package is that in which the copy has what the probes call."""
        self._sources, self._package = sources, package
        self._before: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
        self._edits: defaultdict[str, list[Edit]] = defaultdict(list)
        self.names: dict[int, set[str]] = {}
        """By the mutant's number the names whose mention in a test file reaches it."""
        for number, mutant in enumerate(mutants):
            if mutant.mutation.function is not None:
                self._begin(mutant.path, mutant.mutation.function, number)
            elif mutant.place.is_import_time:
                self._mentioned(number, mutant)
            else:
                self._in_place(number, mutant)

    @cached_property
    def _mentions(self) -> _Mentions:
        return _Mentions.of(self._sources)

    def _in_place(self, number: int, mutant: Mutant) -> None:
        statement, source = mutant.place.statement, mutant.source
        if isinstance(statement, ast.ExceptHandler):
            self._before_statement(mutant.path, statement.body[0], number)
        elif not is_compound(statement) or isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
            self._before_statement(mutant.path, statement, number)
        else:
            header = _header(statement)
            start, end = source.span(header)
            self._edits[mutant.path] += [
                Edit(start, start, b"(" + self._call([number]) + b"or("),
                Edit(end, end, b"))"),
            ]

    def _mentioned(self, number: int, mutant: Mutant) -> None:
        statement, classes, path = mutant.place.statement, mutant.place.classes, mutant.path
        assert isinstance(statement, ast.stmt)
        local = set[str]()
        if classes:
            names, local = {classes[0].name}, _targets(statement)
        else:
            names = _targets(statement)
        names = self._mentions.closure(names)
        self.names[number] = names
        inside = {*(_functions(classes[-1]) if classes else ())}
        if not names:  # a call, as of a registration: whatever the module does
            inside |= set(_functions(mutant.source.tree))
        functions = {(path, function) for function in inside}
        for name in names:
            functions |= set(self._mentions.functions.get(name, ()))
        for name in local:
            functions |= {
                place for place in self._mentions.functions.get(name, ()) if place[0] == path
            }
        for place, function in functions:
            self._begin(place, function, number)

    def _begin(self, path: str, function: Function, number: int) -> None:
        """At the beginning of the function; one that is a docstring alone has no beginning."""
        for statement in function.body:
            if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                self._before_statement(path, statement, number)
                return

    def _before_statement(self, path: str, statement: ast.stmt, number: int) -> None:
        source = self._sources[path]
        start = source.span(statement)[0]
        if getattr(statement, "decorator_list", None):
            start = source.raw.rindex(b"@", 0, start)
        if is_compound(statement):
            start = source.raw.rfind(b"\n", 0, start) + 1
        self._before[path, start].append(number)

    def edits(self) -> dict[str, list[Edit]]:
        """By path the edits that set all probes."""
        result = {path: list(edits) for path, edits in self._edits.items()}
        for (path, start), numbers in self._before.items():
            raw = self._sources[path].raw
            is_line = start == 0 or raw[start - 1 : start] == b"\n"
            indentation = re.match(rb"[ \t]*", raw[start:])
            assert indentation is not None
            text = self._call(sorted(set(numbers)))
            text = indentation[0] + text + b"\n" if is_line else text + b"; "
            result.setdefault(path, []).insert(0, Edit(start, start, text))
        return result

    def _call(self, numbers: Iterable[int]) -> bytes:
        listed = ",".join(map(str, numbers))
        return f'__import__("{self._package}.{PROBE}",fromlist=("hit",)).hit({listed})'.encode()


def _header(statement: ast.AST) -> ast.expr:
    match statement:
        case ast.If(test=header) | ast.While(test=header):
            return header
        case ast.For(iter=header) | ast.AsyncFor(iter=header) | ast.Match(subject=header):
            return header
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return items[0].context_expr
    raise AssertionError(statement)


@dataclass
class TestFile:
    """A test file as the run with probes saw it, the last time."""

    seconds: float
    failed: list[str]
    fixtures: set[str]
    began_at: float
    ended_at: float


class Record:
    """What a run with probes recorded."""

    def __init__(self, folder: Path) -> None:
        self.files: dict[str, TestFile] = {}
        for line in (folder / "files.jsonl").read_text().splitlines():
            values: dict[str, Any] = json.loads(line)
            self.files[values["path"]] = TestFile(
                values["seconds"], values["failed"], set(values["fixtures"]),
                values["began_at"], values["ended_at"],
            )  # fmt: skip
        self.hits: defaultdict[int, set[tuple[str, float]]] = defaultdict(set)
        for line in (folder / "hits").read_text().splitlines():
            number, place, at = line.split("\t")
            self.hits[int(number)].add((place, float(at)))

    def reaching(self, number: int, mutant: Mutant, names: set[str], tree: Path) -> list[str]:
        """The test files that reach the mutant: first those that execute it, the quickest first.

        Then those that use a session fixture that does, that mention a name, or, where an import
        executed the place, that name its module.
        """
        first, second = set(), set()
        for place, at in self.hits.get(number, ()):
            if place in self.files:
                first.add(place)
            elif place.startswith("<fixture "):
                name = place.removeprefix("<fixture ").removesuffix(">")
                second |= {path for path, file in self.files.items() if name in file.fixtures}
            elif place == "?":
                second |= {
                    path
                    for path, file in self.files.items()
                    if file.began_at <= at <= file.ended_at
                }
            else:
                module = mutant.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                second |= self._mentioning({module}, tree)
        second |= self._mentioning(names, tree)
        return [*self._quickest_first(first), *self._quickest_first(second - first)]

    def _quickest_first(self, paths: Iterable[str]) -> list[str]:
        return sorted(paths, key=lambda path: (self.files[path].seconds, path))

    def _mentioning(self, names: set[str], tree: Path) -> set[str]:
        if not names:
            return set()
        pattern = re.compile(r"\b(?:" + "|".join(map(re.escape, sorted(names))) + r")\b")
        return {
            path
            for path in self.files
            if (tree / path).is_file() and pattern.search((tree / path).read_text())
        }
