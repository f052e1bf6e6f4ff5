"""Shell text becomes a tree, or a named refusal; nothing in it runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from failproof_es.shell_analysis.errors import ProgramMissing, ProgramTooSlow, Unparseable
from failproof_es.shell_analysis.parse import programs, shell
from failproof_es.shell_analysis.parse.shell import Script, parse_command, parse_commands


def test_a_command_becomes_a_tree() -> None:
    script = parse_command("ls -l | wc")
    assert script.command == "ls -l | wc"
    assert script.tree["Stmts"][0]["Cmd"]["Op"] == "|"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("# nothing", "only_comment"),
        ("a\0b", "nul"),
        ("\ud800", "not_unicode"),
        ("é" * 2049, "too_long"),
        ("if true", "syntax"),
        ("echo " + "$(" * 60 + "ls" + ")" * 60, "too_deep"),
        ("(" * 900 + "a" + ")" * 900, "too_deep"),
    ],
)
def test_what_is_no_command_is_refused_by_name(text: str, code: str) -> None:
    with pytest.raises(Unparseable) as refusal:
        parse_command(text)
    assert refusal.value.code == code
    assert refusal.value.reason


def test_a_command_of_4096_bytes_is_not_too_long() -> None:
    assert parse_command("x" * 4096)
    with pytest.raises(Unparseable):
        parse_command("x" * 4097)


def test_many_are_parsed_in_order_and_refusals_stand_in_their_place() -> None:
    first, second, third = parse_commands(["ls", "if", "pwd"])
    assert isinstance(first, Script) and first.command == "ls"
    assert isinstance(second, Unparseable) and second.code == "syntax"
    assert isinstance(third, Script) and third.command == "pwd"


def test_a_tree_is_the_callers_own() -> None:
    parse_command("ls").tree.clear()
    assert parse_command("ls").tree["Stmts"]


def test_languages_differ() -> None:
    assert parse_command("a=(1 2)", "bash")
    with pytest.raises(Unparseable):
        parse_command("a=(1 2)", "posix")


def test_the_parser_is_not_looked_for_on_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    impostor = tmp_path / "shfmt"
    impostor.write_text("#!/bin/sh\nexit 3\n")
    impostor.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    programs.locate.cache_clear()
    assert parse_command("echo not the impostor")
    assert programs.locate("shfmt") != impostor


def test_a_missing_program_is_named() -> None:
    with pytest.raises(ProgramMissing, match="shfmt-nowhere"):
        programs.locate("shfmt-nowhere")


def test_a_program_that_takes_too_long_is_stopped() -> None:
    with pytest.raises(ProgramTooSlow, match="took longer"):
        programs.run("shfmt", "--to-json", text="ls", seconds=0.0001)


def test_parsing_leaves_no_trace(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    parse_command(f"touch {trace}; $(touch {trace}); `touch {trace}`; : > {trace}")
    assert not trace.exists()


def test_the_version_is_that_of_the_program() -> None:
    assert shell.tool_version().startswith("shfmt-3.")
