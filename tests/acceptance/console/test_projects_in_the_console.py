"""A person sees in the console the runs of their projects, and nothing of others: every page, every
twin, search, live numbers and downloads, by links and by guessed addresses."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import quote, urljoin, urlsplit

import httpx
import pytest

from failproof_es.console.pages import all_pages
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema.installation import AUDITOR, WRITER
from tests.acceptance.attacks.projects_world import OURS, THEIRS, Projects, two_projects
from tests.conftest import database_url_as
from tests.console_people import accounts_console, logged_in

_LINK = re.compile(r'(?:href|src|action)="(/[^"]*)"')
_ID = re.compile(r"[0-9a-f-]{36}|\b\d+\b")
MOST_PAGES = 150
MOST_ALIKE = 2
"""Pages that are read of one kind: the links of a log lead to every event of it otherwise."""
SCALES = (".json", ".jsonl", ".csv")


@pytest.fixture(scope="module")
def world(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Projects]:
    folder = tmp_path_factory.mktemp("projects")
    with two_projects(postgres_server, migrated_database, folder) as projects:
        yield projects


@pytest.fixture(scope="module")
def url(world: Projects, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A console with people, in which `ann` has a role in our project alone."""
    reading = database_url_as(world.server, world.database, AUDITOR)
    following = database_url_as(world.server, world.database, WRITER)
    folder = tmp_path_factory.mktemp("console")
    with accounts_console(folder, database_url=reading, follower_url=following) as base:
        yield base


@pytest.fixture
def ann(url: str) -> Iterator[httpx.Client]:
    with logged_in(url, "ann") as client:
        yield client


def told(client: httpx.Client, path: str) -> str:
    """What the address answers, headers included; of live numbers the beginning."""
    with client.stream("GET", path) as response:
        assert response.status_code < 500, (path, response.status_code)
        read = bytearray()
        for chunk in response.iter_bytes():
            read += chunk
            if response.headers["content-type"].startswith("text/event-stream"):
                break
        return f"{response.headers}\n{read.decode('utf-8', 'replace')}"


def kind_of(path: str) -> str:
    """The path of an address without ids and numbers."""
    return _ID.sub("", urlsplit(path).path)


def crawled(client: httpx.Client, begin: str = "/runs") -> dict[str, str]:
    """What the pages answer that links lead to from `begin`, `MOST_ALIKE` of each kind."""
    texts: dict[str, str] = {}
    kinds: Counter[str] = Counter()
    waiting = deque([begin])
    while waiting and len(texts) < MOST_PAGES:
        path = waiting.popleft()
        if path in texts or path.startswith(("/static", "/login", "/logout")):
            continue
        kinds[kind_of(path)] += 1
        if kinds[kind_of(path)] > MOST_ALIKE:
            continue
        texts[path] = told(client, path)
        for link in _LINK.findall(texts[path]):
            parts = urlsplit(urljoin(path, unescape(link)))
            waiting.append(parts.path + (f"?{parts.query}" if parts.query else ""))
    return texts


@pytest.mark.slow
def test_no_page_that_links_lead_to_tells_of_another_project(ann: httpx.Client) -> None:
    texts = crawled(ann)
    assert len(texts) > 50 and any(OURS in text for text in texts.values())
    assert [path for path, text in texts.items() if THEIRS in text] == []
    twins = {
        urlsplit(path).path + extension
        for path in texts
        for extension in SCALES
        if not urlsplit(path).path.endswith(SCALES) and "/texts/" not in path
    }
    assert [path for path in sorted(twins) if THEIRS in told(ann, path)] == []


def guesses(world: Projects) -> Iterator[str]:
    """Addresses of the other project's things, for every page that names one."""
    with world.connect("postgres") as connection:
        runs = connection.execute(
            "SELECT n.run_number::text, run_id::text FROM failproof.run_numbers AS n "
            "JOIN failproof.project_run_list AS r USING (run_id) WHERE r.project = %s "
            "ORDER BY n.run_number",
            (THEIRS,),
        ).fetchall()
        positions = [
            str(position)
            for (position,) in connection.execute("SELECT notification_id FROM failproof.events")
        ]
        prompts = [
            str(prompt)
            for (prompt,) in connection.execute("SELECT prompt_id FROM projections.prompts")
        ]
    ids, numbers = world.ids(THEIRS), [number for number, _ in runs]
    names = {
        "run": [numbers[0], numbers[-1], runs[0][1], "latest"], "evaluation": ids, "case": prompts,
        "position": positions[::29], "stream": [*ids, *prompts[::3]],
    }  # fmt: skip
    for page in all_pages():
        for name in re.findall(r"\{(\w+)\}", page.path):
            for value in names[name]:
                path = page.path.replace(f"{{{name}}}", quote(value))
                yield from (path, *(path + extension for extension in SCALES))
                if name == "run":
                    yield f"{path}/live"
                    yield f"{path}?model=model-{THEIRS}&suite=suite-{THEIRS}&tag=tag-{THEIRS}"
    for number in numbers:
        yield f"/compare?base={number}&other=1"
        yield f"/compare?base=1&other={number}"
    for word in (THEIRS, *ids[:5], *numbers):
        yield f"/search?q={quote(word)}"
        yield f"/cases?text={quote(word)}"
        yield f"/runs?text={quote(word)}"
        yield f"/review?run={quote(word)}"


@pytest.mark.slow
def test_no_guessed_address_tells_of_another_project(world: Projects, ann: httpx.Client) -> None:
    """An answer may repeat what the address said, and nothing else."""
    paths = list(dict.fromkeys(guesses(world)))
    assert len(paths) > 300
    texts = {path: told(ann, path) for path in paths}
    assert [path for path, text in texts.items() if THEIRS in text and THEIRS not in path] == []
    with_word = [path for path in paths if THEIRS in path]
    assert with_word and all(f"note of {THEIRS}" not in texts[path] for path in with_word)


def test_somebody_without_a_role_sees_no_run(url: str) -> None:
    with logged_in(url, "bob") as client:
        for path in ("/runs", "/runs.json", "/runs.csv", "/cases", "/suites", "/review"):
            text = told(client, path)
            assert OURS not in text and THEIRS not in text, path
        assert client.get("/runs/1").status_code == 404


def test_the_latest_run_is_that_of_the_person(world: Projects, ann: httpx.Client) -> None:
    latest = ann.get("/runs/latest.json").json()
    assert OURS in latest["name"] if "name" in latest else OURS in str(latest)
    assert THEIRS not in told(ann, "/runs/latest/live")


def test_without_the_persons_rights_the_same_pages_tell_of_the_other_project(
    world: Projects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test finds what it looks for: a console that does not narrow shows it."""
    monkeypatch.setattr("failproof_es.console.database.has_projects", lambda connection: False)
    reading = database_url_as(world.server, world.database, AUDITOR)
    with (
        accounts_console(tmp_path, database_url=reading) as base,
        logged_in(base, "ann") as client,
    ):
        for path in ("/runs", "/runs.csv", "/suites", "/cases"):
            assert THEIRS in told(client, path), path
