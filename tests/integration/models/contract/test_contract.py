"""Every provider that ships is put through the one contract."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, ClassVar, cast

import orjson
import pytest

from failproof_es.configuration.schema import Model
from failproof_es.models.http_reply import AnswerStream, HttpReply, InvalidReply
from failproof_es.models.protocol import LONGEST_TEXT_BYTES, Answer, ModelError, Provider
from failproof_es.models.providers.local.provider import LocalProvider
from failproof_es.models.providers.ollama.provider import OllamaProvider
from failproof_es.testing.other_side import FakeServer, Fault, ProviderServer, ReceivedRequest
from failproof_es.testing.provider_contract import ProviderContract
from tests.integration.models.contract.speaking.all import SPOKEN
from tests.integration.models.contract.speaking.example import Speaks
from tests.integration.models.contract.wires import OpenAIWire


def url(side: ProviderServer, path: str) -> str:
    assert isinstance(side, FakeServer)
    return side.url + path


class Spoken(ProviderContract):
    """The contract of a provider over HTTP, by its file in `speaking/`."""

    speaks: ClassVar[Speaks]

    def server(self) -> ProviderServer:
        return FakeServer(self.speaks.wire())

    def settings(self, side: ProviderServer) -> dict[str, Any]:
        return {**self.speaks.entry, "base_url": url(side, self.speaks.path)}


for speaks in SPOKEN:
    globals()[f"Test_{speaks.provider}"] = type(
        f"Test_{speaks.provider}",
        (Spoken,),
        {
            "provider": speaks.provider, "speaks": speaks, "unable": speaks.without,
            "lists_models": speaks.lists_models, "__module__": __name__,
        },
    )  # fmt: skip


def streamed(*lines: object) -> Answer:
    """What the provider makes of these lines of a stream. Raises `ModelError`."""
    return OllamaProvider.read(*put_together(*lines))


def put_together(*lines: object) -> tuple[HttpReply, AnswerStream]:
    body = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    headers = {"content-type": "application/x-ndjson"}
    reply = HttpReply(200, headers, body, 1.0, datetime.now(UTC))
    stream = OllamaProvider.stream_of(headers)
    assert stream is not None
    try:
        stream.feed(body)
    except InvalidReply as flaw:
        raise reply.error(flaw) from None
    return reply, stream


def line(**more: Any) -> dict[str, Any]:
    return {"model": "llama-test", "message": {"role": "assistant", "content": "a"}, **more}


def test_the_last_line_of_an_ollama_stream_may_hold_no_message() -> None:
    """So the vendor documents it, and older servers write it."""
    ended = {"model": "llama-test", "done": True, "prompt_eval_count": 26, "eval_count": 282}
    answer = streamed(line(done=False), line(done=False), ended)
    assert (answer.text, answer.model, answer.usage.output_tokens) == ("aa", "llama-test", 282)
    with pytest.raises(ModelError, match="holds no message"):
        streamed({"model": "llama-test", "done": False}, ended)
    with pytest.raises(ModelError, match="holds no message"):
        streamed(line(done=False), {**ended, "message": "odd"})


def test_a_line_of_an_ollama_stream_that_names_no_model_names_no_other() -> None:
    nameless = {"message": {"content": "b"}, "done": True}
    assert streamed(line(done=False), nameless).model == "llama-test"
    with pytest.raises(ModelError, match="two models"):
        streamed(line(done=False), {**nameless, "model": "another"})


def test_an_error_within_an_ollama_stream_is_the_servers_and_may_pass() -> None:
    """Before the stream began it would have come as status 500."""
    with pytest.raises(ModelError, match="runner has stopped") as caught:
        streamed(line(done=False), {"error": "the model runner has stopped"})
    assert (caught.value.kind, caught.value.disposition) == ("provider_error", "transient")


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

    def server(self) -> ProviderServer:
        return FakeServer(OpenAIWire())

    def settings(self, side: ProviderServer) -> dict[str, Any]:
        return {"model": "smollm2"}

    def create(self, side: ProviderServer, model: Model, timeout_ms: int) -> Provider:
        return AtAnotherServer(model, url(side, "/v1"), timeout_ms=timeout_ms)


class InThisProcess:
    """What a class of the user's own is told to do."""

    def __init__(self) -> None:
        self.requests: list[ReceivedRequest] = []
        self.looked = 0
        self.sent = b""
        self.offered: list[str] = []
        self.refuses_looks = False
        self.text = ""
        self.fault: Fault | None = None

    async def start(self) -> None:
        ClassLabel.side = self

    async def stop(self) -> None:
        ClassLabel.side = None

    def answer_with(self, text: str, fault: Fault | None = None) -> None:
        self.text, self.fault = text, fault

    def call_tool(self, name: str, arguments: dict[str, object]) -> None:
        raise NotImplementedError


class ClassLabel:
    """The class."""

    side: InThisProcess | None = None

    def __init__(self, api_key: str, model_id: str) -> None:
        self.model = model_id

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        assert self.side is not None
        given = {"model": self.model, "prompt": prompt, "params": params}
        self.side.requests.append(ReceivedRequest("CALL", "", {}, orjson.dumps(given)))
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


class ToldToStream(ClassLabel):
    """A class that can also answer piece by piece."""

    def stream_completion(self, prompt: str, params: dict[str, Any]) -> Iterator[str]:
        assert self.side is not None
        text = self.get_completion(prompt, params)
        if self.side.fault is Fault.CUT_STREAM:
            yield text[:7]
            raise ConnectionResetError("it broke")
        yield from (text[at : at + 5] for at in range(0, len(text), 5))


class TestPython(ProviderContract):
    provider = "python"
    lists_models = False
    keeps_bodies = False
    unable = (
        *(Fault.ERROR_OBJECT, Fault.EMPTY, Fault.WITHOUT_CONTENT, Fault.RATE_LIMITED),
        *(Fault.UNAUTHORIZED, Fault.NOT_FOUND, Fault.WRONG_MODEL),
    )
    kinds = {
        Fault.SERVER_ERROR: ["client_exception"],
        Fault.CUT: ["client_exception"],
        Fault.CUT_STREAM: ["client_exception"],
    }

    def server(self) -> ProviderServer:
        return InThisProcess()

    def settings(self, side: ProviderServer) -> dict[str, Any]:
        return {"model": "mine", "class": f"{__name__}:ToldToStream"}


def test_a_fake_server_can_be_stopped_while_it_is_silent() -> None:
    async def main() -> None:
        server = FakeServer(OpenAIWire())
        await server.start()
        await server.stop()

    asyncio.run(main())
