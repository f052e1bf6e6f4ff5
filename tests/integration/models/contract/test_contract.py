"""Every provider that ships is put through the one contract."""

from __future__ import annotations

import asyncio
import time
from typing import Any, cast

import orjson

from failproof_es.configuration.schema import Model
from failproof_es.models.local.provider import LocalProvider
from failproof_es.models.protocol import LONGEST_TEXT_BYTES, Provider
from failproof_es.testing.other_side import Asked, FakeServer, Fault, OtherSide
from failproof_es.testing.provider_contract import ProviderContract
from tests.integration.models.contract.wires import AnthropicWire, OllamaWire, OpenAIWire


def url(side: OtherSide, path: str) -> str:
    assert isinstance(side, FakeServer)
    return side.url + path


class TestOpenAI(ProviderContract):
    provider = "openai"

    def other_side(self) -> OtherSide:
        return FakeServer(OpenAIWire())

    def settings(self, side: OtherSide) -> dict[str, Any]:
        return {"model": "gpt-test", "base_url": url(side, "/v1")}


class TestAnthropic(ProviderContract):
    provider = "anthropic"

    def other_side(self) -> OtherSide:
        return FakeServer(AnthropicWire())

    def settings(self, side: OtherSide) -> dict[str, Any]:
        return {"model": "claude-test", "base_url": url(side, "/v1")}


class TestOllama(ProviderContract):
    provider = "ollama"

    def other_side(self) -> OtherSide:
        return FakeServer(OllamaWire())

    def settings(self, side: OtherSide) -> dict[str, Any]:
        return {"model": "llama-test", "base_url": url(side, "")}


class AtAnotherServer(LocalProvider):
    """The provider, as if the server that it started were that one."""

    def __init__(self, model: Model, base_url: str, *, timeout_ms: int) -> None:
        super().__init__(model, timeout_ms=timeout_ms, connections=2)
        self._there = base_url

    async def open(self) -> None:
        self._base_url = self._there

    def get_completion(self, prompt: str, params: Any) -> str:
        from failproof_es.models.completion import complete, with_parameters

        model = with_parameters(self._model, params)
        once = AtAnotherServer(model, self._there, timeout_ms=self._timeout_ms)
        return complete(once, model, prompt)


class TestLocal(ProviderContract):
    """Its server is a process of its own; what that says otherwise is said here by another one."""

    provider = "local"
    lists_models = False

    def other_side(self) -> OtherSide:
        return FakeServer(OpenAIWire())

    def settings(self, side: OtherSide) -> dict[str, Any]:
        return {"model": "smollm2"}

    def create(self, side: OtherSide, model: Model, timeout_ms: int) -> Provider:
        return AtAnotherServer(model, url(side, "/v1"), timeout_ms=timeout_ms)


class InThisProcess:
    """What a class of the user's own is told to do."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.looked = 0
        self.sent = b""
        self.offered: list[str] = []
        self.refuses_looks = False
        self.text = ""
        self.fault: Fault | None = None

    async def start(self) -> None:
        Told.side = self

    async def stop(self) -> None:
        Told.side = None

    def say(self, text: str, fault: Fault | None = None) -> None:
        self.text, self.fault = text, fault

    def call(self, name: str, arguments: dict[str, object]) -> None:
        raise NotImplementedError


class Told:
    """The class."""

    side: InThisProcess | None = None

    def __init__(self, api_key: str, model_id: str) -> None:
        self.model = model_id

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        assert self.side is not None
        given = {"model": self.model, "prompt": prompt, "params": params}
        self.side.asked.append(Asked("CALL", "", {}, orjson.dumps(given)))
        match self.side.fault:
            case Fault.SERVER_ERROR | Fault.CUT:
                raise ConnectionResetError("it broke")
            case Fault.SILENT:
                time.sleep(4)
            case Fault.NOT_JSON:
                return cast(str, 7)
            case Fault.TOO_LARGE:
                return "a" * (LONGEST_TEXT_BYTES + 1)
        self.side.sent = self.side.text.encode()
        return self.side.text


class TestPython(ProviderContract):
    provider = "python"
    lists_models = False
    keeps_bodies = False
    unable = (
        *(Fault.ERROR_OBJECT, Fault.EMPTY, Fault.WITHOUT_CONTENT, Fault.RATE_LIMITED),
        *(Fault.UNAUTHORIZED, Fault.NOT_FOUND, Fault.WRONG_MODEL),
    )
    kinds = {Fault.SERVER_ERROR: ["client_exception"], Fault.CUT: ["client_exception"]}

    def other_side(self) -> OtherSide:
        return InThisProcess()

    def settings(self, side: OtherSide) -> dict[str, Any]:
        return {"model": "mine", "class": f"{__name__}:Told"}


def test_a_fake_server_can_be_stopped_while_it_is_silent() -> None:
    async def main() -> None:
        server = FakeServer(OpenAIWire())
        await server.start()
        await server.stop()

    asyncio.run(main())
