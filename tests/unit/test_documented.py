"""What is read from the pages: commands, and whether what they print is what is shown."""

from __future__ import annotations

import pytest

from tests.documented import Block, Command, matches


def test_a_session_is_its_commands_with_their_output() -> None:
    text = "$ failproof-es show 1 --set a=b \\\n> --json  # so\nline\n\n$ failproof-es log | jq .\n"
    block = Block("page.md", 1, "console", text, "", "")
    assert block.commands == [
        Command(("failproof-es", "show", "1", "--set", "a=b", "--json"), ("line", "")),
        Command(("failproof-es", "log"), ()),
    ]


@pytest.mark.parametrize(
    ("shown", "same"),
    [
        (["a  1", "b"], True),
        (["a 1", "", "b"], True),
        (["a ...", "..."], True),
        (["...", "b"], True),
        (["warned: it", "a 1", "b"], True),
        (["warned: ...", "a 1", "b"], True),
        (["a 1"], False),
        (["a 2", "b"], False),
        (["b", "a 1"], False),
        (["a 1", "b", "warned: other"], False),
    ],
    ids=str,
)
def test_what_is_shown_is_all_that_is_printed_and_some_of_what_is_remarked(
    shown: list[str], same: bool
) -> None:
    assert (matches(tuple(shown), "a 1  \nb\n", "warned: it\n") is None) == same
