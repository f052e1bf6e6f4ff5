"""A person labels a queue in the console, without JavaScript."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import httpx
import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke
from tests.acceptance.reading.test_review import reviewable, reviewed
from tests.console import settings_for
from tests.console_people import accounts_console, browser, logged_in

_FIELD = re.compile(r'<input type="(?:hidden|radio)" name="([^"]+)" value="([^"]*)"')


@pytest.fixture
def labelled(store: Store, judging_url: str, tmp_path: Path) -> Iterator[str]:
    """A console over a run with a queue `audit` of three evaluations, each for two people."""
    reviewable(store, tmp_path, judging_url, "One?", "Two?", "Three?", judges=())
    create = ("review", "queue", "create", "latest", "audit", "--labels-each", "2")
    assert invoke(store.url, *create, cwd=tmp_path).exit_code == 0
    with accounts_console(tmp_path, **settings_for(store.url)) as url:
        yield url


def form_of(page: httpx.Response, **changes: str) -> dict[str, str]:
    """The form of the label on the page, with an answer to each item that holds."""
    assert page.status_code == 200, page.text
    form: dict[str, str] = {}
    for name, value in _FIELD.findall(page.text.partition('<form class="labelling"')[2]):
        if value in ("met", "did_not_happen") or not name.startswith(("item", "verdict", "sev")):
            form[unescape(name)] = unescape(value)
    return {**form, "verdict": "pass", "severity": "", "tags": "", "notes": "", **changes}


def test_a_person_labels_a_queue_to_its_end_and_a_form_sent_twice_counts_once(
    labelled: str, store: Store
) -> None:
    with logged_in(labelled, "ann") as ann:
        assert "audit" in ann.get("/queues").text
        page = ann.get("/queues/1/audit")
        assert "mock" not in page.text.partition("<main")[2], "a label is blind"
        broken = ann.post("/queues/1/audit", data=form_of(page, verdict=""))
        assert broken.status_code == 422 and "Choose a verdict" in broken.text
        first = form_of(page, tags="odd, odd, new", notes="It asked <b>back</b>.")
        sent = ann.post("/queues/1/audit", data=first)
        assert sent.status_code == 303, sent.text
        again = ann.post("/queues/1/audit", data=first)
        assert again.status_code == 303, "the same verdict from a second tab is on record"
        other = ann.post("/queues/1/audit", data={**first, "verdict": "unclear"})
        assert (other.status_code, "newer-verdict" in other.text) == (409, True)
        while (page := ann.get(sent.headers["location"])).text.count('name="evaluation"'):
            sent = ann.post("/queues/1/audit", data=form_of(page))
            assert sent.status_code == 303, sent.text
        assert "Nothing is left for you here" in page.text
    labels = reviewed(store)
    assert len(labels) == 3
    assert {(label.reviewer, label.queue, label.blind) for label in labels} == {
        ("ann", "audit", True)
    }
    [noted] = [label for label in labels if label.notes]
    assert (noted.notes, noted.tags) == ("It asked <b>back</b>.", ("odd", "new"))


def test_what_is_not_the_persons_own_form_is_not_recorded(labelled: str, store: Store) -> None:
    with logged_in(labelled, "ann") as ann, logged_in(labelled, "bob") as bob:
        own = form_of(ann.get("/queues/1/audit"))
        for form, status in (
            ({**own, "form_token": "x"}, 403),
            ({**own, "form_token": form_of(bob.get("/queues/1/audit"))["form_token"]}, 403),
            ({**own, "evaluation": "0190c1f0-0000-8000-8000-000000000000"}, 409),
            ({**own, "own_reviews": "-1"}, 409),
            ({**own, "own_reviews": "²"}, 409),
            ({**own, "verdict": "PASS"}, 422),
            ({**own, "notes": "a\x00b"}, 422),
            ({**own, **{name: "maybe" for name in own if name.startswith("item")}}, 422),
        ):
            sent = ann.post("/queues/1/audit", data=form)
            assert sent.status_code == status, (form, sent.status_code)
        assert ann.post("/queues/1/none", data=own).status_code == 404
    with browser(labelled) as stranger:
        assert stranger.get("/queues").headers["location"] == "/login?next=%2Fqueues"
        assert stranger.post("/queues/1/audit", data=own).status_code == 401
    assert reviewed(store) == []
