"""A configuration of a stranger runs no code on a check, and gets no secret without a yes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from failproof_es.cli.starting import permitting
from failproof_es.models.trust.remembered import file_of_permissions
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite
from tests.acceptance.runs.test_what_validate_does import Recorder

SECRET = "sk-0123456789abcdefghij"
CLIENTS = """
from pathlib import Path

def note(text):
    with Path({record!r}).open("a") as record:
        record.write(text + "\\n")

note("imported")

class Client:
    def __init__(self, api_key, model_id):
        note("constructed")

    def get_completion(self, prompt, params):
        return "number 0"

class Mute:
    def __init__(self, api_key, model_id):
        note("constructed")

def called(api_key, model_id):
    note("called")

Made = type("Made", (Mute,), {{}})
made = called
"""


@pytest.fixture
def server() -> Iterator[Recorder]:
    recorder = Recorder()
    yield recorder
    recorder.stop()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite of two cases, and a module of one's own beside it."""
    name = f"clients_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(CLIENTS.format(record=str(tmp_path / "record")))
    monkeypatch.syspath_prepend(str(tmp_path))
    write_suite(tmp_path, 2)
    return tmp_path


def of_class(folder: Path, name: str, **more: Any) -> dict[str, Any]:
    [module] = folder.glob("clients_*.py")
    return {"provider": "python", "class": f"{module.stem}:{name}", "model": "mine", **more}


def done_here(folder: Path) -> list[str]:
    file = folder / "record"
    return file.read_text().splitlines() if file.exists() else []


def said(store: Store, folder: Path, model: dict[str, Any], *command: str, **more: Any) -> Result:
    write_configuration(folder, "", models=[model], gates={"max_unscored_rate": 1.0})
    first, *options = command or ("validate",)
    return invoke(store.url, first, "run.yaml", *options, cwd=folder, **more)


CHECKS = [("validate",), ("validate", "--offline"), ("start", "--dry-run")]


@pytest.mark.parametrize("command", [*CHECKS, ("validate", "--run-classes"), ("start",)])
def test_a_function_of_the_standard_library_is_no_model_and_is_never_called(
    store: Store, folder: Path, command: tuple[str, ...]
) -> None:
    ran = folder / "ran"
    code = f"open({str(ran)!r}, 'w').close()"
    done = said(
        store, folder, {"provider": "python", "class": "timeit:timeit", "model": code}, *command
    )
    assert done.exit_code == 2 and "[class-unfit]" in done.stderr
    assert "models[0].class" in done.stderr
    assert not ran.exists()


@pytest.mark.parametrize("command", CHECKS)
def test_a_check_finds_a_class_and_imports_nothing(
    store: Store, folder: Path, command: tuple[str, ...]
) -> None:
    done = said(store, folder, of_class(folder, "Client"), *command)
    assert done.exit_code == 0, done.output
    assert "not run: the class clients_" in done.stderr
    assert done_here(folder) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "name", "why"),
    [
        (("validate",), "called", "is a function, and not a class"),
        (("validate", "--offline"), "Mute", "has no method `get_completion`"),
        (("start", "--dry-run"), "Absent", "Absent"),
        # Only who imports the module knows what these are.
        (("validate", "--run-classes"), "made", "is a function, and not a class"),
        (("start",), "Made", "has no method `get_completion`"),
    ],
)
def test_what_is_no_client_is_refused_without_being_called(
    store: Store, folder: Path, command: tuple[str, ...], name: str, why: str
) -> None:
    done = said(store, folder, of_class(folder, name), *command)
    assert done.exit_code == 2 and why in done.stderr
    assert {"called", "constructed"}.isdisjoint(done_here(folder))
    if command in CHECKS:
        assert done_here(folder) == []


def test_with_run_classes_the_class_is_constructed_and_that_is_said_before(
    store: Store, folder: Path
) -> None:
    done = said(store, folder, of_class(folder, "Client"), "validate", "--run-classes")
    assert done.exit_code == 0, done.output
    assert done_here(folder) == ["imported", "constructed"]
    assert "runs the class clients_" in done.stderr


def test_a_start_says_which_class_it_runs_before_it_does(store: Store, folder: Path) -> None:
    (folder / "record").mkdir()  # so that importing the class fails
    done = said(store, folder, of_class(folder, "Client"), "start")
    assert done.exit_code == 2
    says = done.stderr.index("runs the class clients_")
    assert says < done.stderr.index("cannot be loaded")


EXFILTRATING = {
    "api_key_env": "AWS_SECRET_ACCESS_KEY",
    "headers": {"X-A": "GITHUB_TOKEN", "X-B": "DATABASE_PASSWORD", "X-C": "OPENAI_API_KEY"},
}
VARIABLES = ("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DATABASE_PASSWORD", "OPENAI_API_KEY")


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (*VARIABLES, "MY_KEY"):
        monkeypatch.setenv(variable, SECRET)


@pytest.mark.usefixtures("secrets")
@pytest.mark.parametrize(
    "command", [("validate",), ("start",), ("start", "--dry-run"), ("start", "--detach")]
)
def test_secrets_of_others_go_nowhere_without_a_yes_and_the_options_are_named(
    store: Store, folder: Path, server: Recorder, command: tuple[str, ...]
) -> None:
    model = {"provider": "openai", "base_url": server.url, "model": "m", **EXFILTRATING}
    done = said(store, folder, model, *command)
    assert done.exit_code == 2 and server.connections == 0
    for variable in VARIABLES:
        assert f"--allow {variable}={server.host}" in done.stderr
    assert "run.yaml:1: models[0].api_key_env" in done.stderr
    assert SECRET not in done.output
    options = [word for each in VARIABLES for word in ("--allow", f"{each}={server.host}")]
    assert said(store, folder, model, "validate", *options).exit_code == 0
    assert server.requests == [("GET", "/v1/models", f"Bearer {SECRET}")]


@pytest.mark.usefixtures("secrets")
def test_a_check_that_sends_nothing_needs_no_yes(
    store: Store, folder: Path, server: Recorder
) -> None:
    model = {"provider": "openai", "base_url": server.url, "model": "m", **EXFILTRATING}
    offline = said(store, folder, model, "validate", "--offline")
    assert offline.exit_code == 0
    assert "warning: run.yaml" in offline.stderr and "--allow" in offline.stderr
    assert server.connections == 0


@pytest.mark.usefixtures("secrets")
def test_at_a_terminal_each_pair_is_asked_once_and_a_yes_is_remembered(
    store: Store, folder: Path, server: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permitting, "at_a_terminal", lambda: True)
    key = "OPENAI_API_KEY"
    model = {"provider": "openai", "base_url": server.url, "model": "m", "api_key_env": key}
    no = said(store, folder, model, "validate", answers="n\n")
    assert no.exit_code == 2 and server.connections == 0
    assert f"{key} is a secret of OpenAI, and {server.host} is not OpenAI's" in no.stderr
    assert "Allow it, now and later?" in no.stderr
    yes = said(store, folder, model, "validate", answers="y\n")
    assert yes.exit_code == 0 and len(server.requests) == 1
    assert f"{key}={server.host}" in file_of_permissions().read_text().splitlines()
    again = said(store, folder, model, "validate", answers="")
    assert again.exit_code == 0 and "Allow it" not in again.stderr
    other = Recorder()
    try:
        asked = said(store, folder, {**model, "base_url": other.url}, answers="n\n")
        assert asked.exit_code == 2 and other.connections == 0
    finally:
        other.stop()


@pytest.mark.usefixtures("secrets")
def test_a_variable_of_ones_own_goes_to_its_server_and_that_is_said_before(
    store: Store, folder: Path, server: Recorder
) -> None:
    model = {"provider": "openai", "base_url": server.url, "model": "m", "api_key_env": "MY_KEY"}
    done = said(store, folder, model, "validate")
    assert done.exit_code == 0 and server.requests == [("GET", "/v1/models", f"Bearer {SECRET}")]
    assert done.stderr.startswith(f"MY_KEY -> {server.host} (http)\n")


@pytest.mark.usefixtures("secrets")
def test_listing_a_servers_models_sends_no_secret_of_others(
    store: Store, folder: Path, server: Recorder
) -> None:
    listing = ("models", "--provider", "openai", "--base-url", server.url)
    key = ("--api-key-env", "OPENAI_API_KEY")
    done = invoke(store.url, *listing, *key, cwd=folder)
    assert done.exit_code == 2 and server.connections == 0
    allow = ("--allow", f"OPENAI_API_KEY={server.host}")
    assert f"--allow OPENAI_API_KEY={server.host}" in done.stderr
    done = invoke(store.url, *listing, *key, *allow, cwd=folder)
    assert done.exit_code == 0 and len(server.requests) == 1
    assert f"OPENAI_API_KEY -> {server.host}" in done.stderr


@pytest.mark.parametrize(
    "path", ["./{timestamp}.sh", "./{timestamp}", "{timestamp}.json", "{timestamp}.jsonl/x"]
)
def test_a_results_file_is_json_lines_by_its_name(store: Store, folder: Path, path: str) -> None:
    write_configuration(folder, "http://127.0.0.1:9/v1", output={"file": {"path": path}})
    done = invoke(store.url, "validate", "run.yaml", "--offline", cwd=folder)
    assert done.exit_code == 2 and "output.file.path" in done.stderr


def test_a_results_file_outside_of_the_working_folder_is_said_before_the_run(
    store: Store, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    there = tmp_path_factory.mktemp("there")
    for path, is_outside in (
        (f"{there}/{{timestamp}}.jsonl", True),
        ("a/{timestamp}.jsonl", False),
    ):
        write_configuration(folder, "http://127.0.0.1:9/v1", output={"file": {"path": path}})
        done = invoke(store.url, "validate", "run.yaml", "--offline", cwd=folder)
        assert done.exit_code == 0, done.output
        assert ("outside of the working folder" in done.stderr) == is_outside
    done = invoke(store.url, "validate", str(folder / "run.yaml"), "--offline", cwd=there)
    assert "outside of the working folder" in done.stderr, "it starts from the configuration's"
    write_configuration(
        folder, "http://127.0.0.1:9/v1", output={"file": {"path": "../{timestamp}.jsonl"}}
    )
    said = invoke(store.url, "start", "run.yaml", cwd=folder).stderr
    assert "outside of the working folder" in said
