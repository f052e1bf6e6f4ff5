"""One event, its stream and the ledger: what they show is what the log and its tree hold."""

from __future__ import annotations

import base64
import csv
import io
import json
from hashlib import sha256
from uuid import UUID

import httpx
import psycopg
import pytest

from failproof_es.assurance.event_proof import prove_event
from failproof_es.ledger import checkpoint, note
from failproof_es.ledger.leaf import leaf_hash
from failproof_es.ledger.merkle import verify_inclusion
from tests.integration.console.test_pages import Text

ANSWER = (
    "SELECT notification_id, originator_id, originator_version, topic, state "
    "FROM failproof.stored_events WHERE topic = 'ResponseReceived' ORDER BY notification_id LIMIT 1"
)


@pytest.fixture(scope="session")
def answer(console_log: str) -> tuple[int, UUID, int, str, bytes]:
    """The first recorded answer, as its row has it."""
    with psycopg.connect(console_log) as connection:
        row = connection.execute(ANSWER).fetchone()
    assert row is not None
    return row


@pytest.mark.slow
def test_an_event_is_shown_exactly_as_it_is_stored(
    client: httpx.Client, answer: tuple[int, UUID, int, str, bytes]
) -> None:
    position, stream, version, topic, state = answer
    page = client.get(f"/events/{position}.json").json()
    assert page["payload"]["text"].encode() == state
    assert page["payload"]["sha256"] == sha256(state).hexdigest()
    event = page["event"]
    assert (event["stream_id"], event["version"], event["topic"], event["bytes"]) == (
        str(stream), version, topic, len(state),
    )  # fmt: skip
    assert state.decode() in client.get(f"/events/{position}").text.replace("&#34;", '"')


def test_the_proof_of_an_event_leads_from_its_bytes_to_the_signed_root(
    client: httpx.Client, answer: tuple[int, UUID, int, str, bytes]
) -> None:
    position, stream, version, topic, state = answer
    proof = client.get(f"/events/{position}.json").json()["proof"]
    assert proof["holds"] is True
    leaf = leaf_hash(stream.bytes, version, topic.encode(), state)
    assert proof["leaf"] == leaf.hex()
    signed = checkpoint.parse(note.parse(proof["checkpoint"]).text)
    assert (signed.size, signed.root.hex()) == (proof["tree_size"], proof["root"])
    path = [bytes.fromhex(each) for each in proof["path"]]
    verify_inclusion(leaf, proof["index"], signed.size, path, signed.root)
    assert len(path) > 5


def test_what_was_changed_is_not_proven(
    console_log: str, answer: tuple[int, UUID, int, str, bytes]
) -> None:
    position, stream, version, topic, state = answer
    changed = (
        (position, stream, version, topic, state.replace(b"You", b"Yes")),
        (position, stream, version + 1, topic, state),
        (position, stream, version, "Scored", state),
        (position + 1, stream, version, topic, state),
        (0, stream, version, topic, state),
    )
    with psycopg.connect(console_log) as connection:
        assert prove_event(connection, *answer).holds is True
        for row in changed:
            assert not prove_event(connection, *row).holds, row[:4]
        newest = connection.execute(
            "SELECT max(notification_id) FROM failproof.stored_events"
        ).fetchone()
        assert newest is not None
        later = prove_event(connection, newest[0] + 1, stream, version, topic, state)
        assert later.holds is None and "ledger checkpoint" in later.says


def test_neighbours_lead_through_the_stream_and_the_log(
    client: httpx.Client, console_log: str, answer: tuple[int, UUID, int, str, bytes]
) -> None:
    position, stream, *_ = answer
    page = client.get(f"/events/{position}.json").json()
    with psycopg.connect(console_log) as connection:
        of_stream = connection.execute(
            "SELECT notification_id, topic FROM failproof.stored_events "
            "WHERE originator_id = %s ORDER BY originator_version",
            (stream,),
        ).fetchall()
        of_log = connection.execute(
            "SELECT notification_id FROM failproof.stored_events ORDER BY notification_id"
        ).fetchall()
    at = [each for each, _ in of_stream].index(position)
    beside = (page["previous_in_stream"], page["next_in_stream"])
    assert [each["position"] for each in beside] == [of_stream[at - 1][0], of_stream[at + 1][0]]
    place = of_log.index((position,))
    log = (page["previous_in_log"], page["next_in_log"])
    assert [(each["position"],) for each in log] == [of_log[place - 1], of_log[place + 1]]
    assert sum(page["topics"].values()) == len(of_stream)
    only = client.get(f"/events/{position}.json?topic=Scored").json()
    scored = [each for each, topic in of_stream if topic == "Scored"]
    assert only["previous_in_stream"] is None
    assert only["next_in_stream"]["position"] == scored[0]
    assert (
        f'href="/events/{scored[0]}?topic=Scored"'
        in client.get(f"/events/{position}?topic=Scored").text
    )


def test_a_stream_is_listed_in_order_by_type_and_page_by_page(
    client: httpx.Client, answer: tuple[int, UUID, int, str, bytes]
) -> None:
    stream = answer[1]
    page = client.get(f"/streams/{stream}.json").json()
    assert [each["version"] for each in page["rows"]] == list(range(1, len(page["rows"]) + 1))
    assert page["kind"] == "evaluation" and page["run_number"] == 1
    sent = client.get(f"/streams/{stream}.json?topic=RequestSent").json()
    assert {each["topic"] for each in sent["rows"]} == {"RequestSent"}
    assert sent["paging"]["matching"] == page["topics"]["RequestSent"]
    assert (
        "hidden by this filter"
        in Text(client.get(f"/streams/{stream}?topic=RequestSent").text).text
    )
    seen, url = [], f"/streams/{stream}.json?limit=2"
    while True:
        found = client.get(url).json()
        seen += [each["version"] for each in found["rows"]]
        if found["paging"]["next"] is None:
            break
        url = f"/streams/{stream}.json?limit=2&after={found['paging']['next']}"
    assert seen == [each["version"] for each in page["rows"]]
    lines = client.get(f"/streams/{stream}.jsonl").text.splitlines()
    assert [json.loads(each)["position"] for each in lines] == [
        each["position"] for each in page["rows"]
    ]
    rows = list(csv.DictReader(io.StringIO(client.get(f"/streams/{stream}.csv").text)))
    assert [int(each["version"]) for each in rows] == seen


def test_the_ledger_says_how_far_the_log_is_signed(client: httpx.Client, console_log: str) -> None:
    page = client.get("/ledger.json").json()
    with psycopg.connect(console_log) as connection:
        row = connection.execute(
            "SELECT count(*), (SELECT count(*) FROM failproof.checkpoint_list), "
            "(SELECT max(tree_size) FROM failproof.checkpoint_list) FROM failproof.stored_events"
        ).fetchone()
    assert row is not None
    events, checkpoints, signed = row
    ledger = page["ledger"]
    assert page["events"] == events
    assert (ledger["signed"], page["not_signed"]) == (signed, events - signed)
    assert len(ledger["checkpoints"]) == checkpoints
    newest = checkpoint.parse(note.parse(ledger["checkpoints"][0]["note"]).text)
    if ledger["tree_size"] == newest.size:
        assert base64.b64encode(newest.root) == base64.b64encode(bytes.fromhex(ledger["root"]))
    text = Text(client.get("/ledger").text).text
    assert "failproof-es verify" in text and ledger["origin"] in text
    older = client.get("/ledger.json?limit=1").json()["ledger"]
    rest = client.get(f"/ledger.json?limit=1&after={older['next_checkpoint']}").json()["ledger"]
    assert rest["checkpoints"] == ledger["checkpoints"][1:2]


@pytest.mark.parametrize(
    "path",
    [
        "/events/0", "/events/-1", "/events/99999999", "/events/9223372036854775808",
        "/events/1" + "0" * 80, "/events/x", "/events/%00", "/events/1e3", "/events/%C2%B2",
        "/streams/x", "/streams/00000000-0000-0000-0000-000000000000", "/streams/%00",
    ],
)  # fmt: skip
def test_what_is_not_there_is_said_to_be_not_there(client: httpx.Client, path: str) -> None:
    found = client.get(path)
    assert found.status_code in (400, 404)
    assert "Traceback" not in found.text


@pytest.mark.parametrize("query", ["topic=" + "x" * 201, "other=1", "topic=a&topic=b"])
def test_a_bad_parameter_is_named(client: httpx.Client, query: str) -> None:
    assert client.get(f"/events/1?{query}").status_code == 422
    assert client.get("/ledger?after=x").status_code == 422
    assert client.get("/ledger?after=999999999999999999999").status_code == 422


def test_a_topic_that_the_stream_lacks_is_an_empty_list_that_says_so(
    client: httpx.Client, answer: tuple[int, UUID, int, str, bytes]
) -> None:
    for topic in ("Nothing", "%3Cscript%3E", "%00"):
        found = client.get(f"/streams/{answer[1]}?topic={topic}")
        assert found.status_code == 200, topic
        assert "hidden by this filter" in found.text
        assert client.get(f"/events/{answer[0]}?topic={topic}").status_code == 200
        assert "<script>" not in found.text
