"""Checks before a run that a server answers, accepts the key, and has the model."""

from __future__ import annotations

from difflib import get_close_matches
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from failproof_es.models.catalog.listing import CheckCache, is_listed
from failproof_es.models.http_listing import next_url
from failproof_es.models.key_refusal import key_refusal
from failproof_es.models.protocol import UnlistedModel
from failproof_es.problems import InvalidInput
from failproof_es.web.client import LOST, UNUSABLE, BodyTooLong, reason, timed_out
from failproof_es.web.coding import Undecodable

if TYPE_CHECKING:
    from failproof_es.models.http import HttpProvider

TIMEOUT_S = 10.0
"""Seconds until a check gives up on a server."""
_MOST_PAGES = 20
"""The most pages of a list in which a model is looked up."""
_SHOWN_MODELS = 5
_SHOWN_CHARACTERS = 80


async def check_server(provider: HttpProvider, looks: CheckCache) -> str | None:
    """Request the server's list of models; the result and the errors are those of `check`."""
    try:
        reply = await provider.fetch_listing(looks)
        is_refused = provider.refuses_key(reply.status, reply.body)
        remark = None if is_refused else await _look_in_pages(provider, looks, reply.body)
    except LOST as error:
        late = f"no answer within {TIMEOUT_S:g} s"
        raise _unreachable(provider, late if timed_out(error) else reason(error)) from None
    except Undecodable as error:
        raise _unreachable(provider, str(error)) from None
    except BodyTooLong:
        return provider.remark(b"")
    if is_refused or remark is not None:
        await _require_no_other_base_url(provider, looks)
    if is_refused:
        server = f"model {provider.model.model}: {provider.base_url}"
        raise key_refusal(provider, server, reply.status, field="api_key_env")
    if remark is not None and reply.status == HTTPStatus.NOT_FOUND:
        remark += f" (HTTP 404 at {provider.listing()}: is `base_url` right?)"
    return remark


async def _look_in_pages(provider: HttpProvider, looks: CheckCache, listing: bytes) -> str | None:
    """`provider.remark` on the list of models that begins with the page `listing`."""
    for _ in range(_MOST_PAGES):
        try:
            return provider.remark(listing)
        except UnlistedModel:
            try:
                following = next_url(provider, listing)
            except ValueError:
                return provider.remark(b"")
            if following is None:
                raise
        listing = (await provider.fetch_listing(looks, following)).body
    return provider.remark(b"")


def look_up_model(provider: HttpProvider, listing: bytes) -> str | None:
    """Look up the model in the server's list; the result and the errors are those of `remark`."""
    name = provider.model.model
    try:
        names = provider.model_names(listing)
    except ValueError:
        return f"{provider.base_url} does not list its models: {name} was not looked up"
    if not names:
        return f"{provider.base_url} lists no model: {name} was not looked up"
    if is_listed(name, names):
        return None
    first_names = ", ".join(_describe_name(entry) for entry in names[:_SHOWN_MODELS])
    close = get_close_matches(name, names, n=1)
    hint = f"did you mean {_describe_name(close[0])}? " if close else ""
    raise UnlistedModel.because(
        "unknown-model",
        f"{provider.base_url} does not list {name}; it lists: {first_names}",
        remedy=f"{hint}--allow-unlisted asks it all the same",
        field="model",
    )


async def _require_no_other_base_url(provider: HttpProvider, looks: CheckCache) -> None:
    """Raise `InvalidInput` if the list of models is at the base URL with `/v1` after it.

    For providers whose base URL has this path, when the configured one lacks it.
    """
    path, base_url = provider.version_path, provider.base_url
    if path is None or path in urlsplit(base_url).path:
        return
    try:
        reply = await provider.fetch_listing(looks, f"{base_url}{path}{provider.listing_path}")
        names = [] if reply.status != HTTPStatus.OK else provider.model_names(reply.body)
    except (*UNUSABLE, ValueError):
        return
    if names:
        raise InvalidInput.because(
            "wrong-base-url",
            f"model {provider.model.model}: {base_url} does not list its models, "
            f"{base_url}{path} does",
            remedy=f"write base_url: {base_url}{path}",
            field="base_url",
        )


def _unreachable(provider: HttpProvider, why: str) -> InvalidInput:
    return InvalidInput.because(
        "server-unreachable",
        f"model {provider.model.model}: {provider.base_url} cannot be reached: {why}",
        remedy="start the server, or correct `base_url`: is its port right?",
        field="base_url",
    )


def _describe_name(name: str) -> str:
    """A listed name, or its length if it is long. Cutting it could leave a part of a key, which
    the redaction would miss."""
    return name if len(name) <= _SHOWN_CHARACTERS else f"(a name of {len(name)} characters)"
