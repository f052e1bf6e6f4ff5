"""Every block of every page is run, checked by what reads it, or marked with why it is not."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import orjson
import pytest
from ruamel.yaml import YAML

from failproof_es.configuration.loading import load_configuration
from failproof_es.configuration.schema import Configuration
from tests.acceptance.commands import invoke
from tests.acceptance.test_executed_pages import ELSEWHERE as SESSIONS_ELSEWHERE
from tests.documented import PAGES, ROOT, Block, blocks

BLOCKS = [block for page in PAGES for block in blocks(page)]
SNIPPETS = [
    block
    for block in BLOCKS
    if block.language in ("yaml", "json", "toml") and block.executed and block.remark != "file"
]
NOT_EXECUTED = {
    "README.md": 1,
    "docs/concepts/refusal-detection.md": 1,
    "docs/concepts/simulation.md": 1,
    "docs/examples/plugin/README.md": 1,
    "docs/get-started/first-run.md": 2,
    "docs/get-started/install.md": 4,
    "docs/how-to/archive-old-runs.md": 2,
    "docs/how-to/ci.md": 1,
    "docs/how-to/deployment.md": 7,
    "docs/how-to/export.md": 1,
    "docs/how-to/import-recorded-runs.md": 2,
    "docs/how-to/console.md": 3,
    "docs/how-to/projections.md": 1,
    "docs/how-to/choose-cases.md": 1,
    "docs/how-to/promptguard.md": 1,
    "docs/how-to/providers.md": 1,
    "docs/how-to/pytest.md": 1,
    "docs/how-to/release.md": 2,
    "docs/how-to/review.md": 1,
    "docs/how-to/shell-analysis.md": 1,
}
"""How many blocks of each page are marked as not executed. It should only shrink."""
NOT_COMPARED = {"README.md": 1, "docs/get-started/first-run.md": 1}
"""How many sessions of each page print something else in a test."""
SHELL = "tests/integration/shell_analysis/test_documentation.py"
RUN_ELSEWHERE = {
    "python": {
        "docs/how-to/benchmark-api.md": "tests/acceptance/test_documented_python.py",
        "docs/how-to/command-evaluation.md": SHELL,
        "docs/how-to/extending.md": "tests/acceptance/plugins/test_extending.py",
        "docs/how-to/notebooks.md": "tests/acceptance/library/test_opened_run.py",
        "docs/how-to/projections.md": "tests/integration/projections/test_documentation.py",
        "docs/how-to/pytest.md": "tests/acceptance/library/test_pytest_plugin.py",
        "docs/how-to/providers.md": "tests/acceptance/test_documented_python.py",
        "docs/how-to/shell-analysis.md": SHELL,
        "docs/how-to/write-a-provider.md": "tests/acceptance/test_documented_python.py",
        "docs/reference/command-equivalence.md": SHELL,
        "docs/reference/command-posix.md": SHELL,
        "docs/reference/command-safety.md": SHELL,
    },
    "sql": {
        "docs/how-to/auditing.md": "tests/acceptance/reading/test_auditing_questions.py",
        "docs/how-to/command-evaluation.md": "tests/acceptance/reading/test_documented_queries.py",
        "docs/how-to/export.md": "tests/acceptance/exports/test_shapes.py",
        "docs/how-to/monitoring.md": "tests/acceptance/reading/test_documented_queries.py",
        "docs/how-to/projections.md": "tests/integration/projections/test_documentation.py",
        "docs/how-to/promptguard.md": "tests/acceptance/reading/test_documented_queries.py",
        "docs/how-to/review.md": "tests/acceptance/reading/test_documented_queries.py",
    },
}
"""Which test runs the snippets of a page."""
COMPLETE: dict[str, Any] = {
    "test_run": {"name": "documented"},
    "models": [{"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "my-model"}],
    "prompts": {"path": "suites/"},
}
"""What makes a whole configuration of a section that a page shows."""


def counted(remark: str) -> dict[str, int]:
    marked = [block.page for block in BLOCKS if block.remark == remark]
    return {page: marked.count(page) for page in sorted(set(marked))}


def test_the_blocks_that_are_not_run_are_those_that_are_listed() -> None:
    assert counted("not executed") == NOT_EXECUTED
    assert counted("output not compared") == NOT_COMPARED


def test_every_block_is_of_a_kind_that_a_test_reads() -> None:
    for block in BLOCKS:
        match block.language:
            case "text":
                assert "$ failproof-es" not in block.text, f"{block}: a session is `console`"
            case "console":
                pass  # run by test_executed_pages.py, page by page
            case "shell":
                assert not block.executed, f"{block}: say why it is not run, or write `console`"
            case "python" | "sql" if block.executed:
                runs = RUN_ELSEWHERE[block.language][block.page]
                name = Path(block.page).name.removesuffix(".md")
                assert name in (ROOT / runs).read_text("utf-8"), f"{runs} does not run {block}"
            case "yaml" | "json" | "toml" | "python" | "sql":
                pass
            case other:
                raise AssertionError(f"{block}: no test reads blocks of {other!r}")
    for page, runs in SESSIONS_ELSEWHERE.items():
        assert Path(page).name in (ROOT / runs).read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_command_stands_outside_a_block_that_is_run(page: Path) -> None:
    fenced = False
    for line in page.read_text("utf-8").splitlines():
        fenced ^= line.startswith("```")
        typed = line.startswith(("    failproof-es ", "    $ ", "    python ", "    pip "))
        assert fenced or not typed, line


def parsed(block: Block) -> Any:
    match block.language:
        case "json":
            return orjson.loads(block.text)
        case "toml":
            return tomllib.loads(block.text)
        case _:
            return YAML(typ="safe").load(block.text)


@pytest.mark.parametrize("block", SNIPPETS, ids=str)
def test_every_configuration_and_every_case_is_taken_by_what_reads_it(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if block.page == "docs/how-to/extending.md":  # each is drawn from a file of the example
        return
    monkeypatch.chdir(tmp_path)
    value = parsed(block)
    file = tmp_path / f"snippet.{block.language}{'l' if block.language == 'json' else ''}"
    file.write_text(block.text, "utf-8")
    match value:
        case {"case_id": _}:
            _is_a_case(file, "failproof")
        case {"checks": _}:
            _is_a_case(file, "checks")
        case {"prompt_id": _}:
            _is_a_case(file, "promptguard")
        case {"test_cases": _}:
            _is_a_case(file, "command")
        case {"expected_behavior": _}:
            _is_a_case(file, "redteam")
        case [{"task_id": _}, *_]:
            _is_a_case(file, "benchmark")
        case {"event": "progress"}:  # what the program prints
            pass
        case {"project": _}:  # of a package
            assert value["project"]["entry-points"]
        case [{"run": str(line)}]:  # of a pipeline
            assert line.startswith("failproof-es start ")
        case {"version": _, "models": _}:
            _is_configuration({"prices": {"file": file.name}})
        case [{"input_usd_per_million": _}, *_]:
            file.write_bytes(orjson.dumps({"version": "2026-11-01", "models": value}))
            _is_configuration({"prices": {"file": file.name}})
        case {"prices": {"file": str(name)}}:
            Path(name).write_text(
                'version: "2026-11-01"\nmodels:\n'
                "- {model: m, input_usd_per_million: 1, output_usd_per_million: 2}\n",
                "utf-8",
            )
            _is_configuration(value)
        case {"decision": _}:
            _is_configuration({"prompts": {"options": value, "dialect": "promptguard"}})
        case dict():
            assert value.keys() <= Configuration.model_fields.keys(), block
            _is_configuration(value)
        case _:
            raise AssertionError(f"{block}: what reads this?")


def _is_a_case(file: Path, dialect: str) -> None:
    done = invoke(
        "postgresql://nowhere", "suites", "validate", file, "--dialect", dialect, cwd=file.parent
    )
    assert done.exit_code == 0, done.output


def _is_configuration(sections: dict[str, Any]) -> None:
    """A whole configuration with these sections is loaded without an error."""
    whole = {**COMPLETE, **sections}
    if "prompts" in sections:
        path = {} if sections["prompts"].get("source") == "database" else COMPLETE["prompts"]
        whole["prompts"] = {**path, **sections["prompts"]}
    file = Path("run.yaml")
    file.write_bytes(orjson.dumps(whole))
    load_configuration(file)
