"""Relative paths: those of a file mean beside it, those of the command line the current folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.cli.rendering.results_file import run_id_in
from failproof_es.configuration.loading import configuration_from_resolved, load_configuration
from failproof_es.configuration.overrides import PATHS
from failproof_es.configuration.schema import Configuration
from failproof_es.events import RunStarted
from failproof_es.store.reading.reader import find
from failproof_es.store.store import Store
from failproof_es.support import shipped
from tests.acceptance.commands import (
    ROOT,
    asked,
    invoke,
    run,
    within,
    write_configuration,
    write_suite,
)

_CLASS = """
from pathlib import Path
class Own:
    def __init__(self, key: str, name: str) -> None: ...
    def get_completion(self, prompt: str, params: dict[str, object]) -> str:
        return {answer!r}
"""


@pytest.fixture
def folders(tmp_path: Path, mock_url: str) -> tuple[Path, Path]:
    """Two folders with files of the same names, and other cases in each."""
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        write_suite(tmp_path / name, 1 if name == "here" else 2, f"{tmp_path} {name} {{n}}?")
        write_configuration(tmp_path / name, mock_url)
    return tmp_path / "here", tmp_path / "there"


def started_runs(store: Store) -> list[RunStarted]:
    with store.connect() as connection:
        rows = find(connection, topics=[RunStarted.__name__])
        return [event for row in rows if isinstance(event := row.event(), RunStarted)]


def test_a_configuration_asks_the_cases_beside_it_from_whichever_folder(
    store: Store, folders: tuple[Path, Path], mock_url: str
) -> None:
    here, there = folders
    done = invoke(store.url, "start", "../there/run.yaml", "--quiet", cwd=here)
    assert done.exit_code == 0, done.output
    (started,) = started_runs(store)
    assert [suite.path for suite in started.suites] == [str(there / "suite.jsonl")]
    prompts = [prompt for prompt in asked(mock_url) if prompt.startswith(str(here.parent))]
    assert len(prompts) == 2
    assert all(" there " in prompt for prompt in prompts)


@pytest.mark.parametrize("command", ["start", "validate"])
def test_each_file_that_is_read_is_printed_with_its_number_of_cases(
    command: str, store: Store, folders: tuple[Path, Path]
) -> None:
    here, there = folders
    prices = {"version": "2026-01-01", "models": [
        {"model": "mock", "input_usd_per_million": 1, "output_usd_per_million": 1}
    ]}  # fmt: skip
    (here / "prices.json").write_bytes(orjson.dumps(prices))
    cases = (there / "suite.jsonl").read_text().replace("case-", "other-")
    (there / "suite.jsonl").write_text(cases)
    words = ["--set", f"prompts.path=[suite.jsonl, {there}, shipped:injection]", "--limit", "1"]
    words += ["--set", "prices.file=prices.json"]
    done = invoke(store.url, command, "run.yaml", *words, cwd=here)
    assert done.exit_code == 0, done.output
    assert "cases: suite.jsonl (1 case)\n" in done.stderr
    assert f"cases: {there / 'suite.jsonl'} (asking 0 of 2 cases)\n" in done.stderr
    assert "cases: shipped:injection (asking 0 of 16 cases)\n" in done.stderr
    assert "prices: prices.json (1 model)\n" in done.stderr


def test_a_template_that_was_copied_asks_no_case_that_ships_unless_it_names_it(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    write_configuration(tmp_path, mock_url, prompts={"path": "suites/*.jsonl"})
    done = invoke(store.url, "validate", "run.yaml", "--offline", cwd=tmp_path)
    assert done.exit_code == 2
    assert "prompts.path: the pattern 'suites/*.jsonl' matches no" in done.stderr
    write_configuration(tmp_path, mock_url, prompts={"path": "suites/injection.jsonl"})
    done = invoke(store.url, "validate", "run.yaml", "--offline", cwd=tmp_path)
    assert done.exit_code == 2
    assert "name what ships: shipped:injection" in done.stderr.replace("\n", " ")


def test_every_configuration_that_ships_names_what_ships_and_works_from_any_folder(
    store: Store, tmp_path: Path
) -> None:
    for name in shipped.configuration_names():
        with within(tmp_path):
            loaded = load_configuration(Path(name))
        paths = loaded.configuration.prompts.path or []
        named = [paths] if isinstance(paths, str) else paths
        assert all(path.startswith("shipped:") for path in named)
        assert loaded.folder == tmp_path
        shutil.copy(loaded.path, tmp_path / f"copy-of-{name}.yaml")
        done = invoke(store.url, "validate", "--offline", f"copy-of-{name}.yaml", cwd=tmp_path)
        assert "cases: shipped:" in done.stderr, done.output


def test_a_name_after_shipped_that_ships_nothing_is_told_with_the_next_one(tmp_path: Path) -> None:
    for word, near in (
        ("shipped:redteem", "shipped:redteam"),
        ("shipped:commands/safty", "safety"),
    ):
        done = invoke("", "suites", "list", word, cwd=tmp_path)
        assert done.exit_code == 2
        assert f"nothing ships as {word} (did you mean " in done.stderr
        assert near in done.stderr
    done = invoke("", "suites", "list", "suites/redteam", cwd=tmp_path)
    assert (done.exit_code, "name what ships: shipped:redteam" in done.stderr) == (2, True)
    done = invoke("", "validate", "configs/quickstart.yaml", cwd=tmp_path)
    assert (done.exit_code, "did you mean 'quickstart'?" in done.stderr) == (2, True)


def test_a_word_that_is_a_file_and_a_configuration_that_ships_is_refused(tmp_path: Path) -> None:
    (tmp_path / "quickstart").write_text("not: a configuration")
    done = invoke("", "start", "quickstart", cwd=tmp_path)
    assert done.exit_code == 2
    assert "rename the file, or write shipped:quickstart" in done.stderr
    with within(tmp_path):
        assert (
            load_configuration(Path("shipped:quickstart")).configuration.test_run.name
            == "quickstart"
        )


def _written(location: tuple[str | int, ...], value: str) -> dict[str, Any]:
    """A configuration with this value at the location of a path."""
    model: dict[str, Any] = {"provider": "openai", "base_url": "https://h/v1", "model": "m"}
    if location[-1] == "model":
        model = {"provider": "local", "model": "smollm2"}
    written: dict[str, Any] = {
        "test_run": {"name": "paths"}, "models": [model], "judges": [dict(model)],
        "prompts": {"path": "suite.jsonl"}, "output": {"file": {}}, "prices": {},
    }  # fmt: skip
    if location[0] == "judge":
        written["judge"] = written.pop("judges")[0]
    inside: Any = written
    for step in location[:-1]:
        inside = inside[0 if step == "*" else step]
    inside[location[-1]] = value
    return written


_VALUES = {"model": "own.gguf", "path": "name-{timestamp}.jsonl", "file": "prices.json"}


@pytest.mark.parametrize("location", PATHS, ids=lambda location: ".".join(map(str, location)))
def test_every_path_of_a_configuration_starts_beside_it_and_one_of_set_in_the_current_folder(
    location: tuple[str, ...], tmp_path: Path
) -> None:
    """The file that each key names is the one beside; a value of `--set` is made absolute."""
    (tmp_path / "beside").mkdir()
    value = _VALUES.get(location[-1], "name.pem")
    prices = {"version": "2026-01-01", "models": [
        {"model": "m", "input_usd_per_million": 1, "output_usd_per_million": 1}
    ]}  # fmt: skip
    for folder in (tmp_path, tmp_path / "beside"):
        (folder / "prices.json").write_bytes(orjson.dumps(prices))
    file = tmp_path / "beside" / "run.yaml"
    file.write_bytes(orjson.dumps(_written(location, value)))
    dotted = ".".join("0" if step == "*" else step for step in location)
    with within(tmp_path):
        written = load_configuration(file)
        set_here = load_configuration(file, [f"{dotted}={value}"])
    assert written.configuration.test_run.folder == str(tmp_path / "beside")
    assert _value(written.configuration, location) == value
    assert _value(set_here.configuration, location) == str(tmp_path / value)
    assert written.digest() != set_here.digest()
    resumed = configuration_from_resolved(written.resolved())
    for model in (*resumed.models, *resumed.asked_judges):
        assert model.path_of("x") == tmp_path / "beside/x"


def _value(configuration: Configuration, location: tuple[str, ...]) -> Any:
    inside: Any = configuration
    for step in location:
        inside = inside[0] if step == "*" else getattr(inside, step)
    return inside


def test_the_folder_of_a_configuration_is_recorded_and_is_no_key_of_it(
    tmp_path: Path, store: Store, mock_url: str
) -> None:
    write_suite(tmp_path, 1)
    write_configuration(tmp_path, mock_url, test_run={"name": "x", "folder": "elsewhere"})
    done = invoke(store.url, "validate", "run.yaml", cwd=tmp_path)
    assert done.exit_code == 2
    assert "test_run.folder: " in done.stderr and "[unknown-field]" in done.stderr


def test_a_moved_folder_has_the_same_digest(tmp_path: Path, mock_url: str) -> None:
    digests = set()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        digests.add(load_configuration(write_configuration(tmp_path / name, mock_url)).digest())
    assert len(digests) == 1


def test_a_results_file_is_written_beside_its_configuration_also_when_resumed_elsewhere(
    store: Store, folders: tuple[Path, Path], mock_url: str
) -> None:
    here, there = folders
    write_configuration(there, mock_url, output={"file": {"path": "out/{timestamp}.jsonl"}})
    done = invoke(store.url, "start", "../there/run.yaml", "--quiet", cwd=here)
    assert done.exit_code == 0, done.output
    (file,) = (there / "out").glob("*.jsonl")
    assert run_id_in(file) == str(started_runs(store)[0].run_id)
    file.unlink()
    done = invoke(store.url, "resume", "1", "--quiet", cwd=here)
    assert done.exit_code == 0, done.output
    assert file.is_file()
    assert not (here / "out").exists()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.thinned(fast=1, whole=2)
def test_the_class_beside_a_configuration_answers_and_no_namesake_of_the_current_folder(
    workers: int, store: Store, folders: tuple[Path, Path]
) -> None:
    here, there = folders
    for folder, answer in ((here, "the wrong one"), (there, "the right one")):
        (folder / "own_model_of_paths.py").write_text(_CLASS.format(answer=answer))
    model = {"provider": "python", "class": "own_model_of_paths:Own", "model": "own"}
    write_configuration(there, "", models=[model])
    done = run(store.url, "start", "../there/run.yaml", "--workers", str(workers), cwd=here)
    assert done.returncode == 0, done.stderr
    results = run(store.url, "results", "1", "--json", cwd=here)
    assert results.stdout.count("the right one") == 2
    assert "the wrong one" not in results.stdout


def test_a_module_of_another_folder_is_refused_where_the_process_holds_its_namesake(
    store: Store, folders: tuple[Path, Path], own_modules: Callable[[str], None]
) -> None:
    here, _ = folders
    own_modules("own_model_of_two_folders")
    model = {"provider": "python", "class": "own_model_of_two_folders:Own", "model": "own"}
    for folder in folders:
        (folder / "own_model_of_two_folders.py").write_text(_CLASS.format(answer=folder.name))
        write_configuration(folder, "", models=[model])
    check = partial(invoke, store.url, "validate", "--run-classes", cwd=here)
    assert check("run.yaml").exit_code == 0
    done = check("../there/run.yaml")
    assert done.exit_code == 2
    assert "was imported from" in done.stderr


@pytest.fixture
def own_modules(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Forgets a module, and where it was looked for, when the test ends."""
    import sys

    monkeypatch.setattr(sys, "path", [*sys.path])

    def forget(name: str) -> None:
        monkeypatch.delitem(sys.modules, name, raising=False)

    return forget


def test_certificates_beside_the_configuration_are_those_that_are_read(
    store: Store, folders: tuple[Path, Path]
) -> None:
    here, there = folders
    model = {"provider": "openai", "base_url": "https://localhost:1/v1", "model": "m"}
    write_configuration(there, "", models=[{**model, "ca_file": "ca.pem"}])
    (here / "ca.pem").write_text("of another configuration")
    done = invoke(store.url, "validate", "../there/run.yaml", "--offline", cwd=here)
    assert done.exit_code == 2
    assert f"`ca_file` {there / 'ca.pem'} can't be read: No such file" in done.stderr


def test_no_page_of_the_docs_starts_a_run_of_suites_by_a_path_that_only_ships() -> None:
    """What ships is copied nowhere by an installation: a page may name it by its name alone."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        assert "in what ships" not in page.read_text("utf-8"), page
