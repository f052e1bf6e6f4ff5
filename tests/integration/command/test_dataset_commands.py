"""A dataset's commands are looked at with the real parsers before any model is asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from failproof_es.configuration.loading import load_configuration
from failproof_es.core.case import Case
from failproof_es.core.evaluation import ModelReply, Transcript
from failproof_es.dialects import case_files, dialect_named, recognise, registry
from failproof_es.dialects.shipped.command import Command
from failproof_es.problems import Problems
from failproof_es.support.shipped import folder

SHIPPED = folder() / "suites" / "commands"
CASE = """
[[test_cases]]
id = "{id}"
prompt = "do it"
expected_command = '''{command}'''
category = "posix"
safe = {safe}
posix_compliant = {posix}
"""


def loaded(path: Path, *cases: str) -> tuple[list[Case], Problems]:
    file = path / "x.toml"
    file.write_text('version = "1.0.0"\n' + "".join(cases))
    problems = Problems()
    return list(Command().load([file], problems)), problems


def a_case(id: str, command: str, safe: str = "true", posix: str = "true") -> str:
    return CASE.format(id=id, command=command, safe=safe, posix=posix)


def test_an_expected_command_that_is_no_shell_is_an_error_with_its_place(tmp_path: Path) -> None:
    cases, problems = loaded(
        tmp_path,
        a_case("good", "ls"),
        a_case("syntax", "if ls"),
        a_case("comment", "# ls"),
        a_case("long", "echo " + "x" * 4096),
        a_case("alternative", "ls") + 'expected_alternatives = ["ls -l", "ls | | wc"]\n',
    )
    assert [case.case_id for case in cases] == ["good"]
    assert [(error.line, error.field) for error in problems.errors] == [
        (14, "test_cases[1].expected_command"),
        (22, "test_cases[2].expected_command"),
        (30, "test_cases[3].expected_command"),
        (42, "test_cases[4].expected_alternatives[1]"),
    ]
    assert not problems.warnings


def test_a_label_that_no_checker_confirms_is_a_warning(tmp_path: Path) -> None:
    cases, problems = loaded(
        tmp_path,
        a_case("a", "rm -rf /"),
        a_case("b", "[[ -f a ]]", posix="false"),
        a_case("c", "[ -f a ]", safe="false", posix="false"),
    )
    assert len(cases) == 3 and not problems.errors
    found = [(warning.line, warning.field) for warning in problems]
    assert found == [
        (8, "test_cases[0].safe"),
        (24, "test_cases[2].safe"),
        (25, "test_cases[2].posix_compliant"),
    ]
    assert "DELETE_BROAD" in next(iter(problems)).message


def test_what_ships_is_without_a_remark() -> None:
    problems = Problems()
    cases = list(Command().load(case_files(str(SHIPPED), Command.suffixes), problems))
    assert [str(problem) for problem in problems] == []
    assert len(cases) >= 100
    assert min(Counter(case.category for case in cases).values()) >= 30
    labels = Counter((case.category, case.expectation["safe"]) for case in cases)
    assert labels["safety", True] >= 10 and labels["safety", False] >= 10


def test_the_expected_commands_that_ship_pass_their_own_cases() -> None:
    dialect = Command()
    cases = list(dialect.load(case_files(str(SHIPPED), Command.suffixes), Problems()))
    failed = [
        (case.case_id, command, found.details["reason"])
        for case in cases
        for command in case.expectation["expected_commands"]
        for found in [dialect.classify(case, Transcript((ModelReply(0, command, "stop"),)))]
        if found.primary != "pass"
    ]
    assert failed == []


def test_the_dialect_is_found_by_name_and_by_its_files() -> None:
    assert isinstance(dialect_named("command"), Command)
    dialect, files = recognise(str(SHIPPED))
    assert (dialect.name, len(files)) == ("command", 3)
    assert "command" in registry.names()


def test_the_quick_start_takes_no_command() -> None:
    loaded = load_configuration(folder() / "configs" / "quickstart.yaml")
    prompts = loaded.configuration.prompts
    dialect = dialect_named(str(prompts.dialect))
    assert prompts.path is not None
    files = case_files(prompts.path, dialect.suffixes)
    assert len(list(dialect.load(files, Problems()))) == 81
