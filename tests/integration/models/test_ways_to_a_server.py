"""How one model's server is reached: a proxy, certificates, headers and a time of its own."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from failproof_es.configuration.schema import Model
from failproof_es.models import (
    ModelError,
    create_provider,
    provider_type,
    secret_variables,
    stuck_after_s,
)
from failproof_es.problems import InvalidInput
from failproof_es.testing.kit import KEY, KEY_VARIABLE, ask
from failproof_es.testing.other_side import FakeServer, Fault
from tests.integration.models.contract.wires import OpenAIWire


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    monkeypatch.setenv("TEAM_TOKEN", "team-canary-42")


def model(url: str, **more: Any) -> Model:
    entry = {"provider": "openai", "model": "m", "base_url": f"{url}/v1"}
    return Model.model_validate({**entry, "api_key_env": KEY_VARIABLE, **more})


async def answer_of(asked: Model, timeout_ms: int = 5_000) -> str:
    provider = create_provider(asked, timeout_ms=timeout_ms, connections=1)
    try:
        await provider.check()
        return (await provider.send(provider.prepare(ask("hi")))).text
    finally:
        await provider.close()


@asynccontextmanager
async def serving() -> AsyncIterator[FakeServer]:
    server = FakeServer(OpenAIWire())
    server.offered = ["m"]
    server.answer_with("yes")
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def passing_on(
    lead: Callable[[bytes], Awaitable[tuple[str, int, bytes]]], **more: Any
) -> AsyncIterator[int]:
    """A server that hands each connection on to where its first lines lead."""
    tasks = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (task := asyncio.current_task()) is not None:
            tasks.add(task)
        with contextlib.closing(writer), contextlib.suppress(ConnectionError, EOFError):
            head = await reader.readuntil(b"\r\n\r\n")
            host, port, first = await lead(head)
            there, away = await asyncio.open_connection(host, port)
            if head.startswith(b"CONNECT "):
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with contextlib.closing(away):
                away.write(first)
                await asyncio.gather(pump(reader, away), pump(there, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0, **more)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def authority(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """A certificate that nobody trusts yet, and a server's side of it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a server of our own")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / "ca.pem", folder / "key.pem"
    public.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    return public, context


def test_headers_come_from_the_environment_and_are_secrets() -> None:
    async def main() -> None:
        async with serving() as server:
            asked = model(server.url, headers={"X-Team": "TEAM_TOKEN"})
            assert await answer_of(asked) == "yes"
            [request] = server.requests
            assert request.headers["x-team"] == "team-canary-42"
            assert request.headers["authorization"] == f"Bearer {KEY}"
            assert secret_variables(asked) == (KEY_VARIABLE, "TEAM_TOKEN")
            assert "canary" not in asked.model_dump_json()
            missing = model(server.url, headers={"X-Team": "NOT_SET_ANYWHERE"})
            with pytest.raises(InvalidInput, match="NOT_SET_ANYWHERE is not set"):
                await answer_of(missing)

    asyncio.run(main())


def test_a_model_is_asked_by_its_proxy() -> None:
    heads: list[bytes] = []

    async def main() -> None:
        async with serving() as server:
            port = int(server.url.rpartition(":")[2])

            async def lead(head: bytes) -> tuple[str, int, bytes]:
                heads.append(head)
                return "127.0.0.1", port, head

            async with passing_on(lead) as proxy:
                asked = model(server.url, proxy=f"http://127.0.0.1:{proxy}")
                assert await answer_of(asked) == "yes"
                assert f"by 127.0.0.1:{proxy}" in provider_type("openai").destination(asked)
        assert all(f" {server.url}/v1/".encode() in head for head in heads) and heads
        with pytest.raises(InvalidInput, match=r"\[server-unreachable\]"):
            await answer_of(asked)

    asyncio.run(main())


def test_a_certificate_of_ones_own_is_trusted_where_the_file_is_named(tmp_path: Path) -> None:
    """The TLS goes through the proxy, which sees nothing but where it leads."""
    public, context = authority(tmp_path)
    heads: list[bytes] = []

    async def main() -> None:
        async with serving() as server:
            plain = int(server.url.rpartition(":")[2])

            async def to_server(head: bytes) -> tuple[str, int, bytes]:
                return "127.0.0.1", plain, head

            async def lead(head: bytes) -> tuple[str, int, bytes]:
                heads.append(head)
                host, _, port = head.split(b" ")[1].decode().partition(":")
                return host, int(port), b""

            async with passing_on(to_server, ssl=context) as secure, passing_on(lead) as proxy:
                url = f"https://127.0.0.1:{secure}"
                ways: tuple[dict[str, Any], ...] = ({}, {"proxy": f"http://127.0.0.1:{proxy}"})
                for way in ways:
                    assert await answer_of(model(url, ca_file=str(public), **way)) == "yes"
                    with pytest.raises(InvalidInput, match="certificate is not trusted"):
                        await answer_of(model(url, **way))
                assert heads and all(head.startswith(b"CONNECT ") for head in heads)
                assert all(KEY.encode() not in head for head in heads)
        for name in ("nowhere.pem", "key.pem"):
            with pytest.raises(InvalidInput, match=r"`ca_file`.*\[file-unreadable\]"):
                await answer_of(model(url, ca_file=str(tmp_path / name)))

    asyncio.run(main())


def test_a_model_has_a_time_of_its_own() -> None:
    async def main() -> None:
        async with serving() as server:
            server.answer_with("late", Fault.SILENT)
            asked = model(server.url, timeout_ms=300)
            with pytest.raises(ModelError, match=r"no answer within 0\.3 s"):
                await answer_of(asked, timeout_ms=60_000)
            assert stuck_after_s(asked, 60.0) == 0.6
            assert stuck_after_s(model(server.url), 60.0) == 120.0

    asyncio.run(main())
