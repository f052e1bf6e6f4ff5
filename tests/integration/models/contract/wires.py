"""How the servers of the providers that ship write: the formats that their vendors document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import orjson

from failproof_es.testing.other_side import ReceivedRequest, Reply, WireFormat

Call = tuple[str, dict[str, object]]


def _json(status: int, document: Any) -> Reply:
    return Reply(status, [orjson.dumps(document)])


def _pieces(text: str) -> list[str]:
    return [text[start : start + 5] for start in range(0, len(text), 5)]


class OpenAIWire(WireFormat):
    """Chat completions, whole and as server-sent events."""

    def answer(
        self,
        request: ReceivedRequest,
        text: str,
        *,
        model: str | None = None,
        usage: bool = True,
        call: Call | None = None,
    ) -> Reply:
        body = orjson.loads(request.body)
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if call is not None:
            function = {"name": call[0], "arguments": orjson.dumps(call[1]).decode()}
            called = [{"id": "c1", "type": "function", "function": function}]
            message = {"role": "assistant", "content": None, "tool_calls": called}
        head = {"id": "chatcmpl-1", "model": model or body["model"]}
        used = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        if body.get("stream"):
            return self._streamed(head, text, used if usage else None)
        document = {**head, "object": "chat.completion", "created": 1, "choices": [choice]}
        return _json(200, {**document, "usage": used} if usage else document)

    def _streamed(self, head: dict[str, Any], text: str, used: dict[str, int] | None) -> Reply:
        deltas: list[tuple[dict[str, Any], str | None]] = [({"role": "assistant"}, None)]
        deltas += [({"content": piece}, None) for piece in _pieces(text)]
        deltas.append(({}, "stop"))
        chunks: list[dict[str, Any]] = [
            {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
            for delta, reason in deltas
        ]
        if used is not None:
            chunks.append({**head, "choices": [], "usage": used})
        events = [b"data: " + orjson.dumps(chunk) + b"\n\n" for chunk in chunks]
        return Reply(200, [*events, b"data: [DONE]\n\n"], "text/event-stream")

    def error(self, status: int, message: str) -> Reply:
        return _json(status, {"error": {"message": message, "type": "invalid", "code": None}})

    def listing(self, names: Sequence[str]) -> Reply:
        return _json(200, {"object": "list", "data": [{"id": name} for name in names]})

    def empty(self, request: ReceivedRequest) -> Reply:
        return _json(200, {"id": "c", "choices": []})

    def without_content(self, request: ReceivedRequest) -> Reply:
        return _json(200, {"id": "c", "choices": [{"message": {"content": None}}]})


class AnthropicWire(WireFormat):
    """The Messages API, whole and as server-sent events."""

    def answer(
        self,
        request: ReceivedRequest,
        text: str,
        *,
        model: str | None = None,
        usage: bool = True,
        call: Call | None = None,
    ) -> Reply:
        content: dict[str, Any] = {"type": "text", "text": text}
        if call is not None:
            content = {"type": "tool_use", "id": "toolu_1", "name": call[0], "input": call[1]}
        document: dict[str, Any] = {
            "id": "msg_1", "type": "message", "role": "assistant",
            "model": model or orjson.loads(request.body)["model"],
            "content": [content], "stop_reason": "end_turn" if call is None else "tool_use",
        }  # fmt: skip
        if usage:
            document["usage"] = {"input_tokens": 10, "output_tokens": 5}
        if orjson.loads(request.body).get("stream"):
            return self._streamed(document, text)
        return _json(200, document)

    def _streamed(self, document: dict[str, Any], text: str) -> Reply:
        begun = {**document, "content": [], "stop_reason": None}
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": begun},
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "text", "text": ""},
            },
        ]
        for piece in _pieces(text):
            delta = {"type": "text_delta", "text": piece}
            events.append({"type": "content_block_delta", "index": 0, "delta": delta})
        ended = {"stop_reason": document["stop_reason"], "stop_sequence": None}
        events += [
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": ended, "usage": document.get("usage")},
            {"type": "message_stop"},
        ]
        return _named_events(events)

    def error(self, status: int, message: str) -> Reply:
        said = {"type": "invalid_request_error", "message": message}
        return _json(status, {"type": "error", "error": said})

    def listing(self, names: Sequence[str]) -> Reply:
        return _json(200, {"data": [{"type": "model", "id": name} for name in names]})

    def empty(self, request: ReceivedRequest) -> Reply:
        return _json(200, {"id": "msg_1", "model": "m", "content": []})

    def without_content(self, request: ReceivedRequest) -> Reply:
        return _json(200, {"id": "msg_1", "model": "m", "content": [{"type": "text"}]})


class OllamaWire(WireFormat):
    """`/api/chat`, whole and as lines of JSON; `/api/tags`."""

    def answer(
        self,
        request: ReceivedRequest,
        text: str,
        *,
        model: str | None = None,
        usage: bool = True,
        call: Call | None = None,
    ) -> Reply:
        body = orjson.loads(request.body)
        head = {"model": model or body["model"], "created_at": "2026-11-22T00:00:00Z"}
        end: dict[str, Any] = {"done": True, "done_reason": "stop", "total_duration": 1}
        if usage:
            end |= {"prompt_eval_count": 10, "eval_count": 5}
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if call is not None:
            message["tool_calls"] = [{"function": {"name": call[0], "arguments": call[1]}}]
        if body.get("stream") is False:
            return _json(200, {**head, "message": message, **end})
        lines = [
            {**head, "message": {"role": "assistant", "content": piece}, "done": False}
            for piece in _pieces(text)
        ]
        lines.append({**head, "message": {**message, "content": ""}, **end})
        written = [orjson.dumps(line) + b"\n" for line in lines]
        return Reply(200, written, "application/x-ndjson")

    def error(self, status: int, message: str) -> Reply:
        return _json(status, {"error": message})

    def listing(self, names: Sequence[str]) -> Reply:
        models = [{"name": f"{name}:latest", "model": f"{name}:latest"} for name in names]
        return _json(200, {"models": models})

    def empty(self, request: ReceivedRequest) -> Reply:
        ended = {"done": True, "done_reason": "load"}
        return _json(200, {"model": "m", "message": {"role": "assistant", "content": ""}, **ended})

    def without_content(self, request: ReceivedRequest) -> Reply:
        return _json(200, {"model": "m", "message": {"role": "assistant"}, "done": True})


class ResponsesWire(OpenAIWire):
    """OpenAI's `/responses`, whole and as server-sent events."""

    def answer(
        self,
        request: ReceivedRequest,
        text: str,
        *,
        model: str | None = None,
        usage: bool = True,
        call: Call | None = None,
    ) -> Reply:
        body = orjson.loads(request.body)
        part = {"type": "output_text", "text": text, "annotations": []}
        item: dict[str, Any] = {
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [part],
        }  # fmt: skip
        if call is not None:
            arguments = orjson.dumps(call[1]).decode()
            item = {"type": "function_call", "call_id": "c1", "name": call[0]}
            item["arguments"] = arguments
        document = {
            "id": "resp_1", "object": "response", "status": "completed", "error": None,
            "model": model or body["model"], "output": [item],
            "usage": {"input_tokens": 10, "output_tokens": 5} if usage else None,
            "parallel_tool_calls": True, "tools": [], "tool_choice": "auto",
        }  # fmt: skip
        if not body.get("stream"):
            return _json(200, document)
        begun = {**document, "status": "in_progress", "output": []}
        at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        empty = {**item, "status": "in_progress", "content": []}
        kinds: list[tuple[str, dict[str, Any]]] = [
            ("created", {"response": begun}),
            ("in_progress", {"response": begun}),
            ("output_item.added", {"output_index": 0, "item": empty}),
            ("content_part.added", {**at, "part": {**part, "text": ""}}),
            *(("output_text.delta", {**at, "delta": piece}) for piece in _pieces(text)),
            ("output_text.done", {**at, "text": text}),
            ("content_part.done", {**at, "part": part}),
            ("output_item.done", {"output_index": 0, "item": item}),
            ("completed", {"response": document}),
        ]
        return _named_events(
            [
                {"type": f"response.{kind}", "sequence_number": number, **more}
                for number, (kind, more) in enumerate(kinds)
            ]
        )

    def empty(self, request: ReceivedRequest) -> Reply:
        return _json(200, {"id": "r", "status": "completed", "output": []})

    def without_content(self, request: ReceivedRequest) -> Reply:
        return _json(200, {"id": "r", "status": "completed", "output": [{"type": "message"}]})


class GeminiWire(WireFormat):
    """`generateContent`, and `streamGenerateContent` as server-sent events."""

    def answer(
        self,
        request: ReceivedRequest,
        text: str,
        *,
        model: str | None = None,
        usage: bool = True,
        call: Call | None = None,
    ) -> Reply:
        path, _, query = request.path.partition("?")
        asked_model = path.rpartition("/")[2].partition(":")[0]
        head: dict[str, Any] = {"modelVersion": model or asked_model, "responseId": "r1"}
        if usage:
            counts = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
            head["usageMetadata"] = counts
        if call is not None:
            called = {"functionCall": {"name": call[0], "args": call[1]}}
            return _json(200, {**head, "candidates": [_candidate(called, "STOP")]})
        if query != "alt=sse":
            return _json(200, {**head, "candidates": [_candidate({"text": text}, "STOP")]})
        *first, last = [{"text": piece} for piece in _pieces(text)] or [{"text": ""}]
        chunks = [{**head, "candidates": [_candidate(part)]} for part in first]
        chunks.append({**head, "candidates": [_candidate(last, "STOP")]})
        written = [b"data: " + orjson.dumps(chunk) + b"\r\n\r\n" for chunk in chunks]
        return Reply(200, written, "text/event-stream")

    def error(self, status: int, message: str) -> Reply:
        return _json(status, {"error": {"code": status, "message": message, "status": "UNKNOWN"}})

    def listing(self, names: Sequence[str]) -> Reply:
        return _json(200, {"models": [{"name": f"models/{name}"} for name in names]})

    def empty(self, request: ReceivedRequest) -> Reply:
        return _json(200, {"usageMetadata": {"promptTokenCount": 1}})

    def without_content(self, request: ReceivedRequest) -> Reply:
        return _json(200, {"candidates": [{"content": {"role": "model"}, "index": 0}]})


def _candidate(part: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    ended = {} if reason is None else {"finishReason": reason}
    return {"content": {"parts": [part], "role": "model"}, "index": 0, **ended}


def _named_events(events: Sequence[dict[str, Any]]) -> Reply:
    written = [
        b"event: %b\ndata: %b\n\n" % (event["type"].encode(), orjson.dumps(event))
        for event in events
    ]
    return Reply(200, written, "text/event-stream; charset=utf-8")


class BedrockWire(WireFormat):
    """`converse`, and `converse-stream` as binary frames."""

    def answer(
        self,
        request: ReceivedRequest,
        text: str,
        *,
        model: str | None = None,
        usage: bool = True,
        call: Call | None = None,
    ) -> Reply:
        used = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15} if usage else None
        block: dict[str, Any] = {"text": text}
        if call is not None:
            block = {"toolUse": {"toolUseId": "t1", "name": call[0], "input": call[1]}}
        if not request.path.endswith("-stream"):
            message = {"role": "assistant", "content": [block]}
            reason = "end_turn" if call is None else "tool_use"
            document = {"output": {"message": message}, "stopReason": reason, "usage": used}
            return _json(200, document)
        frames = [event_frame("messageStart", {"role": "assistant"})]
        for piece in _pieces(text):
            delta = {"contentBlockIndex": 0, "delta": {"text": piece}}
            frames.append(event_frame("contentBlockDelta", delta))
        frames.append(event_frame("messageStop", {"stopReason": "end_turn"}))
        frames.append(event_frame("metadata", {"usage": used}))
        return Reply(200, frames, "application/vnd.amazon.eventstream")

    def error(self, status: int, message: str) -> Reply:
        return _json(status, {"message": message})

    def listing(self, names: Sequence[str]) -> Reply:
        return self.error(404, "there is none")

    def empty(self, request: ReceivedRequest) -> Reply:
        message: dict[str, Any] = {"role": "assistant", "content": []}
        return _json(200, {"output": {"message": message}})

    def without_content(self, request: ReceivedRequest) -> Reply:
        return _json(200, {"output": {"message": {"role": "assistant"}}})


def event_frame(kind: str, payload: Any) -> bytes:
    """An event of AWS's binary stream."""
    return aws_frame(payload, event_type=kind, message_type="event")


def aws_frame(payload: Any, more: bytes = b"", **headers: str) -> bytes:
    """A frame of it. An underscore in the name of a header is a dash; a colon stands before it.

    `more` are headers as they are written.
    """
    block = more
    for name, value in {**headers, "content_type": "application/json"}.items():
        key, text = b":" + name.replace("_", "-").encode(), value.encode()
        block += bytes([len(key)]) + key + b"\x07" + len(text).to_bytes(2, "big") + text
    body = orjson.dumps(payload)
    head = (16 + len(block) + len(body)).to_bytes(4, "big") + len(block).to_bytes(4, "big")
    whole = head + crc32(head).to_bytes(4, "big") + block + body
    return whole + crc32(whole).to_bytes(4, "big")
