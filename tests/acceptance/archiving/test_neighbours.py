"""What every other command says of an archived run: where it is, and never a wrong number."""

from __future__ import annotations

import json

import pytest

from tests.acceptance.archiving.conftest import Archive

_REFUSED = [
    ("show", "1"),
    ("show", "1", "--as-of", "30"),
    ("results", "1"),
    ("report", "1", "-o", "report.html"),
    ("replay", "1"),
    ("diff", "1", "2"),
    ("review", "status", "1"),
    ("resume", "1"),
    ("resume", "1", "--retry-abandoned"),
    ("resume", "1", "--at", "40"),
    ("export", "1", "--shape", "promptguard", "-o", "exported"),
    ("evidence", "export", "1", "-o", "one.evidence"),
    ("verify", "1"),
]


@pytest.mark.slow
def test_every_command_that_needs_its_evaluations_says_where_they_are(archive: Archive) -> None:
    archive.does("archive", "1", "--to", "old")
    file = archive.file()
    for arguments in _REFUSED:
        said = archive.does(*arguments, code=2)
        assert "[run-archived]" in said, arguments
        assert f"failproof-es attach {file}" in said, arguments
    # What the log still holds of it is told, and what it does not hold is said.
    listed = [json.loads(line) for line in archive.does("runs", "--format", "jsonl").splitlines()]
    by_number = {row["run_number"]: row for row in listed}
    assert by_number[1]["status"] == "archived"
    assert (by_number[1]["planned"], by_number[1]["finished"]) == (3, 3)
    assert by_number[1]["passed"] == []
    assert by_number[1]["cost_usd"] is None
    assert str(file) in by_number[1]["archived"]
    assert by_number[2]["status"] == "completed"
    assert by_number[2]["attempts"] == 2
    assert "RunStarted" in archive.does("log", "1")
    assert "archived since" in archive.does("audit", "1")
    rebuilt = archive.does("projections", "rebuild")
    assert "not rebuilt: run 1 is archived since" in rebuilt
    # Other runs: their numbers and their evidence count it, as before.
    assert "2 of 2" in archive.does("show", "2")
    archive.does("report", "2", "-o", "two.html")
    archive.does("replay", "2")
    # The collections of specification 001 count what it recorded.
    told = archive.query(
        "SELECT document #>> '{evaluations,scored}' FROM promptguard.test_runs WHERE run_number = 1"
    )
    assert told == [("3",)]
    # A run that begins now is its next attempt.
    archive.does("start", "run.yaml", "--quiet")
    assert "3 of 3" in archive.does("show", "3")


def test_a_run_that_another_one_refers_to_stays(archive: Archive) -> None:
    [(position,)] = archive.query("SELECT max(notification_id) FROM failproof.events")
    archive.does("resume", "1", "--at", str(archive.rows()[-1][0]), "--quiet")
    assert archive.rows(3)
    said = archive.does("archive", "1", "--to", "old", code=2)
    assert "archive 3 first" in said and "[run-in-use]" in said
    assert not archive.file().exists()
    # The one that refers goes first, whatever the order in which they are named.
    archive.does("archive", "1", "3", "--to", "old")
    said = archive.does("attach", archive.file(3), code=2)
    assert "attach that run first" in said and "[run-archived]" in said
    archive.does("attach", archive.file(1))
    archive.does("attach", archive.file(3))
    assert "genuine" in archive.does("verify")
    archive.does("show", "3")
    assert position


def test_a_month_and_what_of_it_cannot_be_archived(archive: Archive) -> None:
    [(month,)] = archive.query("SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM')")
    for wrong in ("2026-13", "2026", "last", "0000-01"):
        assert "--month" in archive.does("archive", "--month", wrong, "--to", "old", code=2)
    archive.does("archive", "--month", "1999-12", "--to", "old")
    assert not (archive.folder / "old").exists()
    # A file that is in the way of one run, and only of that.
    (archive.folder / "old").mkdir()
    archive.file(1).write_text("mine")
    said = archive.does("archive", "--month", month, "--to", "old", code=2)
    assert "run 1 is not archived" in said
    assert "[file-exists]" in said
    assert archive.file(1).read_text() == "mine"
    assert archive.file(2).exists()
    assert len(archive.rows(1)) > len(archive.rows(2))
    archive.file(1).unlink()
    archive.does("archive", "--month", month, "--to", "old")
    said = archive.does("verify", "--archive", "old")
    assert "of 2 runs are archived" in said
    assert "not checked" not in said
