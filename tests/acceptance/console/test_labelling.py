"""A person labels a queue in the console, without JavaScript."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import httpx
import pytest

from failproof_es.engine.projects import define_project, grant_role
from failproof_es.events import ProjectRole
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


def label_all(client: httpx.Client, verdict: str) -> int:
    """Label everything that the queue gives to the person; the number of labels."""
    count = 0
    while (page := client.get("/queues/1/audit")).text.count('name="evaluation"'):
        sent = client.post("/queues/1/audit", data=form_of(page, verdict=verdict))
        assert sent.status_code == 303, sent.text
        count += 1
    return count


def test_roles_decide_who_labels_and_who_decides_between_labels(
    labelled: str, store: Store
) -> None:
    define_project(store, "all", all_runs=True)
    roles: dict[str, ProjectRole] = {"ann": "reviewer", "bob": "reader", "Zoë": "adjudicator"}
    for person, role in roles.items():
        grant_role(store, "all", person, role)
    with logged_in(labelled, "ann") as ann, logged_in(labelled, "bob") as bob:
        assert label_all(ann, "pass") == 3
        refused = bob.get("/queues/1/audit")
        assert refused.status_code == 403 and "not-assigned" in refused.text
        form = form_of(ann.get("/queues/1/audit"), evaluation="", own_reviews="0")
        assert bob.post("/queues/1/audit", data=form).status_code == 403
        grant_role(store, "all", "bob", "reviewer")
        assert label_all(bob, "fail") == 3
        assert "Nothing is left for you here" in ann.get("/queues/1/audit").text
    with logged_in(labelled, "Zoë") as zoe:
        page = zoe.get("/queues/1/audit").text
        assert "Your decision" in page and "ann" in page and "bob" in page
        assert page.count("must_do.1</bdi>: happened") == 2, "what each of them said of each item"
        assert label_all(zoe, "fail") == 3
    decisions = [review for review in reviewed(store) if review.adjudicates]
    assert len(decisions) == 3 and {review.reviewer for review in decisions} == {"Zoë"}


def test_labels_are_signed_while_the_console_serves(
    store: Store, judging_url: str, tmp_path: Path
) -> None:
    reviewable(store, tmp_path, judging_url, "One?", judges=())
    create = ("review", "queue", "create", "latest", "audit")
    assert invoke(store.url, *create, cwd=tmp_path).exit_code == 0
    with accounts_console(tmp_path, **settings_for(store.url)) as url, logged_in(url) as ann:
        assert label_all(ann, "pass") == 1
    with store.connect() as connection:
        row = connection.execute(
            "SELECT (SELECT count(*) FROM failproof.stored_events), max(tree_size) "
            "FROM failproof.checkpoint_list"
        ).fetchone()
    assert row is not None and row[0] == row[1]


def test_a_late_form_is_a_label_still_and_nobody_gives_two(labelled: str, store: Store) -> None:
    with (
        logged_in(labelled, "ann") as ann,
        logged_in(labelled, "bob") as bob,
        logged_in(labelled, "Zoë") as zoe,
    ):
        late = form_of(ann.get("/queues/1/audit"), verdict="fail")
        sent = form_of(bob.get("/queues/1/audit"))
        assert sent["evaluation"] == late["evaluation"]
        assert bob.post("/queues/1/audit", data=sent).status_code == 303
        # Without a place of her own Zoë cannot label what Ann holds.
        stolen = {**form_of(zoe.get("/queues/1/audit")), "evaluation": late["evaluation"]}
        for name in ("adjudicate", "", "else"):
            forged = {**stolen, "task": name}
            assert zoe.post("/queues/1/audit", data=forged).status_code == 409
        assert ann.post("/queues/1/audit", data=late).status_code == 303
        for count in ("1", "2", "999999999"):
            again = {**late, "verdict": "pass", "own_reviews": count}
            assert ann.post("/queues/1/audit", data=again).status_code == 409
        # It is finished, and disputed: who was not asked for a label gives none.
        assert zoe.post("/queues/1/audit", data={**stolen, "task": "label"}).status_code == 409
    labels = [one for one in reviewed(store) if str(one.evaluation_id) == late["evaluation"]]
    assert [(one.reviewer, one.verdict, one.adjudicates) for one in labels] == [
        ("bob", "pass", False), ("ann", "fail", False),
    ]  # fmt: skip


def test_long_notes_of_any_script_are_taken(labelled: str, store: Store) -> None:
    with logged_in(labelled, "ann") as ann:
        form = form_of(ann.get("/queues/1/audit"), notes="\U0001f600" * 20_000)
        assert ann.post("/queues/1/audit", data=form).status_code == 303
        form = form_of(ann.get("/queues/1/audit"), notes="é" * 20_001)
        assert ann.post("/queues/1/audit", data=form).status_code == 422
    assert [len(one.notes) for one in reviewed(store)] == [20_000]
