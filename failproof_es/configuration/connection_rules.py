"""Rules of how a model's server is reached: its URL, a proxy, further headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from failproof_es.configuration.providers import EntryProblem
from failproof_es.configuration.schema import Model

_URL = re.compile(r"[!-~]*")
"""`urlsplit` leaves out line breaks in silence."""
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OURS = frozenset(
    {
        *("accept-encoding", "connection", "content-encoding", "content-length", "content-type"),
        *("expect", "host", "keep-alive", "proxy-authorization", "proxy-connection", "te"),
        *("trailer", "transfer-encoding", "upgrade"),
    }
)
"""Headers that say how a request is sent."""
_OPERATIONS = ("/chat/completions", "/v1/responses", "/v1/messages", "/api/chat", "/api/generate")
"""Suffixes that providers add to a `base_url`. Whoever copies an address from an example has it
already."""


def url_problems(url: str | None) -> Iterator[EntryProblem]:
    """The errors in a `base_url`; none if there is no URL."""
    example = "write it like http://127.0.0.1:8000/v1"
    own = "name the key's variable in `api_key_env`"
    yield from _address_problems("base_url", url, example, own)
    for operation in _OPERATIONS:
        if url is not None and url.rstrip("/").endswith(operation):
            message = f"ends in {operation}, which is added to it for each request"
            yield EntryProblem("invalid-url", "base_url", message, "leave that out")


def connection_problems(model: Model) -> Iterator[EntryProblem]:
    """The errors in `proxy` and `headers` of a model's entry; none if it has neither."""
    example = "write it like http://proxy.example:3128"
    open_proxy = "use a proxy that asks for none"
    yield from _address_problems("proxy", model.proxy, example, open_proxy, takes_path=False)
    for name, variable in sorted(model.headers.items()):
        if not _HEADER.fullmatch(name):
            yield EntryProblem("invalid-name", "headers", f"{name!r} is not the name of a header")
        elif name.lower() in _OURS:
            message = f"a configuration cannot set `{name}`: the program sets it for each request"
            yield EntryProblem("reserved-field", "headers", message, "remove it")
        if not _VARIABLE.fullmatch(variable):
            message = f"the value of `{name}` is not the name of an environment variable"
            yield EntryProblem(
                "key-exposed", "headers", message, "export the value, and name its variable here"
            )
    lower = [name.lower() for name in model.headers]
    if len(set(lower)) < len(lower):
        yield EntryProblem(
            "duplicate-field", "headers", "names one header twice", "keep one of them"
        )


def _address_problems(
    field: str, url: str | None, example: str, own: str, *, takes_path: bool = True
) -> Iterator[EntryProblem]:
    if url is None:
        return
    if not _URL.fullmatch(url):
        message = "holds white space, or a character that is not ASCII"
        yield EntryProblem(
            "invalid-url", field, message, f"{example}; an international host as xn--..."
        )
        return
    try:
        parts = urlsplit(url)
        if parts.port == 0:
            raise ValueError(parts.port)
    except ValueError:
        yield EntryProblem("invalid-url", field, "is not a URL", example)
        return
    if parts.username or parts.password:
        yield EntryProblem("key-exposed", field, "holds a user name or a password", own)
    elif parts.scheme not in ("http", "https") or not parts.hostname:
        yield EntryProblem("invalid-url", field, "is not an http or https URL", example)
    elif parts.query or parts.fragment:  # it would be recorded with every request
        without = "leave out `?` and `#`; a key goes by `api_key_env`"
        yield EntryProblem("invalid-url", field, "has a query or fragment after its path", without)
    if not takes_path and parts.path not in ("", "/"):
        yield EntryProblem("invalid-url", field, "has a path", example)
