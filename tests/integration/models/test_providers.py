"""One contract for every provider: the same promises over HTTP, in a thread, with real weights."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.models import Answer, ModelError, Provider, create_provider, model_keys, snapshot
from failproof_es.models.providers.local.weights import SMOLLM2, find
from failproof_es.problems import InvalidInput
from tests.servers.mock_server import MockServer

HERE = "tests.integration.models.test_providers"


class Echo:
    """A user's own client (specification 000 § 3)."""

    def __init__(self, api_key: str, model_id: str):
        self.model_id = model_id

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        if prompt == "raise":
            raise StopIteration("out of words")
        if prompt == "hang":
            time.sleep(30)
        return f"{self.model_id} heard: {prompt}"


class NotText(Echo):
    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        return 7  # type: ignore[return-value]


def a_model(kind: str, base_url: str, *, client: str = "Echo", **more: Any) -> Model:
    if kind == "openai":
        return Model(provider="openai", model="mock", base_url=base_url, **more)
    if kind == "python":
        return Model.model_validate(
            {"provider": "python", "model": "mine", "class": f"{HERE}:{client}", **more}
        )
    return Model(provider="local", model="smollm2", max_tokens=8, **more)


def with_provider(
    kind: str,
    work: Callable[[Provider, MockServer], Awaitable[None]],
    *,
    timeout_ms: int = 60_000,
    **more: Any,
) -> None:
    async def main() -> None:
        server = MockServer()
        base_url = await server.start()
        provider = create_provider(
            a_model(kind, base_url, **more), timeout_ms=timeout_ms, connections=8
        )
        try:
            await work(provider, server)
        finally:
            await provider.close()
            await server.stop()

    asyncio.run(main())


def ask(text: str) -> list[Turn]:
    return [Turn(role="user", content=text)]


KINDS = ["openai", "python", "local"]


@pytest.mark.parametrize("kind", KINDS)
def test_it_answers_and_can_be_closed_twice(kind: str) -> None:
    async def work(provider: Provider, server: MockServer) -> None:
        await provider.check()
        await provider.open()
        await provider.open()
        answer = await provider.send(provider.prepare(ask("Say hello.")))
        assert isinstance(answer, Answer)
        assert answer.text and answer.body and answer.latency_ms > 0
        await provider.close()

    with_provider(kind, work)


@pytest.mark.parametrize("kind", KINDS)
def test_preparing_is_pure_and_holds_the_prompt_unaltered(kind: str) -> None:
    async def work(provider: Provider, server: MockServer) -> None:
        odd = "\x00 \u202e {{x}} \U0001f600"
        first, second = provider.prepare(ask(odd)), provider.prepare(ask(odd))
        assert first == second
        assert "{{x}} \U0001f600" in first.body.decode()

    with_provider(kind, work)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.thinned(whole=1)
def test_many_at_once_each_get_their_own_answer(kind: str) -> None:
    async def work(provider: Provider, server: MockServer) -> None:
        await provider.open()
        prompts = [f"Count to {n}." for n in range(8)]
        requests = [provider.prepare(ask(prompt)) for prompt in prompts]
        together = await asyncio.gather(*(provider.send(request) for request in requests))
        alone = [await provider.send(request) for request in requests]
        assert [a.text for a in together] == [a.text for a in alone]

    with_provider(kind, work)


def test_the_bytes_prepared_are_the_bytes_sent() -> None:
    async def work(provider: Provider, server: MockServer) -> None:
        await provider.send(provider.prepare(ask("unaltered \x00 \U0001f600")))
        assert server.asked == {"unaltered \x00 \U0001f600": 1}

    with_provider("openai", work)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("http500", "server_error"),
        ("http429", "rate_limited"),
        ("reset", "connection"),
        ("silent", "timeout"),
        ("notjson", "malformed_response"),
        ("echokey", "bad_request"),
    ],
)
def test_one_call_is_one_attempt_whatever_goes_wrong(fault: str, kind: str) -> None:
    async def work(provider: Provider, server: MockServer) -> None:
        with pytest.raises(ModelError) as caught:
            await provider.send(provider.prepare(ask(f"[fault:{fault}]")))
        assert caught.value.kind == kind
        assert sum(server.asked.values()) == 1

    with_provider("openai", work, timeout_ms=500 if kind == "timeout" else 60_000)


def test_the_key_travels_in_its_header_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", "sk-canary")

    async def work(provider: Provider, server: MockServer) -> None:
        request = provider.prepare(ask("hello"))
        await provider.send(request)
        assert b"canary" not in request.body and "canary" not in request.endpoint
        assert server.authorizations == {"Bearer sk-canary": 1}

    with_provider("openai", work, api_key_env="CANARY_KEY")


def test_a_key_that_is_gone_since_the_check_halts_and_does_not_crash(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("CANARY_KEY", raising=False)

    async def work(provider: Provider, server: MockServer) -> None:
        with pytest.raises(ModelError) as caught:
            await provider.send(provider.prepare(ask("hello")))
        assert caught.value.disposition == "halting"

    with_provider("openai", work, api_key_env="CANARY_KEY")


def test_what_a_users_class_raises_is_an_error_of_that_attempt() -> None:
    async def work(provider: Provider, server: MockServer) -> None:
        with pytest.raises(ModelError) as caught:
            await provider.send(provider.prepare(ask("raise")))
        assert caught.value.kind == "client_exception"
        assert "out of words" in caught.value.message

    with_provider("python", work)


def test_a_users_class_that_hangs_is_given_up_and_holds_nobody() -> None:
    async def work(provider: Provider, server: MockServer) -> None:
        with pytest.raises(ModelError) as caught:
            await provider.send(provider.prepare(ask("hang")))
        assert caught.value.kind == "timeout"

    began = time.monotonic()
    with_provider("python", work, timeout_ms=200)
    assert time.monotonic() - began < 5


def test_what_is_not_text_is_no_answer() -> None:
    async def work(provider: Provider, server: MockServer) -> None:
        with pytest.raises(ModelError, match="returned int"):
            await provider.send(provider.prepare(ask("hello")))

    with_provider("python", work, client="NotText")


def test_the_weights_are_the_ones_that_were_published() -> None:
    assert find("smollm2").name == SMOLLM2.file
    model = a_model("local", "")
    assert snapshot(model, "k").settings["weights_sha256"] == SMOLLM2.file_sha256


def test_absent_weights_name_the_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = "failproof_es.models.providers.local.weights"
    monkeypatch.setattr(f"{weights}.location", lambda weights: None)
    with pytest.raises(InvalidInput, match=r"models install smollm2.*\[model-not-installed\]"):
        find("smollm2")


def test_each_entry_of_a_run_has_a_key_of_its_own() -> None:
    same = a_model("openai", "http://x")
    other = Model(provider="openai", model="other", base_url="http://x")
    assert model_keys([same, other]) == ["mock", "other"]
    assert model_keys([same, same]) == ["openai:mock#1", "openai:mock#2"]
