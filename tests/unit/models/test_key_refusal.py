"""What a check makes of a server's list of models, and of a server that asks for a key."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from failproof_es.configuration.schema import Model
from failproof_es.models.catalog.listing import CheckCache
from failproof_es.models.http import HttpProvider
from failproof_es.models.http_check import check_server
from failproof_es.models.protocol import UnlistedModel
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


PAGES = {"": (["a", "b"], "b"), "&after_id=b": (["c"], "c"), "&after_id=c": (["d"], None)}


@pytest.mark.parametrize(
    ("provider", "model", "pages"),
    [
        ("anthropic", "b", 1),
        ("anthropic", "c", 2),
        ("anthropic", "d", 3),
        ("anthropic", "e", 3),
        ("gemini", "b", 1),
        ("gemini", "d", 3),
        ("gemini", "e", 3),
    ],
)
def test_a_model_is_looked_up_on_every_page_of_the_list(
    provider: str, model: str, pages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls = []

    async def page(_: object, __: object, url: str | None = None) -> WholeReply:
        urls.append(url)
        query = (url or "").partition("=1000")[2].replace("pageToken", "after_id")
        names, last = PAGES[query]
        body: dict[str, Any] = {"data": [{"id": name} for name in names]}
        body |= {"has_more": last is not None, "last_id": last, "nextPageToken": last}
        body["models"] = [{"name": f"models/{name}"} for name in names]
        return WholeReply(200, orjson.dumps(body))

    entry = {"provider": provider, "model": model, "api_key_env": None}
    made = provider_type(provider).create(Model.model_validate(entry), timeout_ms=9, connections=1)
    assert isinstance(made, HttpProvider)
    monkeypatch.setattr(HttpProvider, "fetch_listing", page)
    if model == "e":
        with pytest.raises(UnlistedModel):
            asyncio.run(check_server(made, CheckCache()))
    else:
        assert asyncio.run(check_server(made, CheckCache())) is None
    assert len(urls) == pages


@pytest.mark.parametrize("page", [{"last_id": None}, {}, {"last_id": "a"}])
def test_a_list_that_goes_on_without_end_refuses_no_model(
    page: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def same_page(*_: object) -> WholeReply:
        return WholeReply(200, orjson.dumps({"data": [{"id": "a"}], "has_more": True, **page}))

    entry = {"provider": "anthropic", "model": "b", "api_key_env": None}
    made = provider_type("anthropic").create(
        Model.model_validate(entry), timeout_ms=9, connections=1
    )
    assert isinstance(made, HttpProvider)
    monkeypatch.setattr(HttpProvider, "fetch_listing", same_page)
    assert "was not looked up" in str(asyncio.run(check_server(made, CheckCache())))
