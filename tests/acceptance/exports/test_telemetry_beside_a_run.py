"""`start --otlp`: telemetry while a run goes, which never disturbs it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn
from uuid import UUID

import orjson
import psycopg
import pytest

from failproof_es.engine.history import read_run
from failproof_es.events import RequestSent
from failproof_es.exports.otel.beside import is_reachable
from failproof_es.exports.otel.endpoint import Delivery
from failproof_es.exports.otel.follow import CommitSender
from failproof_es.exports.otel.telemetry import Span, Telemetry
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite
from tests.acceptance.conftest import RecordedLog
from tests.servers.collector import collector


def started(store: Store, folder: Path, *arguments: str) -> tuple[UUID, str]:
    """Start the run; its id, and what was said."""
    done = invoke(store.url, "start", "run.yaml", "--json", *arguments, cwd=folder)
    assert done.exit_code == 0, done.output
    return UUID(orjson.loads(done.stdout)["run_id"]), done.stderr


@pytest.fixture
def finished(recorded_log: RecordedLog) -> Iterator[tuple[psycopg.Connection[Any], UUID]]:
    """A connection to a log with a finished run of three evaluations, and the run's id."""
    with Store.open(recorded_log.url) as store, store.connect() as connection:
        [(run_id,)] = connection.execute("SELECT run_id FROM failproof.run_list").fetchall()
        yield connection, run_id


def test_a_collector_gets_everything_while_the_run_goes(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 2)
    write_configuration(tmp_path, mock_url)
    with collector(refusals=1) as kept:
        started(store, tmp_path, "--otlp", kept.url, "--otel-content")
        assert len({span.span_id for span in kept.spans}) == 2 * 2 + 1
        assert len({(e.span_id, str(e.attributes)) for e in kept.events}) == 2 * 2
        assert "number 1" in str(kept.spans)


def test_a_worker_sends_the_telemetry_of_the_runs_that_it_drives(
    store: Store, mock_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_suite(tmp_path, 2)
    write_configuration(tmp_path, mock_url)
    with collector() as kept:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", kept.url)
        _, said = started(store, tmp_path, "--detach")
        assert "sent by the workers for which OTEL_EXPORTER_OTLP_ENDPOINT is set" in said
        done = invoke(store.url, "worker", "--drain", cwd=tmp_path)
        assert done.exit_code == 0, done.output
        assert f"OTEL_EXPORTER_OTLP_ENDPOINT -> {kept.url.removeprefix('http://')}" in done.stderr
        assert len({span.span_id for span in kept.spans}) == 2 * 2 + 1


def test_of_the_workers_of_a_run_one_sends_and_another_goes_on_when_it_is_gone(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 1)
    write_configuration(tmp_path, mock_url)
    run_id, _ = started(store, tmp_path, "--detach")
    taken: list[Telemetry] = []

    def send(batch: list[Telemetry]) -> Delivery:
        taken.extend(batch)
        return Delivery.TAKEN

    left = threading.Event()
    left.set()
    with store.connect() as holds, store.connect() as waits:
        holder = CommitSender(run_id, send, left, shared=True)
        assert holder.follow(holds)
        second = CommitSender(run_id, send, threading.Event(), shared=True)
        assert second.follow(waits) is None  # it keeps no connection until it may try again
        assert CommitSender(run_id, send, left, shared=True).follow(waits)  # its worker leaves
        invoke(store.url, "worker", "--drain", "--quiet", cwd=tmp_path)
        assert second.follow(waits) and taken == []  # the first one would send the rest
        holds.close()
        until = time.monotonic() + 10
        while not taken and time.monotonic() < until:  # the server ends the session in a moment
            CommitSender(run_id, send, left, shared=True).follow(waits)
    assert len(taken) == 3 + 2  # spans and events


def test_a_collector_that_is_down_changes_nothing_but_a_warning(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 2)
    write_configuration(tmp_path, mock_url)
    run_id, said = started(store, tmp_path, "--otlp", "http://127.0.0.1:9")
    assert "not all telemetry reached http://127.0.0.1:9: nothing answers there" in said
    with store.connect() as connection:
        number = read_run(connection, run_id).started.run_number
    assert f"`failproof-es export {number} --shape otel --with endpoint=http://127.0.0.1:9" in said


@pytest.mark.parametrize("dead", ["http://127.0.0.1:9", "http://nowhere.invalid", "http://hangs"])
def test_a_dead_collector_is_found_out_in_half_a_second(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, dead: str
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    if dead == "http://hangs":
        over = threading.Event()

        def hang(*_: object) -> NoReturn:
            over.wait(60)
            raise OSError("nobody waits any more")

        monkeypatch.setattr("failproof_es.exports.otel.beside.create_connection", hang)
        request.addfinalizer(over.set)
    before = time.monotonic()
    assert not is_reachable(dead)
    assert time.monotonic() - before < 0.9


def test_a_collector_behind_a_proxy_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert is_reachable("http://nowhere.invalid")


def test_a_collector_that_never_answered_gets_no_time_at_the_end(
    finished: tuple[psycopg.Connection[Any], UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, run_id = finished
    monkeypatch.setattr("failproof_es.exports.otel.follow.SILENT_S", 0.05)
    ended = threading.Event()
    ended.set()
    silent = CommitSender(run_id, lambda _: Delivery.SILENT, ended, left_s=60)
    assert not silent.follow(connection) and silent.is_silent()
    answers = iter([Delivery.SILENT, Delivery.AGAIN])
    recovered = CommitSender(run_id, lambda _: next(answers, Delivery.TAKEN), ended, left_s=60)
    monkeypatch.setattr("failproof_es.exports.otel.follow.SILENT_S", 60)
    assert recovered.follow(connection) and not recovered.is_silent()


def test_what_was_not_taken_is_sent_again_and_nothing_twice_after_it_was(
    finished: tuple[psycopg.Connection[Any], UUID],
) -> None:
    connection, run_id = finished
    taken: list[Telemetry] = []
    answers = iter([Delivery.AGAIN, Delivery.AGAIN, Delivery.TAKEN, Delivery.TAKEN])
    ended = threading.Event()
    ended.set()

    def send(batch: list[Telemetry]) -> Delivery:
        if (delivery := next(answers)) is Delivery.TAKEN:
            taken.extend(batch)
        return delivery

    assert CommitSender(run_id, send, ended, left_s=5).follow(connection)
    refused = CommitSender(run_id, lambda _: Delivery.AGAIN, ended, left_s=0)
    assert not refused.follow(connection)
    (requests,) = connection.execute(
        "SELECT count(*) FROM failproof.stored_events WHERE run_id = %s AND topic = %s",
        (run_id, RequestSent.__name__),
    ).fetchone() or (0,)
    spans = [each for each in taken if isinstance(each, Span)]
    assert len(spans) == len({each.span_id for each in spans}) == requests + 3 + 1


def test_one_that_the_collector_never_takes_is_left_out_and_counted(
    finished: tuple[psycopg.Connection[Any], UUID],
) -> None:
    connection, run_id = finished
    taken: list[Telemetry] = []
    ended = threading.Event()
    ended.set()

    def send(batch: list[Telemetry]) -> Delivery:
        if any(isinstance(each, Span) and each.name.startswith("run ") for each in batch):
            return Delivery.REFUSED
        taken.extend(batch)
        return Delivery.TAKEN

    following = CommitSender(run_id, send, ended, left_s=5)
    assert following.follow(connection)
    refuses_everything = CommitSender(run_id, lambda _: Delivery.REFUSED, ended, left_s=0.3)
    assert not refuses_everything.follow(connection)
    assert following.refused == 1 and len(taken) == 3 * (2 + 2)
    assert refuses_everything.refused == 8  # the rest waits until it is over


def test_the_environment_names_a_collector_and_what_that_rejects_is_told_after_the_run(
    store: Store, mock_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=s3cret")
    write_suite(tmp_path, 1)
    write_configuration(tmp_path, mock_url)
    with collector(rejects=1) as kept:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", kept.url)
        _, said = started(store, tmp_path)
        assert len({span.span_id for span in kept.spans}) == 2 + 1
    assert f"OTEL_EXPORTER_OTLP_ENDPOINT -> {kept.url.removeprefix('http://')}" in said
    assert "it rejected" in said and "over the\\x1b quota" in said
    assert {each["api-key"] for each in kept.headers} == {"s3cret"} and "s3cret" not in said


def test_bad_arguments_are_refused_before_anything_is_sent(store: Store, tmp_path: Path) -> None:
    for arguments, told in (
        (("--otlp", "nowhere"), "[invalid-url]"),
        (("--otel-content",), "--otlp"),
        (("--otlp", "http://localhost:4318", "--detach"), "--detach"),
    ):
        done = invoke(store.url, "start", "run.yaml", *arguments, cwd=tmp_path)
        assert done.exit_code == 2 and told in done.stderr
