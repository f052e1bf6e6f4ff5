"""A file holds all of what was to be written, or what it held before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import psutil
import pytest

from failproof_es.whole_file import Written, write_whole


def names(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


def test_folders_are_made_and_what_was_written_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "results.csv"
    assert write_whole(path, [b"one", b"two"]) == Written(6, sha256(b"onetwo").hexdigest())
    assert path.read_bytes() == b"onetwo"
    assert names(path.parent) == ["results.csv"]


def test_what_breaks_off_leaves_what_was_there(tmp_path: Path) -> None:
    def breaks_off() -> Iterator[bytes]:
        yield b"half"
        raise KeyboardInterrupt

    path = tmp_path / "results.csv"
    write_whole(path, [b"before"])
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, breaks_off())
    assert path.read_bytes() == b"before"
    assert names(tmp_path) == ["results.csv"]


def test_leftovers_of_processes_that_are_gone_go_and_nothing_else(tmp_path: Path) -> None:
    gone = next(pid for pid in range(4_000_000, 5_000_000) if not psutil.pid_exists(pid))
    path = tmp_path / "results.csv"
    (tmp_path / f".results.csv.{gone}.partial").touch()
    kept = {
        f".results.csv.{process}.partial" for process in (os.getppid(), "²", "9" * 30, "-1", "")
    }
    for name in kept:
        (tmp_path / name).touch()
    write_whole(path, [b"now"])
    assert set(names(tmp_path)) == kept | {"results.csv"}


@pytest.mark.parametrize("folder", [".", "folder"])
def test_a_folder_is_no_file_and_that_is_said_before_anything_is_written(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    with pytest.raises(IsADirectoryError):
        write_whole(Path(folder), [b"now"])
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]
