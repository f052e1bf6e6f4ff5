"""The Ollama provider: builds requests, and reads replies, whole or line by line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from failproof_es.core.case import Turn
from failproof_es.core.finish_reasons import worse
from failproof_es.events import ToolCall, Usage
from failproof_es.models.http import HttpProvider
from failproof_es.models.http_reply import (
    AnswerStream,
    HttpReply,
    InvalidReply,
    json_text,
    piece_of,
    read_answer,
    require_no_error,
)
from failproof_es.models.protocol import (
    DEFAULT_RESPONSE_OPTIONS,
    Answer,
    PreparedRequest,
    ResponseOptions,
)
from failproof_es.models.replies.content_parts import read_content
from failproof_es.models.replies.content_types import LINES
from failproof_es.models.reply_fields import (
    count_or_none,
    finish_word,
    name_or_none,
    reason_or_none,
    require_few_calls,
    require_readable,
    require_said,
)
from failproof_es.web.bounded_json import read_json

_TOP_LEVEL = frozenset({"keep_alive", "logprobs", "shift", "think", "top_logprobs", "truncate"})
"""Parameters at the top level of the request; all others go into its `options`."""
_LOADING_REASONS = frozenset({"load", "unload"})
"""Values of `done_reason` if the server only loaded or unloaded a model."""


class StreamedLines:
    """Assembles a reply in JSON Lines: feed all pieces, then call `document`."""

    def __init__(self) -> None:
        self._line: list[bytes] = []
        """The pieces of the current line, joined when it ends."""
        self._text: list[str] = []
        self._calls: list[Any] = []
        self._model: Any = None
        self._reason: str | None = None
        """The worst `done_reason` of all lines."""
        self._last: dict[str, Any] | None = None

    def feed(self, piece: bytes) -> str:
        """Take the next bytes of the body; return the answer's text in them.

        Raises `InvalidReply` if a line is malformed or reports an error.
        """
        before = len(self._text)
        *ended, rest = piece.split(b"\n")
        for end in ended:
            self._line.append(end)
            self._end_line()
        if rest:
            self._line.append(rest)
        return "".join(self._text[before:])

    def document(self) -> dict[str, Any]:
        """The reply, in the form of one that was not streamed.

        Raises `InvalidReply` if the stream ended before the reply did.
        """
        self._end_line()
        if self._last is None:
            came = sum(map(len, self._text))
            raise InvalidReply(
                "stream_broken",
                f"the stream ended before the reply did, after {came} characters of text",
                "transient",
            )
        message = {"content": "".join(self._text), "tool_calls": self._calls}
        return {**self._last, "message": message}

    def _end_line(self) -> None:
        line = b"".join(self._line).strip()
        self._line.clear()
        if not line:
            return
        if self._last is not None:
            raise _malformed("the stream goes on after it was done")
        part = _require_no_error(piece_of(line))
        done = part.get("done") is True
        message = part.get("message")
        if done and message is None:
            message = {}  # the last line may hold only the token counts
        if not isinstance(message, dict):
            raise _malformed("a line of the stream holds no message")
        model = part.get("model")
        if model is not None and self._model not in (None, model):
            raise _malformed("the stream names two models")
        self._model = self._model if model is None else model
        text = message.get("content")
        if not isinstance(text, str | None):
            raise _malformed("`content` of a line is not text")
        self._text.append(text or "")
        self._calls += _listed_calls(message)
        require_few_calls(len(self._calls))
        self._reason = worse(self._reason, finish_word(part.get("done_reason")))
        if done:
            self._last = {**part, "model": self._model, "done_reason": self._reason}


class OllamaProvider(HttpProvider):
    """One model behind `{base_url}/api/chat`. Sends each request once, as prepared."""

    listing_path = "/api/tags"
    assembler = StreamedLines
    streamed_as = LINES

    def prepare(
        self, messages: Sequence[Turn], response_options: ResponseOptions = DEFAULT_RESPONSE_OPTIONS
    ) -> PreparedRequest:
        """The request for these messages. It always has `stream`: the server streams by default."""
        model = self.model
        top_level = {k: v for k, v in model.parameters.items() if k in _TOP_LEVEL}
        options = {k: v for k, v in model.parameters.items() if k not in _TOP_LEVEL}
        body: dict[str, Any] = {
            "model": model.model,
            "messages": [{"role": turn.role, "content": turn.content} for turn in messages],
            "stream": model.stream,
            "options": {
                "num_predict": model.max_tokens,
                "temperature": model.temperature,
                **({} if model.seed is None else {"seed": model.seed}),
                **options,
            },
        }
        if response_options.tools:
            body["tools"] = [_tool_stub(name) for name in response_options.tools]
        if response_options.schema is not None and model.structured_output:
            body["format"] = response_options.schema
        where = f"{self.base_url}/api/chat"
        return PreparedRequest(where, orjson.dumps({**body, **top_level}), response_options.tools)

    @staticmethod
    def read(reply: HttpReply, stream: AnswerStream | None) -> Answer:
        """The answer in a complete reply. Raises `ModelError` if the reply holds none.

        `stream` is the assembler of a streamed reply, fed with the whole body, or `None`.
        """
        return read_answer(reply, stream, _answer_of)

    @staticmethod
    def model_names(listing: bytes) -> list[str]:
        """The names in the server's list of models. Raises `ValueError` if it has none."""
        try:
            return [str(entry["name"]) for entry in read_json(listing)["models"]]
        except (KeyError, TypeError) as error:
            raise ValueError("this is not a list of models") from error


def _require_no_error(document: Any) -> dict[str, Any]:
    """The document. Raises `InvalidReply`, which permits a retry, if it reports an error.

    An error within a stream comes with status 200. The same error ahead of the stream would have
    had a 5xx status, after which a retry makes sense.
    """
    try:
        return require_no_error(document)
    except InvalidReply as flaw:
        if flaw.disposition == "final":
            raise InvalidReply(flaw.kind, flaw.message, "transient") from None
        raise


def _answer_of(reply: HttpReply, document: Any) -> Answer:
    """The answer in a reply's parsed JSON. Raises `InvalidReply` if it holds none."""
    document = require_no_error(document)
    reason = reason_or_none(document.get("done_reason"))
    if document.get("done") is not True:
        raise _malformed("the reply does not say that it is done")
    if reason in _LOADING_REASONS:
        raise InvalidReply("empty_choices", f"the server only did this: {reason}", "transient")
    message = document.get("message")
    if message is None and reason is not None:
        message = {}  # the reply holds only its reason
    if not isinstance(message, dict):
        raise _malformed("the reply holds no message")
    content, calls = read_content(message.get("content")), _listed_calls(message)
    require_few_calls(len(calls))
    require_readable(content, reason, more=bool(calls))
    require_said(reason, content.text, more=bool(calls))
    return Answer(
        status=reply.status,
        headers=reply.headers,
        body=reply.body,
        text=content.text or "",
        latency_ms=reply.latency_ms,
        finish_reason=reason,
        tool_calls=tuple(map(_tool_call, calls)),
        model=name_or_none(document.get("model")),
        usage=Usage(
            input_tokens=count_or_none(document.get("prompt_eval_count")),
            output_tokens=count_or_none(document.get("eval_count")),
        ),
        first_token_ms=reply.first_token_ms,
    )


def _listed_calls(message: dict[str, Any]) -> list[Any]:
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise _malformed("`tool_calls` is not a list")
    return calls


def _tool_call(value: Any) -> ToolCall:
    function = value.get("function") if isinstance(value, dict) else None
    if not isinstance(function, dict):
        raise _malformed("a tool call holds no function")
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(name, str) or not name or not isinstance(arguments, dict):
        raise _malformed("a tool call lacks its name or its arguments")
    return ToolCall(id=name_or_none(value.get("id")), name=name, arguments=json_text(arguments))


def _tool_stub(name: str) -> dict[str, Any]:
    """The definition of a tool with that name that takes any arguments."""
    parameters = {"type": "object", "properties": {}, "additionalProperties": True}
    described = {"name": name, "description": f"The tool {name}.", "parameters": parameters}
    return {"type": "function", "function": described}


def _malformed(message: str) -> InvalidReply:
    return InvalidReply("malformed_response", message, "transient")
