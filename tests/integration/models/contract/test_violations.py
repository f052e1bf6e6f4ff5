"""The contract finds a provider out that breaks one promise."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from failproof_es.configuration.schema import Model
from failproof_es.models.protocol import Answer, ModelError, OnText, PreparedRequest, Provider
from failproof_es.models.providers.openai.provider import OpenAIProvider
from failproof_es.testing.other_side import ProviderServer
from tests.integration.models.contract.speaking.openai import SPEAKS
from tests.integration.models.contract.test_contract import Spoken, url


class Kept(Spoken):
    provider = SPEAKS.provider
    speaks = SPEAKS


class ShowsItsKey(OpenAIProvider):
    async def send(self, request: PreparedRequest, on_text: OnText | None = None) -> Answer:
        answer = await super().send(request, on_text)
        return replace(answer, headers={**answer.headers, "authorization": f"{self._key()}"})


class Strips(OpenAIProvider):
    async def send(self, request: PreparedRequest, on_text: OnText | None = None) -> Answer:
        answer = await super().send(request, on_text)
        return replace(answer, text=answer.text.strip())


class MixesUp(OpenAIProvider):
    async def send(self, request: PreparedRequest, on_text: OnText | None = None) -> Answer:
        self._request = request
        await asyncio.sleep(0.01)
        return await super().send(self._request, on_text)


class FailsWhenGivenUp(OpenAIProvider):
    async def send(self, request: PreparedRequest, on_text: OnText | None = None) -> Answer:
        try:
            return await super().send(request, on_text)
        except asyncio.CancelledError:
            raise ModelError("timeout", "given up", "transient") from None


class DropsTheStatus(OpenAIProvider):
    async def send(self, request: PreparedRequest, on_text: OnText | None = None) -> Answer:
        try:
            return await super().send(request, on_text)
        except ModelError as error:
            error.status = None
            raise


class AsksAgain(OpenAIProvider):
    async def send(self, request: PreparedRequest, on_text: OnText | None = None) -> Answer:
        try:
            return await super().send(request, on_text)
        except ModelError:
            return await super().send(request, on_text)


class DropsTheBody(OpenAIProvider):
    async def send(self, request: PreparedRequest, on_text: OnText | None = None) -> Answer:
        try:
            return await super().send(request, on_text)
        except ModelError as error:
            error.body = None
            raise


@pytest.mark.parametrize(
    ("kind", "promise"),
    [
        (ShowsItsKey, "test_one_call_is_one_request_and_one_answer"),
        (Strips, "test_one_call_is_one_request_and_one_answer"),
        (MixesUp, "test_what_is_asked_side_by_side_is_not_mixed_up"),
        (FailsWhenGivenUp, "test_who_gives_it_up_gets_no_answer_and_no_error"),
        (DropsTheStatus, "test_a_broken_server_may_be_asked_again"),
        (AsksAgain, "test_a_broken_server_may_be_asked_again"),
        (DropsTheBody, "test_a_broken_server_may_be_asked_again"),
    ],
)
def test_a_broken_promise_is_seen(kind: type[OpenAIProvider], promise: str) -> None:
    class Broken(Kept):
        def create(self, side: ProviderServer, model: Model, timeout_ms: int) -> Provider:
            return kind(model, url(side, "/v1"), timeout_ms=timeout_ms, connections=4)

    with pytest.raises(AssertionError):
        getattr(Broken(), promise)()
    getattr(Kept(), promise)()
