"""Our projections keep the contract of projections; one that breaks a promise is found out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from failproof_es.core.case import operations_id, review_id
from failproof_es.events import Event, Reviewed, RunAnnotated, Scored
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.testing.projection_contract import RUN, ProjectionContract
from projections.relations import create_schemas
from tests.conftest import as_administrator, open_copy
from tests.integration.dialects.test_contract import line
from tests.integration.dialects.test_unknown_keys import COMMAND, FAILPROOF, written
from tests.plugin_packages import install, look_again


@pytest.fixture(scope="module")
def url(postgres_server: EmbeddedServer, migrated_database: str) -> Iterator[str]:
    """A database for all tests of the module: a promise leaves nothing behind."""
    with open_copy(postgres_server, migrated_database) as store:
        url = as_administrator(store.url)
        with psycopg.connect(url, autocommit=True) as connection:
            create_schemas(connection)
        yield url


class Contract(ProjectionContract):
    """In a database of the session's server."""

    good = {"a.jsonl": line(FAILPROOF) + line(FAILPROOF, case_id="b")}
    replies = ("Well, hello", "good-bye", "Well, hello")

    @pytest.fixture(autouse=True)
    def _migrated(self, url: str) -> None:
        self._url = url

    def database(self) -> str:
        return self._url


class TestAuditTrail(Contract):
    projection = "audit_trail"
    rows = {"audit_trail": 1}


class TestReviews(Contract):
    projection = "reviews"
    rows = {"review_history": 4, "reviews": 2, "people_results": 2, "run_annotations": 1}

    def events(self) -> list[Event]:
        """Two evaluations, each judged twice by one person; the run, annotated twice."""
        scored = [each for each in super().events() if isinstance(each, Scored)][:2]
        return [
            Reviewed(
                originator_id=review_id(each.originator_id), originator_version=number, run_id=None,
                timestamp=each.timestamp, about=RUN, who="w", where="h",
                evaluation_id=each.originator_id, reviewer="jane\x00", items=(), verdict="pass",
                severity=None, tags=("a\x00",), notes="odd \x00", blind=True, file_sha256=None,
                sheet=None, queue=None, seconds=None, adjudicates=False,
            )
            for number in (1, 2)
            for each in scored
        ] + [
            RunAnnotated(
                originator_id=operations_id(RUN), originator_version=number, run_id=None,
                timestamp=scored[0].timestamp, about=RUN, who="w\x00", where="h", name="odd \x00",
                tags=("a\x00", "b"), note=None if number == 1 else "odd \x00", hidden=True,
            )
            for number in (1, 2)
        ]  # fmt: skip


class TestCommandResults(Contract):
    projection = "command_results"
    dialect = "command"
    good = {"a.toml": written(COMMAND, "toml")}
    replies = ("ls", "rm -rf /", "no command at all")
    rows = {"command_cases": 1, "command_results": 3, "command_totals": 1}


PROJECTIONS = """
from projections.protocol import Relation

class Good:
    name = "good"
    version = 1
    relations = (Relation("TABLE", "answers_seen"),)
    topics = frozenset({"Classified"})
    def ddl(self):
        return "CREATE TABLE answers_seen (stream_id uuid)"
    def apply(self, cursor, facts):
        cursor.executemany("INSERT INTO answers_seen VALUES (%s)", [(f.stream_id,) for f in facts])

class Batching(Good):
    name = "batching"
    def apply(self, cursor, facts):
        super().apply(cursor, facts[:1])

class Elsewhere(Good):
    name = "elsewhere"
    def ddl(self):
        return "CREATE TABLE projections.elsewhere (n int); " + super().ddl()

class Narrow(Good):
    name = "narrow"
    def apply(self, cursor, facts):
        assert all(fact.payload["classifier"] != "stranger" for fact in facts)
        super().apply(cursor, facts)

class Clocked(Good):
    name = "clocked"
    def ddl(self):
        now = "timestamptz DEFAULT clock_timestamp()"
        return f"CREATE TABLE answers_seen (stream_id uuid, at {now})"
    def apply(self, cursor, facts):
        sql = "INSERT INTO answers_seen (stream_id) VALUES (%s)"
        cursor.executemany(sql, [(f.stream_id,) for f in facts])

class Remembering(Good):
    name = "remembering"
    def __init__(self):
        self.seen = 0
    def ddl(self):
        return "CREATE TABLE answers_seen (stream_id uuid, number int)"
    def apply(self, cursor, facts):
        for fact in facts:
            self.seen += 1
            cursor.execute("INSERT INTO answers_seen VALUES (%s, %s)", (fact.stream_id, self.seen))

class Scratching(Good):
    name = "scratching"
    def apply(self, cursor, facts):
        cursor.execute("CREATE TABLE IF NOT EXISTS scratch (n int)")
        super().apply(cursor, facts)

class Parted(Good):
    name = "parted"
    def ddl(self):
        return "CREATE TABLE parts (n int) PARTITION BY RANGE (n); " + super().ddl()

class Trespassing(Good):
    name = "trespassing"
    def apply(self, cursor, facts):
        cursor.execute("SET LOCAL session_replication_role = replica")
        super().apply(cursor, facts)

class Short(Good):
    name = "short"
    def ddl(self):
        return "CREATE TABLE answers_seen (stream_id uuid, position integer)"
    def apply(self, cursor, facts):
        rows = [(f.stream_id, f.position) for f in facts]
        cursor.executemany("INSERT INTO answers_seen VALUES (%s, %s)", rows)

class Boasting(Good):
    name = "boasting"
    takes_damaged = True
    def apply(self, cursor, facts):
        assert all(fact.payload["classifier"] for fact in facts)
        super().apply(cursor, facts)
"""
HAS = "test_it_has_what_a_projection_has"
MAKES = "test_it_makes_the_relations_that_it_names_and_no_others"
ROWS = "test_events_come_to_the_rows_that_are_said_of_them"
BATCHES = "test_where_a_batch_ends_makes_no_difference"
ANEW = "test_made_anew_it_has_the_same_rows"
STRANGERS = "test_events_of_another_dialect_do_not_break_it"
LATER = "test_it_makes_no_relations_while_it_takes_events_in"
DAMAGED = "test_damaged_events_do_not_break_one_that_takes_them"
PROMISES = (HAS, MAKES, LATER, ROWS, BATCHES, ANEW, STRANGERS, DAMAGED)
BROKEN: dict[str, tuple[str, ...]] = {
    "good": (),
    "batching": (ROWS, BATCHES),
    "elsewhere": (MAKES, LATER),
    "narrow": (STRANGERS,),
    "clocked": (BATCHES, ANEW),
    "remembering": (BATCHES,),
    "scratching": (LATER,),
    "parted": (MAKES, LATER),
    "trespassing": (LATER, ROWS, BATCHES, ANEW, STRANGERS),
    "short": (LATER, ROWS, BATCHES, ANEW, STRANGERS),
    "boasting": (DAMAGED,),
}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    points = {name: f"contract_projections:{name.capitalize()}" for name in BROKEN}
    offered = {"failproof_es.projections": points}
    modules = {"contract_projections": PROJECTIONS}
    install(monkeypatch, tmp_path, "contract-projections", offered, modules)
    yield
    monkeypatch.undo()
    look_again()


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("name", BROKEN)
def test_what_a_projection_breaks_is_found(name: str, url: str) -> None:
    said: dict[str, Any] = {
        "projection": name,
        "good": Contract.good,
        "replies": Contract.replies,
        "rows": {"answers_seen": 6},
        "database": lambda _: url,
    }
    contract = type("OfThis", (ProjectionContract,), said)()
    broken = []
    for promise in PROMISES:
        try:
            getattr(contract, promise)()
        except (AssertionError, KeyError, psycopg.Error):
            broken.append(promise)
    assert tuple(broken) == BROKEN[name]
    assert set(PROMISES) == {each for each in dir(ProjectionContract) if each.startswith("test_")}
