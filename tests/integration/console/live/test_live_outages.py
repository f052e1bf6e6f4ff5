"""Live pages under odd positions, more viewers than there are seats, and without the database."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from failproof_es.console.live import stream
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.store import Store
from tests.acceptance.commands import begin, mock_server, write_configuration, write_suite
from tests.conftest import as_administrator
from tests.console import console, settings_for
from tests.integration.console.live.test_live import events
from tests.servers.postgres_proxy import Outage

MOST_POSITION = 2**63 - 1
ODD = ("9" * 19, "9" * 5_000, "-1", "x", "٣")

_SCORED = "SELECT 1 FROM failproof.events WHERE topic = 'Scored' LIMIT 1"


@contextlib.contextmanager
def unended(store: Store, folder: Path) -> Iterator[None]:
    """Run 1, which was killed after some evaluations: it neither goes on nor ends."""
    write_suite(folder, 400)
    with mock_server(latency_ms=100) as mock_url:
        write_configuration(folder, mock_url, execution={"parallel_workers": 2})
        process = begin(store.url, "start", "run.yaml", "--quiet", cwd=folder)
        with psycopg.connect(as_administrator(store.url), autocommit=True) as administrator:
            while not administrator.execute(_SCORED).fetchone():
                assert process.poll() is None
                time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait(60)
        assert process.stderr is not None
        process.stderr.close()
        yield


def first(url: str, after: int | None = None, last: str | None = None) -> dict[str, str]:
    """The first that a stream says."""
    headers = {} if last is None else {"Last-Event-ID": last.encode()}
    found = events(url + ("" if after is None else f"?after={after}"), headers=headers)
    try:
        return next(found)
    finally:
        found.close()  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("last", ODD, ids=lambda last: ascii(last)[:12])
def test_an_odd_last_event_id_neither_fails_nor_silences_the_stream(
    client: httpx.Client, console_url: str, last: str
) -> None:
    stands = client.get("/runs/1.json").json()["as_of"]["events_up_to"]
    told = first(f"{console_url}/runs/1/live", last=last)
    assert json.loads(told["data"])["position"] == stands


@pytest.mark.parametrize("ahead", [1, MOST_POSITION])
def test_a_position_that_the_log_has_not_reached_is_one_of_another_log(
    client: httpx.Client, console_url: str, ahead: int
) -> None:
    stands = client.get("/runs/1.json").json()["as_of"]["events_up_to"]
    after = min(stands + ahead, MOST_POSITION)
    live = f"{console_url}/runs/1/live"
    for told in (first(live, after=after), first(live, last=str(after))):
        assert told["id"] == str(stands)


def test_names_that_are_no_run_are_not_kept(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "CACHED_RUNS", 3)
    kept: list[int] = []
    read = stream.LiveRuns._numbers

    def reading(
        self: stream.LiveRuns, run: str, last: stream.LiveNumbers | None
    ) -> stream.LiveNumbers:
        kept.append(len(self._last))
        return read(self, run, last)

    monkeypatch.setattr(stream.LiveRuns, "_numbers", reading)
    for name in range(1_000, 1_010):
        assert client.get(f"/runs/{name}/live").status_code == 404
    assert len(kept) == 10 and max(kept) <= 3


@contextlib.contextmanager
def asking(url: str, path: str, number: int) -> Iterator[list[str]]:
    """So many ask at the same moment, and stay; yields the head that each of them was answered."""
    address = urlsplit(url)
    assert address.hostname and address.port
    with contextlib.ExitStack() as open_ones:
        clients = []
        for _ in range(number):
            client = socket.create_connection((address.hostname, address.port))
            clients.append(open_ones.enter_context(client))
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
        heads = []
        for each in clients:
            each.settimeout(60)
            told = b""
            while b"\r\n\r\n" not in told:
                more = each.recv(4_096)
                assert more
                told += more
            heads.append(told.partition(b"\r\n\r\n")[0].decode().lower())
        yield heads


def test_200_viewers_leave_pages_as_they_were_and_who_finds_no_seat_is_told_when_to_come_again(
    store: Store, tmp_path: Path
) -> None:
    with unended(store, tmp_path), console(connections=1, **settings_for(store.url)) as url:
        with asking(url, "/runs/1/live", 200) as heads:
            seated = [head for head in heads if head.startswith("http/1.1 200")]
            refused = [head for head in heads if head.startswith("http/1.1 503")]
            assert (len(seated), len(refused)) == (stream.MOST_VIEWERS, 200 - stream.MOST_VIEWERS)
            assert all("retry-after: 10" in head for head in refused)
            for path in ("/runs", "/runs/1", "/runs/1/results.csv"):
                assert httpx.get(url + path, timeout=20).status_code == 200
        deadline = time.monotonic() + 30
        while True:  # the seats of those who went are free again
            with asking(url, "/runs/1/live", stream.MOST_VIEWERS) as heads:
                if all(head.startswith("http/1.1 200") for head in heads):
                    return
            assert time.monotonic() < deadline


@pytest.mark.slow
def test_a_stream_ends_with_the_database_and_goes_on_where_it_was(
    store: Store, tmp_path: Path, postgres_server: EmbeddedServer
) -> None:
    with (
        unended(store, tmp_path),
        Outage(postgres_server) as outage,
        console(**settings_for(outage.url_of(store.url))) as url,
    ):
        live = f"{url}/runs/1/live"
        told = events(live)
        position = next(told)["id"]
        outage.begin()
        assert [each.get("event") for each in told] == []  # it ends, and not as a run does
        refused = httpx.get(live, timeout=30)
        assert refused.status_code == 503 and refused.headers["retry-after"] == "5"
        outage.end()
        again = first(live)
        assert again["id"] == position
        assert json.loads(again["data"])["ended"] is False
