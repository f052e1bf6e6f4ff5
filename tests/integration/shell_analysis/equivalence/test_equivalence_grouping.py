"""Expressions, assignments and flags that are called equal do the same when they are run."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product

import pytest

from failproof_es.shell_analysis.equivalence import EquivalenceVerdict, compare, compare_many

ATOMS = ('-n "$a"', '"$b" == x', '"$c" =~ x')
VALUES = tuple(product(("", "x"), repeat=3))


def _expressions() -> Iterator[str]:
    """Three tests joined by every two operators, negated and put in parentheses everywhere."""
    for (one, two), nots in product(product(("&&", "||"), repeat=2), product(("", "! "), repeat=3)):
        a, b, c = (mark + atom for mark, atom in zip(nots, ATOMS, strict=True))
        yield f"{a} {one} {b} {two} {c}"
        yield f"( {a} {one} {b} ) {two} {c}"
        yield f"{a} {one} ( {b} {two} {c} )"
        yield f"! ( {a} {one} {b} ) {two} {c}"
        yield f"! ( {a} {one} {b} {two} {c} )"


def _truths(expressions: Sequence[str]) -> list[str]:
    """For each expression in which of all settings of the variables it holds, as bash says."""
    script = "\n".join(
        "".join(f"a={a} b={b} c={c}; [[ {each} ]] && printf 1 || printf 0\n" for a, b, c in VALUES)
        + "echo"
        for each in expressions
    )
    done = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True)
    return done.stdout.split()


def test_conditions_called_equal_hold_in_the_same_cases() -> None:
    expressions = list(dict.fromkeys(_expressions()))
    truths = dict(zip(expressions, _truths(expressions), strict=True))
    pairs = list(combinations(expressions, 2))
    verdicts = compare_many([(f"[[ {a} ]]", f"[[ {b} ]]") for a, b in pairs])
    equal = [
        pair
        for pair, each in zip(pairs, verdicts, strict=True)
        if each.verdict is EquivalenceVerdict.EQUAL
    ]
    assert len(equal) > 50
    assert [(a, b) for a, b in equal if truths[a] != truths[b]] == []


ASSIGNMENTS = ("x=1", "x=2", "x+=3", "y=1", "y=2")


def test_assignments_called_equal_give_a_program_the_same_variables() -> None:
    orders = [" ".join(each) for many in (2, 3) for each in permutations(ASSIGNMENTS, many)]
    shown = {
        each: subprocess.run(
            ["bash", "-c", f"{each} env | grep '^[xy]=' | sort"],
            check=True, capture_output=True, text=True,
        ).stdout
        for each in orders
    }  # fmt: skip
    pairs = list(combinations(orders, 2))
    verdicts = compare_many([(f"{a} env", f"{b} env") for a, b in pairs])
    equal = [
        pair
        for pair, each in zip(pairs, verdicts, strict=True)
        if each.verdict is EquivalenceVerdict.EQUAL
    ]
    assert ("x=1 y=1", "y=1 x=1") in equal
    assert [(a, b) for a, b in equal if shown[a] != shown[b]] == []


FLAGS = ("", *("".join(each) for many in (1, 2, 3) for each in product("gp2Ii", repeat=many)))


def _replaced(flags: str) -> tuple[int, str]:
    done = subprocess.run(
        ["sed", f"s/a/b/{flags}"], input="aAaA\nx\n", capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def test_flags_of_a_substitution_called_equal_do_the_same() -> None:
    done = {each: _replaced(each) for each in FLAGS}
    pairs = list(combinations(FLAGS, 2))
    verdicts = compare_many([(f"sed s/a/b/{a} f", f"sed s/a/b/{b} f") for a, b in pairs])
    equal = [
        pair
        for pair, each in zip(pairs, verdicts, strict=True)
        if each.verdict is EquivalenceVerdict.EQUAL
    ]
    assert len(equal) > 20
    assert [(a, b) for a, b in equal if done[a] != done[b]] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[[ a && b || c ]]", "[[ ( a && b ) || c ]]"),
        ("[[ ! a && b ]]", "[[ ( ! a ) && b ]]"),
        ("[[ a && b && c ]]", "[[ a && ( b && c ) ]]"),
    ],
)
def test_parentheses_that_change_nothing_are_nothing(one: str, other: str) -> None:
    assert compare(one, other).verdict is EquivalenceVerdict.EQUAL
