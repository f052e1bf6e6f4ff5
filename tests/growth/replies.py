"""The readers of what servers send: the bytes of a reply, and texts in which keys are looked for.

Providers come from their registry. Each is given what the servers of all of them write, whole and
in pieces: it reads its own kind, and refuses the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

from failproof_es.configuration.providers import PROVIDERS
from failproof_es.core.reply_body import whole_body
from failproof_es.engine.drive.redaction import Redactor
from failproof_es.events import ResponseReceived
from failproof_es.models.provider_type import ProviderType, provider_type
from failproof_es.testing.evaluations import KEY
from failproof_es.testing.kit import KEY_VARIABLE
from failproof_es.testing.other_side import ReceivedRequest, Reply, WireFormat
from tests.growth.work import Reader, Work
from tests.integration.models.contract import wires

_WIRES = [
    kind
    for kind in vars(wires).values()
    if isinstance(kind, type) and issubclass(kind, WireFormat) and kind is not WireFormat
]
_WHOLE = ReceivedRequest("POST", "/v1", {}, b'{"model": "m"}')
_STREAMED = ReceivedRequest(
    "POST",
    "/m:streamGenerateContent?alt=sse&converse-stream",
    {},
    b'{"model": "m", "stream": true}',
)
_PIECE = 64


def providers() -> Iterator[Reader]:
    """Every provider."""
    for name in PROVIDERS.names():
        yield Reader(name, partial(_parsed, provider_type(name)))


def _parsed(provider: ProviderType, text: str) -> dict[str, Work]:
    works: dict[str, Work] = {}
    for kind in _WIRES:
        for how, asked in (("whole", _WHOLE), ("streamed", _STREAMED)):
            said = kind().answer(asked, text)
            works[f"{kind.__name__}, {how}"] = partial(provider.reparse, _response(said))
    for content_type in ("application/json", "text/event-stream", "application/x-ndjson"):
        said = Reply(200, [text.encode("utf-8", "surrogatepass")], content_type)
        works[content_type] = partial(provider.reparse, _response(said))
    return works


def _response(said: Reply) -> ResponseReceived:
    return ResponseReceived(
        originator_id=KEY.evaluation_id, originator_version=2, run_id=KEY.run_id,
        timestamp=datetime(2026, 1, 1, tzinfo=UTC), prompt_id=KEY.prompt_id,
        model_key=KEY.model_key, repetition=1, purpose="target", turn=0, attempt=1, judge=None,
        status=200, headers={"content-type": said.content_type, **said.headers}, text="",
        finish_reason="stop", refusal=None, model="m", latency_ms=5.0, **whole_body(said.body),
    )  # fmt: skip


def redactor() -> Reader:
    """The search for keys in a reply: in a text, in a body, in a text that comes in pieces."""
    redactor = Redactor([KEY_VARIABLE])

    def streamed(text: str) -> None:
        stream = redactor.for_stream(lambda piece: None)
        for start in range(0, len(text), _PIECE):
            stream.piece(text[start : start + _PIECE])
        stream.end()

    def prepare(text: str) -> dict[str, Work]:
        body = text.encode("utf-8", "surrogatepass")
        return {
            "text": lambda: redactor.redact(text),
            "body": lambda: redactor.for_event().body("body", body),
            "pieces": lambda: streamed(text),
        }

    return Reader("redaction", prepare)
