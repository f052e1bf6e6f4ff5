"""Sends one prepared request to a model over HTTP, and returns the complete result."""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

import httpx

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.models import http_check
from failproof_es.models.catalog.listing import CheckCache, listed_ids
from failproof_es.models.completion import complete, with_parameters
from failproof_es.models.http_check import check_server, look_up_model
from failproof_es.models.http_listing import listed_models
from failproof_es.models.http_reply import (
    AnswerStream,
    HttpReply,
    InvalidReply,
    kept_headers,
    read_as_it_came,
)
from failproof_es.models.local_faults import local_trouble
from failproof_es.models.partial_reply import PartialReply
from failproof_es.models.protocol import (
    DEFAULT_RESPONSE_OPTIONS,
    Answer,
    ModelError,
    OnText,
    PreparedRequest,
    ResponseOptions,
    require_short,
)
from failproof_es.models.replies.content_types import EVENTS
from failproof_es.models.replies.recent_answers import RECENT_ANSWERS
from failproof_es.models.tokens import TokenSource, require_token
from failproof_es.problems import InvalidInput
from failproof_es.web.client import (
    LOST,
    UNUSABLE,
    Body,
    BodyTooLong,
    WholeReply,
    fetch,
    open_client,
    post,
    quotes_reply,
    reason,
    timed_out,
)
from failproof_es.web.coding import Undecodable
from failproof_es.web.reply import RequestBody
from failproof_es.web.transport import Endpoint, Transport, certificates

LONGEST_REPLY_BYTES = 2**23
"""The most bytes of a reply, compressed and decompressed. In memory and in the record a reply takes
up to 20 times its length.

A streamed answer of 25,000 tokens is shorter, and so is any answer that is not streamed.
"""


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A request as it will be sent; `HttpProvider.sign` computes its authentication headers."""

    method: str
    url: str
    """The complete URL, as sent."""
    headers: Mapping[str, str]
    """The headers by lower-case name; `host` is the URL's host."""
    body: bytes
    at: datetime
    """The time of signing, UTC."""


class HttpProvider(ABC):
    """One model behind a base URL. Sends each request once; subclasses define the protocol.

    A subclass may read `model` and `base_url`.
    """

    listing_path = "/models"
    """The path of the server's list of models, after the base URL."""
    version_path: str | None = None
    """The path with which a base URL of this protocol usually ends, such as `/v1`."""
    recorded_headers: tuple[str, ...] = ()
    """Prefixes of further reply headers to record, besides those recorded of every server."""
    assembler: ClassVar[type[AnswerStream] | None] = None
    """Creates the assembler of a streamed reply; `None` if replies are not streamed."""
    streamed_as = EVENTS
    """The content type of a streamed reply."""

    def __init__(
        self,
        model: Model,
        base_url: str,
        *,
        timeout_ms: int,
        connections: int,
        key: str | None = None,
    ) -> None:
        """`timeout_ms` limits each request, and `connections` the connections to the server.

        `key` is sent if the model names no variable for its key; it is never shown.
        """
        self.model = model
        """The model's entry in `models:`."""
        self._given_key = key
        self._timeout_ms = timeout_ms
        self.base_url = base_url.rstrip("/")
        """The URL of the server, without a slash at the end."""
        self._timeout_s = timeout_ms / 1000
        self._connections = connections
        self.tokens = self.token_source()
        """The source of the tokens that replace a key; `None` if requests are sent with a key."""
        self._transport = self._new_transport()
        self._client: httpx.AsyncClient | None = None
        self._endpoint: Endpoint | None = None

    @abstractmethod
    def prepare(
        self, messages: Sequence[Turn], response_options: ResponseOptions = DEFAULT_RESPONSE_OPTIONS
    ) -> PreparedRequest:
        """The request for these messages, with the exact bytes to be sent. Sends nothing."""

    def sign(self, request: OutgoingRequest, key: str | None) -> Mapping[str, str]:
        """The authentication headers to add to the request, by lower-case name.

        `key` is the value of the entry's key variable, or the current token; it is sent as a bearer
        token unless a subclass says otherwise. Raises `InvalidInput` if another required setting is
        missing.
        """
        return {} if key is None else {"authorization": f"Bearer {key}"}

    def token_source(self) -> TokenSource | None:
        """The source of `key` for `sign`; `None` if the key comes from the environment."""
        return None

    @staticmethod
    @abstractmethod
    def read(reply: HttpReply, stream: Any) -> Answer:
        """The answer in a complete reply. Pure. Raises `ModelError` if the reply holds none.

        `stream` is the assembler that `stream_of` returned, fed with the whole body, or `None`.
        """

    @classmethod
    def stream_of(cls, headers: Mapping[str, str]) -> AnswerStream | None:
        """The assembler if the reply has the content type of a stream; else `None`.

        A server need not stream when a request asks it to.
        """
        content_type = headers.get("content-type", "").lower()
        is_streamed = content_type.startswith(cls.streamed_as)
        return cls.assembler() if cls.assembler is not None and is_streamed else None

    @staticmethod
    def model_names(listing: bytes) -> list[str]:
        """The names in the server's list of models. Raises `ValueError` if it has none."""
        return listed_ids(listing)

    @staticmethod
    def next_page(listing: bytes) -> Mapping[str, str] | None:
        """The query parameters of the list's next page; `None` after the last page.

        Raises `ValueError` if the list goes on and does not say where.
        """
        return None

    @property
    def sends_key(self) -> bool:
        """Whether requests hold a key, a token or a header that may be one."""
        model = self.model
        return bool(self.tokens or model.api_key_env or self._given_key or model.headers)

    @staticmethod
    def refuses_key(status: int, body: bytes) -> bool:
        """Whether the server rejects the key, by its reply to a request for the list of models."""
        return status in (401, 403)

    def get_completion(self, prompt: str, params: Mapping[str, Any]) -> str:
        """The text of one answer to `prompt`. Blocks; `params` override the model's parameters.

        Raises `ModelError` if the request fails or another model answers, and `InvalidInput` if the
        model cannot be used.
        """
        model = with_parameters(self.model, params)
        once = type(self)(
            model, self.base_url, timeout_ms=self._timeout_ms, connections=1, key=self._given_key
        )
        return complete(once, model, prompt)

    async def open(self) -> None:  # noqa: B027  # concrete on purpose: nothing to start
        """Do nothing: connections are opened when they are needed."""

    async def close(self) -> None:
        """Close every connection."""
        client, self._client = self._client, None
        transport, self._transport = self._transport, self._new_transport()
        if client is not None:
            await client.aclose()
        await transport.aclose()

    async def send(self, request: PreparedRequest, on_text: OnText | None = None) -> Answer:
        """Send the request once, and return the answer in the reply.

        `on_text` receives each piece of a streamed text on arrival. Raises `ModelError`, with all
        bytes that were received, if there is no answer.
        """
        return await self.relay(request, None, on_text)

    async def relay(
        self, request: PreparedRequest, headers: Mapping[str, str] | None, on_text: OnText | None
    ) -> Answer:
        """Send the request once, like `send`, with `headers` in place of the provider's own.

        `headers` are by lower-case name; `None` means the provider's own, authentication included.
        """
        came = PartialReply(RequestBody(request.body))
        try:
            async with asyncio.timeout(self._timeout_s):
                if self.tokens is not None:
                    await self.tokens.renew()
                await self._exchange(request, headers, came, on_text)
        except InvalidInput as error:  # the key was removed after the check
            raise ModelError("authentication", str(error), "halting") from error
        except InvalidReply as flaw:
            raise came.reply().error(flaw) from None
        except LOST as error:
            if (trouble := local_trouble(error)) is not None:
                raise trouble from error
            if timed_out(error):
                kind, message = "timeout", f"no answer within {self._timeout_s:g} s"
            else:
                kind, message = "connection", reason(error)
            raise ModelError(
                kind, message, "transient", status=came.status, headers=came.headers,
                body=bytes(came.body) or None, latency_ms=came.given_up_after_ms(),
            ) from (None if quotes_reply(error) else error)  # fmt: skip
        answer = require_short(read_as_it_came(self, came.reply(), came.stream))
        if came.stream is None:
            RECENT_ANSWERS.keep(type(self), answer)
        return answer

    async def _exchange(
        self,
        request: PreparedRequest,
        prepared_headers: Mapping[str, str] | None,
        came: PartialReply,
        on_text: OnText | None,
    ) -> None:
        """Send the request, and read the reply into `came` as it arrives.

        `prepared_headers`, if given, replace the provider's own headers.
        """
        endpoint = self._endpoint
        if endpoint is None or endpoint.parsed_from != request.endpoint:
            endpoint = self._endpoint = Endpoint(request.endpoint)
        if prepared_headers is None:
            headers = self._signed_headers("POST", endpoint, request.body)
        else:
            length = str(len(request.body))
            headers = {**prepared_headers, "host": endpoint.host, "content-length": length}
        reply = await post(self._transport, endpoint, headers, came.request)
        body = Body(reply.raw_headers, reply, LONGEST_REPLY_BYTES)
        try:
            came.status = reply.status
            came.headers = kept_headers(body.headers, self.recorded_headers)
            if reply.status == 200:
                came.stream = self.stream_of(came.headers)
            async for piece in body.pieces():
                came.body += piece
                if came.stream is not None and (text := came.pieces.feed(came.stream.feed(piece))):
                    if came.first_token_ms is None:
                        came.first_token_ms = came.latency_ms
                    if on_text is not None:
                        on_text(text)
            if on_text is not None and (rest := came.pieces.end()):
                on_text(rest)
        except BodyTooLong:
            came.body = came.body or body.packed
            raise _too_long() from None
        except Undecodable as error:
            came.body = body.packed
            raise InvalidReply("malformed_response", str(error), "transient") from None
        except BaseException:  # also on a time-out: keep the received bytes
            came.body = came.body or body.packed
            raise
        finally:
            await body.close()

    async def check(self, *, offline: bool = False, looks: CheckCache | None = None) -> str | None:
        """Request the list of models, to check that the server is up and accepts the key.

        Returns a remark to show, or `None`. Models that share `looks` send one request for each
        server and key. `offline`: only the settings are checked. Raises `InvalidInput` if a setting
        is missing, the server is not reached, it refuses the key or the list is at another base
        URL, and `UnlistedModel` if the list lacks the model. The field of a problem is that of the
        model's entry.
        """
        self.require_settings()
        if offline:
            return None
        return await check_server(self, looks or CheckCache())

    async def available_models(self) -> list[str]:
        """The names in the first page of the server's list; empty if it cannot be read."""
        try:
            return self.model_names((await self.fetch_listing(CheckCache())).body)
        except (*UNUSABLE, ValueError, InvalidInput):
            return []

    async def list_models(self) -> list[str]:
        """The names of the models, from every page of the server's list, in its order.

        Raises `InvalidInput` if the server can't be reached, refuses the key, or has no list.
        """
        return await listed_models(self)

    def listing(self) -> str:
        """The URL of the server's list of models."""
        return f"{self.base_url}{self.listing_path}"

    def remark(self, listing: bytes) -> str | None:
        """Why the model was not looked up in this list of models; `None` if it is listed.

        Raises `UnlistedModel` if the list lacks the model.
        """
        return look_up_model(self, listing)

    async def look_at(self, where: str) -> WholeReply:
        """The reply to a GET request of the URL `where`, with the model's key.

        Raises one of `UNUSABLE` if no usable reply arrives within 10 s, and `InvalidInput` if the
        key, a header's value or a token is missing.
        """
        if self.tokens is not None:
            await require_token(self.tokens)
        return await fetch(
            self._http(), "GET", where, headers=self._signed_headers("GET", Endpoint(where), b""),
            limit=LONGEST_REPLY_BYTES, timeout_s=http_check.TIMEOUT_S,
        )  # fmt: skip

    async def fetch_listing(self, looks: CheckCache, where: str | None = None) -> WholeReply:
        """The reply to a request for the server's list of models, from `looks` if it is there.

        `where` is its URL, by default that of `listing`. Raises one of `UNUSABLE` if no usable
        reply arrives, and `InvalidInput` if the key, a header's value or a token is missing.
        """
        where = where or self.listing()

        async def look() -> WholeReply:
            return await self.look_at(where)

        key = self.model.api_key_env or self._given_key
        model = self.model
        ways = (model.options, model.headers, model.proxy, model.certificates)
        return await looks.get((type(self), where, key, repr(ways)), look)

    # -- inside ----------------------------------------------------------------------------

    def _new_transport(self) -> Transport:
        return Transport(self._connections, proxy=self.model.proxy, ca_file=self.model.certificates)

    def _signed_headers(self, method: str, at: Endpoint, body: bytes) -> dict[str, str]:
        """The headers of a request by lower-case name, authentication included.

        Raises `InvalidInput` if an environment variable for them is not set or not usable.
        """
        headers = {"host": at.host}
        if method == "POST":
            headers["content-type"] = "application/json"
            headers["content-length"] = str(len(body))
        for name, variable in self.model.headers.items():
            headers[name.lower()] = self._read_variable(variable, f"the value of the header {name}")
        added = self.sign(
            OutgoingRequest(method, at.text, headers, body, datetime.now(UTC)), self._key()
        )
        return {**headers, **added}

    def _http(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = open_client(self._timeout_s, transport=self._transport)
        return self._client

    def _key(self) -> str | None:
        if self.tokens is not None:
            return self.tokens.text
        variable = self.model.api_key_env
        if variable is None:
            return self._given_key or None
        return self._read_variable(variable, f"the key of {self.base_url}", "api_key_env")

    def _read_variable(self, variable: str, what: str, field: str = "headers") -> str:
        """The variable's value. Raises `InvalidInput` if unset or if no header can carry it.

        `what` says in the error what the variable is for, `field` which key of the entry names it.
        """
        value = os.environ.get(variable, "")
        if not value:
            raise InvalidInput.because(
                "key-not-set",
                f"model {self.model.model}: the environment variable {variable} is not set",
                remedy=f"export {variable} with {what}",
                field=field,
            )
        if not (value.isascii() and value.isprintable()):
            raise InvalidInput.because(
                "invalid-header",
                f"model {self.model.model}: the environment variable {variable} holds what no "
                "HTTP header can carry",
                remedy="does it hold a line break, or a character that is not ASCII?",
                field=field,
            )
        return value

    def require_settings(self) -> None:
        """Raises `InvalidInput` unless the key, the headers and the certificates are usable."""
        self._key()
        for name, variable in self.model.headers.items():
            self._read_variable(variable, f"the value of the header {name}")
        if self.model.certificates is not None:
            try:
                certificates(self.model.certificates)
            except OSError as error:  # ssl.SSLError is one
                raise InvalidInput.because(
                    "file-unreadable",
                    f"model {self.model.model}: `ca_file` {self.model.certificates} can't be read: "
                    f"{error.strerror or error}",
                    remedy="name a file of certificates in PEM",
                    field="ca_file",
                ) from None


def _too_long() -> InvalidReply:
    message = f"the reply was not read beyond {LONGEST_REPLY_BYTES // 2**20} MiB"
    return InvalidReply("malformed_response", message, "final")
