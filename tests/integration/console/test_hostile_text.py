"""What models and servers wrote changes no page: same elements, nothing hidden, nothing asked."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import httpx
import pytest

from failproof_es.console.links import CurrentPage
from failproof_es.console.paging import Query
from failproof_es.console.parts.run import RunPage
from failproof_es.console.rendering import render
from failproof_es.support.untrusted_text import lines
from tests.harmless_html import HOSTILE


class Elements(HTMLParser):
    """The elements of a page with the names of their attributes, and where its links lead."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # a long text is cut, and whole in a title
        named = tuple(name for name, _ in attrs if name != "title")
        self.found.append((tag, named))
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action")]


def rendered(page: RunPage) -> str:
    return render("run.html", page=page, as_of=page.as_of, here=CurrentPage("/runs/1", Query()))


def with_text(page: dict[str, Any], text: str) -> RunPage:
    """The page, as if everybody but this program had written that text."""
    said = {**page, "shape": "1"}
    for name in ("name", "reason", "who", "where", "code_version", "dialect"):
        said[name] = text
    said["errors"] = [{**each, "message": text, "kind": text} for each in page["errors"]]
    said["unscored_reasons"] = [
        {**each, "reason": text, "kind": text} for each in page["unscored_reasons"]
    ]
    said["by_suite"] = [{**each, "suite": text} for each in page["by_suite"]]
    said["gates"] = dict.fromkeys([text], next(iter(page["gates"].values())))
    said["history"] = [{**each, "says": text} for each in page["history"]]
    said["by_model"] = [
        {**each, "model": text, "provider": text, "version": text} for each in page["by_model"]
    ]
    said["annotation"] = {
        "name": text, "tags": [text], "note": text, "hidden": True, "who": text,
        "at": page["started_at"],
    }  # fmt: skip
    said["failed_most"] = [
        {**each, "model": text, "suite": text, "category": text} for each in page["failed_most"]
    ]
    said["suites"] = [{**each, "path": text} for each in page["suites"]]
    said["price_sources"] = {"a": text}
    said["configuration"] = {"said": text}
    return RunPage.model_validate(said)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.thinned(fast=8, whole=12)
def test_hostile_text_is_text(client: httpx.Client, name: str) -> None:
    told = client.get("/runs/1.json").json()
    text = HOSTILE[name].replace("{port}", "9")
    plain = rendered(with_text(told, "plain" if len(text) < 1_000 else "y" * len(text)))
    page = rendered(with_text(told, text))
    assert [each for each in Elements(page).found if each[0] != "mark"] == (
        Elements(plain).found
    ), name
    addresses = [{each.partition("?")[0] for each in Elements(it).links} for it in (page, plain)]
    assert addresses[0] == addresses[1]  # what a filter says is no part of where it leads
    assert lines(page) == page
