"""Where the probes of a mutant stand."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import orjson
import pytest

from tools.mutants.drawing import draw
from tools.mutants.operators import Source
from tools.mutants.reach import Probes, Record
from tools.mutants.results import Result, comparison, summary
from tools.mutants.running import within

TOY = b'''
LIMIT = 3
DOUBLE = LIMIT * 2


class Options:
    """A docstring."""

    size: int = 4

    def fits(self):
        """A docstring."""
        return self.size


def function(a=1):
    if a:
        a = 2
    elif not a:
        for b in (1, 2):
            a += b
    try:
        a()
    except ValueError:
        a = 4
    return lambda: DOUBLE


def other():
    if 1:
        return 5
    @function
    def inner(): return 6
    with inner(7):
        return inner
'''


def probed() -> tuple[str, dict[str, int]]:
    """The text with all probes, and by the line of a place the number of its mutant."""
    sources = {"toy/a.py": Source(TOY)}
    mutants = draw(sources, 1000, 1)
    probes = Probes(sources, mutants, "toy")
    text = sources["toy/a.py"].edited(probes.edits()["toy/a.py"]).decode()
    return text.replace('__import__("toy._mutant_probe",fromlist=("hit",)).', ""), {
        TOY.splitlines()[mutant.place.statement.lineno - 1].strip().decode(): number
        for number, mutant in enumerate(mutants)
    }


def test_a_copy_with_all_probes_compiles_and_names_each_mutant() -> None:
    text, numbers = probed()
    ast.parse(text)
    hits = {
        argument.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "hit"
        for argument in node.args
        if isinstance(argument, ast.Constant)
    }
    assert hits == set(numbers.values())


def test_a_statement_has_its_probe_before_it_and_a_header_in_it() -> None:
    text, numbers = probed()
    assert f"hit({numbers['a += b']}); a += b" in text
    first, second = sorted((numbers["except ValueError:"], numbers["a = 4"]))
    assert f"hit({first},{second}); a = 4" in text
    assert f"elif (hit({numbers['elif not a:']})or(not a)):" in text


def test_a_constant_has_its_probes_in_the_functions_that_mention_what_is_made_of_it() -> None:
    text, numbers = probed()
    (beginning,) = re.findall(r"^def function\(a=1\):\n    hit\((.*)\)$", text, re.MULTILINE)
    assert {str(numbers["LIMIT = 3"]), str(numbers["DOUBLE = LIMIT * 2"])} < set(
        beginning.split(",")
    )
    assert text.startswith("\nLIMIT = 3\nDOUBLE = LIMIT * 2\n")


def test_an_attribute_of_a_class_has_its_probe_in_the_methods() -> None:
    text, numbers = probed()
    method = text.partition("def fits")[2].partition("def function")[0]
    assert f"hit({numbers['size: int = 4']},{numbers['return self.size']}); return" in method


def record_of(folder: Path, hits: str) -> Record:
    files = {
        "tests/slow.py": (5.0, ["store"], 100.0), "tests/quick.py": (1.0, [], 200.0),
        "tests/fixture.py": (0.1, ["store"], 300.0),
    }  # fmt: skip
    lines = [
        {
            "path": path, "seconds": seconds, "failed": [], "fixtures": fixtures,
            "began_at": began, "ended_at": began + 50,
        }
        for path, (seconds, fixtures, began) in files.items()
    ]  # fmt: skip
    (folder / "files.jsonl").write_bytes(b"\n".join(map(orjson.dumps, lines)))
    (folder / "hits").write_text(hits)
    return Record(folder)


def reaching(folder: Path, hits: str, names: set[str] | None = None) -> list[str]:
    (mutant,) = draw({"toy/a.py": Source(b"Y = True\n")}, 1, 1)
    return record_of(folder, hits).reaching(0, mutant, names or set(), folder)


def test_files_that_execute_a_place_come_first_the_quickest_first(tmp_path: Path) -> None:
    hits = "0\ttests/slow.py\t1\n0\ttests/quick.py\t1\n0\t<fixture store>\t1\n1\tother\t1\n"
    assert reaching(tmp_path, hits) == ["tests/quick.py", "tests/slow.py", "tests/fixture.py"]


def test_a_process_without_a_test_file_is_of_the_files_that_ran_at_the_time(tmp_path: Path) -> None:
    assert reaching(tmp_path, "0\t?\t225\n") == ["tests/quick.py"]


def test_a_test_file_that_mentions_a_name_reaches_it(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/slow.py").write_text("assert LIMIT == 3")
    (tmp_path / "tests/quick.py").write_text("assert UNLIMITED")
    assert reaching(tmp_path, "", {"LIMIT"}) == ["tests/slow.py"]


def test_a_cap_leaves_out_what_is_slow_but_never_all() -> None:
    seconds = {"a": 10.0, "b": 20.0, "c": 30.0}
    assert within(["a", "b", "c"], seconds, 30) == ["a", "b"]
    assert within(["c"], seconds, 5) == ["c"]


def result(mutant: str, outcome: str) -> Result:
    return Result(mutant, "core/a.py", 3, "f", "constant", "core", "-1\n+2", outcome)


def test_two_measurements_are_compared_by_mutant() -> None:
    before = {each: result(each, "killed") for each in "abc"} | {"d": result("d", "survived")}
    after = {"a": result("a", "killed"), "b": result("b", "survived"), "d": result("d", "killed")}
    lines = list(comparison(before, after))
    assert [line for line in lines if not line.startswith(" ")] == [
        "lost: killed before alone: 1",
        "gained: killed after alone: 1",
        "drawn before alone (their function changed): 1",
        "killed in both: 1",
        "killed before: 2, after: 2, of 3 in both",
    ]
    assert "  core/a.py:3 f [constant] b: killed -> survived" in lines


@pytest.mark.long
def test_a_summary_names_survivors_by_room_and_counts_what_was_not_run() -> None:
    lines = list(summary([result("a", "killed"), result("b", "not reached")], 3, 90))
    assert lines == [
        "core: 1 of 2 survive",
        "  core/a.py:3 f [constant] b: not reached",
        "    -1", "    +2",
        "1 mutants were not run",
        "killed 1 of 3",
    ]  # fmt: skip
