"""Help, usage errors, and an unreachable database: what a person meets first."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from failproof_es.cli import main
from failproof_es.cli.app.command_table import COMMANDS, FIRST_DAY, GROUPS, OTHER_WORDS
from tests.acceptance.cli.conftest import Program
from tools.command_reference import reference

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "command-line.md"


def paths(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from paths(inner, (*path, name))


def test_the_commands_are_those_of_the_contract() -> None:
    assert {" ".join(path) for path in paths(main)} >= {
        "start", "resume", "replay", "runs", "show", "results", "log",
        "projections status", "projections rebuild", "suites validate", "prompts import",
        "prompts list", "models",
        "models install", "db start", "db stop", "db status", "db url", "db shell",
    }  # fmt: skip


@pytest.mark.parametrize("path", list(paths(main)), ids=" ".join)
def test_every_command_explains_itself(path: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, [*path, "--help"], prog_name="failproof-es")
    assert done.exit_code == 0
    assert done.output.startswith("Usage: failproof-es")
    assert "--database-url" in done.output
    assert "\x1b" not in done.output
    _, *listed = re.split(r"\n(?:Commands|Run):", done.output)
    assert "..." not in "".join(listed), "no sentence is cut off"


def test_help_lists_every_command_once_in_a_group() -> None:
    said = CliRunner().invoke(main, ["--help"], prog_name="failproof-es").output
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)
    places = [said.index(f"\n{group}:\n") for group in GROUPS]
    assert places == sorted(places)
    for group, names in GROUPS.items():
        listed = said.partition(f"\n{group}:\n")[2].partition("\n\n")[0]
        assert re.findall(r"^  ([\w-]+) ", listed, re.MULTILINE) == list(names)


def test_without_a_command_it_shows_the_six_of_a_first_day(process: Program) -> None:
    done = process()
    assert done.returncode == 0
    assert len(FIRST_DAY) == 6
    assert all(f"  {command} " in done.stdout for command, _ in FIRST_DAY)
    assert {command.split()[0] for command, _ in FIRST_DAY} <= set(COMMANDS)
    assert "failproof-es --help" in done.stdout


def test_the_reference_in_the_docs_is_that_of_the_commands() -> None:
    assert REFERENCE.read_text() == reference(), (
        "write it again: python -m tools.command_reference > docs/reference/command-line.md"
    )


def test_the_version_is_that_of_the_package(process: Program) -> None:
    done = process("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("failproof-es ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("strat",),
        ("start",),
        ("start", "absent.yaml"),
        ("results", "1", "--format", "xml"),
        ("log", "--type", "Nonsense"),
        ("log", "--since", "yesterday"),
        ("log", "--stream", "not-an-id"),
        ("show", "no-such-run"),
        ("replay", "1", "--as-of", "noon"),
        ("suites", "validate", "absent/"),
        ("suites", "validate", ".", "--dialect", "nonsense"),
        ("projections", "rebuild", "nonsense"),
        ("db", "stop"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_exit_code_2_with_a_text(
    arguments: tuple[str, ...], process: Program
) -> None:
    done = process(*arguments)
    assert done.returncode == 2
    assert "rror: " in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("strat",), "No such command 'strat'. Did you mean 'start'?"),
        (("db", "statsu"), "No such command 'statsu'. Did you mean 'status' or 'start'?"),
        (("zzz",), "No such command 'zzz'. [unknown-command]\n"),
        (("view",), "No such command 'view'. `failproof-es console` shows all runs"),
        (("db", "view"), "No such command 'view'. [unknown-command]\n"),
        (("--versoin",), "No such option '--versoin'"),
    ],
    ids=lambda each: each if isinstance(each, str) else " ".join(each),
)
def test_a_mistyped_command_is_told_the_nearest_names(
    arguments: tuple[str, ...], said: str, process: Program
) -> None:
    done = process(*arguments)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize("word", OTHER_WORDS)
def test_a_word_of_other_tools_names_the_command_that_does_it(word: str) -> None:
    assert word not in COMMANDS
    for command_line in re.findall(r"`failproof-es ([^`]*)`", OTHER_WORDS[word]):
        assert command_line.split()[0] in COMMANDS


@pytest.mark.parametrize("command", ["report", "export", "results"])
def test_an_argument_that_no_record_could_hold_is_wrong_usage(
    command: str, process: Program
) -> None:
    done = process(command, "1", "-o", os.fsdecode(b"x\xff.html"))
    assert (done.returncode, done.stdout) == (2, "")
    assert r"'x\udcff.html'" in done.stderr and "[not-utf8]" in done.stderr


def test_a_closed_output_is_no_error() -> None:
    shell = ("sh", "-c", '"$0" -m failproof_es.cli models >&-', sys.executable)
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unreachable_database_is_told_without_its_password(process: Program) -> None:
    url = "postgresql://me:sesame@127.0.0.1:1/log"
    for arguments in (("runs", "--database-url", url), ("--database-url", url, "runs")):
        done = process(*arguments)
        assert done.returncode == 2
        assert "[database-unreachable]" in done.stderr
        assert "sesame" not in done.stderr
    done = process("db", "status", FAILPROOF_ES_DATABASE_URL=url)
    assert done.returncode == 1
    assert "postgresql://me:***@127.0.0.1:1/log" in done.stdout
    assert "sesame" not in process("--debug", "--database-url", url, "runs").stderr


def test_the_status_and_the_url_of_a_database(process: Program, database_url: str) -> None:
    assert process("db", "url").stdout.strip() == database_url
    status = process("db", "status")
    assert status.returncode == 0
    assert "external" in status.stdout


def test_nothing_is_said_to_be_installed_that_cannot_be(process: Program) -> None:
    done = process("models", "install", "gpt-9")
    assert (done.returncode, done.stderr.startswith("error: ")) == (2, True)


def test_valid_suites_are_counted_and_every_defect_is_listed(
    process: Program, tmp_path: Path
) -> None:
    good = tmp_path / "good.jsonl"
    good.write_text('{"case_id": "a-1", "suite_id": "a", "prompt": "hello"}\n')
    done = process("suites", "validate", good)
    assert done.returncode == 0, done.stderr
    assert "failproof" in done.stdout and "1 case in 1 file" in done.stderr
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(
        '{"prompt_id": "p", "content": "?", "category": "c", "expected_label": "borderline"}\n'
    )
    done = process("suites", "validate", good, prompts)
    assert done.returncode == 0, done.stderr
    assert "promptguard" in done.stdout and "2 cases in 2 files" in done.stderr
    nameless = process("prompts", "import", prompts, "--collection", " ")
    assert (nameless.returncode, "[empty-value]" in nameless.stderr) == (2, True)
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"case_id": "a-1", "suite_id": "a"}\nnonsense\n')
    done = process("suites", "validate", good, bad)
    assert done.returncode == 2
    assert "bad.jsonl:1" in done.stderr and "bad.jsonl:2" in done.stderr
