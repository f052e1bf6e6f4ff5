"""Every command line of the README and of the how-to pages names commands and options there are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from failproof_es.cli import main

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SAID_OTHERWISE = {"CHANGELOG.md", "command-line.md"}
"""What was possible once, and the reference, which is generated."""


def command_lines(text: str) -> list[list[str]]:
    """The arguments of each `failproof-es` that stands in a block of the page."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.S | re.M)
    fenced = [block for language, block in blocks if language in ("", "console", "shell", "yaml")]
    indented = re.findall(r"^    (failproof-es .*)$", text, re.M)
    lines = "\n".join([*fenced, *indented]).replace("\\\n> ", " ").splitlines()
    called = (re.match(r"(?:\$ |- run: )?failproof-es (.*)", line.strip()) for line in lines)
    return [shlex.split(each[1].partition(" | ")[0], comments=True) for each in called if each]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_exist_with_their_options(page: Path) -> None:
    if page.name in SAID_OTHERWISE:
        return
    for arguments in command_lines(page.read_text("utf-8")):
        command: click.Command = main
        context = click.Context(main, info_name="failproof-es", **main.context_settings)
        rest = arguments
        while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
            found = command.resolve_command(context, rest)
            assert found[1] is not None, arguments
            command, rest = found[1], found[2]
            context = click.Context(command, info_name=found[0], parent=context)
        command.make_parser(context).parse_args(list(rest))


def test_the_pages_show_commands() -> None:
    shown = {
        page.relative_to(ROOT).as_posix(): len(command_lines(page.read_text("utf-8")))
        for page in PAGES
    }
    assert shown["README.md"] >= 3 and shown["docs/get-started/first-run.md"] >= 9
    assert shown["docs/how-to/auditing.md"] >= 13 and shown["docs/how-to/promptguard.md"] >= 6
    assert command_lines("```\n$ failproof-es start a.yaml --set x=1 \\\n> --quiet  # so\n```") == [
        ["start", "a.yaml", "--set", "x=1", "--quiet"]
    ]
