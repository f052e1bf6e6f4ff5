"""Ollama's own API, as documented in its repository.

https://github.com/ollama/ollama/blob/main/docs/api.md
"""

from __future__ import annotations

from typing import Any

import orjson

from failproof_es.events import Usage
from failproof_es.testing.other_side import Reply
from tests.integration.models.contract.speaking.example import Example, Speaks, call, document
from tests.integration.models.contract.wires import OllamaWire

MODEL = "llama3.2"
READ = Usage(input_tokens=26, output_tokens=298)
CALL = call("search", {"q": "naïve"})


def line(text: str, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "model": MODEL, "created_at": "2026-11-23T12:00:00.285Z", "message": message,
        "done": False, **more,
    }  # fmt: skip


def end(reason: str = "stop") -> dict[str, Any]:
    return {
        "done": True, "done_reason": reason, "total_duration": 4883583458,
        "load_duration": 1334875, "prompt_eval_count": 26, "prompt_eval_duration": 342546000,
        "eval_count": 298, "eval_duration": 4535599000,
    }  # fmt: skip


def lines(*said: dict[str, Any]) -> Reply:
    return Reply(200, [orjson.dumps(each) + b"\n" for each in said], "application/x-ndjson")


def calling(**more: Any) -> dict[str, Any]:
    function = {"name": CALL.name, "arguments": orjson.loads(CALL.arguments)}
    message = {"role": "assistant", "content": "", "tool_calls": [{"function": function}]}
    return {**line("", **more), "message": message}


def error(status: int, said: str) -> Reply:
    return document(status, {"error": said})


KNOWN: dict[str, Any] = {"model": MODEL, "usage": READ}

EXAMPLES = {
    "answer": Example(reply=document(200, line("Grüße", **end())), text="Grüße", **KNOWN),
    "stream": Example(
        reply=lines(line("Grü"), line("ße"), line("", **end())),
        stream=True, text="Grüße", **KNOWN,
    ),
    "tool_call": Example(
        reply=document(200, calling(**end())), tool_calls=(CALL,), **KNOWN
    ),
    "tool_call_stream": Example(
        reply=lines(calling(), line("", **end())), stream=True, tool_calls=(CALL,), **KNOWN
    ),
    "cut_off": Example(
        reply=document(200, line("Once upon", **end("length"))),
        text="Once upon", finish_reason="length", **KNOWN,
    ),
    "overloaded": Example(
        reply=error(503, "server busy, please try again. maximum pending requests exceeded"),
        kind="server_error", says="server busy",
    ),
    "server_error": Example(
        reply=error(500, "model runner has unexpectedly stopped"),
        kind="server_error", says="unexpectedly stopped",
    ),
    "wrong_key": Example(
        reply=error(401, "unauthorized"), kind="authentication", disposition="halting",
    ),
    "no_such_model": Example(
        reply=error(404, "model 'llama9' not found"),
        kind="not_found", disposition="halting", says="not found",
    ),
    "rate_limited": Example(
        reply=error(429, "you have reached your hourly usage limit"),
        kind="rate_limited", disposition="deferred", says="hourly usage limit",
    ),
    "empty": Example(
        reply=document(200, line("", done=True, done_reason="load")), kind="empty_choices"
    ),
    "error_in_stream": Example(
        reply=lines(line("half"), {"error": "an error was encountered while running the model"}),
        stream=True, kind="provider_error", says="while running the model",
    ),
}  # fmt: skip

SPEAKS = Speaks(
    provider="ollama",
    reference="https://github.com/ollama/ollama/blob/main/docs/api.md",
    entry={"model": MODEL},
    asked_at="/api/chat",
    costs=26 * 2 + 298 * 10,
    examples=EXAMPLES,
    ends={
        "stop": "stop",
        "length": "length",
        "load": "!empty_choices",
        "unload": "!empty_choices",
    },
    ended=lambda reason: document(200, line("Fir", **end(reason))),
    noise=b"\n",
    unable={
        "refused": "a model refuses in its text",
        "blocked": "it blocks nothing",
        "context_length": "it cuts what is too long, unless `truncate` is false",
    },
    wire=OllamaWire,
)
