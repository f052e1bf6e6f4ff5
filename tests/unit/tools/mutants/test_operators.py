"""The mutations of a source, one for each operator of the field."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.every import every
from tools.mutants import operators
from tools.mutants.operators import Edit, Source, places


def changes(text: str) -> set[tuple[str, str]]:
    """By operator the text after each mutation."""
    source = Source(text.encode())
    return {
        (mutation.operator, source.edited(mutation.edits).decode())
        for place in places(source)
        for mutation in place.mutations
    }


@every(
    ("operator", "before", "after"),
    [
        ("comparison", "X = (a) < b", "X = (a) <= b"),
        ("comparison", "X = a not  in b", "X = a in b"),
        ("comparison", "X = a < b == c", "X = a < b != c"),
        ("boolean operator", "X = a and b and c", "X = a or b or c"),
        ("arithmetic operator", "X = a ** b", "X = a * b"),
        ("arithmetic operator", "def f():\n    x += 1", "def f():\n    x -= 1"),
        ("negation", "if a:\n    pass", "if not (a):\n    pass"),
        ("negation", "X = [a for a in b if a]", "X = [a for a in b if not (a)]"),
        ("negation", "X = not a", "X = (a)"),
        ("constant", "X = 2", "X = 3"),
        ("constant", "X = True", "X = False"),
        ("constant", "X = 'é' 'b'", "X = (\"XX\" + 'é' 'b')"),
        ("statement deleted", "def f():\n    g(\n    )", "def f():\n    pass"),
        ("statement deleted", "def f():\n    self.a = 1", "def f():\n    pass"),
        ("assignment of None", "def f():\n    a: int = g()", "def f():\n    a: int = None"),
        ("returned value", "def f():\n    return a", "def f():\n    return None"),
        ("default argument", "def f(a: int = 1): ...", "def f(a: int = 2): ..."),
        ("break and continue", "def f():\n    break", "def f():\n    continue"),
        (
            "exception handler re-raises",
            "try:\n    a\nexcept E:\n    b\n    c",
            "try:\n    a\nexcept E:\n    raise",
        ),
    ],
)
def test_an_operator_changes_its_statement(operator: str, before: str, after: str) -> None:
    assert (operator, after) in changes(before)


@every(
    "text",
    [
        '"""A docstring."""',
        'def f() -> "int":\n    """A docstring."""',
        'class C:\n    a: Literal["x"]\n    """Of an attribute."""',
        '__all__ = ["a", "b"]',
        'if TYPE_CHECKING:\n    A = "x"',
        'logger.warning("it is %s", "so")',
        "import a",
        "assert a == 1",
        'A = Literal["x", "y"]',
        "A = Left | Right | None",
        'X = f"{a:>10}"',
    ],
)
def test_what_no_test_could_tell_is_not_mutated(text: str) -> None:
    assert changes(text) == set()


@pytest.mark.long
def test_every_mutation_of_a_real_module_compiles_and_differs() -> None:
    source = Source(Path(operators.__file__).read_bytes())
    mutations = [mutation for place in places(source) for mutation in place.mutations][::5]
    assert len(mutations) > 20
    for mutation in mutations:
        assert ast.dump(ast.parse(source.edited(mutation.edits))) != ast.dump(source.tree)


def test_edits_at_one_offset_stay_in_their_order() -> None:
    source = Source(b"a")
    assert source.edited([Edit(0, 0, b"x"), Edit(0, 0, b"y"), Edit(0, 1, b"z")]) == b"xyz"
