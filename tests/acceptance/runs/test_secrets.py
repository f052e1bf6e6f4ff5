"""A key that a server echoes is found nowhere: not on record, not in an output, not in a file."""

from __future__ import annotations

import base64
import contextlib
import gzip
import socketserver
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

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
        assert done.exit_code == (3 if arguments[0] == "start" else 0), done.output
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


def test_a_careless_client_class_does_not_give_the_key_away(store: Store, tmp_path: Path) -> None:
    """In a process of its own: it imports a module."""
    (tmp_path / "careless.py").write_text(CLIENT)
    entry = {"provider": "python", "class": "careless:Careless", "api_key_env": "CANARY_KEY"}
    (tmp_path / "suite.jsonl").write_text(
        '{"case_id": "a", "suite_id": "s", "prompt": "answer"}\n'
        '{"case_id": "b", "suite_id": "s", "prompt": "raise"}\n'
    )
    for model, exit_code in (("unmade", 2), ("made", 3)):
        write_configuration(tmp_path, "", models=[{**entry, "model": model}])
        done = run(store.url, "--debug", "start", "run.yaml", cwd=tmp_path, CANARY_KEY=KEY)
        assert done.returncode == exit_code, done.stderr
        assert not leaks(done.stderr.encode() + done.stdout.encode())
        assert model == "made" or "is not accepted" in done.stderr
    database = whole_database(store.url)
    assert not leaks(database)
    assert "is not accepted" in database.decode(errors="replace")


def test_an_echo_in_any_form_that_nobody_reads_is_found_nowhere(
    store: Store, tmp_path: Path
) -> None:
    """The judge's key, echoed by the server of the model under test."""
    judge_key = "sk-judge/77aa+00bb=="
    echoes = [
        "".join(f"\\u{ord(sign):04x}" for sign in KEY).encode(),
        base64.b64encode(f"Bearer {judge_key}".encode()),
        KEY.encode().hex().encode(),
        quote(judge_key, safe="").encode(),
    ]
    bodies = [
        b'{"model":"mock","debug":{"%b":"%b"},"choices":[{"message":{"content":"hello"}}]}'
        % (echo, echo)
        for echo in echoes
    ]
    replies = iter([b'{"data":[]}', b'{"data":[]}', *bodies])

    def answer(body: bytes) -> bytes:
        return b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b" % (
            len(body), body,
        )  # fmt: skip

    cases = [{"case_id": f"c{n}", "suite_id": "s", "prompt": f"p{n}"} for n in range(len(bodies))]
    (tmp_path / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    with serving(lambda: answer(next(replies))) as url:
        model = {"provider": "openai", "base_url": url, "model": "mock", "api_key_env": "A_KEY"}
        write_configuration(
            tmp_path, url, models=[model], judge={**model, "api_key_env": "B_KEY"},
            execution={"parallel_workers": 1, "retry_attempts": 0},
        )  # fmt: skip
        keys = {"A_KEY": KEY, "B_KEY": judge_key}
        done = invoke(store.url, "start", "run.yaml", cwd=tmp_path, **keys)
    assert done.exit_code == 0, done.output
    database = whole_database(store.url).lower()
    assert [echo for echo in echoes if echo.lower() in database] == []
    assert database.count(b'"why":"secret"') >= len(echoes)


def test_a_key_in_a_head_or_in_a_packed_error_is_found_nowhere(
    store: Store, tmp_path: Path
) -> None:
    """A header's name, a line that is too long, bytes that are not unpacked."""
    token = "sk-canary-5d2e-f0a1"  # what a header's name can be
    packed = gzip.compress(token.encode())
    end = b"content-length: 2\r\nconnection: close\r\n\r\n{}"
    answers = iter(
        [
            b"HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n" + b'{"data":[]}',
            b"HTTP/1.1 200 OK\r\nx-ratelimit-%b: 5\r\n%b" % (token.encode(), end),
            b"HTTP/1.1 200 OK\r\nx: %b%b%b\r\n" % (b"x" * 85, token.encode(), b"y" * 70_000) + end,
            b"HTTP/1.1 500 No\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b"
            % (len(packed), packed),
        ]
    )
    cases = [{"case_id": f"c{n}", "suite_id": "s", "prompt": f"p{n}"} for n in range(3)]
    (tmp_path / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    with serving(lambda: next(answers)) as url:
        model = {"provider": "openai", "base_url": url, "model": "mock", "api_key_env": "A_KEY"}
        write_configuration(
            tmp_path, url, models=[model],
            execution={"parallel_workers": 1, "retry_attempts": 0},
        )  # fmt: skip
        done = invoke(store.url, "start", "run.yaml", cwd=tmp_path, A_KEY=token)
    database = whole_database(store.url)
    assert b"its head is longer than 64 KiB" in database, done.output
    assert b"x-ratelimit-[redacted:A_KEY]" in database
    assert b'"why":"unsearchable"' in database
    for found in (database, done.output.encode()):
        assert token[:8].encode() not in found
        assert base64.b64encode(packed)[:16] not in found


def test_a_listing_of_models_that_repeats_the_key_is_shown_without_it(
    store: Store, tmp_path: Path
) -> None:
    listing = orjson.dumps({"data": [{"id": f"not {KEY}"}]})
    reply = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(listing)
    (tmp_path / "suite.jsonl").write_text('{"case_id": "a", "suite_id": "s", "prompt": "p"}')
    with serving(lambda: reply + listing) as url:
        model = {"provider": "openai", "base_url": url, "model": "mock"}
        write_configuration(tmp_path, url, models=[{**model, "api_key_env": "CANARY_KEY"}])
        done = invoke(store.url, "validate", "run.yaml", cwd=tmp_path, CANARY_KEY=KEY)
    assert "it lists: not [redacted:CANARY_KEY]" in done.output
    assert not leaks(done.output.encode())


def test_a_listed_name_that_is_too_long_to_show_shows_no_piece_of_the_key(
    store: Store, tmp_path: Path
) -> None:
    name = "x" * (80 - len(KEY) + 1) + KEY
    listing = orjson.dumps({"data": [{"id": name}]})
    reply = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(listing)
    (tmp_path / "suite.jsonl").write_text('{"case_id": "a", "suite_id": "s", "prompt": "p"}')
    with serving(lambda: reply + listing) as url:
        model = {"provider": "openai", "base_url": url, "model": "mock"}
        write_configuration(tmp_path, url, models=[{**model, "api_key_env": "CANARY_KEY"}])
        done = invoke(store.url, "validate", "run.yaml", cwd=tmp_path, CANARY_KEY=KEY)
    assert KEY[:-1] not in done.output
    assert "it lists: (a name of 81 characters)" in done.output


def test_a_stand_in_for_a_key_alters_no_answer_and_is_warned_of_unless_it_stays_here(
    store: Store, mock_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = {"case_id": "a", "suite_id": "s", "prompt": "say the word test"}
    (tmp_path / "suite.jsonl").write_bytes(orjson.dumps({**case, "expected_response": "test"}))
    model = {"provider": "openai", "base_url": mock_url, "model": "mock", "api_key_env": "A_KEY"}
    write_configuration(tmp_path, mock_url, models=[model])
    warning = "models[0].api_key_env: the value of A_KEY has fewer than 16 characters"
    checked = invoke(store.url, "validate", "run.yaml", cwd=tmp_path, A_KEY="test")
    assert checked.exit_code == 0 and "A_KEY has" not in checked.stderr
    monkeypatch.setattr("failproof_es.engine.drive.targets.is_this_machine", lambda host: False)
    checked = invoke(store.url, "validate", "run.yaml", cwd=tmp_path, A_KEY="test")
    assert warning in checked.stderr
    started = invoke(store.url, "start", "run.yaml", "--json", cwd=tmp_path, A_KEY="test")
    assert warning in started.stderr
    [row] = map(
        orjson.loads,
        invoke(store.url, "log", "--type", "Classified", "--format", "jsonl", cwd=tmp_path)
        .stdout.splitlines(),
    )  # fmt: skip
    assert row["payload"]["primary"] == "pass"


@contextlib.contextmanager
def serving(reply: Callable[[], bytes]) -> Iterator[str]:
    """A server on loopback that answers each request with these bytes; yields its base URL."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            length = 0
            while (line := self.rfile.readline()) not in (b"\r\n", b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            self.rfile.read(length)
            self.wfile.write(reply())

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()
