"""The program as a process, a model server on loopback, a database of the test's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from failproof_es.store.embedded.server import EmbeddedServer
from tests.acceptance.commands import completed, invoke, run
from tests.acceptance.recording import Recording, recorded_once

Program = Callable[..., "subprocess.CompletedProcess[str]"]

CASES = [("greet-1", "say ok", "ok"), ("greet-2", "say no", "no"), ("sum-1", "1+1", "2")]
"""Id, prompt and expected response of the cases that most tests here run."""
HOSTILE = "\x1b[2Jpwned\u202e\u200b\x9b31m"
"""What a model may answer: a screen wipe, an override, something invisible, a C1 opener."""


@dataclass
class ModelServer:
    """An OpenAI-compatible server that answers every prompt by `answers`, else with `ok`."""

    base_url: str = ""
    answers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    requests: list[str] = field(default_factory=list)

    def reply(self, prompt: str) -> str:
        time.sleep(self.delay_s)
        self.requests.append(prompt)
        return self.answers.get(prompt, "ok")


@contextmanager
def served() -> Iterator[ModelServer]:
    """A real HTTP server on loopback, until it is left."""
    state = ModelServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send({"object": "list", "data": [{"id": "tiny", "object": "model"}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            text = state.reply(body["messages"][-1]["content"])
            self._send(
                {
                    "id": "chatcmpl-1",
                    "object": "chat.completion",
                    "model": body["model"],
                    "choices": [
                        {
                            "index": 0,
                            "finish_reason": "stop",
                            "message": {"role": "assistant", "content": text},
                        }
                    ],
                    "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
                }
            )

        def _send(self, document: dict[str, Any]) -> None:
            data = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    state.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """A real HTTP server on loopback."""
    with served() as state:
        yield state


@pytest.fixture
def environment(database_url: str, tmp_path: Path) -> dict[str, str]:
    """The environment of the program: the test's database, nothing that colours."""
    return {
        **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        "FAILPROOF_ES_DATABASE_URL": database_url,
        "FAILPROOF_ES_HOME": str(tmp_path / "home"),
    }


@pytest.fixture
def process(environment: dict[str, str], tmp_path: Path) -> Program:
    """Run `failproof-es` in a process of its own and return how it ended."""

    def run_process(*arguments: object, **extra: str) -> subprocess.CompletedProcess[str]:
        return completed([str(each) for each in arguments], environment | extra, cwd=tmp_path)

    return run_process


@pytest.fixture
def program(environment: dict[str, str], tmp_path: Path) -> Program:
    """Run `failproof-es` in this process and return how it ended, as a process would tell it."""

    def run_here(*arguments: object, **extra: str) -> subprocess.CompletedProcess[str]:
        url = environment["FAILPROOF_ES_DATABASE_URL"]
        words = [str(argument) for argument in arguments]
        done = invoke(url, *words, cwd=tmp_path, **(environment | extra))
        return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)

    return run_here


def command(*arguments: object) -> list[str]:
    """The command line of the program as this Python has it installed."""
    return [sys.executable, "-m", "failproof_es.cli", *map(str, arguments)]


def write_configuration(
    folder: Path,
    server: ModelServer,
    cases: list[tuple[str, str, str]],
    *,
    gates: dict[str, float] | None = None,
    output: dict[str, Any] | None = None,
    workers: int = 4,
) -> Path:
    """Write a configuration and its suite; the cases are (id, prompt, expected response)."""
    suite = folder / "suite.jsonl"
    with suite.open("w") as file:
        for case_id, prompt, expected in cases:
            case = {
                "case_id": case_id,
                "suite_id": case_id.split("-")[0],
                "prompt": prompt,
                "expected_response": expected,
            }
            file.write(json.dumps(case) + "\n")
    document = {
        "test_run": {"name": "smoke"},
        "models": [{"provider": "openai", "base_url": server.base_url, "model": "tiny"}],
        "prompts": {"path": str(suite)},
        "execution": {"parallel_workers": workers, "retry_delay_ms": 10},
        "gates": gates or {},
        **({"output": output} if output else {}),
    }
    path = folder / "run.yaml"
    path.write_text(json.dumps(document))  # JSON is YAML
    return path


@pytest.fixture
def configuration(model_server: ModelServer, tmp_path: Path) -> Callable[..., Path]:
    """`write_configuration` for the test's own folder and server."""
    return partial(write_configuration, tmp_path, model_server)


@pytest.fixture(scope="session")
def recording(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Recording:
    """A run of `CASES`, whose model answers `ok` to everything."""

    def record(url: str, folder: Path) -> None:
        with served() as model_server:
            write_configuration(folder, model_server, CASES)
            done = run(url, "start", "run.yaml", cwd=folder)
            assert done.returncode == 0, done.stderr

    return recorded_once(postgres_server, migrated_database, tmp_path_factory, record)


@pytest.fixture
def template(request: pytest.FixtureRequest, migrated_database: str) -> str:
    if "recorded" not in request.fixturenames:
        return migrated_database
    recording: Recording = request.getfixturevalue("recording")
    return recording.database


@pytest.fixture
def recorded(recording: Recording, environment: dict[str, str], tmp_path: Path) -> None:
    """The test's log holds the run of `recording`."""
    recording.copy_files(Path(environment["FAILPROOF_ES_HOME"]), tmp_path)
