"""`ModelClient` (specification 000 § 3): every adapter is asked synchronously and answers text."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import pytest

from failproof_es.configuration.providers import PROVIDERS
from failproof_es.configuration.schema import Model
from failproof_es.models import ModelError, clients, create_provider
from failproof_es.models.clients import (
    AnthropicClient,
    LocalClient,
    OllamaClient,
    OpenAIClient,
)
from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.provider_type import provider_type
from failproof_es.models.providers.python.model_client import ModelClient
from tests.every import every
from tests.integration.models.contract.speaking.all import SPOKEN
from tests.integration.models.contract.speaking.example import ExampleServer, Speaks
from tests.servers.anthropic_server import AnthropicServer
from tests.servers.mock_server import MockServer

KEY = "sk-ant"


class Echo:
    """A user's own client."""

    def __init__(self, api_key: str, model_id: str):
        self.model_id = model_id

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        if "fault" in prompt:
            raise RuntimeError("no")
        return f"You said: {prompt} {params}"


class Asks(Protocol):
    """What all of them have in common."""

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str: ...


class Servers:
    """Both wire protocols on loopback, in a loop of their own: the callers wait."""

    def __init__(self) -> None:
        self.openai, self.anthropic = MockServer(), AnthropicServer()
        self.loop = asyncio.new_event_loop()
        self.ended = asyncio.Event()
        self.begun = threading.Event()
        self.thread = threading.Thread(target=self.loop.run_until_complete, args=[self.serve()])

    async def serve(self) -> None:
        await self.openai.start()
        async with self.anthropic:
            self.begun.set()
            await self.ended.wait()
        await self.openai.stop()

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.ended.set)
        self.thread.join()
        self.loop.close()


@contextmanager
def servers() -> Iterator[Servers]:
    running = Servers()
    running.thread.start()
    try:
        assert running.begun.wait(30)
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="module")
def both() -> Iterator[Servers]:
    with servers() as running:
        yield running


def provider(both: Servers, **model: Any) -> Asks:
    return create_provider(Model.model_validate(model), timeout_ms=60_000, connections=2)


ADAPTERS: dict[str, Callable[[Servers], Asks]] = {
    "provider openai": lambda both: provider(
        both, provider="openai", model="mock", base_url=both.openai.url
    ),
    "provider anthropic": lambda both: provider(
        both,
        provider="anthropic",
        model="claude-test",
        base_url=both.anthropic.url,
        api_key_env=None,
    ),
    "provider local": lambda both: provider(both, provider="local", model="smollm2"),
    "provider python": lambda both: provider(
        both, provider="python", model="m", **{"class": f"{__name__}:Echo"}
    ),
    "client openai": lambda both: OpenAIClient(KEY, "mock", base_url=both.openai.url),
    "client ollama": lambda both: OllamaClient("", "mock", base_url=both.openai.url),
    "client anthropic": lambda both: AnthropicClient(
        KEY, "claude-test", base_url=both.anthropic.url
    ),
    "client local": lambda both: LocalClient("", "smollm2"),
    "client of one's own": lambda both: Echo(KEY, "m"),
}


SLOW = "provider local"
"""It starts the embedded model's server, which `client local` does, too."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name == SLOW else ()) for name in ADAPTERS],
)
def test_every_adapter_answers_a_synchronous_call_with_the_text(name: str, both: Servers) -> None:
    adapter = ADAPTERS[name](both)
    local = "local" in name  # each call starts its server: once is enough
    for prompt in ("Say hello.",) if local else ("Say hello.", "Say it again."):
        text = adapter.get_completion(prompt, {"max_tokens": 3, "temperature": 0.5})
        assert isinstance(text, str) and text
        if not local:
            assert text.startswith(f"You said: {prompt}")


@every("name", ["provider openai", "client anthropic", "client of one's own"])
def test_a_caller_with_a_running_event_loop_gets_its_answer_too(name: str, both: Servers) -> None:
    async def called() -> str:
        return ADAPTERS[name](both).get_completion("Hello", {})

    assert asyncio.run(called()).startswith("You said: Hello")


@every("name", [name for name in ADAPTERS if "anthropic" in name])
def test_the_parameters_given_come_before_the_models_own(name: str, both: Servers) -> None:
    ADAPTERS[name](both).get_completion("Hello", {"max_tokens": 7, "top_k": 2})
    asked = both.anthropic.requests[-1]
    assert (asked["max_tokens"], asked["top_k"], asked["temperature"]) == (7, 2, 0.0)
    assert both.anthropic.headers[-1].get("x-api-key") == (KEY if "client" in name else None)


@every(
    ("name", "prompt"),
    [
        ("provider openai", "[fault:http500]"),
        ("client openai", "[fault:http401]"),
        ("client ollama", "[fault:othermodel]"),
        ("provider anthropic", "[fault:overloaded]"),
        ("client anthropic", "[fault:key]"),
        ("provider python", "[fault:x]"),
    ],
)
def test_a_call_that_fails_raises(name: str, prompt: str, both: Servers) -> None:
    with pytest.raises(ModelError) as caught:
        ADAPTERS[name](both).get_completion(prompt, {})
    assert KEY not in str(caught.value)


CLIENTS: dict[str, type[Any]] = {
    name: kind
    for name, kind in vars(clients).items()
    if isinstance(kind, type) and "provider" in vars(kind)
}
"""Every client class with a provider of its own, by its name."""


@every("kind", CLIENTS.values())
@every("speaks", SPOKEN)
def test_a_client_of_a_vendor_needs_a_key_and_a_name(kind: type[Any], speaks: Speaks) -> None:
    if kind.provider != speaks.provider:
        return
    header, before = speaks.key

    async def called() -> None:
        async with ExampleServer(speaks.examples["answer"].reply) as server:
            client = kind(KEY, speaks.entry["model"], base_url=server.url)
            text = await asyncio.to_thread(client.get_completion, "Hi", {"max_tokens": 3})
            assert text == speaks.examples["answer"].text
            assert server.requests[0].headers[header] == before + KEY

    asyncio.run(called())
    assert kind(KEY, "a-model")  # where its vendor is, is known


def test_every_provider_that_needs_no_more_than_a_key_and_a_name_has_a_client() -> None:
    offered = {kind.provider for kind in CLIENTS.values()}
    enough = set()
    for name in PROVIDERS.names():
        found = provider_type(name)
        own_url = isinstance(found, HttpProviderType) and found.default_base_url is not None
        if own_url and found.needs <= {"api_key_env"}:
            enough.add(name)
    assert {"gemini", "mistral", "openrouter", "openai-responses", "anthropic"} <= enough
    assert enough - {"ollama"} <= offered  # OllamaClient asks by OpenAI's protocol


@every("kind", [*CLIENTS.values(), Echo])
def test_a_client_is_constructed_and_called_as_the_protocol_says(kind: type) -> None:
    for method in ("__init__", "get_completion"):
        asked = list(inspect.signature(getattr(ModelClient, method)).parameters.values())
        given = list(inspect.signature(getattr(kind, method)).parameters.values())
        assert [each.name for each in given[: len(asked)]] == [each.name for each in asked]
        assert all(each.default is not each.empty for each in given[len(asked) :])
