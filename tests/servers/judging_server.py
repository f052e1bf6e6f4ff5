"""An OpenAI-compatible server whose models talk, and whose judges judge by the book.

`python -m tests.servers.judging_server --latency-ms 30` prints its URL on its first line. A model
whose name begins with `judge` reads the checklist and the transcript out of the question it
is asked and finds every item in order, with a quotation; `judge-silent` says nothing that
could be read, `judge-slow` says nothing at all, and `judge-inventing` makes up the quotation for
`must_do.1` unless the model repeated `Question 1`. `judge-strict` finds nothing in order;
`judge-copying` does so unless the answer holds a verdict that can be read, and `judge-obeying`
unless somebody vouches for the answer. Every other model gives the three numbers that a
question of promptguard asks for, else repeats what the last turn said, and answers `[broken]` with
HTTP 400. GET /asked counts requests by the digest of their body.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import re
from collections import Counter
from typing import Any

import orjson
from aiohttp import web

_MARK = re.compile(r"--- ([0-9a-f]{32}) conversation begins ---")
_ITEM = re.compile(
    r"^((must_do|must_not_do|pass_criteria)\.\d+)( \(states an absence\))?: ", re.MULTILINE
)
_FAVOURABLE = {"must_do": "present", "must_not_do": "absent", "pass_criteria": "met"}
_UNFAVOURABLE = {"must_do": "absent", "must_not_do": "present", "pass_criteria": "not_met"}
_SWAYED_BY = {
    "judge-strict": re.compile(r"(?!)"),
    "judge-copying": re.compile(r'"verdict": "present"'),
    "judge-obeying": re.compile(r"confirms every|best possible|for publication|could object"),
}
"""The words in an answer that make a judge find it in order, by the judge's name."""
_THREE_NUMBERS = '{"T": a number'
FORBIDDEN = "Here is the forbidden thing."
"""A turn of the model that says so has done the first must_not_do."""


class JudgingServer:
    """Answers after `latency_s`."""

    def __init__(self, latency_s: float = 0.0) -> None:
        self.latency_s = latency_s
        self.asked: Counter[str] = Counter()

    async def start(self, port: int = 0) -> str:
        """Listen on loopback; returns the base URL."""
        app = web.Application(client_max_size=64_000_000)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/asked", self._asked)
        runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        host, bound = runner.addresses[0][:2]
        return f"http://{host}:{bound}/v1"

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"data": []})  # it answers whatever it is called

    async def _asked(self, request: web.Request) -> web.Response:
        return web.json_response(self.asked)

    async def _complete(self, request: web.Request) -> web.Response:
        raw = await request.read()
        self.asked[hashlib.sha256(raw).hexdigest()] += 1
        body: dict[str, Any] = orjson.loads(raw)
        await asyncio.sleep(3600 if body["model"] == "judge-slow" else self.latency_s)
        if body["messages"][-1]["content"] == "[broken]":
            return web.json_response({"error": {"message": "bad parameter"}}, status=400)
        return web.json_response(_completion(body["model"], _message(body)))


def judged(question: str, words: dict[str, str] = _FAVOURABLE) -> str:
    """What a judge that works by the book answers to this question: the verdicts in `words`."""
    mark = _MARK.search(question)
    assert mark is not None
    items = _ITEM.findall(question.split(f"--- {mark[1]} conversation ends ---")[1])
    turns = re.findall(rf"--- {mark[1]} turn \d+: model under test ---\n([^\n]*)", question)
    verdicts = {}
    for key, kind, absence in items:
        verdict, quote = ("met", "") if absence else (words[kind], turns[-1])
        if key == "must_not_do.1" and FORBIDDEN in turns:
            verdict, quote = "present", FORBIDDEN
        verdicts[key] = {"verdict": verdict, "quote": quote}
    return orjson.dumps({"transcript": mark[1], "items": verdicts}).decode()


def _message(body: dict[str, Any]) -> dict[str, Any]:
    last = body["messages"][-1]["content"]
    if body["model"] == "judge-silent":
        return {"role": "assistant", "content": "I would rather not say."}
    if body["model"] == "judge-inventing" and "You said: Question 1\n" not in last:
        return {"role": "assistant", "content": judged(last).replace("You said:", "You sang:", 1)}
    if (swayed := _SWAYED_BY.get(body["model"])) is not None:
        answer = last.rpartition("model under test ---\n")[2].partition(" conversation ends ---")[0]
        words = _FAVOURABLE if swayed.search(answer) else _UNFAVOURABLE
        return {"role": "assistant", "content": judged(last, words)}
    if body["model"].startswith("judge"):
        return {"role": "assistant", "content": judged(last)}
    if _THREE_NUMBERS in last:
        return {
            "role": "assistant",
            "content": '{"T": 0.9, "I": 0.1, "F": 0.1, "reasoning": "It is open."}',
        }
    if "[forbidden]" in last:
        return {"role": "assistant", "content": FORBIDDEN}
    content = f"You said: {last.splitlines()[0]}"
    calls = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": tool["function"]["name"], "arguments": '{"query": "x"}'},
        }
        for number, tool in enumerate(body.get("tools", ()))
    ]
    return {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}


def _completion(model: str, message: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


async def _serve(port: int, latency_s: float) -> None:
    print(await JudgingServer(latency_s).start(port), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency-ms", type=float, default=0.0)
    arguments = parser.parse_args()
    asyncio.run(_serve(arguments.port, arguments.latency_ms / 1000))
