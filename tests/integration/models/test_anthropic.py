"""Anthropic's Messages API: asked in its words, recorded in ours, nothing altered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.events import ResponseReceived, Usage
from failproof_es.models import Answer, ModelError, Provider, create_provider
from failproof_es.models.http_reply import HttpReply
from failproof_es.models.protocol import ResponseOptions
from failproof_es.models.providers.anthropic.provider import AnthropicProvider
from failproof_es.models.replies.parse_check import find_parse_mismatch
from failproof_es.problems import InvalidInput
from tests.servers.anthropic_server import AnthropicServer

ODD = "unaltered \x00 \U0001f600 {{x}}"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_KEY", "sk-ant")


def with_provider(work: Callable[[Provider, AnthropicServer], Awaitable[None]]) -> None:
    async def main() -> None:
        async with AnthropicServer() as server:
            model = Model(
                provider="anthropic", model="claude-test", base_url=server.url,
                api_key_env="ANTHROPIC_KEY", max_tokens=50,
            )  # fmt: skip
            provider = create_provider(model, timeout_ms=5_000, connections=2)
            try:
                await work(provider, server)
            finally:
                await provider.close()

    asyncio.run(main())


async def asked(provider: Provider, prompt: str) -> Answer:
    return await provider.send(provider.prepare([Turn(role="user", content=prompt)]))


def test_a_conversation_is_sent_in_the_shape_of_the_messages_api() -> None:
    turns = [
        Turn(role="system", content=ODD),
        Turn(role="user", content="first"),
        Turn(role="assistant", content="scripted"),
        Turn(role="user", content=ODD),
    ]

    async def work(provider: Provider, server: AnthropicServer) -> None:
        assert await provider.check() is None
        answer = await provider.send(provider.prepare(turns, ResponseOptions(tools=("search",))))
        [body] = server.requests
        assert body["system"] == ODD
        assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
        assert body["messages"][-1]["content"] == ODD
        assert (body["model"], body["max_tokens"], body["temperature"]) == ("claude-test", 50, 0.0)
        assert [tool["name"] for tool in body["tools"]] == ["search"]
        [headers] = server.headers
        assert headers["x-api-key"] == "sk-ant" and headers["anthropic-version"] == "2023-06-01"
        assert "authorization" not in headers
        assert answer.text == f"You said: {ODD}"
        assert (answer.finish_reason, answer.model) == ("stop", "claude-test")
        assert answer.provider_request_id == "req_1"
        assert answer.usage == Usage(
            input_tokens=15, output_tokens=5, cached_input_tokens=2, cache_write_tokens=3,
            cache_write_1h_tokens=1,
        )  # fmt: skip

    with_provider(work)


@pytest.mark.parametrize(
    ("fault", "kind", "disposition"),
    [
        ("overloaded", "overloaded", "deferred"),
        ("rate", "rate_limited", "deferred"),
        ("key", "authentication", "halting"),
        ("model", "not_found", "halting"),
        ("long", "bad_request", "final"),
        ("asked", "bad_request", "final"),
        ("odd", "missing_content", "transient"),
    ],
)
def test_what_is_no_answer_is_an_error_with_its_bytes(
    fault: str, kind: str, disposition: str
) -> None:
    async def work(provider: Provider, server: AnthropicServer) -> None:
        with pytest.raises(ModelError) as caught:
            await asked(provider, f"[fault:{fault}]")
        assert (caught.value.kind, caught.value.disposition) == (kind, disposition)
        assert caught.value.body
        assert caught.value.retry_after_s == (1.0 if fault == "rate" else None)

    with_provider(work)


@pytest.mark.parametrize(
    ("fault", "reason", "text"),
    [
        ("cut", "length", "half an"),
        ("declined", "content_filter", ""),
        ("empty", "stop", ""),
        ("tool", "tool_calls", "Let me look."),
    ],
)
def test_why_it_ended_is_said_in_the_words_of_every_provider(
    fault: str, reason: str, text: str
) -> None:
    async def work(provider: Provider, server: AnthropicServer) -> None:
        answer = await asked(provider, f"[fault:{fault}]")
        assert (answer.finish_reason, answer.text) == (reason, text)
        if fault == "tool":
            [call] = answer.tool_calls
            assert (call.name, call.arguments) == ("search", '{"q":"x"}')

    with_provider(work)


def test_arguments_too_deep_to_be_written_are_an_error_of_that_attempt() -> None:
    deep = b'{"type": "tool_use", "name": "t", "input": {"a": ' + b"[" * 600 + b"]" * 600 + b"}}"
    with pytest.raises(ModelError, match="nested too deeply") as caught:
        AnthropicProvider.read(
            HttpReply(200, {}, b'{"content": [' + deep + b"]}", 1.0, datetime.now(UTC)), None
        )
    assert caught.value.kind == "malformed_response"


def test_a_recorded_reply_is_read_again_from_its_bytes() -> None:
    async def work(provider: Provider, server: AnthropicServer) -> None:
        answer = await asked(provider, "hello")
        recorded = ResponseReceived(
            originator_id=uuid4(), originator_version=2, run_id=uuid4(),
            timestamp=datetime.now(UTC), prompt_id=uuid4(), model_key="m", repetition=1,
            purpose="target", turn=0, attempt=1, status=answer.status, headers=answer.headers,
            body=answer.body.decode(), text=answer.text, finish_reason=answer.finish_reason,
            model=answer.model, usage=answer.usage, latency_ms=1.0,
        )  # fmt: skip
        assert find_parse_mismatch("anthropic", recorded) is None
        wrong = find_parse_mismatch("anthropic", recorded.model_copy(update={"text": "another"}))
        assert wrong is not None and wrong.field == "text"
        altered = answer.usage.model_copy(update={"cache_write_tokens": 1})
        wrong = find_parse_mismatch("anthropic", recorded.model_copy(update={"usage": altered}))
        assert wrong is not None and wrong.field == "usage"

    with_provider(work)


def test_a_key_that_is_refused_is_said_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_KEY", "sk-wrong")

    async def work(provider: Provider, server: AnthropicServer) -> None:
        with pytest.raises(InvalidInput, match=r"\[key-refused\]"):
            await provider.check()
        assert server.requests == []

    with_provider(work)
