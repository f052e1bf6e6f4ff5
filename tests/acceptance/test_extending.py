"""The package of `docs/extending.md`, made of its snippets: it keeps the contract, and it runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke
from tests.plugin_packages import install, look_again

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
MODEL = """
class Model:
    def __init__(self, api_key, model_id): pass
    def get_completion(self, prompt, params):
        return "4" if "2 + 2" in prompt else "I don't know"
"""
SUMS = (
    '{"sum_id": "a", "sum": "2 + 2", "result": 4}\n{"sum_id": "b", "sum": "9 * 9", "result": 81}\n'
)


def snippets() -> dict[str, str]:
    """The page's snippets, by the file that the first line of each names."""
    found = re.findall(r"```\w+\n# (\S+)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(found) == PAGE.read_text("utf-8").count("```") / 2
    return dict(found)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    project = tomllib.loads(snippets()["pyproject.toml"])["project"]
    modules = {
        Path(name).stem: source for name, source in snippets().items() if name.endswith(".py")
    }
    site = tmp_path / "site"
    install(monkeypatch, site, project["name"], project["entry-points"], modules, "1.0")
    (site / "arithmetic_model.py").write_text(MODEL)
    monkeypatch.setenv("PYTHONPATH", str(site))
    yield site
    monkeypatch.undo()
    look_again()


def test_the_dialect_keeps_the_contract(package: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"),
            *("--rootdir", str(package), str(package / "test_arithmetic.py")),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(package)},
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"1[0-9] passed, 1 skipped", done.stdout), done.stdout


def test_the_package_runs(store: Store, tmp_path: Path, package: Path) -> None:
    (tmp_path / "run.yaml").write_text(snippets()["run.yaml"])
    (tmp_path / "sums.jsonl").write_text(SUMS)
    done = invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    assert done.exit_code == 0, done.output
    shown = invoke(store.url, "show", "1", "--format", "json", cwd=tmp_path)
    assert "min_sums" in shown.output
    results = orjson.loads(
        invoke(store.url, "results", "1", "--format", "json", cwd=tmp_path).stdout
    )
    assert results == [{"sum": "2 + 2", "passed": True}, {"sum": "9 * 9", "passed": False}]
    assert invoke(store.url, "report", "1", "--format", "json", cwd=tmp_path).exit_code == 0
    (reported,) = tmp_path.glob("*_sums.json")
    assert "mean brevity" in reported.read_text()
    assert invoke(store.url, "replay", "1", cwd=tmp_path).exit_code == 0
    assert invoke(store.url, "validate", "run.yaml", cwd=tmp_path).exit_code == 0
    with store.connect() as connection:
        rows = connection.execute("SELECT * FROM projections.arithmetic_answers ORDER BY said")
        assert [tuple(row) for row in rows.fetchall()] == [("4", 1), ("I don't know", 1)]
        packages = connection.execute(
            "SELECT convert_from(state, 'UTF8')::json -> 'packages' ->> 'arithmetic' "
            "FROM failproof.stored_events WHERE topic = 'RunStarted'"
        ).fetchone()
        assert tuple(packages or ()) == ("1.0",)
