"""What a class that asks through a client library may do, and what it is told that it must not."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import orjson
import pytest

from failproof_es.configuration.schema import Model
from failproof_es.models import ModelError, Provider, provider_type
from failproof_es.models.providers.sdk import provider as sdk
from failproof_es.problems import InvalidInput
from failproof_es.testing.kit import KEY, KEY_VARIABLE, ask, key_set
from failproof_es.testing.other_side import FakeServer, ReceivedRequest, Reply
from tests.integration.models.contract.sdk_classes import (
    ClaudeStreams,
    Messages,
    OpenAIChat,
    OpenAIChatStreams,
    OpenAIResponsesStreams,
    OverHttpx,
    Params,
    class_name,
)
from tests.integration.models.contract.wires import AnthropicWire, OpenAIWire, ResponsesWire


class AsksTwice(OverHttpx):
    def ask(self, messages: Messages, params: Params) -> str:
        return super().ask(messages, params) and super().ask(messages, params)


class AsksOtherwise(OverHttpx):
    """Another request each time."""

    count = 0

    def ask(self, messages: Messages, params: Params) -> str:
        self.count += 1
        return super().ask(messages, {**params, "user": str(self.count)})


class Trims(OverHttpx):
    def ask(self, messages: Messages, params: Params) -> str:
        return super().ask(messages, params).strip()


class ReturnsBytes(OverHttpx):
    def ask(self, messages: Messages, params: Params) -> Any:
        return super().ask(messages, params).encode()


class Breaks(OverHttpx):
    def ask(self, messages: Messages, params: Params) -> str:
        raise LookupError(f"no such thing {super().ask(messages, params)}")


class AsksNothing(OverHttpx):
    def ask(self, messages: Messages, params: Params) -> str:
        return "yes"


class Raises(OverHttpx):
    def ask(self, messages: Messages, params: Params) -> str:
        raise ValueError("not today")


class AsksElsewhere(OverHttpx):
    def ask(self, messages: Messages, params: Params) -> str:
        self.base_url = "http://127.0.0.1:1/other"
        return super().ask(messages, params)


class AsksInAThread(OverHttpx):
    def ask(self, messages: Messages, params: Params) -> str:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(super().ask, messages, params).result()


class PutsItsKeyIntoTheUrl(OverHttpx):
    """As some libraries do: `?key=`."""

    def ask(self, messages: Messages, params: Params) -> str:
        with httpx.Client(transport=self.transport, params={"key": self.api_key}) as client:
            return client.post(f"{self.base_url}/chat/completions", json={}).text


class PutsItsKeyIntoTheBody(OverHttpx):
    def ask(self, messages: Messages, params: Params) -> str:
        return super().ask(messages, {**params, "user": self.api_key})


class Sleeps(OverHttpx):
    def ask(self, messages: Messages, params: Params) -> str:
        time.sleep(2)
        return super().ask(messages, params)


class NeverReturns(OverHttpx):
    def ask(self, messages: Messages, params: Params) -> str:
        super().ask(messages, params)
        time.sleep(3)
        return "late"


class Swallows(OverHttpx):
    """Catches whatever is raised, as a library may do that retries."""

    def ask(self, messages: Messages, params: Params) -> str:
        try:
            return super().ask(messages, params)
        except BaseException:
            return "nothing"


class OnlyLooks(OverHttpx):
    def ask(self, messages: Messages, params: Params) -> str:
        with httpx.Client(transport=self.transport) as client:
            return client.get(f"{self.base_url}/models").text


class AsksAtOnce(OverHttpx):
    """In its constructor."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        httpx.Client(transport=self.transport).get(f"{self.base_url}/models")


class WantsMore(OverHttpx):
    def __init__(self, *, api_key: str, region: str) -> None:
        raise AssertionError("never called")


def _with(
    kind: type,
    work: Any,
    server: FakeServer | None = None,
    *,
    name: str = "openai-sdk",
    path: str = "/v1",
    timeout_ms: int = 20_000,
    **more: Any,
) -> FakeServer:
    """Do it with a provider of this class, and a server that says yes."""

    async def main(server: FakeServer) -> FakeServer:
        await server.start()
        server.answer_with(" yes ")
        entry = {
            "provider": name, "model": "gpt-test", "class": class_name(kind),
            "base_url": f"{server.url}{path}", "api_key_env": KEY_VARIABLE, **more,
        }  # fmt: skip
        model = Model.model_validate(entry)
        provider = provider_type(name).create(model, timeout_ms=timeout_ms, connections=1)
        try:
            await work(provider)
        finally:
            await provider.close()
            await server.stop()
        return server

    with key_set():
        return asyncio.run(main(server or FakeServer(OpenAIWire())))


@pytest.mark.parametrize(
    ("kind", "wire", "name", "path"),
    [
        (OpenAIChatStreams, OpenAIWire, "openai-sdk", "/v1"),
        (OpenAIResponsesStreams, ResponsesWire, "openai-responses-sdk", "/v1"),
        (ClaudeStreams, AnthropicWire, "anthropic-sdk", ""),
    ],
)
@pytest.mark.slow
@pytest.mark.thinned(whole=1)
def test_a_library_may_stream(kind: type, wire: type, name: str, path: str) -> None:
    async def work(provider: Provider) -> None:
        pieces: list[str] = []
        answer = await provider.send(provider.prepare(ask("hi")), pieces.append)
        assert "".join(pieces) == answer.text == " yes "
        assert answer.first_token_ms is not None
        assert (answer.usage.input_tokens, answer.usage.output_tokens) == (10, 5)
        assert b"data: " in answer.body

    server = _with(kind, work, FakeServer(wire()), name=name, path=path)
    assert b'"stream":true' in server.requests[0].body.replace(b" ", b"")


def test_a_class_that_catches_everything_is_asked_all_the_same() -> None:
    async def work(provider: Provider) -> None:
        assert (await provider.send(provider.prepare(ask("hi")))).text == " yes "

    assert len(_with(Swallows, work).requests) == 1


def test_a_class_that_does_not_come_back_is_given_up_with_the_reply_on_record() -> None:
    async def work(provider: Provider) -> None:
        with pytest.raises(ModelError, match="does not return after the reply has come") as raised:
            await provider.send(provider.prepare(ask("hi")))
        assert b" yes " in (raised.value.body or b"")

    assert len(_with(NeverReturns, work, timeout_ms=1_000).requests) == 1


def test_a_request_that_a_filter_blocked_is_a_withheld_answer_and_no_error_of_the_class() -> None:
    """To the library it is an error: it is not asked to read it."""

    class Blocking(FakeServer):
        def reply(self, request: ReceivedRequest) -> Reply | None:
            said = {"code": "content_filter", "message": "It breaks a policy."}
            return Reply(400, [orjson.dumps({"error": said})])

    async def work(provider: Provider) -> None:
        answer = await provider.send(provider.prepare(ask("hi")))
        assert (answer.status, answer.text) == (400, "")
        assert (answer.finish_reason, answer.refusal) == ("content_filter", "It breaks a policy.")

    assert len(_with(OpenAIChat, work, Blocking(OpenAIWire())).requests) == 1


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (AsksTwice, "asks twice for one answer; the second request was not sent"),
        (AsksOtherwise, "makes another request each time"),
        (Trims, "does not return the text of the reply as it came"),
        (ReturnsBytes, "returned bytes, and no text"),
        (Breaks, "raised LookupError: no such thing  yes"),
    ],
)
def test_a_class_that_does_more_than_ask_is_an_error_that_keeps_the_reply(
    kind: type, said: str
) -> None:
    async def work(provider: Provider) -> None:
        with pytest.raises(ModelError) as raised:
            await provider.send(provider.prepare(ask("hi")))
        assert raised.value.kind == "client_exception"
        assert raised.value.disposition == "final"
        assert said in raised.value.message
        assert b" yes " in (raised.value.body or b"")

    assert len(_with(kind, work).requests) == 1, "one attempt is one request"


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (AsksNothing, "asks nothing through `transport`"),
        (Raises, "raised ValueError: not today, before it asked"),
        (AsksElsewhere, "asks http://127.0.0.1:1/other/chat/completions, which is not below its"),
        (OnlyLooks, "makes a GET request"),
        (AsksInAThread, "asks outside `ask`, or in another thread; nothing was sent"),
        (PutsItsKeyIntoTheUrl, "puts its key into the URL of a request, which would be on record"),
        (PutsItsKeyIntoTheBody, "puts its key into the body of a request, which would be on"),
        (Sleeps, "has made no request after 0.5 s"),
        (WantsMore, "it is called with api_key=, model_id=, base_url= and transport="),
    ],
)
def test_a_class_that_makes_no_fit_request_is_told_so_before_anything_is_sent(
    kind: type, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdk, "_MAKING_S", 0.5)

    async def work(provider: Provider) -> None:
        with pytest.raises(InvalidInput) as raised:
            await provider.check()
        assert said in str(raised.value)
        assert KEY not in str(raised.value)

    assert not _with(kind, work).requests


def test_a_request_outside_ask_is_not_sent() -> None:
    async def work(provider: Provider) -> None:
        with pytest.raises(InvalidInput, match=r"outside `ask`.*\[class-failed\]"):
            await provider.check()

    assert not _with(AsksAtOnce, work).requests


def test_the_librarys_own_headers_are_sent_and_its_key() -> None:
    async def work(provider: Provider) -> None:
        answer = await provider.send(provider.prepare(ask("hi")))
        assert answer.text == " yes "

    [asked] = _with(OpenAIChat, work).requests
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["x-stainless-lang"] == "python"


def test_a_library_that_retries_sends_one_request_all_the_same() -> None:
    async def main() -> None:
        from failproof_es.testing.other_side import Fault

        server = FakeServer(OpenAIWire())
        await server.start()
        server.answer_with("", Fault.RATE_LIMITED)
        entry = {
            "provider": "openai-sdk", "model": "gpt-test", "class": class_name(OpenAIChat),
            "base_url": f"{server.url}/v1", "api_key_env": KEY_VARIABLE,
        }  # fmt: skip
        model = Model.model_validate(entry)
        provider = provider_type("openai-sdk").create(model, timeout_ms=20_000, connections=1)
        with pytest.raises(ModelError) as raised:
            await provider.send(provider.prepare(ask("hi")))
        assert (raised.value.kind, raised.value.retry_after_s) == ("rate_limited", 7.0)
        assert len(server.requests) == 1
        await provider.close()
        await server.stop()

    with key_set():
        asyncio.run(main())
