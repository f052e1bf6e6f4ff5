"""One run over replies that end in every way: what is scored, asked again, named and reused."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

from failproof_es.library.opened_run import OpenedRun
from failproof_es.store.reading.reader import find
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration

HALF = '{"choices":[{"message":{"content":"Oslo \\ud83d"},"finish_reason":"stop"}]}'
BLOCKED = {"error": {"message": "It was filtered by the content management policy."}}


def chat(content: Any, reason: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content}, "finish_reason": reason}]}


REPLIES: dict[str, tuple[int, Any, str, str, int]] = {
    # name: status, body, class, how it ends, requests
    "right": (200, chat("Oslo", "stop"), "pass", "scored", 1),
    "no_word": (200, chat("Oslo", None), "pass", "scored", 1),
    "empty": (200, chat(None, "stop"), "empty", "scored", 1),
    "half": (200, HALF, "pass", "scored", 1),
    "cut": (200, chat("Os", "max_tokens"), "truncated", "truncated", 1),
    "cut_thoughts": (200, chat(None, "length"), "truncated", "truncated", 1),
    "cut_think": (200, chat("<think>Oslo", "length"), "truncated", "truncated", 1),
    "safety": (200, chat("Oslo", "SAFETY"), "withheld", "content_filter", 1),
    "nothing": (200, chat(None, "content_filter"), "withheld", "content_filter", 1),
    "no_message": (
        200, {"choices": [{"message": None, "finish_reason": "PROHIBITED_CONTENT"}]},
        "withheld", "content_filter", 1,
    ),
    "blocked": (400, BLOCKED, "withheld", "content_filter", 1),
    "new": (200, chat("Oslo", "brand_new"), "unknown", "unknown_finish_reason", 1),
    "number": (200, chat("Oslo", 3), "unknown", "unknown_finish_reason", 1),
    "object": (200, chat("Oslo", {"type": "length"}), "unknown", "unknown_finish_reason", 1),
    "parts": (200, chat([{"text": "Os"}, "lo"], "stop"), "pass", "scored", 1),
    "odd_parts": (200, chat([{"odd": "Oslo"}], "stop"), "error", "missing_content", 2),
    "no_number": (
        200, '{"choices":[{"message":{"content":"Oslo","tool_calls":""},"logprobs":NaN}]}',
        "pass", "scored", 1,
    ),
    "broken": (200, chat("Oslo", "network_error"), "error", "provider_error", 2),
    "thought": (200, chat("<think>Not Oslo.</think>Bergen", "stop"), "fail", "scored", 1),
    "doubt": (200, chat("<think>I can't help with that?</think>Oslo", "stop"), "pass", "scored", 1),
}  # fmt: skip


@contextmanager
def server(asked: Counter[str]) -> Iterator[str]:
    """Answers each prompt as `REPLIES` says, in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def reply(request: web.Request) -> web.Response:
        prompt = orjson.loads(await request.read())["messages"][-1]["content"]
        asked[prompt] += 1
        status, body, *_ = REPLIES[prompt]
        text = body if isinstance(body, str) else orjson.dumps(body).decode()
        return web.Response(status=status, text=text, content_type="application/json")

    async def listing(_: web.Request) -> web.Response:
        return web.json_response({"data": []})

    async def start() -> tuple[web.AppRunner, str]:
        application = web.Application()
        application.router.add_post("/chat/completions", reply)
        application.router.add_get("/models", listing)
        runner = web.AppRunner(application)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        return runner, f"http://127.0.0.1:{runner.addresses[0][1]}"

    runner, url = asyncio.run_coroutine_threadsafe(start(), loop).result(30)
    try:
        yield url
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()


def prepared(folder: Path, url: str) -> None:
    cases = [
        {"case_id": name, "suite_id": "s", "prompt": name, "expected_response": "Oslo"}
        for name in REPLIES
    ]
    (folder / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    execution = {"parallel_workers": 4, "retry_attempts": 1, "retry_delay_ms": 1}
    write_configuration(folder, url, execution=execution, gates={"max_unscored_rate": 1.0})


def test_what_comes_of_a_reply_is_what_its_end_means(store: Store, tmp_path: Path) -> None:
    asked: Counter[str] = Counter()
    with server(asked) as url:
        prepared(tmp_path, url)
        first = invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
        assert asked == {name: reply[-1] for name, reply in REPLIES.items()}, first.output
        came = dict(results(store.url))
        assert came == {name: reply[2:4] for name, reply in REPLIES.items()}
        with store.connect() as connection:
            (checked,) = [row.payload() for row in find(connection, topics=["RunValidated"])]
        named = [(each["kind"], each["message"]) for each in checked["findings"]]
        assert checked["passed"], named
        unknown = " ".join(said for kind, said in named if kind == "unknown_finish_reason")
        assert all(repr(word) in unknown for word in ("brand_new", "3", '{"type":"length"}'))
        assert dict(named)["withheld"].startswith("4 replies of mock ")
        asked.clear()
        again = invoke(store.url, "start", "run.yaml", "--quiet", "--reuse", 1, cwd=tmp_path)
        unscored = {name for name, reply in REPLIES.items() if reply[3] != "scored"}
        assert set(asked) == unscored, again.output


def results(database_url: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """The class of each case, and how it ended."""
    with OpenedRun.open("1", database_url=database_url) as run:
        for row in run.results():
            yield row.case_id, (row.class_ or "", row.error_kind or "scored")
