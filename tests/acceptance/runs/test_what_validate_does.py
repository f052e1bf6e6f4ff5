"""What `validate` sends and constructs, what it says of that, and that `--offline` does neither."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import Result

from failproof_es.store.reading.reader import find
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite

KEY = "sk-0123456789abcdefghij"
CLASS = """
from pathlib import Path

class Client:
    def __init__(self, api_key, model_id):
        with Path({record!r}).open("a") as record:
            record.write(f"constructed {{model_id}} with {{api_key}}\\n")

    def get_completion(self, prompt, params):
        return "yes"
"""
IMPORTED = """
from pathlib import Path
Path({record!r}).write_text("imported\\n")
"""


class Recorder:
    """A server that keeps every connection and every request that reaches it."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, str | None]] = []
        self.connections = 0
        recorder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def setup(self) -> None:
                recorder.connections += 1
                super().setup()

            def do_GET(self) -> None:
                key = self.headers.get("authorization") or self.headers.get("x-api-key")
                recorder.requests.append((self.command, self.path, key))
                body = b'{"data": [{"id": "m"}, {"id": "j"}]}'
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self.host = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Recorder]:
    recorder = Recorder()
    yield recorder
    recorder.stop()


@pytest.fixture
def folder(tmp_path: Path, server: Recorder, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration with a model behind a key, a judge behind another, and a class."""
    monkeypatch.setenv("MODEL_KEY", KEY)
    monkeypatch.setenv("JUDGE_KEY", f"{KEY}-judge")
    record = str(tmp_path / "record")
    name = f"client_{tmp_path.name}".replace("-", "_")
    source = IMPORTED.format(record=record) + CLASS.format(record=record)
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    write_suite(tmp_path, 2)
    models = [
        {"provider": "openai", "base_url": server.url, "model": "m", "api_key_env": "MODEL_KEY"},
        {"provider": "python", "class": f"{name}:Client", "model": "p", "api_key_env": "MODEL_KEY"},
    ]
    judge = {
        "provider": "anthropic", "base_url": server.url, "model": "j", "api_key_env": "JUDGE_KEY",
    }  # fmt: skip
    write_configuration(tmp_path, server.url, models=models, judge=judge)
    return tmp_path


def validated(store: Store, folder: Path, *more: str) -> Result:
    done = invoke(store.url, "validate", "run.yaml", *more, cwd=folder)
    assert done.exit_code == 0, done.output
    assert KEY not in done.output
    return done


def record(folder: Path) -> list[str]:
    file = folder / "record"
    return file.read_text().splitlines() if file.exists() else []


def test_validate_asks_each_server_for_its_models_and_constructs_each_class_and_says_so(
    store: Store, folder: Path, server: Recorder
) -> None:
    said = validated(store, folder, "--run-classes").stderr
    assert sorted(server.requests) == [
        ("GET", "/v1/models", f"Bearer {KEY}"),
        ("GET", "/v1/models?limit=1000", f"{KEY}-judge"),
    ]
    assert record(folder) == ["imported", f"constructed p with {KEY}"]
    assert f"sent GET {server.url}/models with the key in MODEL_KEY" in said
    assert f"sent GET {server.url}/models?limit=1000 with the key in JUDGE_KEY" in said
    assert "constructed the class" in said and ":Client with the key in MODEL_KEY" in said


def test_offline_constructs_no_class_and_opens_no_socket_to_a_server(
    store: Store, folder: Path, server: Recorder
) -> None:
    done = validated(store, folder, "--offline")
    assert server.connections == 0
    assert record(folder) == []
    assert f"not looked at (--offline): {server.url}" in done.stderr
    assert "not run: the class" in done.stderr
    assert "sent GET" not in done.stderr
    assert "Ready to run: 2 cases" in done.stdout


def test_offline_resolves_no_name_and_reaches_for_no_host(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database stands behind a socket file, so every TCP connection is a model's."""
    model = {"provider": "anthropic", "model": "claude-sonnet-4-5", "api_key_env": "MODEL_KEY"}
    write_configuration(folder, "", models=[model])

    def refused(*arguments: Any, **_: Any) -> Any:
        raise AssertionError(f"reached for {arguments}")

    monkeypatch.setattr(socket, "getaddrinfo", refused)
    done = validated(store, folder, "--offline")
    assert "MODEL_KEY -> api.anthropic.com (https)" in done.stderr


def test_offline_still_finds_a_key_that_is_not_there(
    store: Store, folder: Path, server: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JUDGE_KEY")
    done = invoke(store.url, "validate", "run.yaml", "--offline", cwd=folder)
    assert done.exit_code == 2 and "JUDGE_KEY is not set" in done.output
    assert server.connections == 0


@pytest.mark.parametrize("arguments", [("validate",), ("validate", "--offline"), ("start",)])
def test_which_variable_goes_where_is_said_before_the_first_request(
    store: Store, folder: Path, server: Recorder, arguments: tuple[str, ...]
) -> None:
    server.stop()  # so that nothing can come before it
    command, *more = arguments
    said = invoke(store.url, command, "run.yaml", *more, cwd=folder).stderr.splitlines()
    goes = [line for line in said if " -> " in line]
    assert goes[0] == f"MODEL_KEY -> {server.host} (http)"
    assert goes[1].startswith("MODEL_KEY -> the class client_")
    assert goes[2] == f"JUDGE_KEY -> {server.host} (http)"
    assert said.index(goes[2]) < 3


def test_a_key_that_goes_unencrypted_to_another_machine_is_a_warning_on_record(
    store: Store, folder: Path, server: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """192.0.2.0/24 is nobody's: nothing is sent there, `--offline` or refused."""
    model = {"provider": "openai", "base_url": "http://192.0.2.1:8000/v1", "model": "m"}
    write_configuration(folder, "", models=[{**model, "api_key_env": "MODEL_KEY"}])
    said = validated(store, folder, "--offline").stderr
    assert "warning: run.yaml" in said and "models[0].base_url" in said
    assert "the key in MODEL_KEY goes unencrypted to 192.0.2.1:8000" in said
    write_configuration(folder, "", models=[model])
    said = validated(store, folder, "--offline").stderr
    assert "what is asked goes unencrypted to 192.0.2.1:8000" in said
    for loopback in (server.url, "http://localhost:9/v1", "http://[::1]:9/v1", "https://x.test/v1"):
        write_configuration(folder, "", models=[{**model, "base_url": loopback}])
        assert "unencrypted" not in validated(store, folder, "--offline").stderr


def test_a_run_that_sends_unencrypted_has_the_warning_in_its_trail(
    store: Store, folder: Path, server: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "failproof_es.engine.preflight.destinations.is_this_machine", lambda host: False
    )
    model = {"provider": "openai", "base_url": server.url, "model": "m", "api_key_env": "MODEL_KEY"}
    write_configuration(folder, "", models=[model], execution={"retry_attempts": 0})
    done = invoke(store.url, "start", "run.yaml", "--quiet", cwd=folder)
    assert f"the key in MODEL_KEY goes unencrypted to {server.host}" in done.stderr
    with store.connect() as connection:
        [passed] = [row.payload() for row in find(connection, topics=["ValidationPassed"])]
    assert any("goes unencrypted" in each for each in passed["warnings"])


def test_the_help_says_what_is_sent_and_constructed(store: Store, tmp_path: Path) -> None:
    said = " ".join(invoke(store.url, "validate", "--help", cwd=tmp_path).stdout.split())
    for part in (
        *("GET BASE_URL/models", "constructs the class", "--run-classes", "--offline"),
        "No case is asked",
    ):
        assert part in said
    assert "send nothing" not in said
    dry = " ".join(invoke(store.url, "start", "--help", cwd=tmp_path).stdout.split())
    assert "Stop before anything is sent" not in dry


def test_the_record_of_a_start_is_made_of_the_same_check(
    store: Store, folder: Path, server: Recorder
) -> None:
    done = invoke(store.url, "start", "run.yaml", "--dry-run", "--json", cwd=folder)
    assert done.exit_code == 0 and orjson.loads(done.stdout)["cases"] == 2
    assert {path.partition("?")[0] for _, path, _ in server.requests} == {"/v1/models"}


def test_cases_that_no_answer_decides_are_counted(store: Store, folder: Path) -> None:
    case = {"case_id": "a", "suite_id": "s", "prompt": "Hello"}
    cases = [case, {**case, "case_id": "b", "expected_classification": "fail"}]
    (folder / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    done = validated(store, folder, "--offline", "--json")
    said = done.stderr
    warnings = [each["message"] for each in orjson.loads(done.stdout)["warnings"]]
    assert warnings and all(warning in said for warning in warnings)
    assert "1 of 2 cases expects nothing: any answer passes" in said
    assert "1 of 2 cases can never be met: no answer passes" in said


def test_cases_that_no_answer_decides_are_told_at_the_start_and_are_a_finding_of_the_run(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    case = {"case_id": "a", "suite_id": "s", "prompt": "Hello"}
    cases = [case, {**case, "case_id": "b", "expected_response": ".*"}]
    (tmp_path / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    write_configuration(tmp_path, mock_url, execution={"repetitions": 2})
    done = invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    assert done.exit_code == 0
    assert "warning: 2 of 2 cases expect nothing: any answer passes" in done.stderr
    said = "4 of 4 evaluations expect nothing: any answer passes"
    assert f": completed; {said} " in " ".join(done.stdout.split())
    assert f"  fixed_outcome: {said}\n" in done.stdout
    shown = invoke(store.url, "show", "latest", cwd=tmp_path).stdout
    assert shown.count(said) == 2
    told = orjson.loads(invoke(store.url, "show", "latest", "--json", cwd=tmp_path).stdout)
    [finding] = [each for each in told["validation"]["findings"] if each["kind"] == "fixed_outcome"]
    assert (finding["message"], finding["integrity"]) == (said, False)
    report = invoke(store.url, "report", "latest", "--format", "json", "-o", "-", cwd=tmp_path)
    verdict = orjson.loads(report.stdout)["verdict"]
    assert verdict["tone"] == "doubt"
    assert "2 of 2 cases expect nothing: any answer passes." in verdict["remarks"]
