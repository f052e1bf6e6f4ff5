"""A run that another one needs stays in the log, whoever was first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from failproof_es.assurance.archiving import archive as archiving
from failproof_es.assurance.archiving.archive import ArchivingContext, archive_run
from failproof_es.engine import lifecycle
from failproof_es.engine.history import read_run
from failproof_es.engine.planning.asked_cases import PlannedCases
from failproof_es.events import Branch, Counts, RunCompleted, RunSealed
from failproof_es.problems import InvalidInput
from failproof_es.store.store import Store
from failproof_es.store.writing.appending import append_drafts
from failproof_es.store.writing.event_header import Draft, EventHeader
from tests.acceptance.archiving.conftest import Archive
from tests.acceptance.commands import write_configuration

BY = ArchivingContext("somebody", "a host", "a test")


def test_the_baseline_of_a_run_that_has_not_ended_stays(archive: Archive, mock_url: str) -> None:
    """Here it is named by its id, below by its number."""
    gates = {"no_regression_against": str(archive.run_id()), "regression_margin": 1.0}
    write_configuration(archive.folder, mock_url, gates=gates)
    archive.does("start", "run.yaml", "--detach", "--quiet")
    before = archive.rows()
    said = archive.does("archive", "1", "--to", "old", code=2)
    assert "[run-in-use]" in said
    assert "failproof-es resume 3" in said
    assert archive.rows() == before
    assert not archive.file().exists()
    archive.does("resume", "3", "--quiet")
    archive.does("archive", "1", "--to", "old")
    assert "genuine" in archive.does("verify", "--archive", "old")


def _begins_first(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str, what: Callable[[], object]
) -> None:
    step = getattr(place, name)

    def first(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(place, name, step)
        what()
        return step(*arguments, **named)

    monkeypatch.setattr(place, name, first)


def test_a_run_that_begins_while_its_baseline_is_archived_comes_to_its_end(
    archive: Archive, mock_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_configuration(
        archive.folder, mock_url, gates={"no_regression_against": 1, "regression_margin": 1.0}
    )
    before = archive.rows()
    _begins_first(
        monkeypatch, archiving, "_record",
        lambda: archive.does("start", "run.yaml", "--detach", "--quiet"),
    )  # fmt: skip
    said = archive.does("archive", "1", "--to", "old", code=2)
    assert "run 3 has not ended" in said
    assert archive.rows() == before
    archive.does("resume", "3", "--quiet")
    assert "genuine" in archive.does("verify")
    archive.does("archive", "1", "--to", "old")


def test_a_run_whose_baseline_is_archived_meanwhile_does_not_begin(
    archive: Archive, mock_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_configuration(
        archive.folder, mock_url, gates={"no_regression_against": 1, "regression_margin": 1.0}
    )
    _begins_first(
        monkeypatch, lifecycle, "_begin", lambda: archive.does("archive", "1", "--to", "old")
    )
    said = archive.does("start", "run.yaml", "--quiet", code=2)
    assert "[run-archived]" in said
    assert archive.query("SELECT max(run_number) FROM failproof.run_list") == [(2,)]


def test_broken_off_before_it_was_seen_that_it_is_needed(
    archive: Archive, mock_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_configuration(
        archive.folder, mock_url, gates={"no_regression_against": 1, "regression_margin": 1.0}
    )

    class Killed(BaseException):
        pass

    def dies(*_: Any) -> Any:
        raise Killed

    with Store.open(archive.url) as store, monkeypatch.context() as patched:
        _begins_first(
            patched, archiving, "_record",
            lambda: archive.does("start", "run.yaml", "--detach", "--quiet"),
        )  # fmt: skip
        patched.setattr(archiving, "_sign", _dies_at(2, archiving._sign, Killed))
        with pytest.raises(Killed):
            archive_run(store, archive.run_id(), archive.folder / "old", BY)
    assert "run 3 has not ended" in archive.does("archive", "1", "--to", "old", code=2)
    archive.does("resume", "3", "--quiet")


def _dies_at(turn: int, step: Callable[..., Any], error: type[BaseException]) -> Any:
    calls = 0

    def counted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == turn:
            raise error
        return step(*arguments)

    return counted


def _child(store: Store, parent: UUID, *, sealed: bool) -> None:
    """A branch of a run without an evaluation of its own."""
    with store.connect() as connection:
        source = read_run(connection, parent).started
    own = uuid4()
    draft = source.model_copy(
        update={
            "originator_id": own,
            "run_id": own,
            "branched_from": Branch(run_id=parent, position=1),
            "experiment": PlannedCases().experiment(source.configuration, source.models, ()),
            "planned_cases": 0,
            "planned_evaluations": 0,
        }
    )
    store.begin_run(draft, [], frozenset)
    if sealed:
        header = EventHeader.of_run(own)
        none = Counts(planned=0, finished=0, scored=0, abandoned=0)
        ends = [
            Draft(RunCompleted, header, counts=none),
            Draft(RunSealed, header, streams=0, events=0, root="00" * 32),
        ]
        append_drafts(store, ends)


@pytest.mark.parametrize("sealed", [True, False])
def test_a_branch_without_evaluations_holds_its_parent_only_until_it_is_sealed(
    archive: Archive, sealed: bool
) -> None:
    with Store.open(archive.url) as store:
        _child(store, archive.run_id(), sealed=sealed)
        if sealed:
            with pytest.raises(InvalidInput, match=r"\[nothing-to-archive\]"):
                archive_run(store, archive.run_id(3), archive.folder / "old", BY)
            archive_run(store, archive.run_id(), archive.folder / "old", BY)
        else:
            with pytest.raises(InvalidInput, match=r"archive 3 first.*\[run-in-use\]"):
                archive_run(store, archive.run_id(), archive.folder / "old", BY)
