"""The error for a server that asks for a key, with and without one in the entry."""

from __future__ import annotations

import asyncio

import pytest

from failproof_es.configuration.schema import Model
from failproof_es.models.catalog.listing import CheckCache
from failproof_es.models.http import HttpProvider
from failproof_es.models.http_check import check_server
from failproof_es.models.provider_type import provider_type
from failproof_es.problems import InvalidInput
from failproof_es.web.client import WholeReply


@pytest.mark.parametrize(
    ("entry", "refusal"),
    [
        ({}, "refuses a request without a key (HTTP 401) (name the environment"),
        ({"api_key_env": "A_KEY"}, "refuses the key (HTTP 401) (check the key in A_KEY)"),
        ({"headers": {"X-Key": "A_KEY"}}, "refuses the key (HTTP 401) (check the key in A_KEY)"),
    ],
)
def test_a_refusal_without_a_key_says_that_no_key_was_sent(
    entry: dict[str, object], refusal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> WholeReply:
        return WholeReply(401, b"")

    url = "http://127.0.0.1:9/v1"
    model = Model.model_validate({"provider": "openai", "model": "m", "base_url": url, **entry})
    provider = provider_type("openai").create(model, timeout_ms=1000, connections=1)
    assert isinstance(provider, HttpProvider)
    monkeypatch.setattr(HttpProvider, "fetch_listing", refuse)
    with pytest.raises(InvalidInput) as raised:
        asyncio.run(check_server(provider, CheckCache()))
    assert refusal in str(raised.value)
