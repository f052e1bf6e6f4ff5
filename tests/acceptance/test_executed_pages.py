"""Every command on the pages runs, in order, and prints what its page shows.

A page's commands run in a folder with the shipped configurations and suites, on a database of its
own. The models are servers on loopback.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from ruamel.yaml import YAML

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, mock_server, write_configuration, write_suite
from tests.documented import PAGES, ROOT, Block, blocks, matches

ELSEWHERE = {
    "docs/how-to/auditing.md": "tests/acceptance/reading/test_auditing_questions.py",
    "docs/how-to/backup.md": "tests/acceptance/test_backup_page.py",
}
"""Pages whose sessions another test runs."""
BEFORE: dict[str, list[str]] = {
    "docs/concepts/validation.md": ["start run.yaml"],
    "docs/how-to/calibrate.md": ["start configs/redteam.yaml"],
    "docs/how-to/export.md": ["start run.yaml"],
    "docs/how-to/read-evidence.md": ["start run.yaml"],
    "docs/how-to/review.md": ["start run.yaml"],
    "docs/reference/evidence-format.md": ["start run.yaml"],
    "docs/reference/report.md": ["start run.yaml", "start run.yaml"],
}
"""What has happened before a page begins."""
FIRST_READ = ("README.md", "docs/get-started/")
"""How the addresses of pages begin whose sessions run every time. All others are slow."""


def sessions() -> Iterator[Any]:
    """Each page with a session that is run here, as a parameter."""
    for page in PAGES:
        address = page.relative_to(ROOT).as_posix()
        executed = any(block.language == "console" and block.executed for block in blocks(page))
        if executed and address not in ELSEWHERE:
            marks = [] if address.startswith(FIRST_READ) else [pytest.mark.slow]
            yield pytest.param(page, id=address, marks=marks)


FIRST_CASES = {"redteam": 12, "commands": 12}
"""How many of the cases that ship a page's run asks, of configurations with many."""


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, str]]:
    """The base URLs of a model that repeats, with judges of conversations; and of benchmarks."""
    with (
        mock_server(0, "tests.servers.judging_server") as talking,
        mock_server(0, "tests.servers.benchmark_server") as grading,
    ):
        yield {"talking": talking, "grading": grading}


def on_loopback(document: dict[str, Any], url: str) -> dict[str, Any]:
    """The configuration with every model at a server of the test's own."""
    changed = dict(document)
    for key in ("models", "judges", "judge"):
        asked = changed.get(key)
        if asked is None:
            continue
        several = asked if isinstance(asked, list) else [asked]
        made = [
            {**model, "provider": "openai", "base_url": url}
            | ({} if key == "models" else {"model": f"judge-{number}"})
            for number, model in enumerate(several)
        ]
        changed[key] = made if isinstance(asked, list) else made[0]
    changed["execution"] = {**changed.get("execution", {}), "allow_unlisted": True}
    return changed


@pytest.fixture
def folder(tmp_path: Path, servers: dict[str, str]) -> Path:
    """A copy of what ships, as a user has it in the current folder, and two files of one's own."""
    shutil.copytree(ROOT / "suites", tmp_path / "suites")
    (tmp_path / "configs").mkdir()
    for file in (ROOT / "configs").glob("*.yaml"):
        url = servers["grading" if file.stem == "benchmark" else "talking"]
        changed = on_loopback(YAML(typ="safe").load(file), url)
        (tmp_path / "configs" / file.name).write_bytes(orjson.dumps(changed))
    shutil.copy(tmp_path / "configs" / "redteam.yaml", tmp_path)
    for name, limit in FIRST_CASES.items():
        file = tmp_path / "configs" / f"{name}.yaml"
        fewer = {**orjson.loads(file.read_bytes()), "selection": {"limit": limit}}
        file.write_bytes(orjson.dumps(fewer))
    (tmp_path / "docs" / "reference").mkdir(parents=True)
    shutil.copy(ROOT / "docs/reference/verify_evidence.py", tmp_path / "docs" / "reference")
    write_suite(tmp_path, 4)
    write_configuration(tmp_path, servers["talking"])
    return tmp_path


def executed(
    store: Store, folder: Path, words: tuple[str, ...]
) -> subprocess.CompletedProcess[str]:
    """Run one command of a page: in this process, which loads once what draws or exports."""
    program, *arguments = words
    if program == "python":
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            env={"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert program == "failproof-es", program
    named = [
        f"configs/{word}.yaml" if (folder / "configs" / f"{word}.yaml").exists() else word
        for word in arguments
    ]
    done = invoke(store.url, *named, cwd=folder)
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)


@pytest.mark.parametrize("page", list(sessions()))
def test_the_sessions_of_a_page(
    page: Path, store: Store, folder: Path, servers: dict[str, str]
) -> None:
    for line in BEFORE.get(page.relative_to(ROOT).as_posix(), []):
        assert invoke(store.url, *line.split(), "--quiet", cwd=folder).exit_code == 0
    for block in blocks(page):
        if block.remark == "file":
            file = folder / block.why
            file.parent.mkdir(exist_ok=True)
            text = block.text.replace("http://localhost:8000/v1", servers["talking"])
            file.write_text(text, "utf-8")
        if block.language == "console" and block.executed:
            _run_session(block, store, folder)


def _run_session(block: Block, store: Store, folder: Path) -> None:
    for command in block.commands:
        done = executed(store, folder, command.words)
        said = f"{block}: {' '.join(command.words)}\n{done.stdout}\n{done.stderr}"
        assert done.returncode == 0, said
        if command.words[1:3] == ("review", "export"):
            _fill_in(folder / command.words[-1])
        if command.shown and block.remark != "output not compared":
            wrong = matches(command.shown, done.stdout, done.stderr)
            assert wrong is None, f"{block}: {' '.join(command.words)}\n{wrong}\n{done.stderr}"


def _fill_in(sheet: Path) -> None:
    """What a person does with an exported sheet before it is imported."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow(row | {"verdict": "pass" if row["item"] == "overall" else ""})
