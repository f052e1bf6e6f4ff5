"""Hostile cases and hostile answers through real runs into the HTML report: shown, never obeyed."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke
from tests.browser import Beacon, beacon, parsed
from tests.harmless_html import hostile, objections

_CASE = re.compile(r"case (\d+):")
_NOT_IN_CASE_FILES = {"surrogate", "nothing"}
MODELS = ('<img src=x onerror="alert(1)">', "</title><script>alert(1)</script>")


@contextlib.contextmanager
def hostile_model(answers: list[str]) -> Iterator[str]:
    """A server that answers the n-th case with the n-th text, escaped as JSON allows."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply({"data": [{"id": name} for name in MODELS]})

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = _CASE.match(asked["messages"][-1]["content"])
            assert found is not None
            message = {"role": "assistant", "content": answers[int(found[1])]}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            self._reply({"id": "1", "model": asked["model"], "choices": [choice], "usage": None})

        def _reply(self, document: object) -> None:
            body = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def heard() -> Iterator[Beacon]:
    with beacon() as counting:
        yield counting


@pytest.fixture
def finished_run(store: Store, tmp_path: Path, heard: Beacon) -> Path:
    """A run in which every case and every answer is hostile, and every answer fails."""
    texts = hostile(heard.port)
    cases = [
        {
            "case_id": f"case-{number}",
            "suite_id": "hostile",
            "prompt": f"case {number}: {{{{text}}}}",
            "prompt_vars": {"text": name if name in _NOT_IN_CASE_FILES else text},
            "expected_response": "^never$",
            "tags": [name if name in _NOT_IN_CASE_FILES else text[:80] or "none"],
        }
        for number, (name, text) in enumerate(texts.items())
    ]
    (tmp_path / "suite.jsonl").write_text("\n".join(map(json.dumps, cases)), "utf-8")
    with hostile_model(list(texts.values())) as url:
        configuration = {
            "test_run": {"name": "hostile"},
            "models": [{"provider": "openai", "base_url": url, "model": name} for name in MODELS],
            "prompts": {"path": "suite.jsonl", "dialect": "failproof"},
            "execution": {"parallel_workers": 4, "retry_attempts": 0},
        }
        (tmp_path / "run.yaml").write_text(json.dumps(configuration), "utf-8")
        done = invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    assert done.exit_code == 0, done.output
    return tmp_path


@pytest.mark.slow
def test_what_models_and_cases_say_is_shown_and_adds_nothing_to_the_page(
    store: Store, finished_run: Path, heard: Beacon
) -> None:
    done = invoke(store.url, "report", "latest", cwd=finished_run)
    assert done.exit_code == 0, done.output
    name = done.stdout.strip()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_hostile\.html", name)
    html = (finished_run / name).read_text("utf-8")
    assert objections(html) == []
    for shown in ("&lt;script src=http", r'<mark class="unseen">\u202e</mark>', "{{ 7*7 }}"):
        assert shown in html
    assert html.count("<summary>case-") == 2 * len(hostile()), "every text failed, for both models"

    document = parsed(finished_run / name, finished_run / "profile")
    assert heard.paths == []
    assert objections(document.replace("<!DOCTYPE", "<!doctype", 1)) == []
