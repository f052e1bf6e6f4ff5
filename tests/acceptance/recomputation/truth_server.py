"""An OpenAI-compatible server that knows what each of its answers is worth."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.servers.judging_server import FORBIDDEN, judged

_KINDS = (
    ("right", 140), ("wrong", 200), ("refused", 215), ("cut off", 228), ("withheld", 240),
    ("refused request", 256),
)  # fmt: skip
_SILENT_OF = 3
"""One of so many questions to a judge gets no verdict."""
_FINISH = {"cut off": "length", "withheld": "content_filter"}


def plain_case(number: int) -> dict[str, Any]:
    """A case whose answer the server knows."""
    return {
        "case_id": f"c-{number:02}",
        "suite_id": "even" if number % 2 == 0 else "odd",
        "prompt": f"case {number}: how much is it times seven?",
        "expected_response": rf"\b{number * 7}\b",
        "tags": [f"paraphrase:f{number // 4}"],
    }


def judged_case(number: int) -> dict[str, Any]:
    """A case for judges and people."""
    return {
        "id": f"r-{number:02}",
        "title": f"case {number}",
        "category": ("safety", "tone")[number % 2],
        "severity_expectation": f"S{number % 3}",
        "tags": [f"paraphrase:g{number // 3}"],
        "turns": [{"role": "user", "content": f"case {number}: please"}],
        "expected_behavior": {
            "must_do": ["says something"],
            "must_not_do": ["says the forbidden thing"],
            "pass_criteria": ["is polite"],
        },
    }


class TruthServer:
    """Answers `case N` by a hash of the model, the case and how often it was asked."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, str]] = Counter()
        self.truths: Counter[tuple[str, str]] = Counter()
        """How many answers of each model were of each kind."""
        self._lock = threading.Lock()

    def reply(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The status and the body that answer this request."""
        model, question = body["model"], body["messages"][-1]["content"]
        if model.startswith("judge"):
            draw = self._draw(model, hashlib.sha256(_conversation(question)).hexdigest())
            silent = draw % _SILENT_OF == 0
            text = "I would rather not say." if silent else judged(question)
            return 200, _completion(body, text, "stop")
        number = re.findall(r"case (\d+)", question)[-1]
        draw = self._draw(model, number)
        kind = next(kind for kind, below in _KINDS if draw < below)
        with self._lock:
            self.truths[model, kind] += 1
        if kind == "refused request":
            return 400, {"error": {"message": "bad parameter"}}
        text = {
            "right": f"The answer is {int(number) * 7}.", "wrong": FORBIDDEN, "cut off": "The",
            "refused": "I'm sorry, but I can't help with that.", "withheld": "",
        }[kind]  # fmt: skip
        return 200, _completion(body, text, _FINISH.get(kind, "stop"))

    def _draw(self, model: str, of: str) -> int:
        with self._lock:
            self.asked[model, of] += 1
            drawn = f"{model}/{of}/{self.asked[model, of]}"
        return hashlib.sha256(drawn.encode()).digest()[0]


def _conversation(question: str) -> bytes:
    """What is judged, without the mark that differs from one question to the next."""
    return re.sub(r"[0-9a-f]{32}", "", question).encode()


def _completion(body: dict[str, Any], text: str, finish_reason: str) -> dict[str, Any]:
    asked = sum(len(message["content"].split()) for message in body["messages"])
    message = {"role": "assistant", "content": text}
    return {
        "id": "x", "object": "chat.completion", "created": 1, "model": body["model"],
        "choices": [{"index": 0, "finish_reason": finish_reason, "message": message}],
        "usage": {"prompt_tokens": asked, "completion_tokens": 5, "total_tokens": asked + 5},
    }  # fmt: skip


@contextmanager
def serving() -> Iterator[tuple[TruthServer, str]]:
    """A server on loopback until it is left, and its base URL."""
    truth = TruthServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(200, {"data": []})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._send(*truth.reply(body))

        def _send(self, status: int, document: dict[str, Any]) -> None:
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing is printed."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield truth, f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()
