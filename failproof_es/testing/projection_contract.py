"""The contract of projections, as tests for any projection.

    class TestMine(ProjectionContract):
        projection = "my_answers"
        dialect = "mine"
        good = {"cases.jsonl": '{"id": "a", "ask": "2 + 2?", "want": "4"}\\n'}
        replies = ("4", "5")
        rows = {"my_answers": 2}

The projection and the dialect have to be installed. By default the database is a temporary one of
the embedded server, which is deleted after the tests; override `database` for another one.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

import psycopg
from psycopg import sql

from failproof_es.core.case import Case, prompt_id
from failproof_es.core.evaluation import EvaluationKey, ModelReply
from failproof_es.dialects import dialect_named
from failproof_es.events import EVENTS, EvaluationAbandoned, Event, PromptStored
from failproof_es.problems import Problems
from failproof_es.store.connecting import connect
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.errors import UnreadableState
from failproof_es.store.mapper import encode
from failproof_es.store.schema.installation import install
from failproof_es.support.plugins import instance
from failproof_es.testing.evaluations import stages
from projections.installed import MEMBERS, OFFERED
from projections.protocol import Cursor, Fact, Projection
from projections.relations import create_schemas

RUN = UUID(int=1)
Rows = dict[str, list[str]]
_FIRST_POSITION = 2**40
_KINDS = {"r": "TABLE", "v": "VIEW"}


class ProjectionContract:
    """Contract tests of a projection.

    Subclass it, set the attributes without a value, and let `pytest` collect the subclass.
    """

    projection: ClassVar[str]
    """The name of the projection under test."""
    dialect: ClassVar[str] = "failproof"
    """The dialect of the evaluated cases."""
    good: ClassVar[Mapping[str, str]]
    """Case files without a defect: content by name."""
    replies: ClassVar[Sequence[str]]
    """The answers to every case, one repetition each."""
    rows: ClassVar[Mapping[str, int]]
    """The expected number of rows of each relation after all events."""

    def database(self) -> str:
        """The URL of a database with this program's schema, for an administrator's login."""
        return _database()

    def events(self) -> list[Event]:
        """Sample events: cases are stored, answered, classified and scored; one is abandoned."""
        events: list[Event] = []
        for case in self._cases():
            events.append(_prompt_stored(case))
            for repetition, text in enumerate(self.replies, 1):
                events += self._evaluation_events(case, repetition, text)
        ended = events[-1]
        lost = {name: getattr(ended, name) for name in ("run_id", "timestamp", "prompt_id")}
        stream = EvaluationKey(RUN, lost["prompt_id"], "model", 10_000).evaluation_id
        events.append(
            EvaluationAbandoned(
                **lost, originator_id=stream, originator_version=1, model_key="model",
                repetition=10_000, kind="timeout", reason="too slow \x00",
            )
        )  # fmt: skip
        return events

    def test_it_has_what_a_projection_has(self) -> None:
        mine = self.made()
        assert mine.name == self.projection
        assert [member for member in MEMBERS if not hasattr(mine, member)] == []
        assert mine.version >= 1 and mine.relations
        assert mine.topics and mine.topics <= set(EVENTS), sorted(mine.topics - set(EVENTS))

    def test_it_makes_the_relations_that_it_names_and_no_others(self) -> None:
        with self._empty_relations() as connection:
            self._check_relations(connection)

    def test_it_makes_no_relations_while_it_takes_events_in(self) -> None:
        with self._empty_relations() as connection, connection.cursor() as cursor:
            self._apply(cursor, _to_facts(self.events()), 3)
            self._check_relations(connection)

    def test_events_come_to_the_rows_that_are_said_of_them(self) -> None:
        rows_by_relation = self._rows_after(len(self.events()))
        assert {name: len(rows) for name, rows in rows_by_relation.items()} == dict(self.rows)
        assert any(self.rows.values()), "give events that come to a row"

    def test_where_a_batch_ends_makes_no_difference(self) -> None:
        whole = self._rows_after(len(self.events()))
        for size in (1, 2, 3, 7):
            assert self._rows_after(size) == whole, f"in batches of {size}"

    def test_made_anew_it_has_the_same_rows(self) -> None:
        assert self._rows_after(5) == self._rows_after(5)

    def test_events_of_another_dialect_do_not_break_it(self) -> None:
        """The events have classes and details that the projection does not know."""
        strangers: list[Event] = []
        for event in self.events():
            own: dict[str, Any] = {"classifier": "stranger", "scorer": "stranger"}
            changed = {
                name: value for name, value in own.items() if name in type(event).model_fields
            }
            if isinstance(event, PromptStored):
                changed["case"] = event.case.model_copy(update={"dialect": "stranger"})
            if "details" in type(event).model_fields:
                changed |= {"details": {"\x00": [None]}, "primary": "odd"}
            strangers.append(event.model_copy(update=changed))
        self._rows_after(3, strangers)

    def test_damaged_events_do_not_break_one_that_takes_them(self) -> None:
        """Damaged facts have no event and no payload; only `takes_damaged` asks for them."""
        if not getattr(self.made(), "takes_damaged", False):
            return
        facts = _to_facts(self.events())
        for place in range(0, len(facts), 2):
            whole = facts[place]
            damage = UnreadableState("damaged by the contract")
            facts[place] = replace(whole, raw_payload={}, event=None, damage=damage)
        with self._empty_relations() as connection, connection.cursor() as cursor:
            self._apply(cursor, facts, 3)

    def made(self) -> Projection:
        """The installed projection under test."""
        projection: Projection = instance(OFFERED.load(self.projection))
        return projection

    def _rows_after(self, size: int, events: Sequence[Event] | None = None) -> Rows:
        """The rows of each relation, as texts by its name, after these events.

        The events, by default those of `events`, are applied in batches of `size`.
        """
        facts = _to_facts(self.events() if events is None else events)
        with self._empty_relations() as connection, connection.cursor() as cursor:
            self._apply(cursor, facts, size)
            return {
                relation.name: [
                    row
                    for (row,) in cursor.execute(
                        sql.SQL("SELECT t::text FROM {} AS t ORDER BY 1").format(
                            sql.Identifier(relation.name)
                        )
                    )
                ]
                for relation in self.made().relations
            }

    def _apply(self, cursor: Cursor, facts: Sequence[Fact], size: int) -> None:
        """Apply the events in batches of `size`, each with a new instance of the projection."""
        for begin in range(0, len(facts), size):
            mine = self.made()
            batch = facts[begin : begin + size]
            if own_facts := [fact for fact in batch if fact.topic in mine.topics]:
                mine.apply(cursor, own_facts)

    def _check_relations(self, connection: psycopg.Connection[Any]) -> None:
        made = connection.execute(
            "SELECT relkind, relname, nspname FROM pg_class "
            "JOIN pg_namespace AS n ON n.oid = relnamespace "
            "WHERE relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND nspname <> 'pg_toast' "
            "AND pg_class.xmin = pg_current_xact_id()::xid"
        ).fetchall()
        declared = {(relation.kind, relation.name) for relation in self.made().relations}
        where = {(_KINDS.get(kind, kind), name) for kind, name, schema in made}
        assert where == declared, f"named {sorted(declared)}, made {sorted(where)}"
        assert {schema for _, _, schema in made} == {"contract"}, "name no schema in the DDL"

    @contextmanager
    def _empty_relations(self) -> Iterator[psycopg.Connection[Any]]:
        """The projection's empty relations, in a schema that is rolled back."""
        with connect(self.database(), autocommit=False) as connection:
            connection.execute("CREATE SCHEMA contract")
            connection.execute("GRANT ALL ON SCHEMA contract TO failproof_projector")
            # With the rights of projections only.
            connection.execute("SET LOCAL ROLE failproof_projector")
            connection.execute("SET LOCAL search_path = contract")
            connection.execute(self.made().ddl())
            yield connection
            connection.rollback()

    def _cases(self) -> list[Case]:
        dialect = dialect_named(self.dialect)
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / name for name in self.good]
            for file, content in zip(files, self.good.values(), strict=True):
                file.write_text(content, "utf-8")
            problems = Problems()
            cases = list(dialect.load(files, problems))
        assert [str(problem) for problem in problems.errors] == []
        return cases

    def _evaluation_events(self, case: Case, repetition: int, text: str) -> Iterator[Event]:
        """Yield the events of one evaluation, as the engine records them; `text` is the answer."""
        key = EvaluationKey(RUN, prompt_id(case.digest()), "model", repetition)
        placed = {
            "originator_id": key.evaluation_id,
            "prompt_id": key.prompt_id,
            "repetition": repetition,
        }
        answer = lambda turn: ModelReply(turn, text, "stop")  # noqa: E731
        for state in stages(dialect_named(self.dialect), case, answer):
            assert state.last is not None
            yield state.last.model_copy(update=placed)


def _prompt_stored(case: Case) -> PromptStored:
    return PromptStored(
        originator_id=prompt_id(case.digest()), originator_version=1, run_id=None,
        timestamp=datetime(2026, 1, 1, tzinfo=UTC), digest=case.digest(), case=case,
    )  # fmt: skip


def _to_facts(events: Sequence[Event]) -> list[Fact]:
    """The events as facts for a projection, at positions beyond 32 bits and with gaps."""
    return [
        Fact(
            position,
            str(event.originator_id),
            type(event).__name__,
            None if event.run_id is None else str(event.run_id),
            encode(event),
            event.originator_version,
            event,
        )
        for position, event in zip(count(_FIRST_POSITION, 3), events, strict=False)
    ]


@cache
def _database() -> str:
    home = Path(tempfile.mkdtemp(prefix="failproof-es-contract-"))
    server = EmbeddedServer(home)
    server.ensure_running()
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    atexit.register(server.stop)
    with connect(server.url) as connection:
        install(connection, logins=True)
        create_schemas(connection)
    return server.url
