"""The base class of provider types that use HTTP."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from failproof_es.configuration.schema import Model
from failproof_es.core.reply_body import raw_body
from failproof_es.events import ResponseReceived
from failproof_es.models.protocol import Answer, Provider
from failproof_es.models.provider_type import BaseProviderType
from failproof_es.models.replies.recent_answers import RECENT_ANSWERS
from failproof_es.models.trust.vendors import Vendor
from failproof_es.problems import InvalidInput

if TYPE_CHECKING:
    from failproof_es.models.http import HttpProvider


class HttpProviderType(BaseProviderType):
    """Base class of the provider types whose models are behind a base URL, over HTTP.

    A subclass defines `name`, `capabilities` and `implementation`; `vendor` if the table of vendors
    has it, and `default_base_url` if the vendor has one.
    """

    takes = frozenset({"base_url", "api_key_env", "headers", "proxy", "ca_file"})
    default_base_url: str | None = None
    vendor: Vendor | None = None

    @abstractmethod
    def implementation(self) -> type[HttpProvider]:
        """The provider class. Import it in this method: only it needs the HTTP client."""

    def default_key_variable(self, base_url: str | None) -> str | None:
        """The vendor's key variable if the URL is the vendor's own; `None` for any other URL.

        Without a `base_url` the default one counts.
        """
        own = self.vendor is not None and self.vendor.owns(base_url or self.default_base_url)
        return self.vendor.variable if self.vendor is not None and own else None

    def base_url(self, model: Model) -> str | None:
        """The URL of the model's server: the configured one, or else `default_base_url`."""
        return model.base_url or self.default_base_url

    def create(
        self, model: Model, *, timeout_ms: int, connections: int, key: str | None = None
    ) -> Provider:
        """Create the model's `Provider`, without opening anything.

        `key` is sent if the model names no variable for its key. Raises `InvalidInput` if the model
        has no `base_url` and the provider no default one.
        """
        base_url = self.base_url(model)
        if base_url is None:
            message = f"model {model.model}: provider `{self.name}` needs `base_url`"
            raise InvalidInput.because("missing-field", message)
        kind = self.implementation()
        return kind(model, base_url, timeout_ms=timeout_ms, connections=connections, key=key)

    def describe_check(self, model: Model, *, offline: bool) -> str:
        """The check in words: the URL of the request, and the variable of the key."""
        base_url = self.base_url(model) or ""
        if offline:
            return f"not looked at (--offline): {base_url}"
        key = f"with the key in {model.api_key_env}" if model.api_key_env else "without a key"
        return f"sent GET {base_url.rstrip('/')}{self.implementation().listing_path} {key}"

    def reparse(self, response: ResponseReceived) -> Answer | None:
        """Parse a recorded reply again, by the functions that parsed it when it was received.

        The result is looked up if this process has just parsed the same bytes. Raises `ModelError`
        if the recorded bytes hold no answer.
        """
        from failproof_es.models.http_reply import HttpReply, InvalidReply, read_as_it_came

        body, status = raw_body(response) or b"", response.status or 0
        kind = self.implementation()
        if (answer := RECENT_ANSWERS.take(kind, status, response.headers, body)) is not None:
            return answer
        reply = HttpReply(status, response.headers, body, 0.0, response.timestamp)
        stream = kind.stream_of(reply.headers)
        try:
            if stream is not None:
                stream.feed(body)
        except InvalidReply as flaw:
            raise reply.error(flaw) from None
        return read_as_it_came(kind, reply, stream)
