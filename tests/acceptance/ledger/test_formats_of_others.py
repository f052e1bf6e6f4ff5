"""Proofs in the formats of the field, each verified by a program that is not ours."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cbor2
import click.testing
import psycopg
import pytest
import scitt_cose
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey  # type: ignore[attr-defined]

from failproof_es.ledger.cose_receipt import EVENT_LABEL
from failproof_es.ledger.note import PublicKey
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite
from tests.acceptance.recording import Recording, recorded_once
from tests.every import every
from tests.integration.store.ledger.test_ledger import tamper

Does = Callable[..., click.testing.Result]
ORIGIN_OF_ENTRY = b"failproof-es/event/1\n"


@pytest.fixture(scope="module")
def recording(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    mock_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Recording:
    """A signed log with a run that meets its gate, one that does not, and one without gates."""

    def record(url: str, folder: Path) -> None:
        write_suite(folder, 3, "Say nothing.").rename(folder / "failed.jsonl")
        write_suite(folder, 3)
        gates = {"min_accuracy": 1.0, "max_unscored_rate": 0.0}
        for suite, of_run in (("suite", gates), ("failed", gates), ("suite", {})):
            prompts = {"path": f"{suite}.jsonl", "dialect": "failproof"}
            write_configuration(folder, mock_url, gates=of_run, prompts=prompts)
            done = invoke(url, "start", "run.yaml", "--quiet", cwd=folder)
            assert done.exit_code in (0, 3), done.output
        write_configuration(folder, mock_url, gates=gates)
        options = ("--quiet", "--only", "id:case-00000")
        done = invoke(url, "start", "run.yaml", *options, cwd=folder)
        assert done.exit_code == 0, done.output
        keys = invoke(url, "ledger", "key", "-o", "log.pub", cwd=folder)
        assert keys.exit_code == 0, keys.output

    return recorded_once(postgres_server, migrated_database, tmp_path_factory, record)


@pytest.fixture
def template(recording: Recording) -> str:
    return recording.database


@pytest.fixture
def does(recording: Recording, store: Store, home: Path, tmp_path: Path) -> Does:
    """Carries a command out on a copy of the recording."""
    recording.copy_files(home, tmp_path)

    def do(*arguments: object, code: int = 0) -> click.testing.Result:
        done = invoke(store.url, *arguments, cwd=tmp_path)
        assert done.exit_code == code, (arguments, done.output)
        return done

    return do


def public_key(folder: Path) -> PublicKey:
    """The log's key, as its owner gave it away."""
    return PublicKey.parse((folder / "log.pub").read_text())


def pem(key: PublicKey) -> bytes:
    """The key as other programs read it."""
    return Ed25519PublicKey.from_public_bytes(key.public).public_bytes(
        Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
    )


def entry_of(line: bytes) -> bytes:
    """What the leaf of the event in a line is a hash of (`docs/reference/evidence-format.md`)."""
    event = json.loads(line)
    state = base64.b64decode(event["state"])
    topic = event["topic"].encode()
    return b"".join((
        ORIGIN_OF_ENTRY, bytes.fromhex(event["stream"].replace("-", "")),
        event["version"].to_bytes(8, "big"), len(topic).to_bytes(2, "big"), topic,
        len(state).to_bytes(8, "big"), hashlib.sha256(state).digest(),
    ))  # fmt: skip


# -- COSE receipts, by scitt-cose ---------------------------------------------------------------


def scitt_accepts(receipt: bytes, entry: bytes, key: bytes) -> bool:
    """Whether `scitt-cose` says that the receipt proves the entry."""
    verdict = scitt_cose.verify_receipt(receipt, leaf_entry_hex=entry.hex(), log_public_key_pem=key)
    return bool(verdict.ok)


@every("event", [None, 8, 9])
def test_a_cose_receipt_is_verified_by_scitt_cose(
    does: Does, tmp_path: Path, event: int | None
) -> None:
    chosen = () if event is None else ("--event", event)
    does("evidence", "export", "1", "--format", "cose", "-o", "run.cose", *chosen)
    receipt = (tmp_path / "run.cose").read_bytes()
    protected, unprotected, payload, _ = cbor2.loads(receipt).value
    entry, key = entry_of(unprotected[EVENT_LABEL]), pem(public_key(tmp_path))
    assert payload is None, "the root is detached"
    headers = cbor2.loads(protected)
    assert headers[15][1] == public_key(tmp_path).name and headers[395] == 1
    assert scitt_accepts(receipt, entry, key)
    assert not scitt_accepts(receipt, entry[:-1] + bytes([entry[-1] ^ 1]), key)
    unsigned = cbor2.dumps({EVENT_LABEL: unprotected[EVENT_LABEL]})[1:]
    unsigned_at = receipt.index(unsigned)
    [proof] = unprotected[396][-1]
    size = cbor2.dumps(cbor2.loads(proof)[0])
    size_at = receipt.index(proof) + 1
    free = {
        *range(unsigned_at, unsigned_at + len(unsigned)),  # the leaf is computed from it
        *range(size_at, size_at + len(size)),  # RFC 9942 signs the root, not the size
    }
    for at in sorted({*range(len(receipt))} - free):
        flipped = receipt[:at] + bytes([receipt[at] ^ 1]) + receipt[at + 1 :]
        assert not scitt_accepts(flipped, entry, key), f"byte {at} of {len(receipt)}"


def test_a_receipt_of_each_format_holds_the_same_event(does: Does, tmp_path: Path) -> None:
    does("evidence", "export", "1", "--format", "cose", "--event", 8, "-o", "run.cose")
    options = ("--event", 8, "--no-checkpoint")
    does("evidence", "export", "1", "--format", "tlog-proof", *options, "-o", "run.tlog-proof")
    unprotected = cbor2.loads((tmp_path / "run.cose").read_bytes()).value[1]
    lines = (tmp_path / "run.tlog-proof").read_text().splitlines()
    assert base64.b64decode(lines[1].removeprefix("extra ")) == unprotected[EVENT_LABEL]


# -- C2SP tlog-proof, by the standard library and by scitt-cose ---------------------------------


def test_a_tlog_proof_of_a_seal_is_verified_without_us(does: Does, tmp_path: Path) -> None:
    done = does("evidence", "export", "1", "--format", "tlog-proof", "-o", "run.tlog-proof")
    assert "run.tlog-proof: " in done.stderr
    document = (tmp_path / "run.tlog-proof").read_text()
    head, _, checkpoint = document.partition("\n\n")
    _, extra, index, *path = head.split("\n")
    text, _, signatures = checkpoint.partition("\n\n")
    origin, size, root = text.split("\n")
    computed = scitt_cose.merkle.root_from_inclusion_proof(
        entry_of(base64.b64decode(extra.removeprefix("extra "))).hex(),
        int(index.removeprefix("index ")), int(size),
        [base64.b64decode(line).hex() for line in path],
    )  # fmt: skip
    assert bytes.fromhex(computed) == base64.b64decode(root)
    [name, encoded] = signatures.splitlines()[0].removeprefix("— ").split(" ")
    key = public_key(tmp_path)
    assert name == origin == key.name
    signed = f"{text}\n".encode()
    Ed25519PublicKey.from_public_bytes(key.public).verify(base64.b64decode(encoded)[4:], signed)


def test_ours_verifies_it_and_says_the_event(does: Does, tmp_path: Path) -> None:
    does("evidence", "export", "1", "--format", "tlog-proof", "-o", "run.tlog-proof")
    done = does("evidence", "verify", "run.tlog-proof", "--key", "log.pub")
    assert done.stdout.startswith("RunSealed, version ") and "genuine: event" in done.stdout
    changed = tmp_path / "changed.tlog-proof"
    changed.write_bytes(
        (tmp_path / "run.tlog-proof").read_bytes().replace(b"index ", b"index 1", 1)
    )
    done = does("evidence", "verify", changed, "--key", "log.pub", code=1)
    assert done.stdout.startswith("NOT genuine: ")


@every(
    ("options", "code", "says"),
    [
        (("--event", "999999", "--format", "cose"), 2, "the run has no event at 999999"),
        (("--event", "3"), 2, "--event needs --format tlog-proof or cose"),
        (("--format", "in-toto", "--event", "3"), 2, "--event needs"),
        (("--format", "in-toto", "--no-checkpoint"), 2, "is signed anew"),
        (("--format", "cose", "--checkpoint", "5"), 2, "is signed anew"),
        (("--format", "cose", "--event", str(1 << 63)), 2, "--event"),
        (("--format", "tlog-proof", "--checkpoint", "999999"), 2, "no checkpoint of 999999"),
        (("--format", "tlog-proof", "--checkpoint", "1"), 2, "no checkpoint of 1 "),
    ],
)
def test_what_cannot_be_proven_is_told(
    does: Does, tmp_path: Path, options: tuple[str, ...], code: int, says: str
) -> None:
    done = does("evidence", "export", "1", "-o", "made", *options, code=code)
    assert says in done.stderr and not (tmp_path / "made").exists()


def test_an_event_of_another_run_is_not_proven_for_this_one(does: Does) -> None:
    options = ("--format", "tlog-proof", "--event", 8, "-o", "made")
    does("evidence", "export", "1", *options)
    does("evidence", "export", "2", *options, code=2)


# -- policies ------------------------------------------------------------------------------------


def test_a_policy_decides_whose_signatures_count(does: Does, tmp_path: Path) -> None:
    checkpoint = does("ledger", "checkpoint", "-o", "log.checkpoint").stdout
    for name, algorithm in (("one", "ed25519"), ("two", "ml-dsa-44")):
        options = ("--log-key", "log.pub", "--seen", f"{name}.seen", "-o", f"{name}.cosigned")
        named = ("--key", f"{name}.key", "--name", f"{name}.example", "--algorithm", algorithm)
        does("ledger", "cosign", "log.checkpoint", *named, *options)
        does("ledger", "checkpoint", "--add", f"{name}.cosigned")
    size = checkpoint.splitlines()[1]
    keys = {name: (tmp_path / f"{name}.key.pub").read_text().strip() for name in ("one", "two")}
    log = (tmp_path / "log.pub").read_text().strip()
    policy = f"log {log}\nwitness A {keys['one']}\nwitness B {keys['two']}\n"
    both, third = tmp_path / "both.policy", tmp_path / "third.policy"
    both.write_text(f"{policy}group both all A B\nquorum both\n")
    stranger = "witness C third.example+00000000+AAAA\nquorum C\n"
    third.write_text(f"{policy}{stranger}")
    for file_format in ("bundle", "tlog-proof"):
        made = ("evidence", "export", "1", "--format", file_format, "-o", "made")
        does(*made, "--checkpoint", size)
        done = does("evidence", "verify", "made", "--policy", both)
        assert "cosigned by one.example" in done.stdout
        assert "cosigned by two.example" in done.stdout
        does("evidence", "verify", "made", "--key", "log.pub", "--cosigner", "two.key.pub")
        does(*made)  # as of a newer checkpoint, that nobody cosigned
        done = does("evidence", "verify", "made", "--policy", both, code=1)
        assert "not signed by one.example" in done.stdout
    done = does("evidence", "verify", "made", "--policy", third, code=2)
    assert f"{third}:4" in done.stderr and f"{third}:5" in done.stderr
    does("evidence", "verify", "made", code=2)
    does("evidence", "verify", "made", "--key", "log.pub", "--policy", both, code=2)


# -- in-toto, by securesystemslib ----------------------------------------------------------------


def attested(folder: Path, key: PublicKey) -> dict[str, Any]:
    """The statement in the bundle `made`, after `securesystemslib` verified its signature."""
    bundle = json.loads((folder / "made").read_bytes())
    assert bundle["mediaType"] == "application/vnd.dev.sigstore.bundle.v0.3+json"
    envelope = Envelope.from_dict(bundle["dsseEnvelope"])
    verifier = SSlibKey.from_crypto(
        Ed25519PublicKey.from_public_bytes(key.public), key.key_id.hex()
    )
    envelope.verify([verifier], 1)
    statement: dict[str, Any] = json.loads(envelope.payload)
    return statement


@every(
    ("run", "suite", "result", "failed"),
    [
        ("1", "suite.jsonl", "PASSED", []),
        ("2", "failed.jsonl", "FAILED", ["min_accuracy"]),
    ],
)
def test_a_test_result_is_verified_by_securesystemslib(
    does: Does, tmp_path: Path, run: str, suite: str, result: str, failed: list[str]
) -> None:
    does("evidence", "export", run, "-o", "bundle")
    does("evidence", "export", run, "--format", "in-toto", "-o", "made")
    statement = attested(tmp_path, public_key(tmp_path))
    assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    predicate = statement["predicate"]
    assert (predicate["result"], predicate["failedTests"]) == (result, failed)
    manifest = json.loads((tmp_path / "bundle").read_bytes().splitlines()[1])["manifest"]
    digests = [subject["digest"]["sha256"] for subject in statement["subject"]]
    cases = hashlib.sha256((tmp_path / suite).read_bytes()).hexdigest()
    assert digests == [manifest["seal"], cases]
    [configuration] = predicate["configuration"]
    assert configuration["digest"] == {"sha256": manifest["configuration_digest"]}


def test_every_changed_byte_of_a_test_result_is_refused(does: Does, tmp_path: Path) -> None:
    does("evidence", "export", "1", "--format", "in-toto", "-o", "made")
    bundle = json.loads((tmp_path / "made").read_bytes())
    envelope, key = bundle["dsseEnvelope"], public_key(tmp_path)
    payload = base64.b64decode(envelope["payload"])
    for at in range(len(payload)):
        changed = payload[:at] + bytes([payload[at] ^ 1]) + payload[at + 1 :]
        envelope["payload"] = base64.b64encode(changed).decode()
        (tmp_path / "made").write_text(json.dumps(bundle))
        with pytest.raises(VerificationError):
            attested(tmp_path, key)


def test_a_gate_that_was_changed_in_the_log_is_not_attested(
    does: Does, administrator: psycopg.Connection[Any], tmp_path: Path
) -> None:
    """By somebody who can change rows: the log's key must not sign what the seal does not prove."""
    tamper(
        administrator,
        "UPDATE failproof.events SET state = convert_to(replace(convert_from(state, 'UTF8'),"
        " '\"met\":false', '\"met\":true'), 'UTF8') WHERE topic = 'RunCompleted'",
    )
    does("evidence", "export", "2", "--format", "in-toto", "-o", "made", code=1)
    assert not (tmp_path / "made").exists()


def test_a_part_of_the_cases_is_said(does: Does, tmp_path: Path) -> None:
    does("evidence", "export", "4", "--format", "in-toto", "-o", "made")
    _, cases = attested(tmp_path, public_key(tmp_path))["subject"]
    assert cases["name"].endswith("suite.jsonl: 1 of 3")


def test_a_run_without_gates_has_no_test_result(does: Does, tmp_path: Path) -> None:
    done = does("evidence", "export", "3", "--format", "in-toto", "-o", "made", code=2)
    assert "has no gates" in done.stderr and not (tmp_path / "made").exists()


@pytest.mark.parametrize(("form", "why"), [("cose", "RFC 9942"), ("in-toto", "programs for DSSE")])
def test_what_others_verify_is_not_said_to_be_changed(
    does: Does, tmp_path: Path, form: str, why: str
) -> None:
    does("evidence", "export", "1", "--format", form, "-o", "of-others")
    said = does("evidence", "verify", "of-others", "--key", "log.pub", code=2)
    assert "another-format" in said.output and why in said.output
