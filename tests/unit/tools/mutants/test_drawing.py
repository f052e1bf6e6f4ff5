"""Which mutants are drawn depends on the seed and the function alone."""

from __future__ import annotations

from tools.mutants.drawing import Mutant, draw, room_of, shares
from tools.mutants.operators import Source

FUNCTION = '''
def {name}(a, b):
    """A docstring."""
    if a > b and a != 0:
        return a + {number}
    c = [a, b, "text"]
    return c
'''


def tree(*, first: str = "", changed: int | None = None) -> dict[str, Source]:
    functions = [FUNCTION.format(name=f"f{n}", number=99 if n == changed else 7) for n in range(20)]
    text = first + "".join(functions)
    return {
        "failproof_es/core/a.py": Source(text.encode()),
        "failproof_es/web/b.py": Source(b"X = 1\n"),
        "projections/c.py": Source(b"Y = 2\n"),
    }


def ids(mutants: list[Mutant]) -> list[str]:
    return [mutant.id for mutant in mutants]


def test_a_seed_draws_the_same_mutants_again_and_another_seed_others() -> None:
    assert ids(draw(tree(), 10, 1)) == ids(draw(tree(), 10, 1)) != ids(draw(tree(), 10, 2))


def test_a_line_above_changes_no_mutant() -> None:
    moved = draw(tree(first="import os\n\n"), 10, 1)
    assert ids(moved) == ids(draw(tree(), 10, 1))
    assert moved[0].line == draw(tree(), 10, 1)[0].line + 2


def test_a_changed_function_changes_only_what_is_drawn_in_it() -> None:
    def of_others(changed: int | None) -> set[str]:
        everything = draw(tree(changed=changed), 1000, 1)
        return {mutant.id for mutant in everything if mutant.place.qualified_name != "f3"}

    assert of_others(None) == of_others(3)


def test_of_each_statement_one_change_is_drawn_at_most() -> None:
    everything = draw(tree(), 1000, 1)
    assert len({(mutant.path, mutant.line) for mutant in everything}) == len(everything) == 82
    assert len(set(ids(everything))) == 82


def test_each_room_has_a_mutant() -> None:
    rooms = [mutant.room for mutant in draw(tree(), 10, 1)]
    assert {room: rooms.count(room) for room in rooms} == {
        "failproof_es/core": 8, "failproof_es/web": 1, "projections": 1,
    }  # fmt: skip


def test_shares_are_in_proportion_and_add_up() -> None:
    assert shares({"a": 500, "b": 300, "c": 1}, 10) == {"a": 6, "b": 3, "c": 1}
    assert shares({"a": 500, "b": 1, "c": 1}, 10) == {"a": 8, "b": 1, "c": 1}
    assert shares({"a": 2, "b": 1}, 10) == {"a": 2, "b": 1}


def test_a_module_outside_of_a_room_is_of_the_package() -> None:
    assert room_of("failproof_es/core/sharding/leases.py") == "failproof_es/core"
    assert room_of("failproof_es/gates.py") == "failproof_es"
    assert room_of("projections/results/batch.py") == "projections"


def test_a_mutant_shows_its_change_as_a_diff() -> None:
    (mutant,) = draw({"projections/c.py": Source(b"A = B\nY = True\n")}, 1, 1)
    assert (mutant.line, mutant.diff) == (2, "-Y = True\n+Y = False")
