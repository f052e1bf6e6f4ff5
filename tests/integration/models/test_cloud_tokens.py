"""Tokens of Google Cloud and of Entra, got by the vendors' libraries from a server on loopback."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from failproof_es.configuration.schema import Model
from failproof_es.engine.drive.redaction import Redactor
from failproof_es.models import ModelError, Provider, create_provider
from failproof_es.models.http import HttpProvider
from failproof_es.problems import InvalidInput
from failproof_es.testing.kit import ask
from failproof_es.testing.other_side import FakeServer, WireFormat
from tests.integration.models.contract.wires import GeminiWire, OpenAIWire


class TokenServer(ThreadingHTTPServer):
    """Gives `token-1-…`, `token-2-…`, as Google's token endpoint and App Service's do."""

    status = 200
    lifetime_s = 3600
    count = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: TokenServer

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        server = self.server
        server.count += 1
        said: dict[str, Any] = {"error": "invalid_grant", "error_description": "it is revoked"}
        if server.status == 200:
            said = {
                "access_token": f"token-{server.count}-0123456789abcdef",
                "token_type": "Bearer",
                "expires_in": server.lifetime_s,
                "expires_on": str(int(time.time()) + server.lifetime_s),
                "resource": "https://cognitiveservices.azure.com",
            }
        body = orjson.dumps(said)
        self.send_response(server.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing to the terminal."""


@pytest.fixture
def tokens() -> Iterator[TokenServer]:
    with TokenServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    written = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return written.decode()


@pytest.fixture(params=["vertex", "azure"])
def cloud(
    request: pytest.FixtureRequest,
    tokens: TokenServer,
    private_key: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """The provider, with credentials in the environment that lead to the server of tokens."""
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "IDENTITY_ENDPOINT", "AZURE_CLIENT_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))  # no one's own logins
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    if request.param == "vertex":
        account = {
            "type": "service_account", "project_id": "p", "private_key_id": "1",
            "private_key": private_key, "client_email": "a@p.iam.gserviceaccount.com",
            "client_id": "1", "token_uri": f"{tokens.url}/token",
        }  # fmt: skip
        (tmp_path / "account.json").write_bytes(orjson.dumps(account))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "account.json"))
    else:
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"{tokens.url}/msi/token")
        monkeypatch.setenv("IDENTITY_HEADER", "header")
    return str(request.param)


def entry(cloud: str, url: str) -> dict[str, Any]:
    if cloud == "vertex":
        options = {"project": "mine-1", "location": "global", "credentials": "google"}
        return {"provider": "vertex", "model": "gemini-x", "base_url": url, "options": options}
    options = {"credentials": "entra"}
    return {"provider": "azure", "model": "gpt-x", "base_url": url, "options": options}


def asked(
    cloud: str, work: Callable[[Provider], Any], *, text: str = "yes"
) -> tuple[Any, FakeServer]:
    wire: WireFormat = GeminiWire() if cloud == "vertex" else OpenAIWire()

    async def main() -> tuple[Any, FakeServer]:
        server = FakeServer(wire)
        await server.start()
        server.answer_with(text)
        model = Model.model_validate(entry(cloud, server.url))
        assert model.api_key_env is None, "the vendor's variable is not wanted"
        provider = create_provider(model, timeout_ms=20_000, connections=4)
        try:
            return await work(provider), server
        finally:
            await provider.close()
            await server.stop()

    return asyncio.run(main())


async def send(provider: Provider) -> str:
    return (await provider.send(provider.prepare(ask("hi")))).text


def test_one_token_serves_all_requests_until_shortly_before_it_ends(
    cloud: str, tokens: TokenServer
) -> None:
    async def work(provider: Provider) -> None:
        await provider.check()
        assert await asyncio.gather(*(send(provider) for _ in range(4))) == ["yes"] * 4

    _, server = asked(cloud, work)
    assert tokens.count == 1
    sent = {each.headers["authorization"] for each in server.requests}
    assert sent == {"Bearer token-1-0123456789abcdef"}
    assert all("api-key" not in each.headers for each in server.requests)


@pytest.mark.parametrize("cloud", ["vertex"], indirect=True)
def test_a_token_that_ends_soon_is_renewed_and_stays_where_that_fails(
    cloud: str, tokens: TokenServer
) -> None:
    """Of Google Cloud: azure-identity itself keeps a token for as long as it is valid."""
    tokens.lifetime_s = 200

    async def work(provider: Provider) -> None:
        await send(provider)
        await send(provider)
        tokens.status = 400
        await send(provider)

    _, server = asked(cloud, work)
    sent = [each.headers["authorization"].partition("-0")[0] for each in server.requests]
    assert sent == ["Bearer token-1", "Bearer token-2", "Bearer token-2"]
    assert tokens.count >= 3


def test_credentials_that_are_refused_halt_before_anything_is_sent(
    cloud: str, tokens: TokenServer
) -> None:
    tokens.status = 400

    async def work(provider: Provider) -> None:
        with pytest.raises(InvalidInput, match=r"\[no-access-token\]"):
            await provider.check()
        with pytest.raises(ModelError) as raised:
            await send(provider)
        assert (raised.value.kind, raised.value.disposition) == ("authentication", "halting")

    _, server = asked(cloud, work)
    assert not server.requests


def test_a_token_that_the_server_repeats_is_not_on_record(cloud: str, tokens: TokenServer) -> None:
    said = "you sent token-1-0123456789abcdef"

    async def work(provider: Provider) -> str:
        text = await send(provider)
        assert isinstance(provider, HttpProvider) and provider.tokens is not None
        redactor = Redactor([])
        redactor.also(provider.tokens.given)
        redactor.also(provider.tokens.given)
        return redactor.redact(text)

    redacted, _ = asked(cloud, work, text=said)
    assert "0123456789abcdef" not in redacted
    assert redacted.startswith("you sent ")


def test_no_credentials_at_all_is_said_with_what_to_do(
    cloud: str, tokens: TokenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.delenv("IDENTITY_ENDPOINT", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")

    async def work(provider: Provider) -> None:
        with pytest.raises(InvalidInput) as raised:
            await provider.check()
        assert "credential" in str(raised.value).lower()

    _, server = asked(cloud, work)
    assert not server.requests and tokens.count == 0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"api_key_env": "X"}, "has no effect beside `credentials`"),
        ({"options": {"project": "mine-1", "location": "global"}}, "is missing"),
        ({"options": {"credentials": "mine"}}, "`credentials` has an invalid value"),
    ],
)
def test_a_wrong_entry_is_said(changed: dict[str, Any], said: str) -> None:
    from failproof_es.configuration.rules import entry_problems
    from failproof_es.models import provider_type

    provider = "vertex" if "project" in changed.get("options", {}) else "azure"
    written = {**entry(provider, "http://127.0.0.1:9"), **changed}
    problems = list(entry_problems(Model.model_validate(written), provider_type(provider)))
    assert any(said in problem.message for problem in problems), problems
