"""The second verifier where nothing but Python is: its Ed25519, its arguments, its words."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from failproof_es.ledger import bundle
from failproof_es.ledger.note import PublicKey, SigningKey
from tests.unit.ledger.bundle.evidence_world import LOG, WITNESS
from tests.unit.ledger.bundle.test_bundle import GENUINE, KEY, SECOND, second_verifier, under_digest

second: Any = second_verifier()
ORDER, FIELD = second.ORDER, second.FIELD

# RFC 8032, section 7.1: secret key, public key, message, signature.
RFC_8032 = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b4"
        "6bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
        "387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
        "4a7c15e9716ed28dc027beceea1ec40a",
    ),
    (
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        hashlib.sha512(b"abc").hexdigest(),
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e030"
        "3dca179c138ac17ad9bef1177331a704",
    ),
]
"""TEST 1, 2, 3 and SHA(abc)."""


def openssl(public: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


@pytest.mark.parametrize(("secret", "public", "message", "signature"), RFC_8032)
def test_the_signatures_of_rfc_8032_hold(
    secret: str, public: str, message: str, signature: str
) -> None:
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(secret))
    assert key.public_key().public_bytes_raw().hex() == public
    assert key.sign(bytes.fromhex(message)).hex() == signature
    parts = [bytes.fromhex(each) for each in (public, signature, message)]
    assert second.holds(*parts)
    for at in range(0, 64, 5):
        flipped = bytearray(parts[1])
        flipped[at] ^= 1 << at % 8
        assert not second.holds(parts[0], bytes(flipped), parts[2])
    assert not second.holds(parts[0], parts[1], parts[2] + b"\0")


def test_what_openssl_believes_is_believed_and_nothing_else() -> None:
    """Keys, messages and signatures at random, and each of them with a bit flipped."""
    drawn = random.Random(8032)
    seen = []
    for _ in range(15):
        key = Ed25519PrivateKey.from_private_bytes(drawn.randbytes(32))
        public = key.public_key().public_bytes_raw()
        message = drawn.randbytes(drawn.randrange(200))
        signature = key.sign(message)
        tried = [(public, signature, message)]
        for part in range(3):
            changed = [public, signature, message or b"\0"]
            at = drawn.randrange(len(changed[part]) * 8)
            flipped = bytearray(changed[part])
            flipped[at // 8] ^= 1 << at % 8
            changed[part] = bytes(flipped)
            tried.append((changed[0], changed[1], changed[2]))
        for each in tried:
            assert second.holds(*each) == openssl(*each), [part.hex() for part in each]
            seen.append(second.holds(*each))
    assert seen.count(True) == 15


def points_of_small_order() -> list[Any]:
    """All eight, by taking a point that is anywhere on the curve ORDER times."""
    found: dict[bytes, Any] = {}
    y = 2
    while len(found) < 8:
        point = second.decompressed(y.to_bytes(32, "little"))
        y += 1
        if point is not None:
            torsion = second.multiplied(ORDER, point)
            for times in range(8):
                each = second.multiplied(times, torsion)
                found[second.compressed(each)] = each
    return list(found.values())


def odd_signatures() -> Iterator[tuple[str, bytes, bytes, bytes]]:
    """What verifiers of Ed25519 are known to disagree about."""
    drawn = random.Random(25519)
    key = Ed25519PrivateKey.from_private_bytes(drawn.randbytes(32))
    public, message = key.public_key().public_bytes_raw(), b"a message"
    signature = key.sign(message)
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    for times in range(1, 16):
        if s + times * ORDER < 1 << 256:
            more = (s + times * ORDER).to_bytes(32, "little")
            yield f"S + {times} L", public, r + more, message
    for length in (0, 1, 32, 63, 65, 96):
        yield f"{length} bytes", public, (signature * 2)[:length], message
        yield f"a key of {length} bytes", (public * 3)[:length], signature, message
    small = points_of_small_order()
    encoded = [second.compressed(each) for each in small]
    # y and the bit of x written otherwise than they have to be.
    loose = [number.to_bytes(32, "little") for y in (0, 1, FIELD - 1, FIELD, FIELD + 1, 2**255 - 1)
             for number in (y, y | 1 << 255)]  # fmt: skip
    for s in (0, ORDER - 1, ORDER):
        shown = s.to_bytes(32, "little")
        base = second.multiplied(s % ORDER, second.BASE)
        for n, a in enumerate([*encoded, *loose]):
            for m in range(4):
                plain = second.compressed(base) + shown
                yield f"key {n} of small order, S {s}", a, plain, b"%d" % m
                for torsion in (small[m], small[-1 - m]):
                    mixed = second.compressed(second.add(base, torsion)) + shown
                    yield f"key {n} and R of small order, S {s}", a, mixed, b"%d" % m
            for b in loose:
                yield f"key {n} and R of small order, R loose, S {s}", a, b + shown, message
    for torsion in small:
        point = second.decompressed(public)
        mixed = second.compressed(second.add(point, torsion))
        yield "a key of mixed order", mixed, signature, message
        r_mixed = second.compressed(second.add(second.decompressed(r), torsion))
        yield "R of mixed order", public, r_mixed + signature[32:], message


@pytest.mark.slow
def test_odd_keys_and_signatures_are_believed_as_openssl_believes_them() -> None:
    tried = list(odd_signatures())
    differing = [name for name, *parts in tried if second.holds(*parts) != openssl(*parts)]
    assert differing == []
    assert {second.holds(*parts) for _, *parts in tried[::9]} == {True, False}


def test_no_point_of_small_order_is_a_key_and_nothing_that_is_written_loosely() -> None:
    for point in points_of_small_order():
        y = int.from_bytes(second.compressed(point), "little") & (1 << 255) - 1
        assert y in second.SMALL_ORDER
    assert len(second.SMALL_ORDER) == 5


# -- as a program --------------------------------------------------------------------------------


def run(*arguments: object, cwd: Path, isolated: bool = True) -> subprocess.CompletedProcess[str]:
    """Where nothing but Python is: without site-packages, without what its environment says."""
    command = [sys.executable, *(["-I", "-S"] if isolated else []), str(SECOND)]
    return subprocess.run(
        [*command, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run.evidence").write_bytes(GENUINE)
    (tmp_path / "log.pub").write_text(f"{LOG.public}\n")
    (tmp_path / "witness.pub").write_text(f"{WITNESS.public}\n")
    (tmp_path / "c++").mkdir()
    (tmp_path / "c++" / "log.pub").write_text(f"{LOG.public}\n")
    (tmp_path / "binary").write_bytes(os.urandom(64) + b"\xff")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "edited").write_bytes(
        under_digest(GENUINE[: GENUINE[:-1].rindex(b"\n") + 1].replace(b"scored 2", b"scored 1"))
    )
    return tmp_path


def test_where_nothing_but_python_is_there_is_no_cryptography(folder: Path) -> None:
    """Else the other tests would not show what they say."""
    asked = [sys.executable, "-I", "-S", "-c", "import cryptography"]
    assert subprocess.run(asked, capture_output=True, check=False).returncode != 0


@pytest.mark.parametrize(
    "keys",
    [
        ("--key", "log.pub"),
        ("--key", str(LOG.public)),
        ("--key", "c++/log.pub"),
        (f"--key={LOG.public}", "--cosigner", "witness.pub"),
        ("--cosigner", str(WITNESS.public), "--key", "log.pub", "--cosigner", "witness.pub"),
    ],
)
def test_a_genuine_bundle_is_believed_where_nothing_but_python_is(
    folder: Path, keys: tuple[str, ...]
) -> None:
    done = run("run.evidence", *keys, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("genuine and whole\n")
    assert bundle.read(GENUINE).summary[1] in done.stdout
    assert done.stdout.count("cosigned by witness.example") == sum("cosigner" in k for k in keys)


WRONG = {
    "no arguments": ([], 2, "usage:"),
    "no key": (["run.evidence"], 2, "--key"),
    "no file": (["--key", "log.pub"], 2, "file"),
    "a key too many": (["run.evidence", "log.pub", "--key", "log.pub"], 2, "unrecognized"),
    "no such file": (["nowhere", "--key", "log.pub"], 2, "nowhere"),
    "a folder": ([".", "--key", "log.pub"], 2, "director"),
    "a key without an id": (["run.evidence", "--key", "no-such+key"], 2, "name+id+base64"),
    "no such key file": (["run.evidence", "--key", "nowhere"], 2, "nowhere"),
    "a key file that is empty": (["run.evidence", "--key", "empty"], 2, "name+id+base64"),
    "a key file that is no text": (["run.evidence", "--key", "binary"], 2, "a file that holds"),
    "a folder of keys": (["run.evidence", "--key", "."], 2, "director"),
    "a home of nobody": (["run.evidence", "--key", "~nobody-is-this/log.pub"], 2, "error: "),
    "a damaged key": (
        ["run.evidence", "--key", str(LOG.public).replace("+A", "+B")], 2, "another id"),
    "a cosigner's key": (["run.evidence", "--key", "witness.pub"], 2, "is not a log's"),
    "the log's as a cosigner's": (
        ["run.evidence", "--key", "log.pub", "--cosigner", "log.pub"], 2, "is not a cosigner's"),
    "a key of small order": (
        ["run.evidence", "--key", str(PublicKey(LOG.name, bytes([1, *bytes(31)])))], 2,
        "is not a valid point for a key"),
    "another key": (
        ["run.evidence", "--key", str(SigningKey.generate(LOG.name).public)], 1, "NOT genuine"),
    "an empty file": (["empty", "--key", "log.pub"], 1, "NOT genuine: the file is cut short"),
    "a file that is no text": (["binary", "--key", "log.pub"], 1, "NOT genuine"),
    "an edited file": (["edited", "--key", "log.pub"], 1, "NOT genuine: the summary"),
    "a cosigner that did not sign": (
        ["run.evidence", "--key", "log.pub", "--cosigner",
         str(SigningKey.generate("nobody.example", WITNESS.kind).public)], 1, "not signed by"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "code", "says"), WRONG.values(), ids=WRONG.keys())
def test_whatever_is_wrong_is_said_in_words_with_its_exit_code(
    folder: Path, arguments: list[str], code: int, says: str
) -> None:
    done = run(*arguments, cwd=folder)
    assert done.returncode == code, done.stdout + done.stderr
    assert says in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("argument", [b"\xff\xfe", b"a+\xff+AA==", b"\xff.evidence"])
def test_arguments_that_are_no_utf_8_are_wrong_usage(folder: Path, argument: bytes) -> None:
    for command in ([b"run.evidence", b"--key", argument], [argument, b"--key", b"log.pub"]):
        done = subprocess.run(
            [os.fsencode(sys.executable), b"-I", b"-S", os.fsencode(SECOND), *command],
            cwd=folder, capture_output=True, check=False, timeout=60,
        )  # fmt: skip
        assert (done.returncode, b"Traceback" in done.stderr) == (2, False), done.stderr


def test_the_second_verifier_runs_on_its_own(tmp_path: Path) -> None:
    file, key = tmp_path / "run.evidence", tmp_path / "log.pub"
    file.write_bytes(GENUINE)
    key.write_text(f"{KEY}\n")
    # Without site-packages: only Python's own library is there.
    command = [sys.executable, "-I", "-S", str(SECOND), str(file), "--key", str(key)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert bundle.read(GENUINE).summary[0] in done.stdout
    file.write_bytes(GENUINE + b"\n")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "NOT genuine" in done.stdout
