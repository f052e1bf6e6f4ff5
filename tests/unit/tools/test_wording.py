"""What a machine can see of names and sentences stays within bounds (docs/CONTRIBUTING.md)."""

from __future__ import annotations

import ast

import click
import pytest

from failproof_es.cli import main
from tools.wording import bound_names, empty_share, is_empty, long_sentences, repeated_classes

SOURCE = """
class Verdict:
    def _told(self, given, *rest):
        for each, event in given:
            found = [said for said in event]
        match rest:
            case [kept]:
                pass
"""


def test_names_of_every_kind_are_counted() -> None:
    names = list(bound_names(ast.parse(SOURCE)))
    empty = [name for name in names if is_empty(name)]
    assert sorted(empty) == ["_told", "each", "found", "given", "kept", "said"]
    assert {"Verdict", "self", "rest", "event"} <= set(names)


@pytest.mark.long
def test_names_say_what_they_are_bound_to() -> None:
    empty, names = empty_share()
    assert empty / names <= 0.003


@pytest.mark.long
def test_a_class_name_stands_once() -> None:
    assert repeated_classes() == {}


def test_a_long_sentence_is_found_in_a_command_and_below_it() -> None:
    group = click.Group("group", help="Short.")
    group.add_command(
        click.Command("long", help=f"Short. {'word ' * 31}. \n\n\b\ntable {'x ' * 40}")
    )
    assert [line.partition(":")[0] for line in long_sentences(group, "g")] == ["g long"]


def test_sentences_of_the_help_are_short() -> None:
    assert list(long_sentences(main)) == []
