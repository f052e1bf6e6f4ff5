"""A file holds all of what was to be written, or what it held before."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from failproof_es.support import atomic_file as whole_file
from failproof_es.support.atomic_file import WrittenFile, atomic_create, atomic_write


def names(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


def test_folders_are_made_and_what_was_written_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "results.csv"
    assert atomic_write(path, [b"one", b"two"]) == WrittenFile(6, sha256(b"onetwo").hexdigest())
    assert path.read_bytes() == b"onetwo"
    assert names(path.parent) == ["results.csv"]


def test_what_breaks_off_leaves_what_was_there(tmp_path: Path) -> None:
    def breaks_off() -> Iterator[bytes]:
        yield b"half"
        raise KeyboardInterrupt

    path = tmp_path / "results.csv"
    atomic_write(path, [b"before"])
    with pytest.raises(KeyboardInterrupt):
        atomic_write(path, breaks_off())
    assert path.read_bytes() == b"before"
    assert names(tmp_path) == ["results.csv"]


def content(number: int) -> bytes:
    return f"{number:06}\n".encode() * (1_000 + number)


def assert_whole(path: Path) -> None:
    read = path.read_bytes()
    assert read == content(int(read[:6]))


def test_a_planted_link_is_not_written_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even by who could foretell the temporary file's name."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    drawn = iter(["0" * 12, "1" * 12])
    monkeypatch.setattr(whole_file, "token_hex", lambda _: next(drawn))
    planted = tmp_path / f".results.csv.{whole_file.HOST}-{'0' * 12}.partial"
    planted.symlink_to(victim)
    with pytest.raises(FileExistsError):
        atomic_write(tmp_path / "results.csv", [b"now"])
    atomic_write(tmp_path / "results.csv", [b"now"])
    assert victim.read_bytes() == b"precious"
    assert planted.is_symlink()


def test_temporary_names_cannot_be_foretold(tmp_path: Path) -> None:
    seen: list[str] = []

    def pieces() -> Iterator[bytes]:
        seen.extend(names(tmp_path))
        yield b"now"

    for name in ("a", "b"):
        atomic_write(tmp_path / name, pieces())
        (tmp_path / name).unlink()
    tokens = [re.fullmatch(r"\.[ab]\.[0-9a-f]{6}-([0-9a-f]{12})\.partial", each) for each in seen]
    assert len({each[1] for each in tokens if each}) == 2


def test_what_a_writer_that_died_left_goes_and_nothing_else(tmp_path: Path) -> None:
    """A writer that lives holds a lock; another host's lock may not be seen from here."""
    path = tmp_path / "results.csv"
    dead = tmp_path / f".results.csv.{whole_file.HOST}-{'0' * 12}.partial"
    alive = dead.with_name(f".results.csv.{whole_file.HOST}-{'1' * 12}.partial")
    dead.touch()
    alive.touch()
    kept = {
        alive.name,
        f".results.csv.ffffff-{'0' * 12}.partial",  # another host's
        f".results.csv.{whole_file.HOST}-{'0' * 12}.partial.bak",
        f".other.csv.{whole_file.HOST}-{'0' * 12}.partial",
        ".results.csv.4000000.partial",
    }
    for name in kept:
        (tmp_path / name).touch()
    pipe = dead.with_name(f".results.csv.{whole_file.HOST}-{'2' * 12}.partial")
    os.mkfifo(pipe)
    with alive.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        atomic_write(path, [b"now"])
    assert set(names(tmp_path)) == kept | {"results.csv", pipe.name}


def test_a_name_as_long_as_can_be_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 120 + ".csv")
    atomic_write(path, [b"now"])
    assert names(tmp_path) == [path.name]


def test_a_device_or_a_pipe_is_not_put_out_of_the_way(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not a regular file"):
        atomic_write(pipe, [b"now"])
    assert pipe.is_fifo()


def test_a_new_file_takes_no_other_s_place(tmp_path: Path) -> None:
    path = tmp_path / "a.key"
    atomic_create(path, [b"one"], mode=0o600)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        atomic_create(path, [b"two"], mode=0o600)
    assert path.read_bytes() == b"one"
    assert names(tmp_path) == ["a.key"]


@pytest.mark.parametrize("folder", [".", "folder"])
def test_a_folder_is_no_file_and_that_is_said_before_anything_is_written(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    with pytest.raises(IsADirectoryError):
        atomic_write(Path(folder), [b"now"])
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]
