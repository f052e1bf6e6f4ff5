"""Client libraries of vendors, put through the contract of every provider."""

from __future__ import annotations

from typing import Any

from failproof_es.testing.other_side import FakeServer, ProviderServer
from failproof_es.testing.provider_contract import ProviderContract
from tests.integration.models.contract.sdk_classes import (
    AsyncOpenAIChat,
    Claude,
    OpenAIChat,
    OpenAIResponses,
    OverHttpx,
    class_name,
)
from tests.integration.models.contract.test_contract import url
from tests.integration.models.contract.wires import AnthropicWire, OpenAIWire, ResponsesWire


class TestOpenAIPackage(ProviderContract):
    provider = "openai-sdk"
    lists_models = False
    kind: type = OpenAIChat

    def server(self) -> ProviderServer:
        return FakeServer(OpenAIWire())

    def settings(self, side: ProviderServer) -> dict[str, Any]:
        return {"model": "gpt-test", "base_url": url(side, "/v1"), "class": class_name(self.kind)}


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
        named = class_name(OpenAIResponses)
        return {"model": "gpt-test", "base_url": url(side, "/v1"), "class": named}


class TestAnthropicPackage(ProviderContract):
    provider = "anthropic-sdk"
    lists_models = False

    def server(self) -> ProviderServer:
        return FakeServer(AnthropicWire())

    def settings(self, side: ProviderServer) -> dict[str, Any]:
        return {"model": "claude-test", "base_url": url(side, ""), "class": class_name(Claude)}
