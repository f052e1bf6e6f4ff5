"""The protocol of `pupil`: a request, its signature, a reply.

POST {base_url}/answers
x-date: 20260131T120000Z
x-signature: HMAC-SHA256, in hexadecimal, of method, URL, headers and body
{"pupil": "ada", "lines": [["user", "2 + 2?"]], "most_tokens": 1000, "temperature": 0.0}

{"said": "4", "pupil": "ada", "ended": "done", "tokens": {"read": 10, "said": 1}}
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from failproof_es.case import Turn
from failproof_es.events import Usage
from failproof_es.models.http import HttpProvider, OutgoingRequest
from failproof_es.models.http_reply import HttpReply, InvalidReply, read_document, require_no_error
from failproof_es.models.protocol import (
    DEFAULT_RESPONSE_OPTIONS,
    Answer,
    PreparedRequest,
    ResponseOptions,
)
from failproof_es.models.reply_fields import count_or_none, name_or_none, reason_or_none

SIGNED_HEADERS = ("content-type", "host", "x-date")
ENDS = {"done": "stop", "cut": "length"}


class Pupil(HttpProvider):
    """One pupil behind `{base_url}/answers`."""

    listing_path = "/pupils"

    def prepare(
        self, messages: Sequence[Turn], response_options: ResponseOptions = DEFAULT_RESPONSE_OPTIONS
    ) -> PreparedRequest:
        """The exact bytes to be sent. Pure."""
        body = {
            "pupil": self.model.model,
            "lines": [[turn.role, turn.content] for turn in messages],
            "most_tokens": self.model.max_tokens,
            "temperature": self.model.temperature,
            **self.model.parameters,
        }
        return PreparedRequest(f"{self.base_url}/answers", orjson.dumps(body))

    def sign(self, request: OutgoingRequest, key: str | None) -> Mapping[str, str]:
        """The time, and the proof that whoever holds the key sent exactly this."""
        dated = {"x-date": request.at.strftime("%Y%m%dT%H%M%SZ")}
        headers = {**request.headers, **dated}
        proof = signature(request.method, request.url, headers, request.body, key or "")
        return {**dated, "x-signature": proof}

    @staticmethod
    def read(reply: HttpReply, stream: None) -> Answer:
        """The answer, or the `ModelError` that the reply really is. Pure."""
        return read_document(reply, partial(_answer, reply))

    @staticmethod
    def model_names(listing: bytes) -> list[str]:
        """The pupils that the server has. Raises `ValueError` for what is no list of them."""
        try:
            return [str(name) for name in orjson.loads(listing)["pupils"]]
        except (LookupError, TypeError) as error:
            raise ValueError("this is no list of pupils") from error


def signature(method: str, url: str, headers: Mapping[str, str], body: bytes, key: str) -> str:
    """What a request has to say, made of all of it. The server computes the same."""
    signed = [f"{name}:{headers[name]}" for name in SIGNED_HEADERS if name in headers]
    said = "\n".join([method, url, *signed, hashlib.sha256(body).hexdigest()])
    return hmac.new(key.encode(), said.encode(), hashlib.sha256).hexdigest()


def _answer(reply: HttpReply, document: Any) -> Answer:
    document = require_no_error(document)
    said = document.get("said")
    if not isinstance(said, str):
        raise InvalidReply("missing_content", "the reply has no `said`", "transient")
    ended = reason_or_none(document.get("ended"))
    tokens = document.get("tokens")
    used = tokens if isinstance(tokens, dict) else {}
    return Answer(
        status=reply.status,
        headers=reply.headers,
        body=reply.body,
        text=said,
        latency_ms=reply.latency_ms,
        finish_reason=None if ended is None else ENDS.get(ended, ended),
        model=name_or_none(document.get("pupil")),
        usage=Usage(
            input_tokens=count_or_none(used.get("read")),
            output_tokens=count_or_none(used.get("said")),
        ),
    )
