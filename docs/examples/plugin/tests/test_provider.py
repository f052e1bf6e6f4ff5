"""The provider is put through the same contract tests as ours."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import Any

import orjson
from failproof_es_quiz.pupil.provider import signature

from failproof_es.testing.kit import KEY
from failproof_es.testing.other_side import (
    FakeServer,
    ProviderServer,
    ReceivedRequest,
    Reply,
    WireFormat,
)
from failproof_es.testing.provider_contract import ProviderContract


class PupilWire(WireFormat):
    """How a server of pupils writes."""

    def answer(
        self,
        request: ReceivedRequest,
        text: str,
        *,
        model: str | None = None,
        usage: bool = True,
        call: tuple[str, dict[str, object]] | None = None,
    ) -> Reply:
        pupil = model or orjson.loads(request.body)["pupil"]
        reply = {"said": text, "pupil": pupil, "ended": "done"}
        return _json(200, {**reply, "tokens": {"read": 10, "said": 5}} if usage else reply)

    def error(self, status: int, message: str) -> Reply:
        return _json(status, {"error": {"message": message}})

    def listing(self, names: Sequence[str]) -> Reply:
        return _json(200, {"pupils": list(names)})

    def without_content(self, request: ReceivedRequest) -> Reply:
        return _json(200, {"said": None})


class CheckingServer(FakeServer):
    """Refuses what is not signed."""

    def reply(self, request: ReceivedRequest) -> Reply | None:
        url = f"http://{request.headers['host']}{request.path}"
        proof = signature(request.method, url, request.headers, request.body, KEY)
        if not hmac.compare_digest(proof, request.headers["x-signature"]):
            return PupilWire().error(401, "the signature is wrong")
        return super().reply(request)


class TestPupil(ProviderContract):
    provider = "pupil"

    def server(self) -> ProviderServer:
        return CheckingServer(PupilWire())

    def settings(self, side: ProviderServer) -> dict[str, Any]:
        return {"model": "ada", "base_url": side.url}


def _json(status: int, document: Any) -> Reply:
    return Reply(status, [orjson.dumps(document)])
