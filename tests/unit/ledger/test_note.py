"""Signed notes and checkpoints: what others' vectors say, and what must be refused."""

from __future__ import annotations

import pytest

from failproof_es.ledger import checkpoint, note
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.merkle import EMPTY_ROOT
from failproof_es.ledger.note import (
    COSIGNATURE,
    ML_DSA_COSIGNATURE,
    NoteError,
    PublicKey,
    SigningKey,
)
from tests.every import every

# The example of the signed note's first implementation (golang.org/x/mod/sumdb/note).
NEUMANN_SECRET = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
NEUMANN = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
TEXT = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
)
SIGNED = (
    TEXT
    + "\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdn"
    "gotpRZb6KE6RyyBwJnAM=\n"
)

LOG = SigningKey.generate("failproof-es/log")
WITNESS = SigningKey.generate("witness.example", COSIGNATURE)
CHECKPOINT = Checkpoint("failproof-es/log", 7, bytes(range(32)), ("extension",))


def test_the_published_example_is_signed_and_read_to_the_byte() -> None:
    key = SigningKey.parse(NEUMANN_SECRET)
    assert str(key.public) == NEUMANN
    assert key.dump() == NEUMANN_SECRET
    assert str(note.sign(TEXT, key.sign(TEXT))) == SIGNED
    note.parse(SIGNED).verify(PublicKey.parse(NEUMANN))


def test_every_flipped_character_of_a_note_is_noticed() -> None:
    key = PublicKey.parse(NEUMANN)
    document = SIGNED.encode()
    for at in range(len(document)):
        flipped = document[:at] + bytes([document[at] ^ 1]) + document[at + 1 :]
        with pytest.raises((NoteError, UnicodeDecodeError)):
            note.parse(flipped.decode()).verify(key)


@every(
    "document",
    [
        "",
        "\n",
        TEXT,
        TEXT + "\n",
        SIGNED[:-1],
        SIGNED + "\n",
        SIGNED + "more\n",
        SIGNED.replace("— ", "- "),
        SIGNED.replace("AM=", "AM"),
        SIGNED.replace("AM=", "AN="),
        SIGNED.replace("cryptography", "crypto\tgraphy"),
        "\r" + SIGNED,
        TEXT + "\n" + "".join(SIGNED.splitlines(keepends=True)[-1] for _ in range(101)),
    ],
)
def test_what_is_no_note_is_refused(document: str) -> None:
    with pytest.raises(NoteError):
        note.parse(document)


@every(
    "text",
    [
        *("", "name", "name+c74f20a3", NEUMANN[:-1], NEUMANN + "A"),
        NEUMANN.replace("c74f20a3", "c74f20a4"),
        NEUMANN.replace("Peter", "Paul"),
        NEUMANN.replace("+AR", "+BR"),
        NEUMANN.replace("Peter", "Peter "),
    ],
)
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(NoteError):
        PublicKey.parse(text)


def test_a_secret_key_is_never_shown() -> None:
    secret = LOG.dump().removeprefix(f"PRIVATE+KEY+{LOG.name}+{LOG.public.key_id.hex()}+")
    assert len(secret) == 44, "base64 may hold a plus itself"
    assert secret not in repr(LOG) + str(LOG)
    damaged = LOG.dump()[:-2]
    with pytest.raises(NoteError) as refused:
        SigningKey.parse(damaged)
    assert secret[:-2] not in str(refused.value)


def test_a_checkpoint_is_read_as_it_was_signed() -> None:
    signed = note.parse(str(CHECKPOINT.signed(LOG)))
    assert checkpoint.opened(signed, LOG.public) == CHECKPOINT


def test_a_cosigner_adds_when_it_saw_the_checkpoint() -> None:
    signed = CHECKPOINT.signed(LOG)
    seen = note.parse(str(signed.signed(WITNESS.sign(signed.text, at=1_700_000_000))))
    assert (seen.verify(LOG.public), seen.verify(WITNESS.public)) == (None, 1_700_000_000)
    later = seen.signed(WITNESS.sign(signed.text, at=1_700_000_001))
    assert len(later.signatures) == 2, "the newer cosignature takes the older one's place"
    assert later.verify(WITNESS.public) == 1_700_000_001


def test_a_cosignature_of_another_time_or_text_is_refused() -> None:
    signature = WITNESS.sign(CHECKPOINT.text(), at=5)
    other_time = note.Signature(
        signature.name, signature.key_id, b"\0" * 7 + b"\6" + signature.payload[8:]
    )
    other_text = Checkpoint("failproof-es/log", 8, bytes(32)).text()
    for text, given in ((CHECKPOINT.text(), other_time), (other_text, signature)):
        with pytest.raises(NoteError, match="does not match this text"):
            note.sign(text, given).verify(WITNESS.public)
    with pytest.raises(NoteError, match="says when"):
        WITNESS.sign("text\n")


def test_a_cosigner_s_key_signs_no_log_whatever_its_name() -> None:
    cosigner = SigningKey.generate(LOG.name, note.COSIGNATURE)
    cosigned = note.sign(CHECKPOINT.text(), cosigner.sign(CHECKPOINT.text(), at=5))
    with pytest.raises(NoteError, match="a cosigner's key"):
        checkpoint.opened(cosigned, cosigner.public)
    with pytest.raises(NoteError):
        CHECKPOINT.signed(cosigner)


def test_a_key_signs_for_its_own_origin_only() -> None:
    elsewhere = Checkpoint("failproof-es/other", 0, EMPTY_ROOT)
    with pytest.raises(NoteError):
        elsewhere.signed(LOG)
    forged = note.sign(elsewhere.text(), LOG.sign(elsewhere.text()))
    with pytest.raises(NoteError, match="signed a checkpoint of"):
        checkpoint.opened(forged, LOG.public)


@every(
    "text",
    [
        "",
        "origin\n1\n",
        "origin\n01\n" + "A" * 43 + "=\n",
        "origin\n-1\n" + "A" * 43 + "=\n",
        "origin\n1\n" + "A" * 42 + "B=\n",
        "origin\n1\n" + "A" * 44 + "\n",
        "origin\n1\n" + "A" * 43 + "=",
        "origin\n0\n" + "A" * 43 + "=\n",
        "\n1\n" + "A" * 43 + "=\n",
        "origin\n1\n" + "A" * 43 + "=\n\nextension\n",
        "origin\n1 \n" + "A" * 43 + "=\n",
    ],
)
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(NoteError):
        checkpoint.parse(text)


def test_a_cosignature_by_ml_dsa_signs_the_structure_of_the_specification() -> None:
    """Built here by hand from C2SP tlog-cosignature, and verified without the note."""
    key = SigningKey.generate("w.example/pq", ML_DSA_COSIGNATURE)
    text = CHECKPOINT.text()
    signature = key.sign(text, at=1_679_315_147)
    origin = CHECKPOINT.origin.encode()
    message = (
        b"subtree/v1\n\0" + bytes([12]) + b"w.example/pq" + (1_679_315_147).to_bytes(8, "big")
        + bytes([len(origin)]) + origin + (0).to_bytes(8, "big") + (7).to_bytes(8, "big")
        + bytes(range(32))
    )  # fmt: skip
    assert signature.payload[:8] == (1_679_315_147).to_bytes(8, "big")
    assert len(signature.payload) == 8 + 2420
    key.secret.public_key().verify(signature.payload[8:], message)
    assert note.sign(text, signature).verify(key.public) == 1_679_315_147
    assert PublicKey.parse(str(key.public)) == key.public
    assert len(key.public.public) == 1312
    assert SigningKey.parse(key.dump()).public == key.public


def test_a_cosignature_by_ml_dsa_of_another_tree_name_or_time_is_refused() -> None:
    key = SigningKey.generate("w.example/pq", ML_DSA_COSIGNATURE)
    signature = key.sign(CHECKPOINT.text(), at=5)
    for other in (
        Checkpoint("failproof-es/log", 8, CHECKPOINT.root),
        Checkpoint("failproof-es/lag", 7, CHECKPOINT.root),
        Checkpoint("failproof-es/log", 7, bytes(32)),
    ):
        with pytest.raises(NoteError, match="does not match"):
            note.sign(other.text(), signature).verify(key.public)
    later = note.Signature(
        signature.name, signature.key_id, b"\0" * 7 + b"\6" + signature.payload[8:]
    )
    with pytest.raises(NoteError, match="does not match"):
        note.sign(CHECKPOINT.text(), later).verify(key.public)
    named = SigningKey("w.example/other", key.secret, ML_DSA_COSIGNATURE)
    renamed = note.Signature(named.name, named.public.key_id, signature.payload)
    with pytest.raises(NoteError, match="does not match"):
        note.sign(CHECKPOINT.text(), renamed).verify(named.public)


@every("text", [TEXT, "log\nseven\nAAAA\n", "log\n7\nAAAA\n", f"log\n{1 << 64}\n{'A' * 43}=\n"])
def test_ml_dsa_cosigns_checkpoints_alone(text: str) -> None:
    with pytest.raises(NoteError):
        SigningKey.generate("w", ML_DSA_COSIGNATURE).sign(text, at=5)


def test_a_name_too_long_for_the_structure_is_refused() -> None:
    with pytest.raises(NoteError, match="1 to 255 bytes"):
        SigningKey.generate("w" * 256, ML_DSA_COSIGNATURE)
    of_long_log = Checkpoint("l" * 256, 7, CHECKPOINT.root)
    with pytest.raises(NoteError, match="1 to 255 bytes"):
        SigningKey.generate("w" * 255, ML_DSA_COSIGNATURE).sign(of_long_log.text(), at=5)
