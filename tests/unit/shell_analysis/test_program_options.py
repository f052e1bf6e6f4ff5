"""The options of programs that write files, read as those programs read them."""

from __future__ import annotations

import pytest

from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.files import file_operands
from failproof_es.shell_analysis.safety.options import ParsedOptions
from failproof_es.shell_analysis.safety.program_table import read


def given(line: str) -> ParsedOptions:
    name, *arguments = line.split()
    return read(ShellCommand(name, tuple(arguments)))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("cp a b", ("a", "b")),
        ("cp -t d a", ("a",)),
        ("cp -rvt d a", ("a",)),
        ("cp -td a", ("a",)),
        ("cp --target-directory=d a", ("a",)),
        ("cp --target d a", ("a",)),
        ("cp a -v b", ("a", "b")),
        ("cp -- -a b", ("-a", "b")),
        ("cp -- -- b", ("--", "b")),
        ("cp - b", ("-", "b")),
        ("cp --frobnicate a b", ("a", "b")),
        ("cp --frobnicate=x a b", ("a", "b")),
        ("cp --s a b", ("a", "b")),
        ("gcp -t d a", ("a",)),
        ("split -l 100 f x", ("f", "x")),
        ("frob -o x y", ("x", "y")),
        ("rename -e s/a/b/ f", ("f",)),
    ],
)
def test_what_is_no_option_and_no_value_is_left(line: str, words: tuple[str, ...]) -> None:
    found = given(line)
    assert found.understood
    assert found.words == words


@pytest.mark.parametrize("line", ["cp -t d a", "cp -td a", "cp --target-dir d a"])
def test_an_option_goes_by_each_of_its_names(line: str) -> None:
    found = given(line)
    for name in ("-t", "--target-directory"):
        assert found.has(name)
        assert found.values(name) == ["d"]
    assert not found.has("-T")


def test_an_option_that_is_not_listed_is_a_flag_that_can_be_asked_for() -> None:
    found = given("cp -Y --frobnicate=x a b")
    assert found.has("-Y") and found.values("--frobnicate") == ["x"]


def test_an_option_that_names_a_written_file_takes_a_value() -> None:
    shared = {"gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "lzma", "lz4", "compress"}
    for name, entry in file_operands._TABLE.items():
        for option in entry.options if name not in shared else ():
            assert given(f"{name} {option} x y").values(option) == ["x"], (name, option)
