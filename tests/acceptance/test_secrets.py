"""A key that a server echoes is found nowhere: not on record, not in an output, not in a file."""

from __future__ import annotations

import base64
from pathlib import Path

import orjson
import psycopg
import pytest
from psycopg import sql

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, run, write_configuration
from tests.conftest import as_administrator

KEY = "sk-canary/5d2e+f0a1=="
FORMS = [form.encode() for form in (KEY, KEY.replace("/", r"\/"), KEY.removeprefix("sk-"))]
FAULTS = ("echokey", "repeatkey", "http500", "none*0")


def write_run(folder: Path, url: str) -> Path:
    """A configuration whose key comes back in an error and in an answer; returns its results."""
    cases = [
        {"case_id": fault, "suite_id": "secrets", "prompt": f"{folder.name} [fault:{fault}]"}
        for fault in FAULTS
    ]
    (folder / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    write_configuration(
        folder,
        url,
        models=[
            {"provider": "openai", "base_url": url, "model": "mock", "api_key_env": "CANARY_KEY"}
        ],
        output={"file": {"path": "{timestamp}_results.jsonl"}},
        test_run={"name": "secrets", "timestamp": "2026-11-21T08:00:00Z"},
    )
    return folder / "2026-11-21_08-00-00_results.jsonl"


def whole_database(url: str) -> bytes:
    """Every row of every table and view of ours as bytes, `bytea` columns decoded."""
    found: list[bytes] = []
    with psycopg.connect(as_administrator(url)) as connection:
        tables = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        assert {name for _, name in tables} >= {"events", "event_log", "run_results"}
        for table in tables:
            rows = connection.execute(
                sql.SQL("SELECT * FROM {}").format(sql.Identifier(*table)), binary=True
            )
            for row in rows:
                found.extend(v if isinstance(v, bytes) else repr(v).encode() for v in row)
    return b"\n".join(found)


def leaks(haystack: bytes) -> list[bytes]:
    forms = [*FORMS, base64.b64encode(KEY.encode())[:24]]
    return [form for form in forms if form in haystack]


def test_an_echoed_key_is_found_nowhere(store: Store, mock_url: str, tmp_path: Path) -> None:
    results = write_run(tmp_path, mock_url)
    shown = b""
    for arguments in (
        ("start", "run.yaml", "--json"),
        ("results", "1", "--format", "jsonl"),
        ("show", "1", "--json"),
        ("log", "--format", "jsonl"),
        ("log",),
        ("replay", "1"),
    ):
        done = invoke(store.url, *arguments, cwd=tmp_path, CANARY_KEY=KEY)
        assert done.exit_code == 0, done.output
        shown += done.output.encode()
    database = whole_database(store.url)
    for place in (shown, database, results.read_bytes()):
        assert not leaks(place)
        assert b"[redacted:CANARY_KEY]" in place, "what stood there is said"
    assert database.count(b"[redacted:CANARY_KEY]") >= 4, "in the body and in what was read of it"


def test_a_stack_trace_asked_for_does_not_show_the_key(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_run(tmp_path, mock_url)
    (tmp_path / "run.yaml").write_text(
        (tmp_path / "run.yaml").read_text().replace(mock_url, "http://127.0.0.1:9/v1")
    )
    done = run(store.url, "--debug", "start", "run.yaml", cwd=tmp_path, CANARY_KEY=KEY)
    assert done.returncode == 2
    assert "Traceback" in done.stderr, "--debug shows where it came from"
    assert not leaks(done.stderr.encode() + done.stdout.encode())


CLIENT = """\
class Careless:
    def __init__(self, api_key, model_id):
        if model_id == "unmade":
            raise ValueError(f"{api_key} is not accepted")
        self.api_key = api_key

    def get_completion(self, prompt, params):
        if "raise" in prompt:
            raise RuntimeError(f"{self.api_key} is not accepted")
        return f"my key is {self.api_key}"
"""


@pytest.mark.parametrize(("model", "exit_code"), [("unmade", 2), ("made", 0)])
def test_a_careless_client_class_does_not_give_the_key_away(
    model: str, exit_code: int, store: Store, tmp_path: Path
) -> None:
    """In a process of its own: it imports a module."""
    (tmp_path / "careless.py").write_text(CLIENT)
    entry = {"provider": "python", "class": "careless:Careless", "api_key_env": "CANARY_KEY"}
    write_configuration(tmp_path, "", models=[{**entry, "model": model}])
    (tmp_path / "suite.jsonl").write_text(
        '{"case_id": "a", "suite_id": "s", "prompt": "answer"}\n'
        '{"case_id": "b", "suite_id": "s", "prompt": "raise"}\n'
    )
    done = run(store.url, "--debug", "start", "run.yaml", cwd=tmp_path, CANARY_KEY=KEY)
    assert done.returncode == exit_code, done.stderr
    assert not leaks(done.stderr.encode() + done.stdout.encode())
    assert not leaks(whole_database(store.url))
    said = done.stderr if model == "unmade" else whole_database(store.url).decode(errors="replace")
    assert "is not accepted" in said
