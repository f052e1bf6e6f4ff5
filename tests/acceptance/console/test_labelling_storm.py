"""Three people label a queue doubly in the console, whose server is killed again and again.

They send some forms from two windows at once, and a form again when the server went away before it
answered. No label is lost, doubled, or attributed to somebody else.
"""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from statistics import median
from typing import Any
from uuid import UUID

import httpx
import pytest

from failproof_es.core.queues import count_statuses
from failproof_es.engine.queues.creating import find_queue
from failproof_es.engine.queues.reading import QueueReader
from failproof_es.engine.reviews.people import read_reviews
from failproof_es.store.reading.reader import resolve_run
from failproof_es.store.store import Store
from tests.acceptance.commands import (
    environment,
    invoke,
    write_configuration,
    write_suite,
)
from tests.acceptance.console.test_command import free_port
from tests.acceptance.warm import WarmProcess
from tests.console_people import PASSWORDS, browser, send_login, write_accounts

PEOPLE = tuple(PASSWORDS)
LONGEST_OUTAGE_S = 60.0
_WARM = WarmProcess(
    preloaded=("failproof_es.console.server", "failproof_es.console.pages.agreement")
)
"""Consoles are forked from it: a cold start takes four seconds of the processor."""
MOST_IDLE = 40
"""How often a person looks again who is told that nothing is left: others may hold it."""


class LabelForm(HTMLParser):
    """The fields of the form on a queue's page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "form":
            self._inside = "labelling" in (attributes.get("class") or "").split()
        name = attributes.get("name")
        if self._inside and tag == "input" and name and attributes.get("type") == "hidden":
            self.fields[name] = attributes.get("value") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False


@dataclass(slots=True)
class KilledServer:
    """A console that is killed while a form is on its way, `most_kills` times.

    Between two kills it serves for `every_s` seconds at least.
    """

    port: int
    arguments: list[str]
    environment: dict[str, str]
    every_s: float
    most_kills: int
    form_is_sent: threading.Event
    kills: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Serve until `end` is called."""
        while not self._over.is_set():
            process = _WARM.begin(self.arguments, self.environment, None)
            while not self._over.wait(0.1) and not self._serves():
                pass
            is_over = self._over.wait(self.every_s if self.kills < self.most_kills else None)
            if not is_over:
                self._await_form()
            process.send_signal(signal.SIGKILL)
            process.wait(30)
            self.kills += not is_over

    def _await_form(self) -> None:
        """Wait until a person sends a form, and up to the time that its answer takes."""
        self.form_is_sent.clear()
        if self.form_is_sent.wait(2):
            time.sleep(random.uniform(0, 0.2))

    def _serves(self) -> bool:
        """Whether it answers: it listens some seconds before that."""
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"http://127.0.0.1:{self.port}/healthz", timeout=2).is_success
        return False

    def end(self) -> None:
        """Stop serving."""
        self._over.set()


@contextlib.contextmanager
def killed_server(
    store: Store,
    folder: Path,
    port: int,
    every_s: float,
    most_kills: int,
    form_is_sent: threading.Event,
) -> Iterator[KilledServer]:
    """Such a server, for the people of `PASSWORDS`."""
    accounts = write_accounts(folder / "accounts")
    server = KilledServer(
        port,
        ["console", "--port", str(port), "--review", "--accounts", str(accounts)],
        environment(store.url, FAILPROOF_ES_HOME=str(folder)),
        every_s,
        most_kills,
        form_is_sent,
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.end()
        thread.join()


@dataclass(slots=True)
class Labeller:
    """A person with two windows of one browser, who decides by chance."""

    url: str
    name: str
    form_is_sent: threading.Event
    sent: dict[UUID, str] = field(default_factory=dict)
    """The verdict of each evaluation that the console said is on record."""
    seconds: list[float] = field(default_factory=list)
    """The time of the program for one evaluation, where no outage was met."""

    def label(self, queue: str) -> None:
        """Label until nothing is left."""
        chance, idle = random.Random(self.name), 0
        with browser(self.url) as client:
            self._persist(lambda: send_login(client, self.name, PASSWORDS[self.name]))
            while idle < MOST_IDLE:
                begun = time.monotonic()
                page, outages = self._persist(lambda: client.get(queue))
                fields = LabelForm(page.text).fields
                if "evaluation" not in fields:
                    idle += 1
                    time.sleep(0.1)
                    continue
                # The first person differs from the others, so that somebody has to decide.
                is_first = self.name == PEOPLE[0]
                verdict = "fail" if is_first or chance.random() < 0.1 else "pass"
                form = {**fields, "verdict": verdict, "notes": f"by {self.name}"}
                windows = 2 if chance.random() < 0.25 else 1
                outages += self._submit(client, queue, form, windows)
                self.sent[UUID(fields["evaluation"])] = verdict
                if not outages and windows == 1:
                    self.seconds.append(time.monotonic() - begun)

    def _submit(self, client: httpx.Client, queue: str, form: dict[str, str], windows: int) -> int:
        """Send the form from so many windows at once, each until it is answered."""
        self.form_is_sent.set()
        with ThreadPoolExecutor(windows) as pool:
            answers = list(
                pool.map(
                    lambda _: self._persist(lambda: client.post(queue, data=form)), range(windows)
                )
            )
        for response, _ in answers:
            assert response.status_code == 303, (self.name, response.status_code, response.text)
        return sum(outages for _, outages in answers)

    @staticmethod
    def _persist(send: Any) -> tuple[httpx.Response, int]:
        """The answer, after trying again while the server is away; and how often it was."""
        deadline, outages = time.monotonic() + LONGEST_OUTAGE_S, 0
        while True:
            with contextlib.suppress(httpx.TransportError, AssertionError):
                response: httpx.Response = send()
                if response.status_code < 500:
                    return response, outages
            assert time.monotonic() < deadline, "the server stays away"
            outages += 1
            time.sleep(0.1)


@pytest.mark.parametrize(
    ("cases", "every_s", "most_kills"),
    [
        pytest.param(12, 1.0, 2, marks=pytest.mark.slow),
        pytest.param(200, 15.0, 100, marks=pytest.mark.wide),
    ],
)
def test_no_label_is_lost_doubled_or_somebody_elses(
    store: Store, mock_url: str, tmp_path: Path, cases: int, every_s: float, most_kills: int
) -> None:
    write_suite(tmp_path, cases)
    write_configuration(tmp_path, mock_url)
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    create = ("review", "queue", "create", "latest", "storm", "--labels-each", "2")
    assert invoke(store.url, *create, cwd=tmp_path).exit_code == 0
    port = free_port()
    form_is_sent = threading.Event()
    people = [Labeller(f"http://127.0.0.1:{port}", name, form_is_sent) for name in PEOPLE]
    with (
        killed_server(store, tmp_path, port, every_s, most_kills, form_is_sent) as server,
        ThreadPoolExecutor(len(people)) as pool,
    ):
        list(pool.map(lambda person: person.label("/queues/1/storm"), people))
    assert server.kills >= 2

    with store.lend() as connection:
        run_id = resolve_run(connection, "latest")
        queue = find_queue(connection, run_id, "storm")
        assert queue is not None
        items = QueueReader(queue.created).items(connection)
        reviews = [
            review
            for of_evaluation in read_reviews(connection, queue.created.evaluations).values()
            for review in of_evaluation
        ]
    given = Counter((review.reviewer, review.evaluation_id) for review in reviews)
    assert not given or max(given.values()) == 1, "doubled"
    assert {(review.reviewer, review.evaluation_id): review.verdict for review in reviews} == {
        (person.name, evaluation_id): verdict
        for person in people
        for evaluation_id, verdict in person.sent.items()
    }, "lost, or changed"
    assert all(review.notes == f"by {review.reviewer}" for review in reviews)
    assert all(review.blind and review.queue == "storm" for review in reviews)
    assert not {"waiting", "disputed"} & count_statuses(items).keys()
    assert any(item.adjudication for item in items), "nobody differed"
    seconds = [second for person in people for second in person.seconds]
    if cases > 100:  # measured where the server serves longer than it starts, and alone
        assert median(seconds) < 1.0, "the program takes a person's time"
    print(f"{len(reviews)} labels, {server.kills} kills, {median(seconds):.3f} s an evaluation")


def test_the_form_is_read_as_a_browser_reads_it() -> None:
    page = (
        '<form class="other"><input type=hidden name=a value=1></form>'
        '<form class="labelling" method="post"><input type="hidden" name="b" value="&lt;2">'
        '<input type="radio" name="c" value="3"></form>'
    )
    assert LabelForm(page).fields == {"b": "<2"}
