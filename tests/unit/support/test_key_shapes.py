"""Keys are recognised by their shape: in configurations they are errors, in cases a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from failproof_es.cli.app.errors import report
from failproof_es.cli.app.option_values import read_assignments
from failproof_es.cli.usage import WrongUsage
from failproof_es.core.case import Case, Turn
from failproof_es.engine.planning.case_warnings import CaseWarnings
from failproof_es.problems import Problem, Problems, shown_value
from failproof_es.support.key_shapes import find_key, may_hold_key


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-" + "Ab3" * 16,
        "sk-ant-api03-" + "x1" * 20,
        "AKIA" + "ABCDEFGH12345678",
        "AIza" + "b" * 35,
        "ghp_" + "a" * 36,
        "hf_" + "c" * 34,
        "xoxb-1234567890-abcdefgh",
        "glpat-" + "d" * 20,
        "-----BEGIN RSA PRIVATE KEY-----",
        "://me:hunter22@",
        "://me:PASSWORD1@",
        "://me:{secret}x@",
    ],
)
def test_a_key_is_found_within_any_text(key: str) -> None:
    assert find_key(f"Use {key} for it.") is not None
    assert may_hold_key(key)  # the stricter shape is part of the looser one: no error quotes it


def test_no_problem_and_no_error_quotes_a_key(capsys: pytest.CaptureFixture[str]) -> None:
    key = "sk-proj-" + "Ab3" * 16
    short = "sk-s3cr3t"  # of a shape that only the looser check knows
    texts = [str(Problem("c", f"{key!r} is wrong", field=f"a.{key}", remedy=f"not {key}"))]
    texts += [WrongUsage("usage-error", f"'{key}' is not a time").message, shown_value(short)]
    problems = Problems()
    read_assignments("--option", "NAME=VALUE", [f"api_key: {short}"], problems)
    report(ValueError(f"never {key}"), debug=True)
    texts += [*map(str, problems), "".join(capsys.readouterr())]
    assert len(texts) == 5 and not any("s3cr3t" in text or "Ab3Ab3" in text for text in texts)


@pytest.mark.parametrize(
    "text",
    [
        "A task-oriented, risk-adjusted-assistant-of-2026 with a long-name-of-many-words-1",
        "https://example.org/a:b@c and user@example.org",
        "sk-is-a-short-word-for-secret-key",
        "d41d8cd98f00b204e9800998ecf8427e",
        "postgres://USER:PASSWORD@host/db and postgres://user:password@host/db",
        "amqp://app:${RABBIT_SECRET}@mq, ftp://{user}:{secret}@h, ftp://me:<secret>@h, a://b:*****@c",
    ],
)
def test_other_texts_are_no_keys(text: str) -> None:
    assert find_key(text) is None


def test_a_case_with_a_key_is_warned_of_with_its_line_and_without_the_key(tmp_path: Path) -> None:
    key = "sk-proj-" + "Ab3" * 16
    file = tmp_path / "cases.yaml"
    file.write_text(f"- id: a\n  turns:\n    - content: My key is {key}.\n")
    turns = (Turn(role="user", content=f"My key is {key}."),)
    case = Case(dialect="d", case_id="a", suite_id="s", turns=turns)
    keys = CaseWarnings()
    keys.add([file], case.model_copy(update={"turns": ()}))
    assert list(keys.warnings()) == []
    for number in range(22):
        keys.add([tmp_path / "none.yaml"] if number > 19 else [file], case)  # read no more
    first, *others, rest = keys.warnings()
    assert (first.path, first.line, first.severity) == (file, 3, "warning")
    assert len(others) == 19 and str(rest).startswith("2 more cases: a text that is sent")
    assert key not in "".join(map(str, (first, rest)))


def test_cases_that_lack_an_expectation_of_their_source_are_counted() -> None:
    warnings = CaseWarnings()
    for tags in (("partly-imported",), (), ("a", "partly-imported")):
        case = Case(dialect="d", case_id="a", suite_id="s", turns=(), tags=tags)
        warnings.add([], case)
    [told] = warnings.warnings()
    assert (told.code, told.severity) == ("partly-imported", "warning") and "2 cases" in str(told)
