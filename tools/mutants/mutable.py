"""Which statements and expressions of a source are mutated at all.

Not those of which no test can tell: docstrings, type annotations and type aliases, the text of log
records, `__all__`, imports for the type checker, assertions (they state types); nor parts of an
f-string, whose positions Python 3.11 does not know.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

_LOG_METHODS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
_TYPES = {
    "Literal",
    "Union",
    "Optional",
    "Annotated",
    "Callable",
    "TypeVar",
    "NewType",
    "TypeAlias",
}


def is_excluded(statement: ast.stmt) -> bool:
    """Type-checking, `__all__`, log records, imports, assertions, attribute docstrings."""
    match statement:
        case (
            ast.Import()
            | ast.ImportFrom()
            | ast.Assert()
            | ast.Global()
            | ast.Nonlocal()
            | ast.Pass()
        ):
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=call):
            return _is_log(call)
        case ast.If(test=test):
            names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
            return bool(names & {"TYPE_CHECKING", "__name__"})
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name == "__all__"
    return False


def _is_log(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
            return method in _LOG_METHODS and name in {
                "log",
                "logger",
                "logging",
                "_log",
                "_logger",
            }
    return False


def own_expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of the statement itself: no statements in it, targets or annotations."""
    match statement:
        case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.Expr(value=value):
            yield value
        case ast.AnnAssign(value=value) | ast.Return(value=value):
            if value is not None:
                yield value
        case ast.If(test=test) | ast.While(test=test):
            yield test
        case ast.For(iter=iterable) | ast.AsyncFor(iter=iterable):
            yield iterable
        case ast.With(items=items) | ast.AsyncWith(items=items):
            yield items[0].context_expr
        case ast.Match(subject=subject):
            yield subject
        case ast.Raise(exc=ast.expr() as exception):
            yield exception
        case ast.ClassDef(decorator_list=decorators, keywords=keywords):
            yield from decorators
            yield from (keyword.value for keyword in keywords)


def mutable_expressions(node: ast.expr) -> Iterator[ast.expr]:
    """The expression and those in it; no types, text of log records, or parts of f-strings."""
    match node:
        case ast.JoinedStr() | ast.FormattedValue():
            return
        case ast.Subscript(value=ast.Name(id=name)) if name in _TYPES:
            return
        case ast.Call(func=ast.Name(id=name)) if name in _TYPES:
            return
        case ast.BinOp(op=ast.BitOr()) if _is_type_union(node):
            return
        case ast.Call(func=ast.Name(id="cast"), args=[_, value]):
            yield from mutable_expressions(value)
            return
        case ast.Call() if _is_log(node):
            return
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from mutable_expressions(child)
        elif isinstance(child, ast.keyword):
            yield from mutable_expressions(child.value)
        elif isinstance(child, ast.comprehension):
            yield from mutable_expressions(child.iter)
            for condition in child.ifs:
                yield from mutable_expressions(condition)


def _is_type_union(node: ast.expr) -> bool:
    """Whether it is made of names of classes and `None` alone."""
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _is_type_union(left) and _is_type_union(right)
        case ast.Constant(value=None) | ast.Subscript():
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name[:1].isupper() or name in {
                "str",
                "int",
                "float",
                "bool",
                "bytes",
                "list",
                "dict",
            }
    return False
