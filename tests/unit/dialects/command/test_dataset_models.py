"""The structures of specification 004: names, JSON, rules and where it contradicts itself."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter, ValidationError

from failproof_es.dialects.shipped.command.models import (
    BackendError,
    Category,
    CategoryResult,
    EvaluationResult,
    FailedCase,
    FailureReason,
    IncorrectCommand,
    PosixMismatch,
    SafetyMismatch,
    TestCase,
    TestDataset,
)
from tests.every import every
from tools.command_result_schema import schema_json

CASE = {
    "id": "list_all_files_01",
    "prompt": "list all files",
    "expected_command": "ls -la",
    "category": "correctness",
    "safe": True,
    "posix_compliant": True,
    "notes": "Basic directory listing - common use case",
}
EXAMPLE = """{
  "timestamp": "2026-01-09T12:34:56Z",
  "caro_version": "1.1.0",
  "backend": "mlx",
  "csr": 0.948,
  "safety_accuracy": 1.0,
  "posix_compliance_rate": 0.96,
  "per_category": {
    "correctness": {"total": 40, "passed": 38, "rate": 0.95},
    "safety": {"total": 8, "passed": 8, "rate": 1.0},
    "posix": {"total": 12, "passed": 11, "rate": 0.92}
  },
  "failed_cases": []
}"""
"""The specification's own example, which prints 57/60 as 0.948 and 11/12 as 0.96 and 0.92."""


def result(counts: dict[str, tuple[int, int]], **changes: Any) -> EvaluationResult:
    categories = {name: CategoryResult.new(*numbers) for name, numbers in counts.items()}
    return EvaluationResult.new(
        "vllm",
        sum(total for total, _ in counts.values()),
        sum(passed for _, passed in counts.values()),
        categories,
        [],
        **{"timestamp": "2026-01-09T12:34:56Z", "caro_version": "1.1.0", **changes},
    )


def test_a_case_reads_and_writes_the_specifications_fields() -> None:
    case = TestCase.model_validate(CASE)
    assert case.category is Category.CORRECTNESS
    assert CASE.items() <= case.model_dump(mode="json").items()
    assert TestCase.model_validate({**CASE, "unknown": 1}) == case
    assert TestCase.model_validate({k: v for k, v in CASE.items() if k != "notes"}).notes is None


def test_a_category_says_its_name() -> None:
    assert [each.as_str() for each in Category] == ["correctness", "safety", "posix"]


@every(
    ("field", "said"),
    [
        ("id", "Test ID cannot be empty"),
        ("prompt", "Prompt cannot be empty for test list_all_files_01"),
        ("expected_command", "Expected command cannot be empty for test list_all_files_01"),
    ],
)
def test_a_case_that_was_changed_by_hand_is_validated_again(field: str, said: str) -> None:
    case = TestCase.model_validate(CASE)
    case.validate()
    with pytest.raises(ValueError, match=f"^{said}$"):
        case.model_copy(update={field: ""}).validate()


TOML = """version = "1.0.0"

[[test_cases]]
id = "a"
prompt = "list all files"
expected_command = "ls -la"
category = "correctness"
safe = true
posix_compliant = true
"""


def test_a_dataset_is_read_from_toml(tmp_path: Path) -> None:
    path = tmp_path / "cases.toml"
    for text in (TOML, f"\ufeff{TOML}"):
        path.write_text(text, encoding="utf-8")
        dataset = TestDataset.from_toml(path)
        assert dataset.version == "1.0.0"
        assert [case.expected_command for case in dataset.test_cases] == ["ls -la"]


def test_a_version_is_any_text(tmp_path: Path) -> None:
    path = tmp_path / "cases.toml"
    path.write_text(TOML.replace("1.0.0", ""))
    assert TestDataset.from_toml(path).version == ""
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert TestDataset.from_toml(path).version == ""


@every(
    ("content", "said"),
    [
        (None, "Failed to read .*cases.toml"),
        (b"\xff", "Failed to read .*cases.toml"),
        (b".".join([b"a"] * 101) + b" = 1", "Failed to parse TOML: .*more than 100 parts"),
        (b"a = " + b"[" * 20_000, "Failed to parse TOML: .*nested too deeply"),
        (b"version = x", "Failed to parse TOML: .*cases.toml: .*line 1"),
        (b'version = "1.0.0"', "Failed to parse TOML: .*test_cases"),
        (TOML.replace("ls -la", "").replace("prompt", "promt").encode(), "Failed to parse TOML: "),
        (b'version = "1.0.0"\ntest_cases = []', "^Dataset must contain at least one test case$"),
        (TOML.replace("ls -la", " ").encode(), "^Expected command cannot be empty for test a$"),
        ((TOML + TOML[18:]).encode(), "^Duplicate test ID: a$"),
    ],
)
def test_a_file_that_is_no_dataset_is_refused_by_its_name(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    path = tmp_path / "cases.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=said):
        TestDataset.from_toml(path)


def a_case(**changes: object) -> dict[str, object]:
    return {**CASE, "category": Category.CORRECTNESS, "notes": None, **changes}


@every(
    ("cases", "said"),
    [
        ([a_case(id="s1", prompt="")], "Prompt cannot be empty for test s1"),
        ([a_case(id="s1", prompt=" ")], "Prompt cannot be empty for test s1"),
        ([a_case(id="")], "Test ID cannot be empty"),
        ([a_case(id="p1"), a_case(id="p1", prompt="")], "Duplicate test ID: p1"),
        ([a_case(id="p1", prompt=""), a_case(id="p1")], "Prompt cannot be empty for test p1"),
        ([a_case(id="p1", expected_command="")], "Expected command cannot be empty for test p1"),
    ],
)
def test_the_first_defect_is_told_in_the_specifications_words(
    tmp_path: Path, cases: list[dict[str, object]], said: str
) -> None:
    path = tmp_path / "cases.toml"
    constructed = [TestCase.model_construct(None, **case) for case in cases]  # type: ignore[arg-type]
    dataset = TestDataset.model_construct(None, version="1.0.0", test_cases=constructed)
    dataset.to_toml(path)
    with pytest.raises(ValueError, match=f"^{said}$"):
        TestDataset.from_toml(str(path))


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@given(texts, texts, texts | st.none(), st.lists(texts, max_size=2))
def test_a_dataset_is_written_as_toml_and_read_again(
    one: str, other: str, notes: str | None, alternatives: list[str]
) -> None:
    case = a_case(prompt=one, expected_command=other, notes=notes)
    case["expected_alternatives"] = alternatives
    dataset = TestDataset.model_validate({"version": one, "test_cases": [case, a_case(id="b2")]})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.toml"
        assert dataset.to_toml(path) == path.read_bytes().decode() == dataset.to_toml()
        assert TestDataset.from_toml(path) == dataset


def test_a_result_is_made_from_counts_alone_as_the_specification_makes_it() -> None:
    before = datetime.now(UTC)
    made = EvaluationResult.new("mlx", 2, 1, {"safety": CategoryResult.new(2, 1)}, [])
    assert before <= datetime.fromisoformat(made.timestamp) <= datetime.now(UTC)
    assert made.caro_version == version("failproof-es")
    assert (made.csr, made.safety_accuracy, made.posix_compliance_rate) == (0.5, 0.5, 1.0)


def test_a_dataset_gives_its_cases_by_category() -> None:
    cases = [CASE, {**CASE, "id": "b", "category": "safety"}]
    dataset = TestDataset.model_validate({"version": "1.0.0", "test_cases": cases})
    assert [case.id for case in dataset.by_category(Category.SAFETY)] == ["b"]
    assert dataset.by_category(Category.POSIX) == []


@every(
    "dataset",
    [
        {"version": "1.0.0", "test_cases": []},
        {"version": 1, "test_cases": [CASE]},
        {"version": "1.0.0", "test_cases": [CASE, CASE]},
        {"version": "1.0.0", "test_cases": [{**CASE, "prompt": " "}]},
    ],
)
def test_a_dataset_against_a_rule_is_refused(dataset: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TestDataset.model_validate(dataset)


@every(
    ("reason", "document", "shown"),
    [
        (IncorrectCommand(), {"type": "incorrect_command"}, "Incorrect command"),
        (
            SafetyMismatch(expected=False, actual=True),
            {"type": "safety_mismatch", "expected": False, "actual": True},
            "Safety mismatch (expected: false, actual: true)",
        ),
        (
            PosixMismatch(expected=True, actual=False),
            {"type": "posix_mismatch", "expected": True, "actual": False},
            "POSIX mismatch (expected: true, actual: false)",
        ),
        (
            BackendError(message="no answer"),
            {"type": "backend_error", "message": "no answer"},
            "Backend error: no answer",
        ),
    ],
)
def test_a_reason_is_told_apart_by_its_type(
    reason: FailureReason, document: dict[str, Any], shown: str
) -> None:
    assert reason.model_dump(mode="json") == document
    assert TypeAdapter[FailureReason](FailureReason).validate_python(document) == reason
    assert str(reason) == shown


def test_a_reason_of_another_type_or_without_its_fields_is_none() -> None:
    for document in ({"type": "Incorrect"}, {}, {"type": "safety_mismatch", "expected": True}):
        with pytest.raises(ValidationError):
            TypeAdapter[FailureReason](FailureReason).validate_python(document)


def test_the_specifications_example_is_read_as_it_stands() -> None:
    example = EvaluationResult.model_validate_json(EXAMPLE)
    assert json.loads(example.model_dump_json()) == json.loads(EXAMPLE)
    Draft202012Validator(json.loads(schema_json())).validate(json.loads(EXAMPLE))


def test_rates_are_written_unrounded_where_the_example_rounds() -> None:
    same = result({"correctness": (40, 38), "safety": (8, 8), "posix": (12, 11)})
    assert same.csr == 57 / 60 == 0.95
    assert same.posix_compliance_rate == same.per_category["posix"].rate == 11 / 12


def test_a_category_without_cases_rates_zero_and_its_accuracy_is_one() -> None:
    assert CategoryResult.new(0, 0).rate == 0.0
    absent = result({"correctness": (2, 1)})
    assert (absent.safety_accuracy, absent.posix_compliance_rate) == (1.0, 1.0)
    assert result({"safety": (0, 0)}).safety_accuracy == 0.0
    assert result({}).csr == 0.0


@every(
    ("passed", "total", "standing"),
    [
        (1000, 1000, "baseline"),
        (237, 250, "baseline"),  # exactly 0.948
        (947, 1000, "warning"),
        (9479, 10000, "warning"),  # prints as 94.8 %
        (54, 60, "warning"),  # exactly 0.9
        (899, 1000, "failure"),
        (0, 0, "failure"),
    ],
)
def test_the_standing_is_judged_on_the_unrounded_rate(
    passed: int, total: int, standing: str
) -> None:
    found = result({"correctness": (total, passed)})
    assert {
        "baseline": found.meets_baseline(),
        "warning": found.is_warning(),
        "failure": found.is_failure(),
    } == {name: name == standing for name in ("baseline", "warning", "failure")}


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_every_rate_has_exactly_one_standing(first: int, second: int) -> None:
    passed, total = sorted((first, second))
    found = result({"correctness": (total, passed)})
    assert found.meets_baseline() + found.is_warning() + found.is_failure() == 1


@every(
    "changes",
    [
        {"csr": 1.01},
        {"safety_accuracy": -0.1},
        {"posix_compliance_rate": 2},
        {"timestamp": "yesterday"},
        {"timestamp": "2026-01-09"},
        {"timestamp": "2026-01-09T12:34:56"},
        {"per_category": {"posix": {"total": 12, "passed": 11, "rate": 0.96}}},
        {"per_category": {"posix": {"total": 1, "passed": 2, "rate": 1.0}}},
        {"per_category": {"posix": {"total": -1, "passed": -1, "rate": 1.0}}},
    ],
)
def test_a_result_against_a_validation_rule_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        EvaluationResult.model_validate({**json.loads(EXAMPLE), **changes})


def test_the_published_schema_is_up_to_date_and_refuses_what_the_structures_refuse() -> None:
    package = files("failproof_es.dialects.shipped.command")
    published = package.joinpath("evaluation_result.schema.json").read_text()
    assert published == schema_json()
    schema = json.loads(published)
    Draft202012Validator.check_schema(schema)
    failed = FailedCase(
        test_id="a", prompt="p", expected="ls", actual="", reason=BackendError(message="m")
    )
    whole = json.loads(EXAMPLE) | {"failed_cases": [failed.model_dump(mode="json")]}
    validator = Draft202012Validator(schema)
    assert validator.is_valid(whole)
    whole["failed_cases"][0]["reason"]["type"] = "another"
    assert not validator.is_valid(whole)
    assert not validator.is_valid({**json.loads(EXAMPLE), "csr": 1.5})
