"""Every mutation of a source file that the operators allow, as edits of its bytes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from tools.mutants.mutable import is_excluded, mutable_expressions, own_expressions

_COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.In: ("in", ("not in",)),
    ast.NotIn: (r"not\s+in", ("in",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: (r"is\s+not", ("is",)),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "|"),
}
_NEGATIONS = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)
"""Comparisons whose other operator is their negation."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPOUND = (
    *_FUNCTIONS, ast.ClassDef, ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith,
    ast.Try, ast.TryStar, ast.Match,
)  # fmt: skip
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Edit:
    """The bytes from `start` to `end` become `text`."""

    start: int
    end: int
    text: bytes


@dataclass(frozen=True)
class Mutation:
    """One change, by an operator. `function`: the function one of whose defaults it changes."""

    operator: str
    edits: tuple[Edit, ...]
    function: Function | None = None


@dataclass
class Place:
    """A statement (of a compound statement its header) that can be mutated."""

    qualified_name: str
    """The innermost function or class, `<module>` outside of any."""
    scope: ast.stmt | None
    """The innermost function around it; for a statement that is executed by an import, itself."""
    statement: ast.stmt | ast.ExceptHandler
    classes: tuple[ast.ClassDef, ...]
    """The classes around it, the innermost last."""
    is_import_time: bool
    mutations: list[Mutation] = field(default_factory=list)


class Source:
    """A file's bytes, and where a node stands in them."""

    def __init__(self, raw: bytes) -> None:
        """Raises `SyntaxError`."""
        self.raw = raw
        self.tree = ast.parse(raw)

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer(rb"\r\n|\n|\r", self.raw))]

    def offset(self, line: int, column: int) -> int:
        """Of a line, counted from 1, and a column in bytes, from 0."""
        return self._lines[line - 1] + column

    def span(self, node: ast.expr | ast.stmt | ast.ExceptHandler) -> tuple[int, int]:
        """Start and end in bytes; of a decorated function or class with the decorators."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        line, column = node.lineno, node.col_offset
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)) and node.decorator_list:
            line = node.decorator_list[0].lineno  # whose column is that after the `@`
        return self.offset(line, column), self.offset(node.end_lineno, node.end_col_offset)

    def text(self, node: ast.expr | ast.stmt | ast.ExceptHandler) -> bytes:
        """The bytes of the node."""
        start, end = self.span(node)
        return self.raw[start:end]

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """The bytes after edits that do not overlap; those at one offset in their order."""
        pieces, position = [], 0
        for edit in sorted(edits, key=lambda edit: edit.start):
            assert edit.start >= position
            pieces += [self.raw[position : edit.start], edit.text]
            position = edit.end
        return b"".join([*pieces, self.raw[position:]])


def is_compound(statement: ast.stmt) -> bool:
    """Whether other statements can stand in it, so that none can stand before it on its line."""
    return isinstance(statement, _COMPOUND)


def places(source: Source) -> list[Place]:
    """Every statement of the file with at least one mutation, in the order of the file."""
    return [place for place in _Walk(source).block(source.tree.body, (), ()) if place.mutations]


class _Walk:
    def __init__(self, source: Source) -> None:
        self._source = source

    def block(
        self,
        statements: Sequence[ast.stmt],
        classes: tuple[ast.ClassDef, ...],
        names: tuple[str, ...],
        function: Function | None = None,
    ) -> Iterator[Place]:
        for number, statement in enumerate(statements):
            if number == 0 and _is_docstring(statement):
                continue
            yield from self._statement(statement, classes, names, function)

    def _statement(
        self,
        statement: ast.stmt,
        classes: tuple[ast.ClassDef, ...],
        names: tuple[str, ...],
        function: Function | None,
    ) -> Iterator[Place]:
        if is_excluded(statement):
            return
        place = Place(
            ".".join(names) or "<module>",
            function or statement,
            statement,
            classes,
            function is None,
        )
        place.mutations += self._mutations(statement, function)
        yield place
        if isinstance(statement, _FUNCTIONS):
            yield from self.block(statement.body, classes, (*names, statement.name), statement)
            return
        if isinstance(statement, ast.ClassDef):
            inner = (*classes, statement)
            yield from self.block(statement.body, inner, (*names, statement.name), function)
            return
        for block in ("body", "orelse", "finalbody"):
            for inside in getattr(statement, block, ()):
                yield from self._statement(inside, classes, names, function)
        for handler in getattr(statement, "handlers", ()):
            yield self._handler(handler, place)
            for inside in handler.body:
                yield from self._statement(inside, classes, names, function)
        for case in getattr(statement, "cases", ()):
            for inside in case.body:
                yield from self._statement(inside, classes, names, function)

    def _handler(self, handler: ast.ExceptHandler, around: Place) -> Place:
        body = handler.body
        place = Place(
            around.qualified_name, around.scope, handler, around.classes, around.is_import_time
        )
        start, end = self._source.span(body[0])[0], self._source.span(body[-1])[1]
        if self._source.raw[start:end] != b"raise":
            place.mutations.append(
                Mutation("exception handler re-raises", (Edit(start, end, b"raise"),))
            )
        return place

    def _mutations(self, statement: ast.stmt, function: Function | None) -> Iterator[Mutation]:
        yield from self._of_statement(statement, function)
        if isinstance(statement, (ast.If, ast.While)):
            yield from self._negations(statement.test)
        for expression in own_expressions(statement):
            yield from self._of_expression(expression)
        if isinstance(statement, _FUNCTIONS):
            arguments = statement.args
            for default in (*arguments.defaults, *arguments.kw_defaults):
                for mutation in () if default is None else self._of_expression(default):
                    yield Mutation("default argument", mutation.edits, statement)
            for decorator in statement.decorator_list:
                for mutation in self._of_expression(decorator):
                    yield Mutation(mutation.operator, mutation.edits, statement)

    def _of_statement(self, statement: ast.stmt, function: Function | None) -> Iterator[Mutation]:
        if function is None:
            return
        match statement:
            case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise() | ast.Delete():
                yield self._replaced("statement deleted", statement, b"pass")
            case ast.Assign(targets=[ast.Name()], value=value):
                if not _is_none(value):
                    yield self._replaced("assignment of None", value, b"None")
            case ast.AnnAssign(target=ast.Name(), value=ast.expr() as value):
                if not _is_none(value):
                    yield self._replaced("assignment of None", value, b"None")
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign(value=ast.expr()):
                yield self._replaced("statement deleted", statement, b"pass")
            case ast.Return(value=ast.expr() as value) if not _is_none(value):
                yield self._replaced("returned value", value, b"None")
            case ast.Break():
                yield self._replaced("break and continue", statement, b"continue")
            case ast.Continue():
                yield self._replaced("break and continue", statement, b"break")
        if isinstance(statement, ast.AugAssign) and type(statement.op) in _ARITHMETIC:
            name, other = _ARITHMETIC[type(statement.op)]
            yield from self._between(
                "arithmetic operator", [(statement.target, statement.value)],
                re.escape(name) + "=", f"{other}=",
            )  # fmt: skip

    def _of_expression(self, root: ast.expr) -> Iterator[Mutation]:
        for node in mutable_expressions(root):
            match node:
                case ast.Compare(left=left, ops=ops, comparators=comparators):
                    sides = list(pairwise([left, *comparators]))
                    for pair, operator in zip(sides, ops, strict=True):
                        name, others = _COMPARISONS[type(operator)]
                        for other in others:
                            yield from self._between("comparison", [pair], name, other)
                case ast.BoolOp(op=boolean, values=values):
                    names = ("and", "or") if isinstance(boolean, ast.And) else ("or", "and")
                    yield from self._between("boolean operator", list(pairwise(values)), *names)
                case ast.BinOp(left=left, op=binary, right=right) if type(binary) in _ARITHMETIC:
                    name, other = _ARITHMETIC[type(binary)]
                    yield from self._between(
                        "arithmetic operator", [(left, right)], re.escape(name), other
                    )
                case ast.UnaryOp(op=ast.Not(), operand=operand):
                    yield self._replaced("negation", node, b"(" + self._source.text(operand) + b")")
                case ast.IfExp(test=test):
                    yield from self._negations(test)
                case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                    for generator in node.generators:
                        for condition in generator.ifs:
                            yield from self._negations(condition)
                case ast.Constant():
                    yield from self._constants(node)

    def _negations(self, test: ast.expr) -> Iterator[Mutation]:
        match test:
            case ast.Compare(ops=[operator]) if isinstance(operator, _NEGATIONS):
                return
            case ast.UnaryOp(op=ast.Not()):
                return
        yield self._replaced("negation", test, b"not (" + self._source.text(test) + b")")

    def _constants(self, node: ast.Constant) -> Iterator[Mutation]:
        text = self._source.text(node)
        match node.value:
            case bool(value):
                yield self._replaced("constant", node, str(not value).encode())
            case int(value) | float(value):
                yield self._replaced("constant", node, repr(value + 1).encode())
                if value:
                    yield self._replaced("constant", node, b"0")
            case str(value):
                if value:
                    yield self._replaced("constant", node, b'""')
                yield self._replaced("constant", node, b'("XX" + ' + text + b")")
            case bytes():
                yield self._replaced("constant", node, b'(b"XX" + ' + text + b")")

    def _replaced(self, operator: str, node: ast.expr | ast.stmt, text: bytes) -> Mutation:
        return Mutation(operator, (Edit(*self._source.span(node), text),))

    def _between(
        self, operator: str, pairs: Sequence[tuple[ast.expr, ast.expr]], name: str, other: str
    ) -> Iterator[Mutation]:
        """The operator between each of these pairs, of one expression, changed."""
        edits = []
        for left, right in pairs:
            start, end = self._source.span(left)[1], self._source.span(right)[0]
            gap = re.sub(
                rb"#[^\n]*", lambda match: b" " * len(match[0]), self._source.raw[start:end]
            )
            if (match := re.search(name.encode(), gap)) is None:
                return
            edits.append(Edit(start + match.start(), start + match.end(), other.encode()))
        yield Mutation(operator, tuple(edits))


def _is_docstring(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None
