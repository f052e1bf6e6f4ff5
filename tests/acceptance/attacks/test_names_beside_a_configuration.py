"""Files beside a configuration that are named like modules of the program or of Python."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import PROGRAM, environment, write_configuration, write_suite

CLIENT = """
import beside
class Client:
    def __init__(self, api_key, model_id):
        pass
    def get_completion(self, prompt, params):
        return beside.ANSWER
"""
NAMES = ("re2", "cryptography", "sqlite3", "calendar", "uvloop", "rich", "unicodedata", "zoneinfo")
"""Imported late by the program, by its libraries or by nobody; one is not installed."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "configured"
    made.mkdir()
    for name in NAMES:
        record = made / "ran"
        code = f"open({str(record)!r}, 'a').write('{name} ')\nraise ImportError('not the real one')"
        (made / f"{name}.py").write_text(code)
    (made / "clients.py").write_text(CLIENT)
    (made / "beside.py").write_text("ANSWER = 'number 0'")
    write_suite(made, 1)
    return made


def ran(store: Store, folder: Path, class_name: str, *words: str) -> tuple[int, str]:
    """The exit code of a command in a process of its own, and which files of the folder ran."""
    write_configuration(
        folder, "", models=[{"provider": "python", "class": class_name, "model": "mine"}]
    )
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    command, *options = words
    done = subprocess.run(
        [*PROGRAM, command, str(folder / "run.yaml"), *options],
        env=environment(store.url), cwd=elsewhere, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    record = folder / "ran"
    return done.returncode, record.read_text() if record.exists() else ""


@pytest.mark.slow
def test_the_program_imports_its_own_modules_and_the_class_those_beside_it(
    store: Store, folder: Path
) -> None:
    assert ran(store, folder, "clients:Client", "start", "--quiet") == (0, "")


@pytest.mark.slow
def test_a_plugin_beside_the_class_is_not_installed(store: Store, folder: Path) -> None:
    metadata = folder / "evil-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[failproof_es.scorers]\nev = rich:S\n")
    words = ("start", "--quiet", "--set", 'grading.scorers=["ev"]')
    assert ran(store, folder, "clients:Client", *words) == (2, "")


def test_of_a_folder_without_the_class_nothing_is_imported(store: Store, folder: Path) -> None:
    (folder / "clients.py").unlink()
    code, names = ran(store, folder, "httpx:Client", "validate", "--run-classes")
    assert (code, names) == (2, "")
