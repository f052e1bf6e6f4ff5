"""Bedrock, asked with two keys: each request is signed (AWS's Signature Version 4)."""

from __future__ import annotations

import asyncio
import hashlib
import hmac

import pytest

from failproof_es.configuration.schema import Model
from failproof_es.models import ModelError, create_provider, secret_variables
from failproof_es.problems import InvalidInput
from failproof_es.testing.kit import ask
from failproof_es.testing.other_side import FakeServer, ReceivedRequest, Reply
from tests.integration.models.contract.wires import BedrockWire

SECRET, SESSION = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "IQoJb3JpZ2luX2Vj"
MODEL = "arn:aws:bedrock:us-east-1:1:inference-profile/us.claude-v1:0"


def signature(asked: ReceivedRequest, date: str, signed: str, secret: str) -> str:
    """What the vendor's guide says of it: "Create a signed AWS API request"."""
    path = asked.path.replace("%", "%25").replace(":", "%3A")
    lines = [f"{name}:{asked.headers[name]}" for name in signed.split(";")]
    digest = hashlib.sha256(asked.body).hexdigest()
    request = "\n".join(["POST", path, "", *lines, "", signed, digest])
    scope = f"{date[:8]}/us-east-1/bedrock/aws4_request"
    hashed = hashlib.sha256(request.encode()).hexdigest()
    to_sign = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashed])
    key = f"AWS4{secret}".encode()
    for part in (*scope.split("/"), to_sign):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key.hex()


class Checking(FakeServer):
    """Refuses what is not signed by the secret, as the server does."""

    def reply(self, request: ReceivedRequest) -> Reply | None:
        kind, _, parts = request.headers["authorization"].partition(" ")
        said = dict(part.strip().split("=", 1) for part in parts.split(","))
        proof = signature(request, request.headers["x-amz-date"], said["SignedHeaders"], SECRET)
        named = said["Credential"].startswith("AKIDEXAMPLE/")
        signed = {"host", "x-amz-date", "x-amz-security-token"} <= {
            *said["SignedHeaders"].split(";")
        }
        right = hmac.compare_digest(proof, said["Signature"])
        if kind == "AWS4-HMAC-SHA256" and named and signed and right:
            return super().reply(request)
        return BedrockWire().error(403, "The request signature we calculated does not match")


def model(base_url: str) -> Model:
    options = {
        "region": "us-east-1", "access_key_env": "AN_ACCESS_KEY", "session_token_env": "A_SESSION",
    }  # fmt: skip
    return Model(
        provider="bedrock", model=MODEL, base_url=base_url, api_key_env="A_SECRET_KEY",
        options=options,
    )  # fmt: skip


@pytest.mark.parametrize("secret", [SECRET, "another"])
def test_a_request_is_signed_by_the_secret_that_never_leaves(
    secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AN_ACCESS_KEY", "AKIDEXAMPLE")
    monkeypatch.setenv("A_SECRET_KEY", secret)
    monkeypatch.setenv("A_SESSION", SESSION)

    async def main() -> None:
        server = Checking(BedrockWire())
        await server.start()
        server.answer_with("yes")
        asked = model(server.url)
        assert secret_variables(asked) == ("A_SECRET_KEY", "AN_ACCESS_KEY", "A_SESSION")
        provider = create_provider(asked, timeout_ms=5_000, connections=1)
        try:
            await provider.check()
            request = provider.prepare(ask("hi"))
            if secret == SECRET:
                assert (await provider.send(request)).text == "yes"
            else:
                with pytest.raises(ModelError) as caught:
                    await provider.send(request)
                assert caught.value.kind == "authentication"
            assert all(secret not in each for each in server.requests[0].headers.values())
            monkeypatch.delenv("A_SESSION")
            with pytest.raises(InvalidInput, match="A_SESSION is not set"):
                await provider.check(offline=True)
        finally:
            await provider.close()
            await server.stop()

    asyncio.run(main())
