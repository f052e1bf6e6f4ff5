"""The key's file: whole or not there, made once, never a second one in its place."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from failproof_es.assurance.signing.signing_key import (
    create_key,
    has_key,
    key_path,
    log_key,
    own_public_key,
    public_path,
    read_key,
    read_public_key,
)
from failproof_es.ledger.note import (
    COSIGNATURE,
    COSIGNATURES,
    ED25519,
    LOG_SIGNATURES,
    ML_DSA_COSIGNATURE,
    Kind,
    SigningKey,
)
from failproof_es.problems import InvalidInput
from failproof_es.support import atomic_file as whole_file

ORIGIN = "failproof-es/0199"


@pytest.fixture
def path() -> Path:
    file = key_path(ORIGIN)
    file.parent.mkdir(mode=0o700, parents=True)
    return file


@pytest.mark.parametrize("step", ["write", "link", "sync"])
def test_a_key_whose_making_broke_off_is_whole_or_not_there(
    step: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patched:
        if step == "write":
            patched.setattr(whole_file, "_write", full)
        elif step == "link":
            patched.setattr(Path, "hardlink_to", full)
        else:
            patched.setattr(whole_file, "sync_folder", full)
        with pytest.raises(InvalidInput, match=r"\[file-unwritable\]"):
            log_key(ORIGIN, create=True)
    assert path.exists() == (step == "sync")
    made = log_key(ORIGIN, create=True)
    assert read_key(path, LOG_SIGNATURES).public == made.public == own_public_key(ORIGIN)
    assert path.stat().st_mode & 0o777 == 0o600
    assert not list(path.parent.glob("*.partial"))


@pytest.mark.parametrize("content", [b"", b"\n", b"\0" * 150])
def test_an_empty_key_of_a_log_that_nobody_signed_is_made_anew(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    path.chmod(0o600)
    public_path(path).write_bytes(content)
    assert own_public_key(ORIGIN) is None
    with pytest.raises(InvalidInput, match=r"\[no-signing-key\]"):
        log_key(ORIGIN)
    assert path.read_bytes() == content
    made = log_key(ORIGIN, create=True)
    assert log_key(ORIGIN).public == made.public == own_public_key(ORIGIN)


def test_a_damaged_key_is_never_made_anew(path: Path) -> None:
    path.write_text("PRIVATE+KEY+half")
    path.chmod(0o600)
    with pytest.raises(InvalidInput, match=r"\[signing-key-unusable\]"):
        log_key(ORIGIN, create=True)
    assert path.read_text() == "PRIVATE+KEY+half"


def test_two_who_make_the_key_at_once_have_the_same_one(path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: log_key(ORIGIN, create=True).public, range(16)))
    assert len(set(made)) == 1
    assert own_public_key(ORIGIN) == made[0]


def test_a_key_is_never_made_in_the_place_of_another_one(path: Path) -> None:
    made = create_key(path, ORIGIN, ED25519)
    with pytest.raises(InvalidInput, match=r"\[file-exists\]"):
        create_key(path, ORIGIN, ED25519)
    assert read_key(path, LOG_SIGNATURES).public == made.public


def test_a_missing_public_half_comes_from_the_key(path: Path) -> None:
    made = create_key(path, ORIGIN, ED25519)
    public_path(path).unlink()
    assert own_public_key(ORIGIN) == made.public
    public_path(path).touch()
    assert own_public_key(ORIGIN) == made.public
    assert public_path(path).read_bytes() == b"", "who only reads writes nothing"


def test_the_public_half_alone_is_enough_to_verify(path: Path) -> None:
    made = create_key(path, ORIGIN, ED25519)
    path.unlink()
    assert own_public_key(ORIGIN) == made.public


def test_a_folder_with_a_plus_in_its_name_is_no_public_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAILPROOF_ES_LEDGER_KEY", str(tmp_path / "a+b" / "log.key"))
    made = log_key(ORIGIN, create=True)
    assert own_public_key(ORIGIN) == made.public


def test_a_pipe_in_the_place_of_a_key_is_an_error_and_never_waited_for(path: Path) -> None:
    os.mkfifo(path)
    for read in (
        lambda: log_key(ORIGIN, create=True),
        lambda: read_key(path, LOG_SIGNATURES),
        lambda: read_public_key(str(path), LOG_SIGNATURES),
        lambda: own_public_key(ORIGIN),
        lambda: has_key(path),
    ):
        with pytest.raises(InvalidInput, match="not a regular file"):
            read()


def test_a_link_to_a_key_that_is_not_there_is_not_replaced(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "unmounted" / "log.key")
    with pytest.raises(InvalidInput, match=r"\[file-unwritable\]"):
        log_key(ORIGIN, create=True)
    assert path.is_symlink()


@pytest.mark.parametrize("kind", [ED25519, COSIGNATURE, ML_DSA_COSIGNATURE])
def test_a_key_of_the_other_kind_is_refused(kind: Kind, path: Path) -> None:
    kinds = COSIGNATURES if kind == ED25519 else LOG_SIGNATURES
    key = create_key(path, ORIGIN, kind)
    for read in (
        lambda: read_key(path, kinds),
        lambda: read_public_key(str(key.public), kinds),
        lambda: read_public_key(str(public_path(path)), kinds),
    ):
        with pytest.raises(InvalidInput, match=r"\[wrong-signing-key\]"):
            read()


def test_a_key_that_is_mistyped_is_told_as_a_key(tmp_path: Path) -> None:
    key = str(SigningKey.generate("w").public)
    with pytest.raises(InvalidInput, match=r"base64 is damaged.*\[not-a-public-key\]"):
        read_public_key(key[:-1], LOG_SIGNATURES)
    with pytest.raises(InvalidInput, match=r"there is no file.*\[not-a-public-key\]"):
        read_public_key("log.pub", LOG_SIGNATURES)
