"""Client libraries of vendors, put through the contract of every provider, and what is their own.

The classes here are what a user writes: the packages `openai` and `anthropic` as they are
published, over `httpx2`, and a small client over `httpx`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest

from failproof_es.configuration.schema import Model
from failproof_es.models import ModelError, Provider, provider_type
from failproof_es.models.sdk.transport import RecordingTransport
from failproof_es.problems import InvalidInput
from failproof_es.testing.kit import KEY, KEY_VARIABLE, ask, key_set
from failproof_es.testing.other_side import FakeServer, ProviderServer
from failproof_es.testing.provider_contract import ProviderContract
from tests.integration.models.contract.test_contract import url
from tests.integration.models.contract.wires import AnthropicWire, OpenAIWire, ResponsesWire

Messages = Sequence[Mapping[str, str]]
Params = Mapping[str, Any]


class _Class:
    """What all of them are given."""

    def __init__(
        self, *, api_key: str, model_id: str, base_url: str, transport: RecordingTransport
    ) -> None:
        self.api_key, self.model, self.base_url = api_key, model_id, base_url
        self.transport: Any = transport


class OpenAIChat(_Class):
    """Its retries are left on: they never send anything."""

    def ask(self, messages: Messages, params: Params) -> str | None:
        client = openai.OpenAI(
            api_key=self.api_key,
            base_url=self.base_url,
            http_client=httpx2.Client(transport=self.transport),
        )
        chat: Any = client.chat.completions
        reply = chat.create(model=self.model, messages=messages, **params)
        text: str | None = reply.choices[0].message.content
        return text


class AsyncOpenAIChat(_Class):
    async def ask(self, messages: Messages, params: Params) -> str | None:
        client = openai.AsyncOpenAI(
            api_key=self.api_key,
            base_url=self.base_url,
            max_retries=0,
            http_client=httpx2.AsyncClient(transport=self.transport),
        )
        chat: Any = client.chat.completions
        reply = await chat.create(model=self.model, messages=messages, **params)
        text: str | None = reply.choices[0].message.content
        return text


class OpenAIResponses(_Class):
    def ask(self, messages: Messages, params: Params) -> str:
        client = openai.OpenAI(
            api_key=self.api_key,
            base_url=self.base_url,
            max_retries=0,
            http_client=httpx2.Client(transport=self.transport),
        )
        given = dict(params)
        given["max_output_tokens"] = given.pop("max_tokens")
        given.pop("seed", None)
        responses: Any = client.responses
        text: str = responses.create(model=self.model, input=messages, **given).output_text
        return text


class Claude(_Class):
    def ask(self, messages: Messages, params: Params) -> str:
        client = anthropic.Anthropic(
            api_key=self.api_key,
            base_url=self.base_url,
            max_retries=0,
            http_client=httpx2.Client(transport=self.transport),
        )
        system = [each["content"] for each in messages if each["role"] == "system"]
        said: Any = [each for each in messages if each["role"] != "system"]
        # The extra body is what the package offers for parameters that it knows no more.
        more = {key: value for key, value in params.items() if key != "max_tokens"}
        create: Any = client.messages.create
        reply = create(
            model=self.model,
            max_tokens=params["max_tokens"],
            messages=said,
            extra_body=more,
            **({"system": "\n\n".join(system)} if system else {}),
        )
        return "".join(each.text for each in reply.content if each.type == "text")


class OverHttpx(_Class):
    def ask(self, messages: Messages, params: Params) -> str:
        with httpx.Client(transport=self.transport) as client:
            reply = client.post(
                f"{self.base_url}/chat/completions",
                headers={"authorization": f"Bearer {self.api_key}"},
                json={"model": self.model, "messages": messages, **params},
            )
        reply.raise_for_status()
        text: str = reply.json()["choices"][0]["message"]["content"]
        return text


def _class(kind: type) -> str:
    return f"{__name__}:{kind.__name__}"


class TestOpenAIPackage(ProviderContract):
    provider = "openai-sdk"
    lists_models = False
    kind: type = OpenAIChat

    def server(self) -> ProviderServer:
        return FakeServer(OpenAIWire())

    def settings(self, side: ProviderServer) -> dict[str, Any]:
        return {"model": "gpt-test", "base_url": url(side, "/v1"), "class": _class(self.kind)}


class TestOpenAIPackageAsync(TestOpenAIPackage):
    kind = AsyncOpenAIChat


class TestHttpx(TestOpenAIPackage):
    kind = OverHttpx


class TestOpenAIPackageResponses(ProviderContract):
    provider = "openai-responses-sdk"
    lists_models = False

    def server(self) -> ProviderServer:
        return FakeServer(ResponsesWire())

    def settings(self, side: ProviderServer) -> dict[str, Any]:
        named = _class(OpenAIResponses)
        return {"model": "gpt-test", "base_url": url(side, "/v1"), "class": named}


class TestAnthropicPackage(ProviderContract):
    provider = "anthropic-sdk"
    lists_models = False

    def server(self) -> ProviderServer:
        return FakeServer(AnthropicWire())

    def settings(self, side: ProviderServer) -> dict[str, Any]:
        return {"model": "claude-test", "base_url": url(side, ""), "class": _class(Claude)}


# -- classes that do what they must not ----------------------------------------------------------


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


def _with(kind: type, work: Any) -> FakeServer:
    async def main() -> FakeServer:
        server = FakeServer(OpenAIWire())
        await server.start()
        server.answer_with(" yes ")
        entry = {
            "provider": "openai-sdk", "model": "gpt-test", "class": _class(kind),
            "base_url": f"{server.url}/v1", "api_key_env": KEY_VARIABLE,
        }  # fmt: skip
        model = Model.model_validate(entry)
        provider = provider_type("openai-sdk").create(model, timeout_ms=20_000, connections=1)
        try:
            await work(provider)
        finally:
            await provider.close()
            await server.stop()
        return server

    with key_set():
        return asyncio.run(main())


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (AsksTwice, "asks twice for one answer; the second request was not sent"),
        (AsksOtherwise, "it makes another request each time"),
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

    assert len(_with(kind, work).asked) == 1, "one attempt is one request"


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (AsksNothing, "asks nothing through `transport`"),
        (Raises, "raised ValueError: not today, before it asked"),
        (AsksElsewhere, "asks http://127.0.0.1:1/other/chat/completions, which is not below its"),
        (OnlyLooks, "makes a GET request"),
        (WantsMore, "it is called with api_key=, model_id=, base_url= and transport="),
    ],
)
def test_a_class_that_makes_no_fit_request_is_told_so_before_anything_is_sent(
    kind: type, said: str
) -> None:
    async def work(provider: Provider) -> None:
        with pytest.raises(InvalidInput) as raised:
            await provider.check()
        assert said in str(raised.value)
        assert KEY not in str(raised.value)

    assert not _with(kind, work).asked


def test_a_request_outside_ask_is_not_sent() -> None:
    async def work(provider: Provider) -> None:
        with pytest.raises(InvalidInput, match="outside `ask`"):
            await provider.check()

    assert not _with(AsksAtOnce, work).asked


def test_the_librarys_own_headers_are_sent_and_its_key() -> None:
    async def work(provider: Provider) -> None:
        answer = await provider.send(provider.prepare(ask("hi")))
        assert answer.text == " yes "

    [asked] = _with(OpenAIChat, work).asked
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["x-stainless-lang"] == "python"


def test_a_library_that_retries_sends_one_request_all_the_same() -> None:
    async def main() -> None:
        from failproof_es.testing.other_side import Fault

        server = FakeServer(OpenAIWire())
        await server.start()
        server.answer_with("", Fault.RATE_LIMITED)
        entry = {
            "provider": "openai-sdk", "model": "gpt-test", "class": _class(OpenAIChat),
            "base_url": f"{server.url}/v1", "api_key_env": KEY_VARIABLE,
        }  # fmt: skip
        model = Model.model_validate(entry)
        provider = provider_type("openai-sdk").create(model, timeout_ms=20_000, connections=1)
        with pytest.raises(ModelError) as raised:
            await provider.send(provider.prepare(ask("hi")))
        assert (raised.value.kind, raised.value.retry_after_s) == ("rate_limited", 7.0)
        assert len(server.asked) == 1
        await provider.close()
        await server.stop()

    with key_set():
        asyncio.run(main())
