"""Files that are not what they say, logins that may not, and what a superuser does by hand."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
import pytest

from failproof_es.assurance.archiving.archive import ArchivingContext, archive_run, held_alone
from failproof_es.problems import InvalidInput
from failproof_es.store.schema.installation import ARCHIVER, AUDITOR, WRITER
from failproof_es.store.store import Store
from tests.acceptance.archiving.conftest import Archive


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _longer(data: bytes) -> bytes:
    return data + b"\n"


def _changed(data: bytes) -> bytes:
    return data.replace(b'"topic":"Scored"', b'"topic":"Stored"', 1)


def _empty(_: bytes) -> bytes:
    return b""


def _binary(_: bytes) -> bytes:
    return bytes(range(256)) * 4


def _deep(_: bytes) -> bytes:
    return b"[" * 100_000


def test_a_file_that_was_changed_attaches_nothing(archive: Archive) -> None:
    before = archive.rows()
    archive.does("archive", "1", "--to", "old")
    gone = archive.rows()
    whole = archive.file().read_bytes()
    for damage in (_cut, _longer, _changed, _empty, _binary, _deep):
        archive.file().write_bytes(damage(whole))
        said = archive.does("attach", archive.file(), code=2)
        assert str(archive.file()) in said, damage
        assert archive.rows() == gone, damage
        said = archive.does("verify", "--archive", "old", code=1)
        assert "archived events changed" in said, damage
    archive.file().write_bytes(whole)
    archive.does("attach", archive.file())
    assert archive.rows() == before


def test_a_good_file_of_the_run_that_is_not_the_one_on_record(archive: Archive) -> None:
    archive.does("evidence", "export", "1", "-o", "other.evidence")
    archive.does("ledger", "checkpoint")
    archive.does("archive", "1", "--to", "old")
    said = archive.does("attach", "other.evidence", code=2)
    assert "SHA-256" in said and "[wrong-archive]" in said
    said = archive.does("attach", archive.folder / "none", code=2)
    assert "[file-not-found]" in said
    archive.does("evidence", "export", "2", "-o", "two.evidence")
    assert "[run-not-archived]" in archive.does("attach", "two.evidence", code=2)
    assert "not the archive of a run" in archive.does("verify", "--archive", "two.evidence", code=2)


def test_a_file_of_another_database(archive: Archive) -> None:
    archive.does("archive", "1", "--to", "old")
    lines = archive.file().read_bytes().split(b"\n")
    manifest = json.loads(lines[1])
    manifest["manifest"]["origin"] = "failproof-es/another"
    # As another log would have it: whole by its digest.
    lines[1] = json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode()
    body = b"\n".join(lines[:-2]) + b"\n"
    last = json.dumps({"sha256": hashlib.sha256(body).hexdigest()}, separators=(",", ":"))
    (archive.folder / "foreign.evidence").write_bytes(body + last.encode() + b"\n")
    said = archive.does("attach", "foreign.evidence", code=2)
    assert "failproof-es/another" in said and "[wrong-archive]" in said


def test_who_may_not_archive(archive: Archive, store: Store) -> None:
    before = archive.rows()
    writer = Archive(store.url, archive.folder, archive.admin)
    assert "grant it failproof_archiver" in writer.does("archive", "1", "--to", "old", code=2)
    assert not archive.file().exists()
    for role in (WRITER, AUDITOR):
        url = store.url.replace(f"//{WRITER}@", f"//{role}@")
        with psycopg.connect(url, autocommit=True) as connection:
            for call in ("detach_run(gen_random_uuid(), 1)", "attach_events(NULL, '{}', '{}')"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(f"SELECT failproof.{call}")
    url = store.url.replace(f"//{WRITER}@", f"//{ARCHIVER}@")
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in (
            "DELETE FROM failproof.events",
            "DELETE FROM failproof.archived_events",
            "INSERT INTO failproof.archived_events SELECT FROM failproof.events",
            "SELECT count(*) FROM failproof.stored_events",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)
        # It may call the function, which takes nothing out that no signed event names.
        with pytest.raises(psycopg.DatabaseError, match="no event on record") as refused:
            connection.execute("SELECT failproof.detach_run(%s, 1)", (archive.run_id(),))
        assert refused.value.sqlstate == "FP008"
    assert archive.rows() == before


def test_a_run_that_somebody_holds_and_two_at_once(archive: Archive) -> None:
    before = archive.rows()
    with (
        Store.open(archive.url) as store,
        held_alone(store, archive.run_id(), ArchivingContext("a", "b", "another process")),
    ):
        said = archive.does("archive", "1", "--to", "old", code=2)
    assert "another process" in said
    assert archive.rows() == before
    said_by: list[str] = []

    def one() -> None:
        with Store.open(archive.url) as store:
            try:
                told = archive_run(
                    store, archive.run_id(), archive.folder / "old", ArchivingContext("a", "b", "c")
                )
                said_by.append("already" if told.already else "done")
            except InvalidInput:
                said_by.append("refused")

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said_by.count("done") == 1
    assert "genuine" in archive.does("verify", "--archive", "old")


@pytest.mark.parametrize("role", ["postgres", "failproof_owner"])
def test_rows_leave_by_no_other_way(archive: Archive, role: str) -> None:
    before = archive.rows()
    with psycopg.connect(archive.admin, autocommit=True) as connection:
        connection.execute(f"SET ROLE {role}")
        for statement in (
            "DELETE FROM failproof.events",
            "DELETE FROM failproof.events WHERE notification_id = 10",
            "UPDATE failproof.events SET topic = topic",
            "TRUNCATE failproof.events",
            "TRUNCATE failproof.archived_events",
        ):
            with pytest.raises(psycopg.DatabaseError, match="append-only"):
                connection.execute(statement)
    assert archive.rows() == before
    archive.does("archive", "1", "--to", "old")
    with psycopg.connect(archive.admin, autocommit=True) as connection:
        connection.execute(f"SET ROLE {role}")
        for statement in (
            "DELETE FROM failproof.archived_events",
            "UPDATE failproof.archived_events SET recorded_at = now()",
        ):
            with pytest.raises(psycopg.DatabaseError, match="append-only"):
                connection.execute(statement)


def test_nothing_is_appended_to_a_stream_that_is_archived(archive: Archive, store: Store) -> None:
    [(stream,)] = archive.query(
        "SELECT originator_id FROM failproof.events WHERE topic = 'Scored' AND run_id = %s LIMIT 1",
        archive.run_id(),
    )
    archive.does("archive", "1", "--to", "old")
    with (
        psycopg.connect(store.url, autocommit=True) as connection,
        pytest.raises(psycopg.DatabaseError, match="belongs to a run that is archived"),
    ):
        connection.execute(
            "SELECT failproof.append(ARRAY[%(s)s]::uuid[], ARRAY[1], ARRAY['Scored'], "
            "ARRAY['{}'::bytea], ARRAY[NULL]::uuid[], ARRAY[sha256('\\x00'::bytea || "
            "'failproof-es/event/1\\012'::bytea || uuid_send(%(s)s::uuid) || int8send(1) || "
            "int2send(6::smallint) || 'Scored'::bytea || int8send(2) || sha256('{}'::bytea))])",
            {"s": stream},
        )


_BY_HAND: dict[str, LiteralString] = {
    "a leaf that is kept": "UPDATE failproof.archived_events SET leaf_hash = sha256('x') "
    "WHERE notification_id = (SELECT min(notification_id) FROM failproof.archived_events)",
    "when it was recorded": "UPDATE failproof.archived_events SET recorded_at = recorded_at "
    "- interval '1 day'",
    "whose it was": "UPDATE failproof.archived_events SET run_id = gen_random_uuid()",
    "what kind it was": "UPDATE failproof.archived_events SET topic = 'EvaluationAbandoned' "
    "WHERE topic = 'Scored'",
    "which stream it was": "UPDATE failproof.archived_events SET originator_id = gen_random_uuid() "
    "WHERE topic = 'Scored'",
    "one that is gone": "DELETE FROM failproof.archived_events "
    "WHERE notification_id = (SELECT max(notification_id) FROM failproof.archived_events)",
    "all that is kept": "DELETE FROM failproof.archived_events",
    "rows that nobody archived": "WITH gone AS (DELETE FROM failproof.events WHERE run_id = "
    "(SELECT run_id FROM failproof.run_list WHERE run_number = 2) AND originator_id <> run_id "
    "RETURNING *) INSERT INTO failproof.archived_events SELECT notification_id, originator_id, "
    "originator_version, topic, run_id, recorded_at, leaf_hash FROM gone",
    "the event that says so": "DELETE FROM failproof.events WHERE topic = 'RunArchived'",
}


_TABLES: tuple[LiteralString, ...] = ("events", "archived_events")


@contextmanager
def _without_triggers(archive: Archive) -> Iterator[psycopg.Cursor[Any]]:
    """A superuser who takes the triggers down, and puts them back."""
    with psycopg.connect(archive.admin, autocommit=True) as connection:
        connection.execute("SET event_triggers = off")
        for table in _TABLES:
            connection.execute(f"ALTER TABLE failproof.{table} DISABLE TRIGGER USER")
        yield connection.cursor()
        for table in _TABLES:
            connection.execute(
                f"ALTER TABLE failproof.{table} ENABLE ALWAYS TRIGGER statements_change_nothing"
            )
            connection.execute(
                f"ALTER TABLE failproof.{table} ENABLE ALWAYS TRIGGER rows_never_change"
            )


@contextmanager
def _changed_meanwhile(archive: Archive, statement: LiteralString) -> Iterator[None]:
    """The tables are changed by hand, and afterwards as they were."""
    before: dict[LiteralString, list[bytes]] = {}
    with _without_triggers(archive) as superuser:
        for table in _TABLES:
            with superuser.copy(f"COPY failproof.{table} TO STDOUT (FORMAT binary)") as copy:
                before[table] = [bytes(piece) for piece in copy]
        superuser.execute(statement)
    yield
    with _without_triggers(archive) as superuser:
        for table, pieces in before.items():
            superuser.execute(f"DELETE FROM failproof.{table}")
            with superuser.copy(f"COPY failproof.{table} FROM STDIN (FORMAT binary)") as copy:
                for piece in pieces:
                    copy.write(piece)


def test_a_row_that_is_missing_is_never_taken_for_an_archived_one(archive: Archive) -> None:
    archive.does("archive", "1", "--to", "old")
    told = json.loads(archive.does("verify", "--json"))
    [(position,)] = archive.query(
        "SELECT max(notification_id) FROM failproof.events WHERE topic = 'Scored'"
    )
    with _without_triggers(archive) as superuser:
        superuser.execute(
            "DELETE FROM failproof.events WHERE notification_id = "
            "(SELECT max(notification_id) FROM failproof.events WHERE topic = 'Scored')"
        )
    for options in (("--incremental",), ()):
        said = json.loads(archive.does("verify", "--json", *options, code=1))
        named = [(each["kind"], each["position"]) for each in said["findings"]]
        assert named == [("row missing or hidden", position)], options
        assert (said["archived"], said["events"]) == (told["archived"], told["events"] - 1)


def test_verify_names_what_was_changed_by_hand(archive: Archive) -> None:
    archive.does("archive", "1", "--to", "old")
    for what, statement in _BY_HAND.items():
        with _changed_meanwhile(archive, statement):
            _check_that_it_is_named(archive, what)
    assert "genuine" in archive.does("verify", "--archive", "old")


def _check_that_it_is_named(archive: Archive, what: str) -> None:
    said = archive.does("verify", code=1)
    assert "archived events changed" in said or "row missing" in said
    if "kind" in what or "stream" in what:
        assert "archived events changed" in said
        assert "kept of the run's rows was changed" in archive.does(
            "attach", archive.file(), code=2
        )
        told = archive.does("verify", "--archive", "old", code=1)
        assert "what is kept of run 1 is not what" in told
    if "leaf" in what or "recorded" in what:
        refused = archive.does("attach", archive.file(), code=2)
        assert "is not what was taken out" in refused


def test_a_folder_whose_name_cannot_be_recorded(archive: Archive) -> None:
    before = archive.rows()
    folder = archive.folder / os.fsdecode(b"old-\xff")
    with (
        Store.open(archive.url) as opened,
        pytest.raises(InvalidInput, match=r"\[path-not-utf8\]"),
    ):
        archive_run(opened, archive.run_id(), folder, ArchivingContext("a", "b", "c"))
    assert not folder.exists()
    assert archive.rows() == before


def test_a_file_that_is_missing_is_a_finding(archive: Archive) -> None:
    archive.does("archive", "1", "--to", "old")
    archive.does("archive", "2", "--to", "elsewhere")
    assert "not checked" not in archive.does(
        "verify", "--archive", "old", "--archive", archive.file(2, folder="elsewhere")
    )
    said = archive.does("verify", "--archive", "old", code=1)
    assert "file of archived events missing: the file of run 2 is not in old" in said
    assert f"it was archived in {archive.file(2, folder='elsewhere')}" in said
    # A file that is named is checked for itself: the others may be anywhere.
    assert "not checked" in archive.does("verify", "--archive", archive.file())
    archive.file().rename(archive.folder / "lost")
    assert archive.does("verify").count("not checked, and there is no such file on this host") == 1
    told = json.loads(
        archive.does("verify", "--archive", "old", "--archive", "elsewhere", "--json", code=1)
    )
    assert [each["kind"] for each in told["findings"]] == ["file of archived events missing"]
    assert [run["checked"] for run in told["archived_runs"]] == [False, True]
