"""A run that is archived while somebody else reads it, verifies the log or branches from it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

import failproof_es.cli.commands.audit as audit_command
import failproof_es.cli.commands.log as log_command
from failproof_es.assurance import run_evidence
from failproof_es.assurance.archiving import archive as archiving
from failproof_es.assurance.checking import verification
from failproof_es.engine import branching
from failproof_es.engine.replays import replay as replaying
from failproof_es.reading.log import LogReader
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.reading.archives import RunIsArchived
from failproof_es.store.store import Store
from projections.runner import catch_up, prepare
from tests.acceptance.archiving.conftest import Archive

_READERS: list[Callable[[RecordedRun], object]] = [
    lambda run: list(run.outcomes()),
    lambda run: run.summary,
    lambda run: list(run.evaluations()),
    lambda run: LogReader(run.connection).summary(run.run),
]


def test_a_run_that_leaves_while_it_is_read_is_never_read_as_half_a_run(archive: Archive) -> None:
    with Store.open(archive.url) as store, store.connect() as connection:
        runs = [RecordedRun.read(connection, archive.run_id()) for _ in _READERS]
        archive.does("archive", "1", "--to", "old")
        with store.connect() as other:
            prepare(other)
            while catch_up(other):
                pass
        for run, read in zip(runs, _READERS, strict=True):
            with pytest.raises(RunIsArchived):
                read(run)


def _first_does(
    monkeypatch: pytest.MonkeyPatch, where: Any, name: str, what: Callable[[], object]
) -> None:
    """The first call of a function does something else before."""
    step = getattr(where, name)

    def first(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(where, name, step)
        what()
        return step(*arguments, **named)

    monkeypatch.setattr(where, name, first)


def test_a_replay_that_is_overtaken(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    _first_does(
        monkeypatch, replaying, "read_run", lambda: archive.does("archive", "1", "--to", "old")
    )
    assert "[run-archived]" in archive.does("replay", "1", code=2)


@pytest.mark.parametrize("command", [("evidence", "export", "1", "-o", "one.evidence"),
                                     ("verify", "1")])  # fmt: skip
def test_evidence_that_is_overtaken(
    archive: Archive, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    archive.does("ledger", "checkpoint")
    _first_does(
        monkeypatch, run_evidence, "_notes", lambda: archive.does("archive", "1", "--to", "old")
    )
    assert "[run-archived]" in archive.does(*command, code=2)
    assert not (archive.folder / "one.evidence").exists()


def test_a_branch_that_is_overtaken_does_not_begin(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = archive.rows()[-1][0]
    _first_does(
        monkeypatch, branching, "open_models", lambda: archive.does("archive", "1", "--to", "old")
    )
    said = archive.does("resume", "1", "--at", str(last), "--quiet", code=2)
    assert "[run-archived]" in said
    assert archive.query("SELECT max(run_number) FROM failproof.run_list") == [(2,)]


@pytest.mark.parametrize("step", ["read_archived", pytest.param("_tiles", marks=pytest.mark.slow)])
def test_verify_does_not_take_what_leaves_meanwhile_for_missing(
    archive: Archive, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    archive.does("ledger", "checkpoint")
    _first_does(
        monkeypatch, verification, step, lambda: archive.does("archive", "1", "--to", "old")
    )
    assert "of 1 run are archived" in archive.does("verify")
    _first_does(monkeypatch, verification, step, lambda: archive.does("attach", archive.file()))
    assert "archived" not in archive.does("verify")


def test_a_file_and_its_folders_are_on_disk_before_anything_leaves(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[int] = set()
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    class Killed(BaseException):
        pass

    def dies(*_: Any, **__: Any) -> Any:
        raise Killed

    monkeypatch.setattr(os, "fsync", noted)
    folder = archive.folder / "old" / "deep"
    with Store.open(archive.url) as store:
        run = store, archive.run_id(), folder, archiving.ArchivingContext("a", "b", "c")
        with monkeypatch.context() as patched:
            patched.setattr(archiving, "_record", dies)
            with pytest.raises(Killed):
                archiving.archive_run(*run)
        named = [archive.folder, folder.parent, folder]
        assert {each.stat().st_ino for each in named} <= synced
        # It is there, from a process that was killed: whether it got to the disk is not known.
        synced.clear()
        with monkeypatch.context() as patched:
            patched.setattr(archiving, "_record", dies)
            with pytest.raises(Killed):
                archiving.archive_run(*run)
        assert {archive.file(folder="old/deep").stat().st_ino, folder.stat().st_ino} <= synced


def test_files_are_found_below_a_folder_and_other_evidence_of_the_run_is_no_change(
    archive: Archive,
) -> None:
    archive.does("evidence", "export", "1", "-o", "old/mine.evidence")
    archive.does("archive", "2", "--to", "old/2026")
    archive.does("attach", archive.file(2, folder="old/2026"))
    archive.does("archive", "1", "2", "--to", "old/2027")
    said = archive.does("verify", "--archive", "old")
    assert "genuine" in said
    assert "not checked" not in said
    archive.file(2, folder="old/2027").write_bytes(b"something else")
    said = archive.does("verify", "--archive", "old", code=1)
    assert "is not what run 2 was archived in" in said


@pytest.mark.parametrize("command", [("log", "1"), ("audit", "1")])
def test_a_listing_that_is_overtaken_says_so(
    archive: Archive, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    module = {"log": log_command, "audit": audit_command}[command[0]]
    _first_does(monkeypatch, module, "find" if command[0] == "log" else "_records",
                lambda: archive.does("archive", "1", "--to", "old"))  # fmt: skip
    assert "[run-archived]" in archive.does(*command)
