"""What is kept outside the database never goes back, whoever keeps it at the same time."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from failproof_es.assurance.signing.kept_checkpoints import Forked, locked_place, read_kept
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.note import COSIGNATURE, Note, SigningKey
from failproof_es.problems import InvalidInput

ORIGIN = "failproof-es/0199"
KEY = SigningKey.generate(ORIGIN)
WITNESSES = [SigningKey.generate(f"w{n}.example", COSIGNATURE) for n in (1, 2)]


def signed(size: int, history: str = "", key: SigningKey = KEY) -> Note:
    root = hashlib.sha256(f"{size}{history}".encode()).digest()
    return Checkpoint(key.name, size, root).signed(key)


def keep(place: Path, note: Note, key: SigningKey = KEY) -> int:
    """Keep it, and say what is kept then."""
    with locked_place(str(place), key.public) as kept:
        kept.replace(note)
    newest = read_kept(str(place), key.public)
    assert newest is not None
    return newest.size


@pytest.mark.parametrize("folder", [False, True])
def test_a_smaller_tree_does_not_take_the_place_of_a_larger_one(
    folder: bool, tmp_path: Path
) -> None:
    place = tmp_path / "kept"
    if folder:
        place.mkdir()
    assert [keep(place, signed(size)) for size in (10, 20, 15, 20, 21)] == [10, 20, 20, 20, 21]


def test_another_tree_of_the_same_size_is_a_fork_and_is_not_kept(tmp_path: Path) -> None:
    place = tmp_path / "kept"
    keep(place, signed(10))
    with pytest.raises(Forked):
        keep(place, signed(10, "rewritten"))
    assert place.read_text() == str(signed(10))


def test_no_cosignature_that_is_kept_gives_way_to_the_same_tree_without_it(tmp_path: Path) -> None:
    place, note = tmp_path / "kept", signed(10)
    first, second = (each.sign(note.text, at=1) for each in WITNESSES)
    for each in (note, note.signed(first), note, note.signed(second)):
        keep(place, each)
    assert place.read_text() == str(note.signed(first))
    keep(place, note.signed(first, second))
    assert place.read_text() == str(note.signed(first, second))


def test_what_is_not_the_log_s_is_neither_kept_nor_replaced(tmp_path: Path) -> None:
    place = tmp_path / "kept"
    place.write_text(str(signed(10, key=SigningKey.generate(ORIGIN))))
    with pytest.raises(InvalidInput, match=r"\[checkpoint-unusable\]"):
        keep(place, signed(20))
    assert "10\n" in place.read_text()


@pytest.mark.parametrize("kind", ["pipe", "device", "endless"])
def test_a_pipe_or_a_device_in_its_place_is_an_error_and_never_waited_for(
    kind: str, tmp_path: Path
) -> None:
    place = tmp_path / "kept"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "device":
        place.symlink_to("/dev/zero")
    else:
        place.write_bytes(b" " * (1 << 21))
    with pytest.raises(InvalidInput, match=r"\[checkpoint-unusable\]"):
        read_kept(str(place), KEY.public)


def test_a_place_that_cannot_be_written_is_said_before_anything_is_given_away(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(InvalidInput, match=r"\[file-unwritable\]"),
        locked_place(str(tmp_path / "file" / "kept"), KEY.public),
    ):
        pytest.fail("nobody gets as far as this")
