"""`init`: what it writes runs as it is, whatever is chosen, and nothing is overwritten."""

from __future__ import annotations

import re
import shlex
from itertools import cycle
from pathlib import Path
from typing import Any

import click.testing
import pytest
from ruamel.yaml import YAML

from failproof_es.cli.commands.manage import init as command
from failproof_es.configuration.loading import load_configuration
from failproof_es.configuration.providers import PROVIDERS
from failproof_es.configuration.schema import Configuration
from failproof_es.dialects import names
from failproof_es.engine.planning import pipeline
from failproof_es.engine.planning.new_project import CONFIGURATION, Answers, files_of
from failproof_es.engine.planning.pipeline import CI, key_variables, pipeline_of
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke

NEEDED: dict[str, dict[str, Any]] = {
    "openai": {"base_url": "http://127.0.0.1:9/v1"},
    "azure": {"base_url": "https://mine.openai.azure.com", "api_key_env": "AZURE_KEY"},
    "openai-sdk": {"base_url": "http://127.0.0.1:9/v1"},
    "openai-responses-sdk": {"base_url": "http://127.0.0.1:9/v1"},
    "anthropic-sdk": {"base_url": "http://127.0.0.1:9"},
    "bedrock": {"options": {"region": "us-east-1"}},
    "vertex": {"options": {"project": "my-project-1", "location": "global"}},
}
"""What an entry has to say beside provider and model."""


def flags(provider: str, dialect: str, ci: str = "none") -> list[str]:
    needed = NEEDED.get(provider, {})
    given = ["--name", "mine", "--provider", provider, "--suite", dialect, "--ci", ci]
    given += ["--model", "smollm2" if provider == "local" else "m-1"]
    for name in ("base_url", "api_key_env"):
        given += [f"--{name.replace('_', '-')}", needed[name]] if name in needed else []
    for name, value in needed.get("options", {}).items():
        given += ["--option", f"{name}={value}"]
    return given


def initiated(folder: Path, *arguments: str, **more: Any) -> click.testing.Result:
    return invoke("", "init", *arguments, cwd=folder, **more)


def answers(provider: str, dialect: str, ci: str) -> Answers:
    model = "smollm2" if provider == "local" else "m-1"
    return Answers("mine", provider, model, dialect, ci, **NEEDED.get(provider, {}))


@pytest.mark.parametrize("provider", PROVIDERS.names())
def test_every_provider_can_judge_its_own_answers(tmp_path: Path, provider: str) -> None:
    loaded = configuration_of(provider, "benchmark", "none", tmp_path)
    assert [judge.provider for judge in loaded.asked_judges] == [provider]


EACH_ONCE = [*zip(PROVIDERS.names(), cycle(names()), strict=False)]
"""Every provider with one dialect, and every dialect."""


def configuration_of(provider: str, dialect: str, ci: str, folder: Path) -> Configuration:
    path = folder / CONFIGURATION
    path.write_bytes(files_of(answers(provider, dialect, ci))[CONFIGURATION])
    return load_configuration(path).configuration


@pytest.mark.parametrize(("provider", "dialect"), EACH_ONCE)
def test_a_pipeline_is_valid_and_adds_a_gate_on_the_accuracy(
    provider: str, dialect: str, tmp_path: Path
) -> None:
    plain = configuration_of(provider, dialect, "none", tmp_path)
    for ci in ("github", "gitlab"):
        gated = configuration_of(provider, dialect, ci, tmp_path)
        judged = {"min_accuracy": 0.8} if dialect != "redteam" else {}
        assert gated == plain.model_copy(update={"gates": plain.gates.model_copy(update=judged)})
        pipeline = pipeline_of(ci, gated, CONFIGURATION)
        assert YAML(typ="safe").load(pipeline.decode())
        assert all(name in pipeline.decode() for name in key_variables(gated))


def test_a_pipeline_installs_the_version_that_wrote_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pipeline, "code_version", lambda: "1.2.3+g0a1b2c3")
    configuration = configuration_of("openai", "command", "github", tmp_path)
    for ci in ("github", "gitlab"):
        content = pipeline_of(ci, configuration, CONFIGURATION).decode()
        assert "pip install 'failproof-es[commands,report]==1.2.3'" in content


def test_a_configuration_that_exists_gets_its_pipeline_alone(tmp_path: Path) -> None:
    folder = tmp_path / "evaluations"
    assert initiated(tmp_path, "evaluations", *flags("openai", "redteam")).exit_code == 0
    path = folder / CONFIGURATION
    judge = "{provider: anthropic, model: j, api_key_env: JUDGE_KEY, headers: {X-Team: TEAM}}"
    path.write_text(f"{path.read_text()}judges:\n- {judge}\n")
    before = path.read_bytes()
    done = initiated(tmp_path, "--ci", "github", "--config", f"evaluations/{CONFIGURATION}")
    assert done.exit_code == 0 and path.read_bytes() == before, done.stderr
    written = str(CI["github"])
    assert {each.name for each in tmp_path.iterdir()} == {"evaluations", written.split("/")[0]}
    steps = YAML(typ="safe").load((tmp_path / written).read_text())["jobs"]["evaluate"]["steps"]
    assert f"failproof-es start evaluations/{CONFIGURATION} --junit" in steps[3]["run"]
    assert steps[3]["env"].keys() >= {"JUDGE_KEY", "TEAM"}
    assert "only at the root of a repository" in done.stderr
    again = initiated(tmp_path, "--ci", "github", "--config", f"evaluations/{CONFIGURATION}")
    assert again.exit_code == 2 and "[file-exists]" in again.stderr


def test_a_pipeline_is_at_the_root_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    done = initiated(tmp_path, "evaluations", *flags("openai", "failproof", "github"))
    assert done.exit_code == 0 and "root of a repository" not in done.stderr, done.stderr
    assert "failproof-es start evaluations/" in (tmp_path / str(CI["github"])).read_text()
    assert not (tmp_path / "evaluations" / ".github").exists()


def test_a_vendors_key_for_another_host_is_allowed_where_it_is_written(tmp_path: Path) -> None:
    key = ("--api-key-env", "OPENAI_API_KEY")
    done = initiated(tmp_path, *flags("openai", "failproof", "github"), *key)
    assert "start run.yaml --allow OPENAI_API_KEY=127.0.0.1:9" in done.stderr
    configuration = load_configuration(tmp_path / CONFIGURATION).configuration
    for ci in ("github", "gitlab"):
        content = pipeline_of(ci, configuration, CONFIGURATION).decode()
        assert "FAILPROOF_ES_ALLOW: OPENAI_API_KEY=127.0.0.1:9" in content


def test_a_pipeline_keeps_what_it_wrote(store: Store, mock_url: str, tmp_path: Path) -> None:
    """All its commands but the installing ones, in their order, as a job would run them."""
    model = ("--provider", "openai", "--base-url", mock_url, "--model", "mock")
    assert initiated(tmp_path, "--yes", *model, "--ci", "github").exit_code == 0
    workflow = YAML(typ="safe").load((tmp_path / str(CI["github"])).read_text())
    steps = workflow["jobs"]["evaluate"]["steps"]
    for step in steps:
        for line in step.get("run", "").splitlines():
            if line.startswith("failproof-es ") and "models install" not in line:
                line, _, into = line.partition(" > ")
                done = invoke(store.url, *shlex.split(line)[1:], cwd=tmp_path)
                assert done.exit_code in (0, 3), done.stderr
                if into:
                    (tmp_path / into).write_text(done.stdout)
    files = steps[-1]["with"]["path"].split()
    assert [name for name in files if not (tmp_path / name).exists()] == []


@pytest.mark.parametrize(("provider", "dialect"), EACH_ONCE)
def test_what_was_written_is_valid_for_the_program(
    store: Store, tmp_path: Path, provider: str, dialect: str
) -> None:
    assert set(names()) == {dialect for _, dialect in EACH_ONCE}
    assert initiated(tmp_path, *flags(provider, dialect)).exit_code == 0
    keys = {
        rules.default_key_variable(None): "a-key-of-16-or-more"
        for rules in map(PROVIDERS.load, PROVIDERS.names())
        if rules.default_key_variable(None)
    }
    keys["AZURE_KEY"] = "a-key-of-16-or-more"
    done = invoke(store.url, "validate", CONFIGURATION, "--offline", cwd=tmp_path, **keys)
    assert done.exit_code == 0, done.stderr


def test_a_new_project_runs(store: Store, mock_url: str, tmp_path: Path) -> None:
    given = flags("openai", "failproof")
    given[given.index("--base-url") + 1] = mock_url
    given[given.index("--model") + 1] = "mock"
    assert initiated(tmp_path, *given).exit_code == 0
    done = invoke(store.url, "start", CONFIGURATION, "--quiet", cwd=tmp_path)
    assert "completed" in done.output + done.stderr


def test_a_class_of_ones_own_runs(store: Store, tmp_path: Path) -> None:
    assert initiated(tmp_path, *flags("python", "failproof")).exit_code == 0
    done = invoke(store.url, "start", CONFIGURATION, "--quiet", cwd=tmp_path)
    assert "completed" in done.output + done.stderr, done.output


def test_the_defaults_need_nothing(tmp_path: Path) -> None:
    done = initiated(tmp_path, "new", "--yes")
    assert done.exit_code == 0, done.stderr
    loaded = load_configuration(tmp_path / "new" / CONFIGURATION).configuration
    assert (loaded.models[0].provider, loaded.models[0].model) == ("local", "smollm2")


def test_nothing_is_overwritten_unless_told(tmp_path: Path) -> None:
    (tmp_path / CONFIGURATION).write_text("mine")
    refused = initiated(tmp_path, "--yes")
    assert refused.exit_code == 2 and "[file-exists]" in refused.stderr
    assert f"--config {CONFIGURATION}" in refused.stderr
    assert (tmp_path / CONFIGURATION).read_text() == "mine"
    assert [each.name for each in tmp_path.iterdir()] == [CONFIGURATION]
    assert initiated(tmp_path, "--yes", "--force").exit_code == 0
    assert (tmp_path / CONFIGURATION).read_text() != "mine"


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        ((), "--name, --provider, --model, --suite, --ci are missing"),
        (("--name", "a", "--provider", "local", "--model", "m", "--ci", "none"), "--suite is"),
        (("--yes", "--provider", "openai"), r"--model: .*\[missing-option\]"),
        (("--yes", "--provider", "opnai"), r"--provider: .*'opnai'.*\[unknown-name\]"),
        (("--yes", "--suite", "x", "--ci", "y"), r"--ci: .*'y'.*\[unknown-name\]"),
        (("--yes", "--name", "../up"), r"--name: .*\[invalid-option\]"),
        (("--yes", "--name", "a/b"), r"--name: .*\[invalid-option\]"),
        (("--config", "run.yaml"), r"--ci: is missing.*\[missing-option\]"),
        (
            ("--config", "a.yaml", "--ci", "github", "--model", "m"),
            r"--model: .*\[invalid-option\]",
        ),
        (("--config", "../a.yaml", "--ci", "github"), r"--config: is not.*\[invalid-option\]"),
        (("--config", "/a.yaml", "--ci", "gitlab"), r"--config: is not.*\[invalid-option\]"),
        (("--config", "a.yaml", "--ci", "github"), r"a\.yaml.*\[file-not-found\]"),
        (("--yes", "--option", "x"), r"--option: 'x'.*\[invalid-option\]"),
        (("--yes", "--provider", "openai", "--model", "m"), "error: --base-url: is missing"),
    ],
)
def test_what_is_missing_or_wrong_is_told_and_nothing_is_written(
    tmp_path: Path, arguments: tuple[str, ...], pattern: str
) -> None:
    done = initiated(tmp_path, *arguments)
    assert done.exit_code == 2 and re.search(pattern, done.stderr), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_key_is_never_written_nor_repeated(tmp_path: Path) -> None:
    done = initiated(tmp_path, "--yes", "--api-key-env", "sk-proj-1234567890")
    assert done.exit_code == 2 and "1234567890" not in done.output + done.stderr


def test_five_questions_at_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "at_a_terminal", lambda: True)
    answers = (
        "no name!",
        "mine",
        "openai",
        "m-1",
        "http://127.0.0.1:9/v1",
        "sk-1",
        "",
        "",
        "github",
    )
    done = initiated(tmp_path, answers="\n".join(answers) + "\n")
    assert done.exit_code == 0, done.stderr
    loaded = load_configuration(tmp_path / CONFIGURATION).configuration
    assert (loaded.test_run.name, loaded.models[0].api_key_env) == ("mine", None)
    assert (tmp_path / ".github/workflows/failproof-es.yml").exists()
