"""A model whose answers change from run to run, and that fails now and then."""

from __future__ import annotations

import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import orjson

LOST = 400


class Answers(ThreadingHTTPServer):
    """Case n fails where `modulus` divides it; some are turned away, some only at first."""

    modulus = 3

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Asked)
        self.asked: Counter[bytes] = Counter()
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Asked(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, Answers)
        body = self.rfile.read(int(self.headers["content-length"]))
        asked = orjson.loads(body)
        number = int(asked["messages"][-1]["content"].split()[2].rstrip("."))
        with server.lock:
            server.asked[body] += 1
            odd = server.asked[body] % 2
        if number == 7:
            return self._reply(LOST, {"error": {"message": "bad parameter"}})
        if number % 5 == 2 and odd:
            return self._reply(500, {"error": {"message": "it broke"}})
        text = "Something else." if number % server.modulus == 0 else f"number {number}"
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "finish_reason": "stop",
        }
        usage = {"prompt_tokens": 100 + number, "completion_tokens": 10, "total_tokens": 110}
        head = {"id": f"id-{number}", "object": "chat.completion", "created": 1}
        return self._reply(200, head | {"model": asked["model"], "choices": [choice],
                                        "usage": usage})  # fmt: skip

    def do_GET(self) -> None:
        listed = [{"id": name} for name in ("mock", "mock-large", "one", "two")]
        self._reply(200, {"object": "list", "data": listed})

    def _reply(self, status: int, told: object) -> None:
        data = orjson.dumps(told)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass
