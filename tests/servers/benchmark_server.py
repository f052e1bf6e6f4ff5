"""An OpenAI-compatible server with models that answer, streamed when asked to, and a judge.

`python -m tests.servers.benchmark_server --latency-ms 30` prints its URL on its first line. A model
whose name begins with `judge` gives 0.8, unless the question holds `[judge:BASE64]`: then it
says that, or with `[judge:BASE64*N]` says it N times first. `[answer:BASE64]` is what any
other model says; else it repeats the question after its own name, without what a judge is to say
of it. `[http:STATUS]` answers with
that status, and the answer, where one is given, as its reason; `[cut]` cuts an answer off,
`[withheld]` withholds one. GET /asked counts requests by model and message, GET /order lists
the models in the order in which they were asked. POST /refuse with a model's name has its key
refused from then on. Under /ollama it is an Ollama that can fetch models.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from base64 import b64decode, b64encode
from collections import Counter
from typing import Any

import orjson
from aiohttp import web

_JUDGE = re.compile(r"\[judge:([A-Za-z0-9+/=]*)(?:\*(\d+))?\]")
_ANSWER = re.compile(r"\[answer:([A-Za-z0-9+/=]*)\]")
_HTTP = re.compile(r"\[http:(\d+)\]")
_ENDINGS = {"[cut]": "length", "[withheld]": "content_filter"}
_VERDICT = re.compile(r'\{(?=\s*"(?:score|reason)")')
_GRADED = re.compile(r"--- the answer to be graded (\w{32}) ---\n(.*)\n--- end \1 ---", re.DOTALL)
GRADE = b'{"score": 0.8, "reason": "It is a good answer."}'


def judge_says(text: str | bytes, times: int | None = None) -> str:
    """What makes the judge say that, always or so many times, where a question holds it."""
    encoded = b64encode(text.encode() if isinstance(text, str) else text).decode()
    return f"[judge:{encoded}]" if times is None else f"[judge:{encoded}*{times}]"


def proved(judgement: str, question: str) -> str:
    """The judgement with the question's mark, and a quotation of the answer, in each verdict."""
    graded = _GRADED.search(question)
    if graded is None:
        return judgement
    first, *_ = graded[2].splitlines()
    quote = first if len(first.split()) > 1 else graded[2]
    proof = orjson.dumps({"transcript": graded[1], "quote": quote}).decode()[:-1] + ","
    return _VERDICT.sub(lambda _: proof, judgement)


class BenchmarkServer:
    """Answers after `latency_s`."""

    def __init__(self, latency_s: float = 0.0) -> None:
        self.latency_s = latency_s
        self.asked: Counter[str] = Counter()
        self.order: list[str] = []
        self.refused = ""
        self.pulled: list[str] = []

    async def start(self, port: int = 0) -> str:
        """Listen on loopback; returns the base URL."""
        app = web.Application(client_max_size=64_000_000)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/ollama/v1/models", self._models)
        app.router.add_post("/ollama/v1/chat/completions", self._complete)
        app.router.add_get("/ollama/api/version", self._version)
        app.router.add_post("/ollama/api/pull", self._pull)
        app.router.add_get("/asked", self._asked)
        app.router.add_get("/order", self._order)
        app.router.add_post("/refuse", self._refuse)
        runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        host, bound = runner.addresses[0][:2]
        return f"http://{host}:{bound}/v1"

    async def _version(self, request: web.Request) -> web.Response:
        return web.json_response({"version": "0.0"})

    async def _pull(self, request: web.Request) -> web.Response:
        model = orjson.loads(await request.read())["model"]
        if model == "unheard-of":
            return web.json_response({"error": "no such model"}, status=500)
        self.pulled.append(model)
        return web.json_response({"status": "success"})

    async def _models(self, request: web.Request) -> web.Response:
        names = ("alpha", "beta", "judge", *self.pulled)
        return web.json_response({"data": [{"id": name} for name in names]})

    async def _asked(self, request: web.Request) -> web.Response:
        return web.json_response(self.asked)

    async def _order(self, request: web.Request) -> web.Response:
        return web.json_response(self.order)

    async def _refuse(self, request: web.Request) -> web.Response:
        self.refused = await request.text()
        return web.Response()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body: dict[str, Any] = orjson.loads(await request.read())
        model, prompt = body["model"], body["messages"][-1]["content"]
        self.asked[f"{model}\n{prompt}"] += 1
        self.order.append(model)
        await asyncio.sleep(self.latency_s)
        if model == self.refused:
            return web.json_response({"error": {"message": "wrong key"}}, status=401)
        if model.startswith("judge"):
            return _whole(model, self._judgement(prompt, self.asked[f"{model}\n{prompt}"]))
        said = _ANSWER.search(prompt)
        text = b64decode(said[1]).decode() if said else f"{model} says: {_JUDGE.sub('', prompt)}"
        if refused := _HTTP.search(prompt):
            reason = text if said else "no"
            return web.json_response({"error": {"message": reason}}, status=int(refused[1]))
        ending = next((ends for sign, ends in _ENDINGS.items() if sign in prompt), "stop")
        if not body.get("stream"):
            return _whole(model, text, ending)
        return await self._streamed(request, model, text, ending)

    def _judgement(self, prompt: str, asked: int) -> str:
        scripted = _JUDGE.search(prompt)
        if scripted is None or (scripted[2] is not None and asked > int(scripted[2])):
            return proved(GRADE.decode(), prompt)
        return proved(b64decode(scripted[1]).decode("utf-8", "surrogatepass"), prompt)

    async def _streamed(
        self, request: web.Request, model: str, text: str, ending: str
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        pieces = [text[start : start + 5] for start in range(0, len(text), 5)]
        for piece in pieces:
            await response.write(_chunk(model, {"content": piece}, None))
            await asyncio.sleep(0.002)
        await response.write(_chunk(model, {}, ending))
        await response.write(b"data: [DONE]\n\n")
        return response


def _chunk(model: str, delta: dict[str, str], finish_reason: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return b"data: " + orjson.dumps({"model": model, "choices": [choice]}) + b"\n\n"


def _whole(model: str, text: str, finish_reason: str = "stop") -> web.Response:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return web.json_response({"model": model, "choices": [choice], "usage": usage})


async def _serve(port: int, latency_s: float) -> None:
    print(await BenchmarkServer(latency_s).start(port), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency-ms", type=float, default=0.0)
    arguments = parser.parse_args()
    asyncio.run(_serve(arguments.port, arguments.latency_ms / 1000))
