"""The interface of one model of a run (`Provider`), its requests, answers and errors.

A provider never retries, substitutes or hides anything: one call of `send` is one attempt, and it
ends in one `Answer` or one `ModelError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from failproof_es.core.case import Turn
from failproof_es.events import Disposition, ToolCall, Usage
from failproof_es.problems import InvalidInput

if TYPE_CHECKING:
    from failproof_es.models.catalog.listing import CheckCache

LONGEST_TEXT_BYTES = 2**22
"""The most UTF-8 bytes of an answer, about a million tokens."""
MOST_TOOL_CALLS = 1_000
"""The most tool calls of one answer."""

RATE_LIMIT_KINDS = frozenset({"rate_limited", "overloaded"})
"""The kinds of error for too many requests."""

OnText = Callable[[str], None]
"""Receives a piece of text. Must not raise and must not block."""


@dataclass(frozen=True, slots=True)
class ResponseOptions:
    """Forms of an answer besides plain text: tool calls, or JSON of a schema.

    A provider that supports neither ignores both.
    """

    tools: tuple[str, ...] = ()
    """The names of tools to offer, each with a definition that takes any arguments."""
    schema: dict[str, Any] | None = None
    """The JSON Schema that the server has to enforce on the answer."""


DEFAULT_RESPONSE_OPTIONS = ResponseOptions()


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request complete to the last byte, before it is sent."""

    endpoint: str
    """The destination: a URL without credentials, or `python:package.module:Name`."""
    body: bytes
    """The exact UTF-8 bytes of the body."""
    tools: tuple[str, ...] = ()
    """The names of the tools that the body offers."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A usable reply: its text, bytes and headers, token usage, tool calls, and times."""

    status: int | None
    headers: dict[str, str]
    body: bytes
    text: str
    latency_ms: float
    finish_reason: str | None = None
    refusal: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    model: str | None = None
    provider_request_id: str | None = None
    usage: Usage = field(default_factory=Usage)
    first_token_ms: float | None = None
    library_text: str | None = None
    """The text as the vendor's package has it, if it joins messages otherwise than `text`."""


class UnlistedModel(InvalidInput):
    """The server's list of models does not contain the requested model."""


class ModelError(Exception):
    """A request failed. `kind` is one of the words below; the text is for people.

    kinds: `connection`, `timeout`, `rate_limited`, `overloaded`, `server_error`, `authentication`,
    `payment_required`, `not_found`, `bad_request`, `conflict`, `too_early`, `unexpected_status`,
    `malformed_response`, `provider_error` (an error object under status 200), `empty_choices`,
    `missing_content`, `stream_broken`, `client_exception` (a user's own class raised),
    `model_mismatch` (a model other than the requested one answered), `local_trouble` (this machine
    has no file descriptors, ports or memory left).
    """

    def __init__(
        self,
        kind: str,
        message: str,
        disposition: Disposition,
        *,
        status: int | None = None,
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
        retry_after_s: float | None = None,
        latency_ms: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.disposition: Disposition = disposition
        self.status = status
        self.headers = headers or {}
        self.body = body
        self.retry_after_s = retry_after_s
        self.latency_ms = latency_ms


def require_short(answer: Answer) -> Answer:
    """The answer. Raises `ModelError` if its texts have more than `LONGEST_TEXT_BYTES` bytes.

    The refusal and the tool calls count, too.
    """
    texts = [answer.text, answer.refusal or ""]
    texts += [text for call in answer.tool_calls for text in (call.name, call.arguments)]
    if sum(map(_utf8_length, texts)) > LONGEST_TEXT_BYTES:
        raise ModelError(
            "malformed_response",
            f"the answer is longer than {LONGEST_TEXT_BYTES // 2**20} MiB",
            "final",
            status=answer.status,
            headers=answer.headers,
            body=answer.body,
            latency_ms=answer.latency_ms,
        )
    return answer


def _utf8_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


class Provider(Protocol):
    """A model that answers requests. One instance serves one entry of `models:` in a run."""

    async def open(self) -> None:
        """Start helpers that must run first, such as the embedded model's server. Idempotent."""

    async def check(self, *, offline: bool = False, looks: CheckCache | None = None) -> str | None:
        """Check, without asking for a completion, whether the model can be reached.

        Returns a remark to show, or `None`. Raises `InvalidInput` if the model cannot be used:
        unreachable, the key is wrong or missing, weights are absent; `UnlistedModel` if the
        server's list lacks the model. `offline`: open no connection and run no foreign code; a
        missing key is still an error. `looks` is the cache of all models that are checked
        together: `looks.get` requests the list of a server that they share only once.
        """

    async def available_models(self) -> list[str]:
        """The names of the models that the server lists; empty if it lists none."""

    def prepare(
        self, messages: Sequence[Turn], response_options: ResponseOptions = DEFAULT_RESPONSE_OPTIONS
    ) -> PreparedRequest:
        """The exact request for these messages, without sending it. Pure: no I/O, no clock."""

    async def send(self, request: PreparedRequest, on_text: OnText | None = None) -> Answer:
        """Send the request once. Raises `ModelError`, and nothing else except cancellation.

        `on_text` receives each piece of a streamed answer's text on arrival. The request may still
        fail after that: only the `Answer` is the answer.
        """

    def get_completion(self, prompt: str, params: Mapping[str, Any]) -> str:
        """The text of one answer to one prompt (specification 000 § 3). Blocks.

        `params` are sent with the model's own parameters, and override them. Opens and closes
        its own connections; any thread may call it, also one with a running event loop. Raises
        `ModelError` if the attempt fails or another model answers, `InvalidInput` if the model
        cannot be used.
        """

    async def close(self) -> None:
        """Release all connections and processes. Idempotent."""
