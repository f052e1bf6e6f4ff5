"""Nothing in the program runs a generated command: planted traces are never found."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest

import failproof_es
import projections
from failproof_es.store.store import Store
from tests.acceptance.cli.conftest import ModelServer, Program

TRACE = "planted-trace"
STARTERS = {
    "failproof_es/cli/commands/local_workers.py": "this program itself, as workers of this host",
    "failproof_es/cli/commands/manage/database.py": "psql, for a person",
    "failproof_es/cli/watching/watch.py": "this program itself, to run a sample",
    "failproof_es/support/bounded/running_child.py": "Python, to grade and match within limits",
    "failproof_es/support/machine/json_lines_child.py": "Python, to read what a stranger wrote",
    "failproof_es/support/machine/sidecar.py": "this program itself, beside another one of it",
    "failproof_es/shell_analysis/parse/programs.py": "shfmt and shellcheck, commands on stdin",
    "failproof_es/models/providers/local/process.py": "the embedded model's server",
    "failproof_es/models/providers/local/weights.py": "pip or uv, for the embedded model",
    "failproof_es/store/embedded/server.py": "PostgreSQL",
    "failproof_es/store/embedded/account.py": "PostgreSQL's account",
    "failproof_es/testing/scorer_contract.py": "Python, to ask a scorer again; in tests alone",
}
"""Every module that can start a program, and which one."""
MODULES = frozenset({"subprocess", "pty", "multiprocessing"})
OF_OS = frozenset({"system", "popen", "posix_spawn", "posix_spawnp", "fork", "forkpty"})


@pytest.fixture
def database_url(store: Store) -> str:
    """A database that has the schema already."""
    return store.url


def planted(folder: Path) -> dict[str, str]:
    """Commands that leave a trace when anything runs them, however it runs them."""
    trace = folder / TRACE
    return {
        "plain": f"touch {trace}",
        "relative": f"touch {TRACE}",
        "home": f"touch ~/{TRACE}",
        "substitution": f"echo $(touch {trace}-1) `touch {trace}-2`",
        "redirection": f"> {trace}",
        "nested shell": f"bash -c 'touch {trace}'",
        "evaluated": f"eval 'touch {trace}'",
        "piped": f"echo 'touch {trace}' | sh",
        "here-document": f"bash <<EOF\ntouch {trace}\nEOF",
        "arithmetic": f"echo $((a[$(touch {trace})]))",
        "process substitution": f"diff <(touch {trace}) /dev/null",
        "find": f"find / -maxdepth 0 -exec touch {trace} +",
        "expansion": f"echo ${{x:=$(touch {trace})}}",
        "background": f"touch {trace} &",
        "directive": f"# shellcheck source={trace}\n. {trace}; touch {trace}",
        "unfinished": f"touch {trace} ) (",
        "fenced": f"Run this:\n\n```bash\n$ touch {trace}\n```",
        "option of a parser": f"--rcfile={trace}",
    }


CALLED_OR_NAMED = re.compile(
    rf"(\b|_)({'|'.join(MODULES)})(\b|_)|\bos\s*\.\s*(exec|spawn|{'|'.join(OF_OS)})"
    r"|\bfrom\s+os\s+import|(?<![.\w])(exec|eval|compile)\s*\("
)
"""What the text of a module has that `starts_programs` is true of: to parse all takes seconds."""


def traces(*folders: Path) -> list[Path]:
    return [path for folder in folders for path in folder.rglob(f"*{TRACE}*")]


@pytest.mark.slow
def test_commands_planted_everywhere_leave_no_trace(
    program: Program, model_server: ModelServer, tmp_path: Path
) -> None:
    home = tmp_path / "home of its own"
    home.mkdir()
    commands = planted(tmp_path)
    dataset = tmp_path / "dataset.toml"
    cases = []
    categories = cycle(("correctness", "safety", "posix"))
    for category, (name, command) in zip(categories, commands.items(), strict=False):
        prompt = f"{category}: {command}"
        model_server.answers[prompt] = command
        expected = "ls" if name in ("unfinished", "fenced") else command
        cases.append(
            "[[test_cases]]\n"
            f"id = {json.dumps(f'{category} $(touch {tmp_path / TRACE}) {name}')}\n"
            f"prompt = {json.dumps(prompt)}\n"
            f"expected_command = {json.dumps(expected)}\n"
            f"expected_alternatives = [{json.dumps(expected)}]\n"
            f"notes = {json.dumps(command)}\nsetup_notes = {json.dumps(command)}\n"
            f'category = "{category}"\nsafe = false\nposix_compliant = false\n'
        )
    dataset.write_text('version = "1.0.0"\n' + "\n".join(cases))
    (tmp_path / "run.yaml").write_text(
        json.dumps(
            {
                "test_run": {"name": "planted"},
                "models": [
                    {"provider": "openai", "base_url": model_server.base_url, "model": "tiny"}
                ],
                "prompts": {"path": "dataset.toml"},
                "output": {"file": {"path": "{timestamp}_results.jsonl"}},
            }
        )
    )

    def do(*arguments: str) -> str:
        done = program(*arguments, HOME=str(home))
        assert done.returncode == 0, done.stderr
        return done.stdout

    do("suites", "validate", "dataset.toml")
    do("start", "run.yaml")
    assert len(model_server.requests) == len(cases)
    do("replay", "latest")
    do("results", "latest")
    do("results", "latest", "--shape", "evaluation-result")
    result = json.loads(do("results", "latest", "--shape", "evaluation-result", "--json"))
    do("show", "latest")
    do("log", "latest")
    do("projections", "rebuild")
    # The commands went the whole way, and were judged: some equal, some not even shell.
    assert 0 < result["csr"] < 1
    assert any(f"touch {tmp_path / TRACE}" in each["actual"] for each in result["failed_cases"])
    assert traces(tmp_path) == []


def modules() -> Iterator[tuple[str, Path]]:
    for package in (failproof_es, projections):
        root = Path(str(package.__file__)).parent
        for path in root.rglob("*.py"):
            yield str(path.relative_to(root.parent)), path


def starts_programs(tree: ast.AST) -> bool:
    """Whether the module names anything that starts a process, or evaluates text as code."""
    return any(
        names_a_starter(node) for node in ast.walk(tree) if isinstance(node, ast.expr | ast.stmt)
    )


def names_a_starter(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return any(each.name.split(".")[0] in MODULES for each in names)
        case ast.ImportFrom(module=module, names=names):
            named = {each.name for each in names}
            return (module or "").split(".")[0] in MODULES or (
                module == "os" and bool(named & OF_OS)
            )
        case ast.Attribute(attr=name):
            of_os = name in OF_OS or name.startswith(("exec", "spawn"))
            return name.startswith(("create_subprocess_", "subprocess_")) or (
                of_os and ast.unparse(node.value) == "os"
            )
        case ast.Call(func=ast.Name(id=name)):
            return name in ("exec", "eval", "compile")
    return False


@pytest.mark.slow
def test_only_modules_that_are_known_for_it_start_programs() -> None:
    texts = {name: path.read_text() for name, path in modules()}
    suspects = {name: text for name, text in texts.items() if CALLED_OR_NAMED.search(text)}
    assert {name for name, text in suspects.items() if starts_programs(ast.parse(text))} == set(
        STARTERS
    )
