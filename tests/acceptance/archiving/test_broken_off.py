"""Broken off between any two steps: the log is whole, and repeating the command finishes it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from failproof_es.assurance.archiving import archive as archiving
from failproof_es.assurance.archiving import archive_file, attach
from failproof_es.assurance.archiving.archive import ArchivingContext, archive_run
from failproof_es.assurance.archiving.attach import attach_file
from failproof_es.problems import InvalidInput
from failproof_es.store.store import Store
from failproof_es.support import atomic_file
from tests.acceptance.archiving.conftest import Archive
from tests.selection import wide_except

BY = ArchivingContext("somebody", "a host", "a test")

_STEPS = (
    "_require_ended", "_sign", "write_archive", "read_archive", "check_archive", "_record",
    "_detach",
)  # fmt: skip
"""Of archiving, in order."""
_STEPS_BACK = ("_require_said", "_matching", "_put_back", "rows_in_log", "record_attached")
"""Of attaching, in order."""
_WRITING = ("_record", "_detach", "_put_back", "record_attached")
"""Steps that change the log."""


class Killed(BaseException):
    """Stands for the end of the process: nothing catches it."""


def _dying(step: Callable[..., Any], when: str, turn: int) -> Callable[..., Any]:
    calls = 0

    def dies(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if when == "before" and calls == turn:
            raise Killed
        done = step(*arguments, **named)
        if when == "after" and calls == turn:
            raise Killed
        return done

    return dies


@pytest.mark.parametrize("name", wide_except(_WRITING, _STEPS))
@pytest.mark.thinned(fast=1, whole=2)
def test_archiving_can_be_broken_off_anywhere(
    archive: Archive, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before, other = archive.rows(), archive.rows(2)
    run_id, folder = archive.run_id(), archive.folder / "old"
    with Store.open(archive.url) as store:
        for when in ("before", "after"):
            for turn in (1, 2) if name == "_sign" else (1,):
                with monkeypatch.context() as patched:
                    step = getattr(archiving, name)
                    patched.setattr(archiving, name, _dying(step, when, turn))
                    with pytest.raises(Killed):
                        archive_run(store, run_id, folder, BY)
                where = (name, when, turn)
                taken_out = name == "_detach" and when == "after"
                now = archive.rows()
                assert (now == before) != taken_out, where
                assert "genuine" in archive.does("verify"), where
                done = archive_run(store, run_id, folder, BY)
                assert done.already == taken_out, where
                assert archive.rows() != before
                assert "genuine" in archive.does("verify", "--archive", "old"), where
                attach_file(store, Path(done.file), BY)
                assert archive.rows() == before, where
                Path(done.file).unlink()
    assert archive.rows(2) == other
    assert "genuine and whole" in archive.does("verify", "1")


@pytest.mark.parametrize("name", wide_except(_WRITING, _STEPS_BACK))
@pytest.mark.thinned(fast=1, whole=2)
def test_attaching_can_be_broken_off_anywhere(
    archive: Archive, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before, run_id, folder = archive.rows(), archive.run_id(), archive.folder / "old"
    with Store.open(archive.url) as store:
        done = archive_run(store, run_id, folder, BY)
        file = Path(done.file)
        for when in ("before", "after"):
            with monkeypatch.context() as patched:
                patched.setattr(attach, name, _dying(getattr(attach, name), when, 1))
                with pytest.raises(Killed):
                    attach_file(store, file, BY)
            assert "genuine" in archive.does("verify"), (name, when)
            if (name, when) == ("record_attached", "after"):
                with pytest.raises(InvalidInput, match=r"\[run-not-archived\]"):
                    attach_file(store, file, BY)
            else:
                attach_file(store, file, BY)
            assert archive.rows() == before, (name, when)
            assert archive_run(store, run_id, folder, BY).file == str(file)
        attach_file(store, file, BY)
    assert archive.rows() == before


def test_a_file_that_got_lost_before_anything_was_taken_out_is_written_again(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = archive.rows()
    with Store.open(archive.url) as store:
        with monkeypatch.context() as patched:
            patched.setattr(archiving, "_detach", _dying(archiving._detach, "before", 1))
            with pytest.raises(Killed):
                archive_run(store, archive.run_id(), archive.folder / "old", BY)
        assert "archived since" in archive.does("show", "1", code=2)
        assert "still in the log" in archive.does("verify")
        archive.file().unlink()
        done = archive_run(store, archive.run_id(), archive.folder / "elsewhere", BY)
    assert done.file == str(archive.file(folder="elsewhere"))
    assert "genuine" in archive.does("verify", "--archive", "elsewhere")
    archive.does("attach", archive.file(folder="elsewhere"))
    assert archive.rows() == before


def test_a_process_that_is_killed_leaves_no_half_a_file_under_the_name(archive: Archive) -> None:
    before = archive.rows()
    program = (
        "import os, sys\n"
        "from failproof_es.support import atomic_file\n"
        "def dies(file, pieces):\n"
        "    file.write(next(iter(pieces))); file.flush(); os.kill(os.getpid(), 9)\n"
        "atomic_file._write = dies\n"
        "from failproof_es.cli import main\n"
        "main(['archive', '1', '--to', 'old'])\n"
    )
    variables = {**os.environ, "FAILPROOF_ES_DATABASE_URL": archive.url}
    killed = subprocess.run(
        [sys.executable, "-c", program], cwd=archive.folder, env=variables, check=False
    )
    assert killed.returncode == -9
    assert not archive.file().exists()
    assert archive.rows() == before
    archive.does("archive", "1", "--to", "old")
    assert [path.name for path in (archive.folder / "old").iterdir()] == [archive.file().name]


def test_a_full_disk_leaves_everything_as_it_is(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = archive.rows()
    events = archive.query("SELECT count(*) FROM failproof.events WHERE topic = 'RunArchived'")

    def full(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(atomic_file, "_write", full)
        said = archive.does("archive", "1", "--to", "old", code=2)
    assert "[file-unwritable]" in said
    assert list((archive.folder / "old").iterdir()) == []
    assert archive.rows() == before
    assert (
        archive.query("SELECT count(*) FROM failproof.events WHERE topic = 'RunArchived'") == events
    )


def test_what_the_disk_gives_back_is_what_counts(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = archive.rows()
    read = archive_file.read_archive

    def rotten(path: Path) -> bytes:
        data = bytearray(read(path))
        data[len(data) // 2] ^= 1
        return bytes(data)

    with monkeypatch.context() as patched:
        patched.setattr(archiving, "read_archive", rotten)
        said = archive.does("archive", "1", "--to", "old", code=2)
    assert "[file-corrupt]" in said
    assert archive.rows() == before
