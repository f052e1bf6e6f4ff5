"""The pupils' server, for trying the provider out: it knows the answers that it is given.

    python -m failproof_es_quiz.server questions.jsonl

It listens on loopback, prints its URL, and refuses what is not signed with PUPIL_KEY. The pupil
`ada` answers every question right, any other one always takes the first choice.
"""

from __future__ import annotations

import argparse
import hmac
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson

from failproof_es_quiz.pupil.provider import signature

PUPILS = ("ada", "bob")


class School(ThreadingHTTPServer):
    """The server, with what its pupils know."""

    daemon_threads = True

    def __init__(self, answers: dict[str, str], key: str, delay_s: float, port: int = 0) -> None:
        """`answers` are the right letters by question; `port` 0 is any that is free."""
        super().__init__(("127.0.0.1", port), _Handler)
        self.answers = answers
        self.key = key
        self.delay_s = delay_s

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}"

    def said_by(self, pupil: str, lines: list[list[str]]) -> str:
        """What a pupil answers to the last line."""
        question = lines[-1][1].partition("\n")[0]
        return self.answers.get(question, "I don't know.") if pupil == "ada" else "A"


class _Handler(BaseHTTPRequestHandler):
    server: School
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer_if_signed(b"")

    def do_POST(self) -> None:
        self._answer_if_signed(self.rfile.read(int(self.headers["content-length"])))

    def _answer_if_signed(self, body: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        url = f"http://{headers['host']}{self.path}"
        proof = signature(self.command, url, headers, body, self.server.key)
        if not hmac.compare_digest(proof, headers.get("x-signature", "")):
            self._send(401, {"error": {"message": "the signature is wrong"}})
        elif self.command == "GET":
            self._send(200, {"pupils": PUPILS})
        else:
            self._answer(orjson.loads(body))

    def _answer(self, asked: dict[str, Any]) -> None:
        time.sleep(self.server.delay_s)
        said = self.server.said_by(asked["pupil"], asked["lines"])
        tokens = {"read": 10, "said": len(said.split())}
        reply = {"said": said, "pupil": asked["pupil"], "ended": "done", "tokens": tokens}
        self._send(200, reply)

    def _send(self, status: int, document: dict[str, Any]) -> None:
        body = orjson.dumps(document)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: the run's record has it all."""


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="A school of pupils that answer quizzes.")
    parser.add_argument("questions", type=Path, help="the file of the dialect `quiz` to know")
    parser.add_argument("--port", type=int, default=8907, help="0 is any that is free")
    parser.add_argument("--delay-ms", type=float, default=0, help="before each answer")
    given = parser.parse_args()
    questions = map(orjson.loads, given.questions.read_bytes().splitlines())
    answers = {each["question"]: each["answer"] for each in questions}
    school = School(answers, os.environ["PUPIL_KEY"], given.delay_ms / 1000, given.port)
    print(school.url, flush=True)
    school.serve_forever()


if __name__ == "__main__":
    main()
