"""`--set key.path=value` puts a value over the file's, or says why it can't."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.configuration.loading import LoadedConfiguration, load_configuration
from failproof_es.configuration.locations import dotted, located
from failproof_es.problems import InvalidInput, Problem
from tests.every import every

TEXT = """\
test_run: {name: smoke}
models:
  - {provider: local, model: smollm2}
prompts: {path: suites/}
judge:
"""


def load(folder: Path, *settings: str, text: str = TEXT) -> LoadedConfiguration:
    path = folder / "run.yaml"
    path.write_text(text)
    return load_configuration(path, settings)


def problems_of(folder: Path, *settings: str, text: str = TEXT) -> list[Problem]:
    with pytest.raises(InvalidInput) as raised:
        load(folder, *settings, text=text)
    return raised.value.problems


def test_settings_are_part_of_the_resolved_configuration(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        "execution.parallel_workers=9",
        "models[0].temperature=0.5",
        "models[0].parameters.stop=[a, 'b=c']",
        "prompts.path=other/",
        "judge.provider=local",
        "judge.model=smollm2",
    )
    resolved = loaded.resolved()
    assert resolved["execution"]["parallel_workers"] == 9
    assert resolved["models"][0]["temperature"] == 0.5
    assert resolved["models"][0]["parameters"] == {"stop": ["a", "b=c"]}
    assert resolved["prompts"]["path"] == str(Path.cwd() / "other")
    assert resolved["judge"]["model"] == "smollm2"
    assert loaded.digest() != load(tmp_path).digest()


@every("value", ["Ticket #12", "#12", "'a' # b", "[a #b]"])
def test_a_value_that_a_comment_cuts_is_refused(tmp_path: Path, value: str) -> None:
    [problem] = problems_of(tmp_path, f"test_run.name={value}")
    assert (problem.code, problem.field) == ("invalid-value", "test_run.name")
    assert load(tmp_path, "test_run.name='Ticket #12'").resolved()["test_run"]["name"] == (
        "Ticket #12"
    )


def test_a_key_in_a_setting_is_not_quoted(tmp_path: Path) -> None:
    settings = ("models.0.api_key: sk-s3cr3t", "sk-proj-s3cr3ts3cr3ts3cr3t=x")
    problems = problems_of(tmp_path, *settings)
    assert [problem.code for problem in problems] == ["invalid-option", "unknown-field"]
    assert "s3cr3t" not in str(problems)


@pytest.mark.parametrize(
    ("setting", "field", "code_or_hint"),
    [
        ("execution.parallel_worker=9", "execution.parallel_worker", "did you mean `parallel_work"),
        ("execution.parallel_workers=x", "execution.parallel_workers", "wrong-type"),
        ("gates.no_regression_against=[1]", "gates.no_regression_against", "wrong-type"),
        ("prompts.path={a: b}", "prompts.path", "wrong-type"),
        ("prompts.path=7", "prompts.path", "put it in quotes"),
        ("gates.no_failures_at=S0", "gates.no_failures_at", "put it in brackets"),
        (
            "test_run.name=2024",
            "test_run.name",
            "a valid string; it is 2024 (put it in quotes, as it is written",
        ),
        (
            "test_run.name=true",
            "test_run.name",
            "a valid string; it is true (put it in quotes, as it is written",
        ),
        ("models[1].model=x", "models[1].model", "1 entry, counted from 0: there is no models.1"),
        ("models.1.model=x", "models[1].model", "1 entry, counted from 0: there is no models.1"),
        ("models.first=x", "models.first", "name one by its number, such as models.0"),
        ("models.-1.model=x", "models.-1.model", "name one by its number, such as models.0"),
        ("models.0.model.0=x", "models[0].model.0", "unknown-field"),
        ("models.9999999.model=x", "models.9999999.model", "name one by its number"),
        ("prompts[0]=x", "prompts[0]", "unknown-field"),
        ("test_run.name.first=x", "test_run.name.first", "unknown-field"),
        ("execution.parallel_workers=", "execution.parallel_workers", "empty-value"),
        ("execution.parallel_workers", None, "invalid-option"),
        ("=3", None, "invalid-option"),
        ("models[x].model=3", None, "invalid-option"),
        (".".join(["prompts.options", *"a" * 60]) + "=3", None, "invalid-option"),
        ("models[0].parameters=&a {}", None, "unsupported-yaml"),
        ("models[0].api_key=sk-s3cr3t", "models[0].api_key", "key-exposed"),
    ],
)
def test_what_can_not_be_set_is_said_to_come_from_the_command_line(
    tmp_path: Path, setting: str, field: str | None, code_or_hint: str
) -> None:
    (problem,) = problems_of(tmp_path, setting)
    assert (problem.path, problem.field) == (Path("--set"), field)
    assert code_or_hint in str(problem)
    assert "s3cr3t" not in str(problem)


def test_all_problems_of_the_file_and_of_the_settings_are_said_at_once(tmp_path: Path) -> None:
    found = problems_of(
        tmp_path,
        "execution.repetitions=0",
        "execution.repetitions=2",
        text=TEXT.replace("judge:", "jugde:"),
    )
    assert {(str(each.path), each.field, each.code) for each in found} == {
        ("--set", "execution.repetitions", "options-conflict"),
        ("--set", "execution.repetitions", "out-of-range"),
        (str(tmp_path / "run.yaml"), "jugde", "unknown-field"),
    }


def test_an_entry_of_a_list_is_named_by_its_number_which_no_shell_reads_as_a_pattern(
    tmp_path: Path,
) -> None:
    two = TEXT.replace("smollm2}", "smollm2}\n  - {provider: local, model: other.gguf}")
    rules = "prompts.options.decision=[{label: a, F: {at_least: 0.5}}, {label: b}]"
    loaded = load(
        tmp_path,
        "models.0.temperature=0",
        "models.1.parameters.stop=[a, b]",
        rules,
        "prompts.options.decision.0.F.at_least=0.9",
        "gates.min_accuracy_by_suite.2024=0.5",
        text=two,
    )
    resolved = loaded.resolved()
    assert [each["temperature"] for each in resolved["models"]] == [0.0, 0.0]
    assert resolved["models"][1]["parameters"] == {"stop": ["a", "b"]}
    assert resolved["prompts"]["options"]["decision"][0] == {"label": "a", "F": {"at_least": 0.9}}
    assert resolved["gates"]["min_accuracy_by_suite"] == {"2024": 0.5}
    bracketed = load(tmp_path, "models[1].seed=7", text=two)
    assert bracketed.digest() == load(tmp_path, "models.1.seed=7", text=two).digest()


def test_both_ways_to_name_an_entry_are_the_same_place(tmp_path: Path) -> None:
    (twice,) = problems_of(tmp_path, "models[0].seed=1", "models.0.seed=2")
    assert (twice.field, twice.code) == ("models[0].seed", "options-conflict")
    (swallowed,) = problems_of(tmp_path, "models.0.seed=1", "models=[]")
    assert (swallowed.field, swallowed.message) == ("models", "would replace models[0].seed")


def test_what_a_setting_began_and_left_unfinished_is_blamed_on_the_setting(tmp_path: Path) -> None:
    for setting, field in (
        ("judge.provider=local", "judge.model"),
        ("judges.0.provider=local", "judges"),
    ):
        (problem,) = problems_of(tmp_path, setting)
        assert (problem.path, problem.field) == (Path("--set"), field)


@given(st.lists(st.from_regex(r"[a-zA-Z_]\w{0,5}", fullmatch=True) | st.integers(0, 999)))
def test_a_location_is_read_back_as_it_was_written(location: list[str | int]) -> None:
    if location and isinstance(location[0], str):
        assert located(dotted(tuple(location))) == tuple(location)


def test_problems_of_a_dialects_options_get_their_place(tmp_path: Path) -> None:
    text = TEXT.replace("judge:", "").replace(
        "prompts: {path: suites/}", "prompts:\n  path: suites/\n  options:\n    tempalte: x"
    )
    loaded = load(tmp_path, text=text)
    placed = loaded.placed(
        Problem("unknown-field", "is not known", field="prompts.options.tempalte")
    )
    assert (placed.path, placed.line) == (tmp_path / "run.yaml", 7)
    spaced = loaded.placed(Problem("c", "m", field="prompts.options.my suite"))
    assert (spaced.path, spaced.line) == (tmp_path / "run.yaml", 6)
    own = Problem("unknown-field", "is not known", field="prompts.options.tempalte", path=Path("x"))
    assert loaded.placed(own) == own


@pytest.mark.parametrize(
    "setting",
    [
        "models.0.seed=10000000000000000000000",
        "models.0.max_tokens=99999999999999999999",
        "models.0.parameters.top_p=.nan",
        "models.0.parameters.logit_bias=[{a: -.inf}]",
        "models.0.parameters.top_k=-9223372036854775809",
        "prompts.options.bound=9223372036854775808",
        "execution.timeout_per_request_ms=10000000000000000000000",
        "execution.repetitions=1000000",
    ],
)
def test_a_number_that_no_record_could_hold_is_refused(tmp_path: Path, setting: str) -> None:
    (problem,) = problems_of(tmp_path, setting, text=TEXT.replace("judge:", ""))
    assert problem.path == Path("--set")
    field = problem.field or ""
    assert field.replace("[0]", ".0").startswith(setting.partition("=")[0])


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("models.0.max_tokens=0", "greater than or equal to 1; it is 0"),
        ("models.0.max_tokens=many", "a valid integer; it is 'many'"),
        ("models.0.max_token=5", "did you mean `max_tokens`"),
        ("models.0.max_token=5a", "never write API keys"),
        ("prompts.filters.category=x", "put it in brackets"),
    ],
)
def test_a_count_of_tokens_is_not_taken_for_a_key(tmp_path: Path, setting: str, words: str) -> None:
    (problem,) = problems_of(tmp_path, setting)
    assert words in str(problem)
