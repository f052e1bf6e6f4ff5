"""A provider as a third party's package brings it: each request is signed, as SigV4 signs one.

The signature is an HMAC over the method, the URL, the headers and the body, with the time in one
of the headers, made of two secrets. It is installed by `install`, and its server checks it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from failproof_es.configuration.schema import Model
from failproof_es.models.http import OutgoingRequest
from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.provider_type import Capabilities, EntryProblem
from failproof_es.models.providers.openai.provider import OpenAIProvider
from failproof_es.problems import InvalidInput
from failproof_es.testing.other_side import FakeServer, ReceivedRequest, Reply
from tests.integration.models.contract.wires import OpenAIWire

_SIGNED = ("content-type", "host", "x-date")


def signature(method: str, url: str, headers: Mapping[str, str], body: bytes, secret: str) -> str:
    """What the request has to say, made of all of it."""
    signed = [f"{name}:{headers[name]}" for name in _SIGNED if name in headers]
    parts = urlsplit(url)
    said = [
        method,
        parts.netloc,
        parts.path,
        parts.query,
        *signed,
        hashlib.sha256(body).hexdigest(),
    ]
    return hmac.new(secret.encode(), "\n".join(said).encode(), hashlib.sha256).hexdigest()


class SignedProvider(OpenAIProvider):
    """Speaks as OpenAI does, and signs."""

    def sign(self, request: OutgoingRequest, key: str | None) -> Mapping[str, str]:
        variable = str(self.model.options["secret_env"])
        secret = os.environ.get(variable, "")
        if not secret:
            raise InvalidInput.because(
                "key-not-set", f"the environment variable {variable} is not set", remedy="export it"
            )
        dated = {"x-date": request.at.strftime("%Y%m%dT%H%M%SZ")}
        headers = {**request.headers, **dated}
        proof = signature(request.method, request.url, headers, request.body, secret)
        return {**dated, "authorization": f"HMAC {key}:{proof}"}


class SignedType(HttpProviderType):
    """Needs the name of a second variable."""

    name = "signed"
    takes = HttpProviderType.takes | {"options"}
    needs = frozenset({"base_url", "api_key_env"})
    capabilities = Capabilities(tools=True, schema=True, streaming=True)

    def problems(self, model: Model) -> Iterable[EntryProblem]:
        if not isinstance(model.options.get("secret_env"), str):
            yield EntryProblem(
                "missing-field", "options", "lacks `secret_env`", "name the secret's variable there"
            )

    def secret_variables(self, model: Model) -> tuple[str, ...]:
        secret = model.options.get("secret_env")
        return (*super().secret_variables(model), *([secret] if isinstance(secret, str) else []))

    def snapshot(self, model: Model) -> Mapping[str, str]:
        return {"identity": f"signed/{model.model}"}

    def implementation(self) -> type[SignedProvider]:
        return SignedProvider


PROVIDER = SignedType()


class CheckingServer(FakeServer):
    """Refuses what is not signed by the secret."""

    secret = "the-signing-secret"
    refused = 0

    def reply(self, request: ReceivedRequest) -> Reply | None:
        url = f"http://{request.headers['host']}{request.path}"
        proof = signature(request.method, url, request.headers, request.body, self.secret)
        said = request.headers.get("authorization", "").rpartition(":")[2]
        if not hmac.compare_digest(proof, said):
            self.refused += 1
            return OpenAIWire().error(401, "the signature is wrong")
        return super().reply(request)


def install(folder: Path, package: str, entries: Mapping[str, str], version: str = "1.2") -> None:
    """Write what an installed package leaves behind: its name, its version, its entry points."""
    there = folder / f"{package.replace('-', '_')}-{version}.dist-info"
    there.mkdir(parents=True)
    (there / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    points = "".join(f"{name} = {value}\n" for name, value in entries.items())
    (there / "entry_points.txt").write_text(f"[failproof_es.providers]\n{points}")
