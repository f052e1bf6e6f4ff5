"""A witness over HTTP (C2SP tlog-witness): every answer of the protocol, and what must not be."""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from failproof_es.assurance.signing.witness import MOST_BYTES, CosignRequest, Witness
from failproof_es.console import witness_server
from failproof_es.console.witness_server import make_witness_server
from failproof_es.ledger import note
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.note import COSIGNATURE, ML_DSA_COSIGNATURE, Note, SigningKey
from tests.every import every
from tests.unit.ledger import naive

LOG = SigningKey.generate("log.example")
OWN = SigningKey.generate("witness.example", COSIGNATURE)
STRANGER = SigningKey.generate("stranger.example")
LEAVES = [str(n).encode() for n in range(40)]
OTHER_LEAVES = [*LEAVES[:3], b"changed", *LEAVES[4:]]


def signed(size: int, leaves: list[bytes] = LEAVES, key: SigningKey = LOG) -> Note:
    """The log's checkpoint of its first leaves."""
    return Checkpoint(key.name, size, naive.root(leaves[:size])).signed(key)


def request(old: int, size: int, leaves: list[bytes] = LEAVES) -> str:
    """The request that a log of these leaves makes."""
    proof = naive.consistency_path(old, leaves[:size]) if 0 < old < size else ()
    return str(CosignRequest(old, tuple(proof), signed(size, leaves)))


@pytest.fixture(params=[COSIGNATURE, ML_DSA_COSIGNATURE], ids=["ed25519", "ml-dsa"])
def witness(request: pytest.FixtureRequest, tmp_path: Path) -> Witness:
    """A witness that knows the log and saw nothing of it."""
    own = SigningKey.generate("witness.example", request.param)
    return Witness(own, {LOG.name: LOG.public}, tmp_path)


def ask(witness: Witness, content: str, at: int = 1_700_000_000) -> tuple[int, str]:
    """The status and the text of the reply."""
    reply = witness.add_checkpoint(content.encode(), at)
    return reply.status, reply.content


def test_it_cosigns_what_continues_what_it_saw(witness: Witness) -> None:
    for old, size in ((0, 5), (5, 5), (5, 8), (8, 33), (33, 40)):
        status, lines = ask(witness, request(old, size))
        assert status == 200, lines
        cosigned = note.parse(f"{signed(size).text}\n{lines}")
        assert cosigned.verify(witness.own.public) == 1_700_000_000
        kept = witness.kept(hashlib.sha256(LOG.name.encode()).hexdigest())
        held = note.parse(kept.content)
        assert held.text == signed(size).text
        held.verify(LOG.public)
        held.verify(witness.own.public)


def test_it_answers_as_the_protocol_says(witness: Witness) -> None:
    assert ask(witness, request(3, 5)) == (409, "0\n")
    assert ask(witness, request(0, 20))[0] == 200
    cases = [
        (request(0, 21), 409),
        (request(19, 21), 409),
        (request(21, 20), 400),
        (request(20, 30, OTHER_LEAVES), 422),
        (str(CosignRequest(20, (), signed(20, OTHER_LEAVES))), 422),
        (str(CosignRequest(20, (bytes(32),), signed(30))), 422),
        (str(CosignRequest(20, (bytes(32),), signed(20))), 422),
        (str(CosignRequest(20, (), signed(30, key=STRANGER))), 404),
        (str(CosignRequest(20, (bytes(32),) * 64, signed(30))), 400),
        (request(20, 30).replace("old 20", "old 020"), 400),
        (request(20, 30).replace("old 20", "old -1"), 400),
        (request(20, 30).replace("old 20", "old 1" + "0" * 30), 400),
        (str(signed(30)), 400),
        ("", 400),
        ("old 20\n", 400),
    ]
    for content, status in cases:
        assert ask(witness, content)[0] == status, content
    assert ask(witness, request(0, 21)) == (409, "20\n")
    assert witness.add_checkpoint(request(0, 21).encode(), 1).media_type == "text/x.tlog.size"
    assert ask(witness, request(20, 30))[0] == 200, "nothing of all that moved it"


def test_a_forged_or_missing_signature_of_the_log_is_forbidden(witness: Witness) -> None:
    text = signed(5).text
    for forged in (
        note.sign(text, STRANGER.sign(text)),
        note.sign(text, note.Signature(LOG.name, LOG.public.key_id, STRANGER.sign(text).payload)),
        note.sign(text, witness.own.sign(text, at=5)),
    ):
        assert ask(witness, str(CosignRequest(0, (), forged)))[0] == 403
    with_others = signed(5).signed(STRANGER.sign(text))
    assert ask(witness, str(CosignRequest(0, (), with_others)))[0] == 200


def test_an_empty_tree_has_the_empty_root(witness: Witness) -> None:
    wrong = Checkpoint(LOG.name, 0, bytes(32))
    forged = note.sign(wrong.text(), LOG.sign(wrong.text()))
    assert ask(witness, str(CosignRequest(0, (), forged)))[0] == 422
    assert ask(witness, request(0, 0))[0] == 200
    assert ask(witness, str(CosignRequest(0, (bytes(32),), signed(5))))[0] == 422
    assert ask(witness, request(0, 5))[0] == 200


def test_of_two_histories_at_once_it_cosigns_one(witness: Witness) -> None:
    contents = [request(0, 9), request(0, 9, OTHER_LEAVES)] * 8
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda content: ask(witness, content), contents))
    accepted = {
        content for content, reply in zip(contents, replies, strict=True) if reply[0] == 200
    }
    assert len(accepted) == 1


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of such a witness."""
    listening = socket.create_server(("127.0.0.1", 0))
    witness = Witness(OWN, {LOG.name: LOG.public}, tmp_path)
    serving = make_witness_server(witness, "127.0.0.1", listening.getsockname()[1])
    thread = threading.Thread(target=serving.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    serving.should_exit = True
    thread.join()


def test_it_is_served(server: str) -> None:
    address = f"{server}/{hashlib.sha256(LOG.name.encode()).hexdigest()}/checkpoint"
    assert httpx.get(address).status_code == 404
    posted = httpx.post(f"{server}/add-checkpoint", content=request(0, 5))
    assert posted.status_code == 200 and posted.text.startswith("— witness.example ")
    assert httpx.post(f"{server}/add-checkpoint", content=request(0, 9)).text == "5\n"
    assert httpx.get(address).text.startswith(signed(5).text)


@every(
    ("method", "path", "status"),
    [
        ("GET", "/add-checkpoint", 404),
        ("POST", "/", 404),
        ("POST", "/x/add-checkpoint", 404),
        ("GET", "/../checkpoint", 404),
        ("GET", f"/{'0' * 64}/checkpoint", 404),
        ("DELETE", "/add-checkpoint", 404),
    ],
)
def test_other_addresses_are_not_there(server: str, method: str, path: str, status: int) -> None:
    assert httpx.request(method, server + path).status_code == status


def test_a_body_that_is_too_long_or_never_ends_is_refused(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for size, status in ((MOST_BYTES, 400), (MOST_BYTES + 1, 413), (2 * MOST_BYTES, 413)):
        assert httpx.post(f"{server}/add-checkpoint", content=b"x" * size).status_code == status
    monkeypatch.setattr(witness_server, "BODY_S", 0.3)
    host, port = server.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(
            b"POST /add-checkpoint HTTP/1.1\r\nhost: w\r\ncontent-length: 9\r\n\r\nold"
        )
        begun = time.monotonic()
        assert b" 408 " in connection.recv(4096)
        assert time.monotonic() - begun < 5


def test_a_folder_that_cannot_be_used_is_no_cosignature(server: str, tmp_path: Path) -> None:
    place = tmp_path / f"{hashlib.sha256(LOG.name.encode()).hexdigest()}.checkpoint"
    place.write_text("damaged")
    posted = httpx.post(f"{server}/add-checkpoint", content=request(0, 5))
    assert posted.status_code == 500 and "—" not in posted.text
    assert str(tmp_path) not in posted.text
