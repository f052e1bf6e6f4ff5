"""`docs/how-to/extending.md` says what its example does, and the example runs."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from failproof_es.configuration.providers import PROVIDERS
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke
from tests.example_plugin import EXAMPLE, KEY, NAME, configuration, python_files, version
from tests.plugin_packages import install, look_again

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "extending.md"
LEFT_OUT = re.compile(r"\n+# \.\.\.\n+")


def snippets() -> list[tuple[str, str]]:
    """The page's snippets, each with the file that its first line names."""
    text = PAGE.read_text("utf-8")
    found = re.findall(r"```\w+\n# (\S+)\n(.*?)\n```", text, re.DOTALL)
    shown = text.count("```") / 2 - text.count("```console")
    assert len(found) == shown, "one names no file"
    return found


def public_modules() -> list[str]:
    """What the page says that a package may import."""
    table = PAGE.read_text("utf-8").partition("These modules are public.")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`([a-z_.]+)`", row.split("|")[1])]


def test_every_snippet_stands_in_its_file() -> None:
    for name, snippet in snippets():
        text = (EXAMPLE / name).read_text("utf-8")
        for part in LEFT_OUT.split(snippet.strip("\n")):
            assert f"{part}\n" in text, f"{name} does not hold:\n{part}"


def test_every_module_of_the_example_is_on_the_page() -> None:
    text = PAGE.read_text("utf-8")
    shown = {name for name, _ in snippets()} | set(
        re.findall(r"\(\.\./examples/plugin/([\w/]+\.py)\)", text)
    )
    modules = {str(file.relative_to(EXAMPLE)) for file in python_files()}
    frames = {"failproof_es_quiz/__init__.py", "failproof_es_quiz/pupil/__init__.py"}
    assert modules - shown == {*frames, "failproof_es_quiz/server.py"}
    said = text + (EXAMPLE / "README.md").read_text("utf-8")
    assert "failproof_es_quiz.server" in said


def test_the_example_imports_what_is_public_and_no_name_that_is_private() -> None:
    public = public_modules()
    assert len(public) > 10
    for module in public:
        importlib.import_module(module)
    imported = 0
    for file in python_files():
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Attribute) and re.match("_(?!_)", node.attr):
                # Its own names on itself, and nothing that it inherits or is given.
                owner = node.value
                assert isinstance(owner, ast.Name) and owner.id == "self", ast.unparse(node)
                assert f"self.{node.attr} = " in file.read_text("utf-8") or (
                    f"def {node.attr}(" in file.read_text("utf-8")
                ), f"{file.name} uses {ast.unparse(node)}, which is not its own"
                continue
            else:
                continue
            for name in names:
                if name.split(".")[0] not in ("failproof_es", "projections"):
                    continue
                imported += 1
                assert any(name.startswith(f"{each}.") for each in public), f"{file.name}: {name}"
                assert not any(part.startswith("_") for part in name.split(".")), name
    assert imported > 20


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example is installed in this process: not built, but found by its entry points."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    site = tmp_path / "site"
    install(monkeypatch, site, NAME, project["entry-points"], version=version())
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.setenv("PYTHONPATH", f"{site}:{EXAMPLE}")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PUPIL_KEY", KEY)
    PROVIDERS.forget()
    yield
    monkeypatch.undo()
    look_again()
    PROVIDERS.forget()


@pytest.mark.usefixtures("example")
def test_the_run_of_the_page(store: Store, tmp_path: Path) -> None:
    from failproof_es_quiz.server import School

    questions = (EXAMPLE / "questions.jsonl").read_bytes()
    answers = {
        each["question"]: each["answer"] for each in map(orjson.loads, questions.splitlines())
    }
    (tmp_path / "questions.jsonl").write_bytes(questions)
    school = School(answers, KEY, 0)
    thread = threading.Thread(target=school.serve_forever)
    thread.start()
    try:
        (tmp_path / "run.yaml").write_text(configuration(school.url))
        done = invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
        wrong = invoke(store.url, "validate", "run.yaml", cwd=tmp_path, PUPIL_KEY="another-secret")
    finally:
        school.shutdown()
        thread.join()
        school.server_close()
    assert done.exit_code == 0, done.output
    assert "gate min_hard_questions.ada 0: measured 1" in done.output
    assert wrong.exit_code == 2 and "[key-refused]" in wrong.output
    results = invoke(store.url, "results", "1", "--format", "json", cwd=tmp_path)
    passed = [each["passed"] for each in orjson.loads(results.stdout)]
    assert passed[::2] == [True] * 5 and passed[1::2] == [False, True, False, False, False]
    assert invoke(store.url, "replay", "1", cwd=tmp_path).exit_code == 0
    with store.connect() as connection:
        rows = connection.execute(
            "SELECT model_key, choice, times FROM projections.quiz_choices ORDER BY 1, 2"
        ).fetchall()
    chosen = [("ada", "A", 1), ("ada", "B", 2), ("ada", "C", 2), ("bob", "A", 5)]
    assert [tuple(row) for row in rows] == chosen
