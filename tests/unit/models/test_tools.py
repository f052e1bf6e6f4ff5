"""Tools are offered by name, and the calls that come back are read strictly; schemas by wish."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.events import ToolCall
from failproof_es.models.http_reply import HttpReply
from failproof_es.models.protocol import Answer, ModelError, ResponseOptions
from failproof_es.models.providers.openai.provider import OpenAIProvider
from failproof_es.models.providers.openai.stream import StreamedReply
from failproof_es.models.providers.python.provider import PythonProvider
from tests.every import every

MESSAGES = (Turn(role="user", content="Look it up."),)
CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "x"}'}}
SCHEMA = {"type": "object"}


def body(form: ResponseOptions, **settings: Any) -> dict[str, Any]:
    model = Model(provider="openai", model="m", base_url="http://x/v1", **settings)
    provider = OpenAIProvider(model, "http://x/v1", timeout_ms=1000, connections=1)
    prepared = provider.prepare(MESSAGES, form)
    assert prepared.tools == form.tools
    return dict(orjson.loads(prepared.body))


def read(message: Any) -> Answer:
    choice = {"message": message, "finish_reason": "tool_calls"}
    raw = orjson.dumps({"model": "m", "choices": [choice]})
    return OpenAIProvider.read(HttpReply(200, {}, raw, 1.0, datetime.now(UTC)), None)


def test_tools_are_offered_with_a_definition_that_takes_anything() -> None:
    sent = body(ResponseOptions(tools=("search", "calculator")))
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["search", "calculator"]
    assert sent["tools"][0]["function"]["parameters"]["additionalProperties"] is True
    assert "tools" not in body(ResponseOptions()) and "response_format" not in body(
        ResponseOptions()
    )


def test_a_schema_is_sent_only_where_the_model_is_said_to_take_one() -> None:
    assert "response_format" not in body(ResponseOptions(schema=SCHEMA))
    held = body(ResponseOptions(schema=SCHEMA), structured_output=True)["response_format"]
    assert held["type"] == "json_schema" and held["json_schema"]["schema"] == SCHEMA


def test_a_provider_that_takes_no_tools_says_that_it_offered_none() -> None:
    model = Model.model_validate({"provider": "python", "model": "m", "class": "a:B"})
    prepared = PythonProvider(model, timeout_ms=1000).prepare(
        MESSAGES, ResponseOptions(tools=("search",))
    )
    assert prepared.tools == () and b"search" not in prepared.body


@every("content", [None, "", "Let me see."])
def test_a_call_is_an_answer_whatever_the_content_is(content: str | None) -> None:
    answer = read({"content": content, "tool_calls": [CALL]})
    assert answer.text == (content or "")
    assert answer.tool_calls == (ToolCall(id="c1", name="search", arguments='{"q": "x"}'),)


def test_arguments_are_kept_as_the_model_wrote_them() -> None:
    call = {"function": {"name": "search", "arguments": "{not json"}}
    assert read({"content": None, "tool_calls": [call]}).tool_calls[0].arguments == "{not json"


@every(
    "calls",
    [
        {"id": "c1"},
        "search",
        [1],
        [{}],
        [{"function": None}],
        [{"function": {"name": "", "arguments": "{}"}}],
        [{"function": {"name": 1, "arguments": "{}"}}],
        [{"function": {"name": "search", "arguments": [1]}}],
        [CALL, None],
    ],
)
def test_malformed_calls_are_an_error_and_no_answer(calls: Any) -> None:
    with pytest.raises(ModelError) as raised:
        read({"content": "text", "tool_calls": calls})
    assert raised.value.kind == "malformed_response"


@every("nothing", [None, [], "", {}, False, 0])
def test_a_whole_answer_is_not_lost_by_how_its_server_writes_no_call(nothing: Any) -> None:
    answer = read({"content": "text", "tool_calls": nothing, "function_call": nothing})
    assert (answer.text, answer.tool_calls) == ("text", ())


@every(
    ("message", "call"),
    [
        (
            {"function_call": {"name": "search", "arguments": "{}"}},
            ToolCall(id=None, name="search", arguments="{}"),
        ),
        (
            {"tool_calls": [{"id": "c1", "custom": {"name": "shell", "input": "ls"}}]},
            ToolCall(id="c1", name="shell", arguments="ls"),
        ),
    ],
)
@every("streamed", [False, True])
def test_a_call_of_another_form_is_a_call(
    message: dict[str, Any], call: ToolCall, streamed: bool
) -> None:
    said = {"content": "text", **message}
    assert (read_streamed_delta(said) if streamed else read(said)).tool_calls == (call,)


@every("calls", [None, []])
def test_no_call_and_no_content_is_no_answer(calls: Any) -> None:
    with pytest.raises(ModelError) as raised:
        read({"content": None, "tool_calls": calls})
    assert raised.value.kind == "missing_content"


def read_streamed_delta(delta: dict[str, Any]) -> Answer:
    stream, choice = StreamedReply(), {"delta": delta, "finish_reason": "stop"}
    stream.feed(b"data: " + orjson.dumps({"choices": [choice]}) + b"\n\ndata: [DONE]\n\n")
    return OpenAIProvider.read(HttpReply(200, {}, b"", 1.0, datetime.now(UTC)), stream)


def test_a_streamed_call_is_put_together_from_its_pieces() -> None:
    stream = StreamedReply()
    for delta in (
        {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "search"}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"q":'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": ' "x"}'}}]},
    ):
        stream.feed(b"data: " + orjson.dumps({"choices": [{"delta": delta}]}) + b"\n\n")
    last = {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}
    stream.feed(b"data: " + orjson.dumps(last) + b"\n\ndata: [DONE]\n\n")
    answer = OpenAIProvider.read(HttpReply(200, {}, b"", 1.0, datetime.now(UTC)), stream)
    assert answer.tool_calls == (ToolCall(id="c1", name="search", arguments='{"q": "x"}'),)
