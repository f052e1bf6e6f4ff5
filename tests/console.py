"""The console as a browser meets it: a real server on loopback, over logs with runs in them."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from failproof_es.console.server import make_server
from failproof_es.console.settings import ConsoleSettings
from failproof_es.store.schema.installation import AUDITOR, WRITER
from tests.acceptance.commands import invoke, write_configuration
from tests.conftest import home_of


@contextlib.contextmanager
def console(**settings: Any) -> Iterator[str]:
    """A console that is served until it is left; yields its base URL."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        port = listening.getsockname()[1]
        server = make_server(ConsoleSettings(port=port, **{"token": None, **settings}))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive(), "the console did not start"
                time.sleep(0.01)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join(timeout=20)


def settings_for(url: str) -> dict[str, Any]:
    """A database of the tests, read as the auditor and followed as the writer."""
    return {"database_url": _as(url, AUDITOR), "follower_url": _as(url, WRITER)}


def _as(url: str, user: str) -> str:
    for other in (WRITER, AUDITOR, "postgres"):
        url = url.replace(f"//{other}@", f"//{user}@")
    return url


def answering(*texts: str) -> str:
    """What in a prompt makes the mock answer so; of several texts, each time with the next."""
    return f"[answer:{','.join(map(_encoded, texts))}]"


def refusing(message: str) -> str:
    """What in a prompt makes the mock refuse the request with this message."""
    return f"[error:{_encoded(message)}]"


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def write_mixed_suite(folder: Path, cases: int = 24) -> None:
    """Cases that pass, fail, are refused, fail once and are lost; by turns."""
    ends = (
        "", "", answering("Something else."), "", answering("I'm sorry, I can't help with that."),
        "[fault:http500*1]", "", "[fault:http400]",
    )  # fmt: skip
    with (folder / "suite.jsonl").open("wb") as lines:
        for n in range(cases):
            case = {
                "case_id": f"case-{n:05}",
                "suite_id": ("arithmetic", "language")[n % 2],
                "category": ("easy", "hard")[n % 3 == 0],
                "tags": [f"severity:S{(n * 7) % 4}"],
                "prompt": f"Say number {n}. {ends[n % len(ends)]}",
                "expected_response": f"number {n}",
            }
            lines.write(orjson.dumps(case) + b"\n")


def record_runs(url: str, mock_url: str, folder: Path) -> None:
    """Runs 1 to 4: three attempts at the same by two models, one with other cases and a gate."""
    with home_of(folder):
        write_mixed_suite(folder)
        models = [
            {"provider": "openai", "base_url": mock_url, "model": name}
            for name in ("mock", "mock-large")
        ]
        for _ in range(3):
            write_configuration(folder, mock_url, models=models, test_run={"name": "nightly"})
            invoke(url, "start", "run.yaml", "--quiet", cwd=folder)
        write_mixed_suite(folder, 9)
        write_configuration(
            folder, mock_url, test_run={"name": "smoke"}, gates={"min_accuracy": 0.99}
        )
        invoke(url, "start", "run.yaml", "--quiet", cwd=folder)
