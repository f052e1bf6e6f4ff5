"""Long conversations: what is recorded of their requests, and who reads those whole."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import orjson
import psycopg
import pytest
from psycopg.rows import TupleRow

from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema.installation import AUDITOR, WRITER
from failproof_es.store.store import Store
from tests.acceptance.attacks.conftest import tamper
from tests.acceptance.attacks.statements import FORGED
from tests.acceptance.commands import begin, invoke, kill_group, mock_server
from tests.conftest import (
    as_administrator,
    create_database,
    database_url_as,
    drop_database,
    home_of,
)
from tests.console import console, settings_for

pytestmark = pytest.mark.slow
FEW, MANY = 12, 24
"""The turns of two conversations. Each turn says about a kilobyte, and so does each answer."""
CHANGED = 16
"""The turn that somebody changes."""
JUDGES = ("judge", "judge-two")
SHOWN = {"accept": "application/json"}
ALTERED = "a request's body is not what its digest says"


def write_run(folder: Path, url: str, *turns: int) -> None:
    """One conversation for each number of turns."""
    cases = [
        {
            "id": f"RT-{number:03}", "title": "Long", "category": "Safety/Policy", "tags": [],
            "severity_expectation": "S1",
            "turns": [
                {"role": "user", "content": f"Turn {turn}: " + "Grüße, 你好 \0 \\u0000. " * 40}
                for turn in range(number)
            ],
            "expected_behavior": {
                "must_do": ["Repeats."], "must_not_do": ["Does not."], "pass_criteria": ["Polite."],
            },
        }
        for number in turns
    ]  # fmt: skip
    (folder / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    model = {"provider": "openai", "base_url": url}
    configuration = {
        "test_run": {"name": "long"},
        "models": [{**model, "model": "talker"}],
        "judges": [{**model, "model": name} for name in JUDGES],
        "prompts": {"path": "suite.jsonl"},
        "execution": {"parallel_workers": 2, "retry_delay_ms": 10},
    }
    (folder / "run.yaml").write_bytes(orjson.dumps(configuration))


def rows(url: str, query: str, *values: Any) -> list[TupleRow]:
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        return connection.execute(query.encode(), values).fetchall()


def as_auditor(url: str) -> str:
    return url.replace(f"//{WRITER}@", f"//{AUDITOR}@")


def sent(url: str) -> list[TupleRow]:
    """Stream, position, body, digest and whether that is as sent: of every request, in order."""
    return rows(
        as_auditor(url),
        "SELECT stream_id, position, body, body_sha256, is_as_sent, purpose "
        "FROM failproof.sent_requests ORDER BY position",
    )


def longest(url: str) -> str:
    """The stream of the conversation of `MANY` turns."""
    [[stream]] = rows(
        url,
        "SELECT originator_id FROM failproof.stored_events WHERE topic = 'RequestSent' "
        "GROUP BY 1 ORDER BY count(*) DESC LIMIT 1",
    )
    return str(stream)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("long")


@pytest.fixture(scope="module")
def log(
    postgres_server: EmbeddedServer, migrated_database: str, folder: Path
) -> Iterator[tuple[str, str]]:
    """The name and the URL of a database with both conversations, for tests that add nothing."""
    name = f"long_{uuid4().hex}"
    create_database(postgres_server, name, migrated_database)
    url = database_url_as(postgres_server, name, WRITER)
    with mock_server(0, "tests.servers.judging_server") as server, home_of(folder):
        write_run(folder, server, FEW, MANY)
        done = invoke(url, "start", "run.yaml", "--quiet", cwd=folder)
    assert done.exit_code == 0, done.output
    yield name, url
    drop_database(postgres_server, name)


@pytest.fixture
def tampered(postgres_server: EmbeddedServer, log: tuple[str, str], folder: Path) -> Iterator[str]:
    """A copy in which a superuser changed one turn in the middle of the longer conversation."""
    name = f"tampered_{uuid4().hex}"
    create_database(postgres_server, name, log[0])
    url = database_url_as(postgres_server, name, WRITER)
    state = FORGED.format(f"'Turn {CHANGED}: Gr'", f"'Turn {CHANGED}: gr'")
    with closing(psycopg.connect(as_administrator(url), autocommit=True)) as superuser:
        tamper(
            superuser,
            f"UPDATE failproof.events SET state = {state} "
            f"WHERE topic = 'RequestSent' AND originator_id = '{longest(url)}' "
            f"AND convert_from(state, 'UTF8') LIKE '%\"turn\":{CHANGED},%'",
        )
    with home_of(folder):
        yield url
    drop_database(postgres_server, name)


@pytest.mark.wide
def test_twice_the_turns_record_twice_the_bytes(log: tuple[str, str]) -> None:
    few, many = sorted(
        rows(
            log[1],
            "SELECT sum(length(state))::int, (SELECT sum(length(body))::int "
            "FROM failproof.sent_requests s WHERE s.stream_id = e.originator_id) "
            "FROM failproof.stored_events e WHERE topic = 'RequestSent' GROUP BY originator_id",
        )
    )
    assert many[0] < 2.2 * few[0]
    assert many[1] > 3.5 * few[1], "as sent it is a square"
    assert many[0] < many[1] / 8


def test_auditors_read_each_body_whole(log: tuple[str, str]) -> None:
    requests = sent(log[1])
    assert len(requests) == FEW + MANY + 2 * len(JUDGES)
    assert {request[4] for request in requests} == {True}
    for _, _, body, digest, _, _ in requests:
        assert hashlib.sha256(body.encode()).hexdigest() == digest
    spoken = [
        [turn["content"] for turn in orjson.loads(body)["messages"]]
        for stream, _, body, _, _, purpose in requests
        if str(stream) == longest(log[1]) and purpose == "target"
    ]
    assert [len(messages) for messages in spoken] == [2 * turn + 1 for turn in range(MANY)]
    for before, after in pairwise(spoken):
        assert after[: len(before)] == before


def test_requests_prints_each_body_whole_also_from_the_middle_of_a_conversation(
    log: tuple[str, str], folder: Path
) -> None:
    whole = {position: body for _, position, body, *_ in sent(log[1])}
    with home_of(folder):
        done = invoke(log[1], "requests", "1", "--json", cwd=folder)
    printed = [orjson.loads(line) for line in done.stdout.splitlines()]
    assert {each["position"]: each["body"] for each in printed} == whole
    assert {each["is_as_sent"] for each in printed} == {True}
    for name in (f"RT-{FEW:03}", f"suite/RT-{FEW:03}"):
        with home_of(folder):
            done = invoke(log[1], "requests", "1", "--json", f"--case={name}", cwd=folder)
        chosen = [orjson.loads(line) for line in done.stdout.splitlines()]
        assert chosen == [request for request in printed if request["case"] == f"suite/RT-{FEW:03}"]
        assert len(chosen) == FEW + len(JUDGES)
    since = printed[len(printed) // 2]["recorded_at"]
    with home_of(folder):
        done = invoke(log[1], "requests", "--since", since, "--json", cwd=folder)
    later = [orjson.loads(line) for line in done.stdout.splitlines()]
    assert 0 < len(later) < len(printed)
    assert all(each["body"] == whole[each["position"]] for each in later)


def test_the_console_shows_each_body_whole(log: tuple[str, str]) -> None:
    stream = longest(log[1])
    whole = {position: body for of, position, body, *_ in sent(log[1]) if str(of) == stream}
    with console(**settings_for(log[1])) as url, httpx.Client(base_url=url, timeout=60) as client:
        page = client.get(f"/evaluations/{stream}.json").raise_for_status().json()
        requests = [attempt["request"] for attempt in page["attempts"]]
        assert [request["position"] for request in requests] == list(whole)
        assert {request["problem"] for request in requests} == {None}
        for request in (requests[0], requests[MANY // 2], requests[-1]):
            body = whole[request["position"]]
            assert body.startswith(request["raw"]["pieces"][0]["text"])
            text = client.get(f"/evaluations/{stream}/texts/body-{request['position']}")
            assert text.raise_for_status().content == body.encode()


def test_replay_evidence_and_its_verification_agree(log: tuple[str, str], folder: Path) -> None:
    with home_of(folder):
        for arguments in (
            ("replay", "1"),
            ("show", "1"),
            ("verify", "1"),
            ("evidence", "export", "1", "-o", "run.evidence"),
            ("ledger", "key", "-o", "log.pub"),
            ("evidence", "verify", "run.evidence", "--key", "log.pub", "--replay"),
        ):
            done = invoke(log[1], *arguments, cwd=folder)
            assert done.exit_code == 0, (arguments, done.output)


def test_a_changed_turn_is_said_by_everybody_who_reads_it(tampered: str, folder: Path) -> None:
    stream = longest(tampered)
    later = [
        is_as_sent
        for of, _, _, _, is_as_sent, purpose in sent(tampered)
        if str(of) == stream and purpose == "target"
    ]
    assert later == [True] * CHANGED + [False] * (MANY - CHANGED)

    verified = invoke(tampered, "verify", cwd=folder)
    assert verified.exit_code == 1
    replayed = invoke(tampered, "replay", "1", "--format", "jsonl", cwd=folder)
    assert replayed.exit_code == 1
    assert ALTERED in replayed.output
    with console(**settings_for(tampered)) as url:
        page = httpx.get(f"{url}/evaluations/{stream}.json", timeout=60).json()
    problems = [attempt["request"]["problem"] for attempt in page["attempts"]]
    assert problems[:MANY] == [None] * CHANGED + [ALTERED] * (MANY - CHANGED)


def test_a_run_that_was_killed_continues_its_conversation(store: Store, tmp_path: Path) -> None:
    with mock_server(60, "tests.servers.judging_server") as server:
        write_run(tmp_path, server, FEW)
        process = begin(store.url, "start", "run.yaml", cwd=tmp_path)
        answers = "SELECT count(*) FROM failproof.stored_events WHERE topic = 'ResponseReceived'"
        deadline = time.monotonic() + 60
        while rows(store.url, answers)[0][0] < FEW // 2:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        kill_group(process)
        resumed = invoke(store.url, "resume", "1", cwd=tmp_path)
    assert resumed.exit_code == 0, resumed.output
    assert {request[4] for request in sent(store.url)} == {True}
    whole = rows(
        store.url,
        "SELECT (payload ->> 'turn')::int FROM failproof.readable_log "
        "WHERE event_type = 'RequestSent' AND payload ->> 'purpose' = 'target' "
        "AND json_typeof(payload -> 'continues') = 'null'",
    )
    assert max(turn for (turn,) in whole) < 4, "the first ones alone are whole"
    for arguments in (("verify", "1"), ("replay", "1")):
        done = invoke(store.url, *arguments, cwd=tmp_path)
        assert done.exit_code == 0, done.output
