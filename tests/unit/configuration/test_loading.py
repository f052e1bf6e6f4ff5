"""A configuration is read whole, or every reason why not is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from failproof_es.configuration.json_schema import schema_json
from failproof_es.configuration.loading import configuration_from_resolved, load_configuration
from failproof_es.problems import InvalidInput, Problem

CONFIGS = Path(__file__).parents[3] / "configs"
GOOD = """\
test_run: {name: smoke}
models:
  - {provider: local, model: smollm2, version: 2024-10-22, temperature: 0}
prompts: {path: suites/}
"""


def problems_of(tmp_path: Path, text: str | bytes) -> list[Problem]:
    path = tmp_path / "run.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InvalidInput) as raised:
        load_configuration(path)
    return raised.value.problems


@pytest.mark.parametrize("name", ["quickstart.yaml", "openai-compatible.yaml", "promptguard.yaml"])
def test_what_ships_is_valid(name: str) -> None:
    load_configuration(CONFIGS / name)


def test_the_committed_schema_is_up_to_date() -> None:
    assert (CONFIGS / "failproof-es.schema.json").read_text() == schema_json()


def test_a_recorded_configuration_is_rebuilt_and_the_name_of_the_run_id_changes_no_digest(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(GOOD)
    loaded = load_configuration(path)
    assert loaded.configuration.models[0].version == "2024-10-22"
    assert configuration_from_resolved(loaded.resolved()) == loaded.configuration
    path.write_text(
        GOOD.replace("{name: smoke}", "{name: smoke, id: 6d1f0a3e-33c5-4a36-9b6c-0d5a5a0c1f11}")
    )
    assert load_configuration(path).digest() == loaded.digest()
    path.write_text(GOOD.replace("temperature: 0", "temperature: 1"))
    assert load_configuration(path).digest() != loaded.digest()


@pytest.mark.parametrize(
    ("extra", "field", "words"),
    [
        ("execution: {parallel_worker: 3}", "execution.parallel_worker", "`parallel_workers`?"),
        ("execution: {parallel_workers: 0}", "execution.parallel_workers", "greater"),
        ("execution: {parallel_workers: '4'}", "execution.parallel_workers", "integer"),
        ("output: {file: {path: 'x{user}'}}", "output.file.path", "{user}"),
        ("judge: {provider: openai, model: m}", "judge.base_url", "missing"),
        ("test_run: {name: again}", "test_run", "twice, first in line 1"),
        ("judge: {provider: openai, model: m, base_url: 'ftp://x'}", "judge.base_url", "http"),
        ("judge: {provider: local, model: m, base_url: 'http://x'}", "judge.base_url", "nothing"),
    ],
)
def test_a_defect_is_named_with_its_line_and_field(
    tmp_path: Path, extra: str, field: str, words: str
) -> None:
    (problem,) = problems_of(tmp_path, GOOD + extra + "\n")
    assert (problem.line, problem.field) == (5, field)
    assert words in str(problem)


@pytest.mark.parametrize(
    "extra",
    [
        "judge: {provider: openai, model: m, api_key_env: sk-s3cr3t}",
        "judge: {provider: openai, model: m, api_key: sk-s3cr3t}",
        "judge: {provider: openai, model: m, base_url: 'http://u:s3cr3t@host/v1'}",
        "judge: {provider: python, model: m, class: sk-s3cr3t}",
        "judge: [{api_key: s3cr3t}]",
    ],
)
def test_a_secret_is_refused_and_not_repeated(tmp_path: Path, extra: str) -> None:
    text = "\n".join(str(problem) for problem in problems_of(tmp_path, GOOD + extra))
    assert "judge" in text
    assert "s3cr3t" not in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "empty"),
        (b"- a\n", "mapping"),
        (b"a: \xff\n", "not UTF-8"),
        (b"a: [1\nb: 2\n", "not YAML"),
        (b"a: &x 1\nb: *x\n", "aliases"),
        (b"a: !!python/object:os.system x\n", "tags"),
        (b"#" * 1_000_001, "larger"),
        (b"a: " + b"[" * 20_000, "YAML"),
        (b"a: " + b"9" * 6_000 + b"\n", "not a known key"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(
    tmp_path: Path, text: bytes, words: str
) -> None:
    assert words in "\n".join(str(problem) for problem in problems_of(tmp_path, text))


def test_the_database_as_a_source_belongs_to_a_later_version(tmp_path: Path) -> None:
    text = GOOD.replace("{path: suites/}", "{source: database, path: suites/}")
    assert "not available in this version" in str(problems_of(tmp_path, text)[0])
