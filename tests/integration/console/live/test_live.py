"""Live numbers: what the stream sends, where it goes on, when it ends."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from failproof_es.console.links import live_key
from failproof_es.console.live import stream, wakeups
from failproof_es.store.store import Store
from tests.acceptance.commands import (
    Process,
    begin,
    mock_server,
    write_configuration,
    write_suite,
)
from tests.conftest import as_administrator
from tests.console import console, settings_for


def events(url: str, **settings: Any) -> Iterator[dict[str, str]]:
    """The events of a stream until it ends, each by its fields."""
    with httpx.stream("GET", url, timeout=60, **settings) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        told: dict[str, str] = {}
        for line in answer.iter_lines():
            if line:
                name, _, value = line.partition(": ")
                told[name] = value
            elif told:
                yield told
                told = {}


@pytest.mark.slow
def test_a_run_that_has_ended_is_told_once_and_then_the_end(
    client: httpx.Client, console_url: str
) -> None:
    page = client.get("/runs/1.json").json()
    numbers, end = list(events(f"{console_url}/runs/1/live"))
    told = json.loads(numbers["data"])
    assert int(numbers["id"]) == told["position"] == page["as_of"]["events_up_to"]
    assert told["texts"]["model-0-of"] == "15/21"
    assert told["texts"]["model-0-rate"] == "71.4 %"
    assert told["texts"]["all-done"] == "48/48"
    assert f'data-shape="{told["shape"]}"' in client.get("/runs/1").text
    assert end["event"] == "end"


@pytest.mark.slow
@pytest.mark.parametrize("header", [True, False])
def test_it_goes_on_after_the_position_that_was_seen_last(
    client: httpx.Client, console_url: str, header: bool
) -> None:
    seen = client.get("/runs/1.json").json()["as_of"]["events_up_to"]
    url = f"{console_url}/runs/1/live"
    found = list(
        events(url, headers={"Last-Event-ID": str(seen)})
        if header
        else events(f"{url}?after={seen}")
    )
    assert [each.get("event") for each in found] == ["end"]


def test_what_is_no_run_or_no_position_is_refused(client: httpx.Client) -> None:
    assert client.get("/runs/99/live").status_code == 404
    assert client.get("/runs/1/live?after=x").status_code == 422
    head = client.head("/runs/1/live")
    assert (head.status_code, head.content) == (200, b"")


def test_what_the_stream_writes_is_what_the_page_writes(
    client: httpx.Client, console_url: str
) -> None:
    told = json.loads(next(events(f"{console_url}/runs/1/live"))["data"])
    page = client.get("/runs/1").text
    for key, text in told["texts"].items():
        if f'data-text="{key}"' in page:
            begins = f'data-text="{re.escape(key)}">(<(a|span)[^>]*>)?{re.escape(text)}<'
            assert re.search(begins, page), (key, text)
    shown = set(re.findall(r'data-text="([^"]+)"', page))
    assert shown <= told["texts"].keys() and len(shown) > 50
    for key, line in told["paths"].items():
        assert f'data-path="{key}" d="{line}"' in page


def test_what_is_said_of_a_rate_moves_with_it(client: httpx.Client, console_url: str) -> None:
    texts = json.loads(next(events(f"{console_url}/runs/1/live"))["data"])["texts"]
    page = client.get("/runs/1").text
    rates = re.findall(r'<span class="rate"([^>]*)>', page)
    titles = re.findall(r'data-title="([^"]+)" title="([^"]+)"', page)
    assert len(titles) == len(rates) > 3
    assert all(texts[key] == title for key, title in titles)
    unseen = re.findall(r', interval <span data-text="([^"]+)">([^<]+)<', page)
    assert len(unseen) == page.count(", interval ") > 3
    assert all(texts[key] == told for key, told in unseen)


SLOW_POLL_S = 300.0
"""Longer than a test may take: what comes sooner was not polled."""
_LISTENERS = """
SELECT pid FROM pg_stat_activity WHERE datname = current_database()
AND application_name = 'failproof-es console' AND query LIKE 'LISTEN%%'
"""


def listeners(url: str) -> list[int]:
    """The sessions of consoles that listen."""
    with psycopg.connect(as_administrator(url), autocommit=True) as administrator:
        return [pid for (pid,) in administrator.execute(_LISTENERS)]


def numbers(stream: Iterator[dict[str, str]]) -> Iterator[dict[str, Any]]:
    """What a stream tells until it ends."""
    return (json.loads(each["data"]) for each in stream if "event" not in each)


@contextlib.contextmanager
def going(store: Store, folder: Path, cases: int = 2_000) -> Iterator[Process]:
    """A run that goes on for long; it is stopped at the end."""
    write_suite(folder, cases)
    with mock_server(latency_ms=100) as mock_url:
        write_configuration(folder, mock_url, execution={"parallel_workers": 2})
        process = begin(store.url, "start", "run.yaml", "--quiet", cwd=folder)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)
            assert process.stderr is not None
            process.stderr.close()


def await_page(url: str, process: Process) -> str:
    """The page of the run, once there is one; on a busy machine it may be refused at first."""
    while (page := httpx.get(f"{url}/runs/1", timeout=60)).status_code != 200:
        assert process.poll() is None, page.text
        time.sleep(0.5)
    return page.text


@pytest.mark.parametrize("follows", [True, False])
@pytest.mark.slow
@pytest.mark.thinned(whole=1)
@pytest.mark.wide
def test_what_the_follower_takes_in_is_shown_long_before_the_next_poll(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, follows: bool
) -> None:
    """Also where the console's own user may not bring the projections up."""
    monkeypatch.setattr(stream, "POLL_S", SLOW_POLL_S)
    settings = settings_for(store.url) | ({} if follows else {"follower_url": None})
    with console(**settings) as url, going(store, tmp_path) as process:
        await_page(url, process)
        told = numbers(events(f"{url}/runs/1/live"))
        done = [int(next(told)["texts"]["all-done"].partition("/")[0]) for _ in range(2)]
        assert done == sorted(set(done))


@contextlib.contextmanager
def viewing(url: str) -> Iterator[Iterator[dict[str, str]]]:
    """The events of a stream, which is left before it ends."""
    found = events(url)
    try:
        yield found
    finally:
        found.close()  # type: ignore[attr-defined]


GROWN = 3
"""After so many different numbers the run is let come to its end. On a busy machine that takes
half a minute: the projections are brought up every ten seconds."""
CASES = 80


@pytest.mark.slow
def test_a_run_that_goes_on_is_told_to_all_its_viewers_by_one_connection_until_it_ends(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wakeups, "_IDLE_S", 2.0)
    write_suite(tmp_path, CASES)
    with mock_server(latency_ms=2_000) as mock_url, console(**settings_for(store.url)) as url:
        write_configuration(tmp_path, mock_url, execution={"parallel_workers": 2})
        process = begin(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
        try:
            page = await_page(url, process)
            assert listeners(store.url) == []
            found: list[Any] = []
            with contextlib.ExitStack() as looking:
                viewers = [looking.enter_context(viewing(f"{url}/runs/1/live")) for _ in range(3)]
                for viewer in viewers:
                    next(viewer)
                    next(viewer)
                assert len(listeners(store.url)) == 1
            for told in numbers(events(f"{url}/runs/1/live")):
                found.append(told)
                if len({state["texts"]["all-done"] for state in found}) == GROWN:
                    httpx.post(mock_url.removesuffix("/v1") + "/hurry")
        finally:
            assert process.wait(60) == 0
            assert process.stderr is not None
            process.stderr.close()
        assert 'data-live="/runs/' in page
        suite = live_key("suite", "mock", "generated")
        for key in (f"{suite}-finished", "tokens-in"):
            assert len({each["texts"].get(key) for each in found}) > 1, key
        assert found[-1]["texts"][f"{suite}-finished"] == str(CASES)
        done = [int(each["texts"]["all-done"].partition("/")[0]) for each in found]
        assert done == sorted(done) and done[-1] == CASES and len(set(done)) > 2
        positions = [each["position"] for each in found]
        assert positions == sorted(set(positions))
        assert found[-1]["ended"]
        assert "data-live" not in httpx.get(f"{url}/runs/1", timeout=60).text
        deadline = time.monotonic() + 30
        while listeners(store.url):  # nobody looks any more
            assert time.monotonic() < deadline
            time.sleep(0.5)


LOOKED_S = 4.0


def look(url: str, seen: list[str]) -> None:
    """Look at a run for a while; the text of each event that came."""
    until = time.monotonic() + LOOKED_S
    with httpx.stream("GET", url, timeout=60) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: "):
                seen.append(line)
            if time.monotonic() > until:
                return


@pytest.mark.slow
@pytest.mark.wide
def test_ten_viewers_are_read_for_and_written_for_as_one(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come one after the other, so that none looks at the moment of another."""
    statements: list[str] = []
    written: list[str] = []
    execute, dump = psycopg.Cursor.execute, stream.LiveNumbers.model_dump_json

    def counted(self: psycopg.Cursor[Any], *given: Any, **told: Any) -> psycopg.Cursor[Any]:
        thread = threading.current_thread().name
        if thread.startswith("AnyIO"):  # the console's: its follower, and what listens, do not grow
            statements.append(thread)
        return execute(self, *given, **told)

    def noted(self: stream.LiveNumbers, **told: Any) -> str:
        written.append(dump(self, **told))
        return written[-1]

    monkeypatch.setattr(psycopg.Cursor, "execute", counted)
    monkeypatch.setattr(stream.LiveNumbers, "model_dump_json", noted)
    monkeypatch.setattr(stream, "KEEP_ALIVE_S", 0.2)  # so that a viewer sees when its time is over
    monkeypatch.setattr(stream, "LEFT_TO_FOLLOWER_S", 0.0)  # whatever else the machine does
    with console(**settings_for(store.url)) as url, going(store, tmp_path) as process:
        await_page(url, process)
        took: list[int] = []
        for viewers in (1, 10):
            texts: list[list[str]] = [[] for _ in range(viewers)]
            threads = [
                threading.Thread(target=look, args=(f"{url}/runs/1/live", seen)) for seen in texts
            ]
            statements.clear()
            for each in threads:
                each.start()
                time.sleep(LOOKED_S / 4 / viewers)
            for each in threads:
                each.join()
            took.append(len(statements))
            assert all(len(seen) > 1 for seen in texts)
    one, ten = took
    assert ten < 1.6 * one, f"{ten} statements for ten viewers, {one} for one"
    assert len(written) == len(set(written))


@pytest.mark.slow
@pytest.mark.wide
def test_without_what_wakes_it_it_polls_and_it_listens_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wakeups, "_PAUSES_S", (3.0,))
    with console(**settings_for(store.url)) as url, going(store, tmp_path) as process:
        await_page(url, process)
        told = numbers(events(f"{url}/runs/1/live"))
        next(told), next(told)
        [listening] = listeners(store.url)
        with psycopg.connect(as_administrator(store.url), autocommit=True) as administrator:
            administrator.execute("SELECT pg_terminate_backend(%s)", (listening,))
        before = time.monotonic()
        assert next(told)["position"] < next(told)["position"]
        assert time.monotonic() - before < 60
        deadline = time.monotonic() + 60
        while not (again := listeners(store.url)):
            next(told)
            assert time.monotonic() < deadline
        assert again != [listening]
