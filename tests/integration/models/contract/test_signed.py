"""A provider of another package is put through the contract, its signatures checked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from failproof_es.configuration.providers import PROVIDERS
from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.models import create_provider, snapshot
from failproof_es.models.protocol import ModelError
from failproof_es.testing.other_side import ProviderServer
from failproof_es.testing.provider_contract import ProviderContract
from tests.integration.models.contract.signed_plugin import CheckingServer, install
from tests.integration.models.contract.wires import OpenAIWire

PLUGIN = {"signed": "tests.integration.models.contract.signed_plugin:PROVIDER"}


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    install(tmp_path, "signed-plugin", PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SIGNING_SECRET", CheckingServer.secret)
    PROVIDERS.forget()
    yield
    monkeypatch.undo()
    PROVIDERS.forget()


class TestSigned(ProviderContract):
    provider = "signed"

    def server(self) -> ProviderServer:
        return CheckingServer(OpenAIWire())

    def settings(self, side: ProviderServer) -> dict[str, Any]:
        assert isinstance(side, CheckingServer)
        options = {"secret_env": "SIGNING_SECRET"}
        return {"model": "m-test", "base_url": f"{side.url}/v1", "options": options}


def a_model(base_url: str) -> Model:
    return Model(
        provider="signed", model="m", base_url=base_url, api_key_env="SIGNING_KEY",
        options={"secret_env": "SIGNING_SECRET"},
    )  # fmt: skip


@pytest.mark.parametrize("secret", ["the-signing-secret", "another secret"])
def test_what_is_signed_with_another_secret_is_refused(
    secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The query is signed, too, and a body that is sent in several pieces."""
    monkeypatch.setenv("SIGNING_SECRET", secret)
    monkeypatch.setenv("SIGNING_KEY", "sk-id-0123456789")
    is_right = secret == CheckingServer.secret

    async def main() -> None:
        server = CheckingServer(OpenAIWire())
        await server.start()
        provider = create_provider(a_model(f"{server.url}/v1"), timeout_ms=9_000, connections=1)
        try:
            server.answer_with("yes")
            for text in ("short", "long " * 100_000):
                request = provider.prepare([Turn(role="user", content=text)])
                if is_right:
                    assert (await provider.send(request)).text == "yes"
                    continue
                with pytest.raises(ModelError, match="signature is wrong"):
                    await provider.send(request)
            assert server.refused == (0 if is_right else 2)
        finally:
            await provider.close()
            await server.stop()

    asyncio.run(main())


def test_a_secret_that_is_gone_is_an_error_that_stops_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SIGNING_SECRET")
    monkeypatch.setenv("SIGNING_KEY", "sk-id-0123456789")

    async def main() -> None:
        provider = create_provider(a_model("http://127.0.0.1:9/v1"), timeout_ms=900, connections=1)
        with pytest.raises(ModelError, match="SIGNING_SECRET is not set") as caught:
            await provider.send(provider.prepare([Turn(role="user", content="hi")]))
        assert caught.value.disposition == "halting"
        await provider.close()

    asyncio.run(main())


def test_what_the_provider_says_of_itself_is_recorded() -> None:
    recorded = snapshot(a_model("http://127.0.0.1:9/v1"), "k")
    assert recorded.settings["identity"] == "signed/m"
    assert "the-signing-secret" not in recorded.model_dump_json()
