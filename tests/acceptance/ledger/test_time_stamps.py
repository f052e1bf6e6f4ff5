"""Checkpoints that an authority of others stamped with the time (RFC 3161)."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import rfc3161_client
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from failproof_es.assurance.signing import time_stamping
from failproof_es.ledger.note import Note
from failproof_es.ledger.time_stamp import time_stamp_line
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite
from tests.time_stamping_authority import Authority, refusal, served

Does = Callable[..., str]


@pytest.fixture
def does(store: Store, mock_url: str, tmp_path: Path) -> Does:
    """Runs a command beside a log with one run; returns what it printed."""

    def do(*arguments: object, code: int = 0) -> str:
        done = invoke(store.url, *arguments, cwd=tmp_path)
        assert done.exit_code == code, (arguments, done.output)
        return done.output

    write_suite(tmp_path, 2)
    write_configuration(tmp_path, mock_url)
    do("start", "run.yaml", "--quiet")
    do("ledger", "key", "-o", "log.pub")
    return do


def test_evidence_and_log_existed_at_the_time_that_an_authority_states(
    does: Does, tmp_path: Path
) -> None:
    authority, other = Authority(), Authority()
    (tmp_path / "root.pem").write_bytes(authority.root)
    (tmp_path / "other.pem").write_bytes(other.root)
    with served(lambda request: (200, authority.response(request))) as url:
        signed = does("ledger", "checkpoint", "--time-stamp", url)
    size = signed.splitlines()[1]
    does("start", "run.yaml", "--quiet")  # signs once more
    export = ("evidence", "export", "1", "--checkpoint", size)
    does(*export, "-o", "run.evidence")
    does(*export, "--format", "tlog-proof", "-o", "run.tlog")
    for file in ("run.evidence", "run.tlog"):
        verify = ("evidence", "verify", file, "--key", "log.pub", "--time-stamp-root")
        assert "time-stamped at 20" in does(*verify, "root.pem")
        assert "NOT genuine: 127.0.0.1:" in does(*verify, "other.pem", code=1)
    told = does("verify", "--key", "log.pub", "--time-stamp-root", "root.pem")
    assert f"the tree of {size} events: time-stamped at" in told and "CN=stamps.example" in told
    facts = json.loads(does("verify", "--time-stamp-root", "root.pem", "--json"))
    assert facts["time_stamped"]["tree_size"] == int(size)
    assert "no checkpoint" in does("verify", "--time-stamp-root", "other.pem", code=3)

    # A program of others, on what the line holds: the text of the note, and a response.
    text, _, lines = signed.rpartition("\n\n")
    line = next(line for line in lines.splitlines() if line.startswith("— 127.0.0.1:"))
    response = rfc3161_client.decode_timestamp_response(base64.b64decode(line.split(" ")[2])[4:])
    roots = x509.load_pem_x509_certificates(authority.root)
    verifier = rfc3161_client.VerifierBuilder(roots=roots).build()
    assert verifier.verify_message(response, f"{text}\n".encode())
    with pytest.raises(rfc3161_client.VerificationError):
        verifier.verify_message(response, f"{text}0\n".encode())


def test_a_byte_that_was_changed_in_it_is_no_time_stamp(does: Does, tmp_path: Path) -> None:
    authority = Authority()
    (tmp_path / "root.pem").write_bytes(authority.root)
    with served(lambda request: (200, authority.response(request))) as url:
        signed = does("ledger", "checkpoint", "--time-stamp", url)
    does("evidence", "export", "1", "--no-checkpoint", "-o", "run.evidence")
    lines = (tmp_path / "run.evidence").read_bytes().splitlines(keepends=True)
    stamp = signed.splitlines()[-1]
    content = base64.b64decode(stamp.split(" ")[2])
    verify = ("evidence", "verify", "run.evidence", "--key", "log.pub")
    for at in range(0, len(content), 97):
        damaged = bytearray(content)
        damaged[at] ^= 1
        name = stamp.split(" ")[1]
        changed = f"— {name} {base64.b64encode(damaged).decode()}"
        document = json.loads(lines[3])
        document["checkpoint"] = document["checkpoint"].replace(stamp, changed)
        line = json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n"
        body = b"".join([*lines[:3], line, *lines[4:-1]])
        last = json.dumps({"sha256": hashlib.sha256(body).hexdigest()}, separators=(",", ":"))
        (tmp_path / "run.evidence").write_bytes(body + last.encode() + b"\n")
        does(*verify, "--time-stamp-root", "root.pem", code=1)
        does(*verify)  # without it the line is one of a key that is unknown


def other_text(request: bytes) -> bytes:
    imprint = {"hash_algorithm": {"algorithm": "sha256"}, "hashed_message": b"\x01" * 32}
    return Authority().response(request, message_imprint=imprint)


def days(number: int) -> datetime:
    return datetime.now(UTC).replace(microsecond=0) + timedelta(days=number)


FAULTS: dict[str, tuple[Callable[[bytes], tuple[int, bytes]], str]] = {
    "a refusal": (lambda request: (200, refusal()), "refuses, with status 2 not today"),
    "no response": (lambda request: (200, b"<html>"), "no response of RFC 3161"),
    "nothing": (lambda request: (200, b""), "no response of RFC 3161"),
    "a fault": (lambda request: (500, b"it broke\n"), "HTTP 500: it broke"),
    "too much": (lambda request: (200, b"0" * 70_000), "longer than 65536 bytes"),
    "another text": (lambda request: (200, other_text(request)), "of another text"),
    "another nonce": (
        lambda request: (200, Authority().response(request, nonce=7)),
        "answers another request",
    ),
    "a time to come": (
        lambda request: (200, Authority().response(request, gen_time=days(5))),
        "more than a day from that of this host",
    ),
    "a time long ago": (
        lambda request: (200, Authority().response(request, gen_time=days(-5))),
        "more than a day from that of this host",
    ),
    "no nonce": (
        lambda request: (200, Authority().response(request, nonce=None)),
        "answers another request",
    ),
}


@pytest.mark.parametrize("what", FAULTS)
def test_what_is_no_time_stamp_is_not_recorded(what: str, does: Does) -> None:
    answer, why = FAULTS[what]
    with served(answer) as url:
        told = does("ledger", "checkpoint", "--time-stamp", url, code=3)
    assert "/stamp did not stamp the checkpoint: " in told and why in told
    assert "/stamp " not in does("ledger", "checkpoint")


def test_a_silent_authority_holds_nobody_up(does: Does, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_stamping, "TIMEOUT_S", 0.3)
    silent = threading.Event()
    with served(lambda request: (silent.wait(30), (200, b""))[1]) as url:
        told = does("ledger", "checkpoint", "--time-stamp", url, code=3)
        silent.set()
    assert "no answer within 0.3 s" in told


def test_a_certificate_for_something_else_stamps_nothing(does: Does, tmp_path: Path) -> None:
    authority = Authority(ExtendedKeyUsageOID.SERVER_AUTH)
    (tmp_path / "root.pem").write_bytes(authority.root)
    with served(lambda request: (200, authority.response(request))) as url:
        does("ledger", "checkpoint", "--time-stamp", url)
    assert "no checkpoint" in does("verify", "--time-stamp-root", "root.pem", code=3)


def test_the_earliest_stamp_of_an_authority_stays(does: Does) -> None:
    authority = Authority()
    with served(lambda request: (200, authority.response(request))) as url:
        first = does("ledger", "checkpoint", "--time-stamp", url)
        again = does("ledger", "checkpoint", "--time-stamp", url)
    assert first == again


def test_more_stamps_than_a_checkpoint_holds_cost_none_of_those_before(does: Does) -> None:
    """Twelve responses of 60 KB are not one note of 512 KiB."""
    authority = Authority()

    def answer(request: bytes) -> tuple[int, bytes]:
        return 200, authority.response(request, padding=48_000)

    with served(answer) as url:
        urls = [word for n in range(12) for word in ("--time-stamp", f"{url}/{n}")]
        told = does("ledger", "checkpoint", *urls, code=3)
    assert "more than 524,288 bytes" in told
    assert does("ledger", "checkpoint", "--time-stamp", f"{url}/0").count("/stamp/") > 5


def test_one_authority_that_fails_costs_no_other_its_stamp(does: Does) -> None:
    authority = Authority()
    with (
        served(lambda request: (200, authority.response(request))) as good,
        served(lambda request: (200, Authority().response(request, content="data"))) as bad,
    ):
        told = does("ledger", "checkpoint", "--time-stamp", good, "--time-stamp", bad, code=3)
    assert "its token cannot be read" in told
    assert f"— {good.removeprefix('http://')} " in told


def test_a_file_without_a_certificate_is_refused(does: Does, tmp_path: Path) -> None:
    (tmp_path / "root.pem").write_text("hello")
    told = does("verify", "--time-stamp-root", "root.pem", code=2)
    assert "invalid-certificate" in told


def test_a_registered_plan_is_stamped(does: Does, tmp_path: Path) -> None:
    authority = Authority()
    (tmp_path / "root.pem").write_bytes(authority.root)
    with served(lambda request: (200, authority.response(request))) as url:
        does("register", "run.yaml", "--time-stamp", url, "-o", "plan.tlog-proof")
    verify = ("evidence", "verify", "plan.tlog-proof", "--key", "log.pub")
    told = does(*verify, "--time-stamp-root", "root.pem")
    assert "PlanRegistered" in told and "time-stamped at" in told


@pytest.mark.parametrize(
    "url", ["", "http://[", "ftp://127.0.0.1/x", "http://127.0.0.1:99999/", "x y"]
)
def test_what_is_no_address_is_told(url: str, does: Does) -> None:
    told = does("ledger", "checkpoint", "--time-stamp", url, code=3)
    assert "did not stamp the checkpoint" in told


def test_two_authorities_of_one_host_are_two(does: Does, tmp_path: Path) -> None:
    one, two = Authority(), Authority()
    (tmp_path / "one.pem").write_bytes(one.root)
    (tmp_path / "two.pem").write_bytes(two.root)
    with (
        served(lambda request: (200, one.response(request))) as first,
        served(lambda request: (200, two.response(request))) as second,
    ):
        secret = second.replace("http://", "http://user:hunter2@") + "+plus?key=hunter2"
        does("ledger", "checkpoint", "--time-stamp", first, "--time-stamp", secret)
    for root in ("one.pem", "two.pem"):
        does("verify", "--time-stamp-root", root)
    assert "hunter2" not in does("ledger", "checkpoint")


def test_no_bytes_make_the_verifier_fail() -> None:
    """Whatever a line holds: it counts, or the reason that it does not is one sentence."""
    authority = Authority()
    text = "failproof-es/log\n1\nAAAA\n"
    request = (
        rfc3161_client.TimestampRequestBuilder()
        .data(text.encode())
        .hash_algorithm(rfc3161_client.HashAlgorithm.SHA256)
    )
    response = authority.response(request.build().as_bytes())
    roots = x509.load_pem_x509_certificates(authority.root)
    assert time_stamping.verify_time_stamps(note_of(text, response), roots)
    generator = random.Random(7)
    for _ in range(400):
        damaged = bytearray(response)
        for _ in range(generator.randint(1, 3)):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        cut = generator.randrange(1, len(damaged)) if generator.random() < 0.3 else len(damaged)
        with suppress(time_stamping.NotStamped):
            time_stamping.verify_time_stamps(note_of(text, bytes(damaged[:cut])), roots)


def note_of(text: str, response: bytes) -> Note:
    return Note(text, (time_stamp_line("stamps.example", response),))
