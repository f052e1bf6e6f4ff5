"""What is read, or locked, is a regular file; nothing is waited for without end."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from failproof_es.support.file_lock import lock_beside, locked
from failproof_es.support.regular_file import read_regular


def test_a_pipe_a_device_and_a_folder_are_errors_and_never_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not a regular file"):
        read_regular(pipe, 5)
    with pytest.raises(OSError, match="not a regular file"):
        read_regular(Path("/dev/zero"), 5)
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path, 5)


def test_no_more_is_read_than_was_said(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    assert read_regular(file, 5) == read_regular(file, 6) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_regular(file, 4)


@pytest.mark.long
def test_a_lock_holds_between_threads_and_is_not_waited_for_without_end(tmp_path: Path) -> None:
    place = lock_beside(tmp_path / "file")
    inside: list[str] = []

    def work(name: str) -> None:
        with locked(place):
            inside.append(name)
            time.sleep(0.05)
            inside.append(name)

    threads = [threading.Thread(target=work, args=(str(n),)) for n in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert inside[::2] == inside[1::2]
    held = pytest.raises(TimeoutError, match="another process holds it")
    with locked(place), held, locked(place, patience_s=0.1):
        pass


def test_a_planted_link_is_no_lock_file(tmp_path: Path) -> None:
    place = lock_beside(tmp_path / "file")
    place.symlink_to(tmp_path / "victim")
    with pytest.raises(OSError), locked(place):
        pass
    assert not (tmp_path / "victim").exists()
