"""What a rebuild may and may not do to the database of somebody who uses it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg import sql

from failproof_es.problems import InvalidInput
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.store import Store
from projections import PROJECTIONS
from projections.follower import Follower
from projections.runner import catch_up, prepare, rebuild, status
from tests.conftest import open_copy
from tests.integration.projections.world import Rows, World, is_building, record, rows


def test_two_followers_at_once_write_every_row_once_and_as_a_rebuild_does(
    store: Store, world: World
) -> None:
    with Follower(store.url, 0) as one, Follower(store.url, 0) as other:
        for start in range(0, len(world.events), 13):
            record(store, world.events[start : start + 13])
    assert one.kept_up and other.kept_up
    with store.connect() as connection:
        live = rows(connection)
        assert all(live[relation.name] for p in PROJECTIONS for relation in p.relations)
        assert {(s.behind, s.outdated) for s in status(connection)} == {(0, False)}
        rebuild(connection)
        assert rows(connection) == live


def test_a_second_follower_waits_and_then_finds_nothing_left(store: Store, world: World) -> None:
    record(store, world.events)
    with store.connect() as one, store.connect() as other, ThreadPoolExecutor(1) as beside:
        prepare(one)
        with one.transaction():
            assert catch_up(one) == len(world.events)
            second = beside.submit(catch_up, other)
            with pytest.raises(TimeoutError):
                second.result(timeout=0.5)
        assert second.result(timeout=30) == 0


def test_a_rebuild_that_would_take_somebody_elses_objects_away_names_them_and_changes_nothing(
    store: Store, followed: Rows
) -> None:
    mine = sql.SQL("CREATE VIEW public.mine AS SELECT * FROM projections.{}")
    with store.connect() as connection:
        for relation in ("evaluations", "run_results", "cost"):
            connection.execute(mine.format(sql.Identifier(relation)))
            with pytest.raises(InvalidInput, match=r"view (public\.)?mine depends on them"):
                rebuild(connection)
            assert rows(connection) == followed, relation
            connection.execute("SELECT * FROM public.mine")
            connection.execute("DROP VIEW public.mine")
        connection.execute(
            "CREATE TABLE public.notes (evaluation uuid REFERENCES projections.evaluations)"
        )
        with pytest.raises(InvalidInput, match="notes"):
            rebuild(connection, ["run_results"])
        rebuild(connection, ["audit_trail"])
        connection.execute("DROP TABLE public.notes")

        def intrude(position: int, newest: int) -> None:
            with store.connect() as other:
                other.execute(
                    "CREATE OR REPLACE VIEW public.mine AS SELECT * FROM projections.runs"
                )

        with pytest.raises(InvalidInput, match="mine"):
            rebuild(connection, progress=intrude)  # made while the rebuild goes on
        assert rows(connection) == followed
        assert not is_building(connection)


def test_who_may_read_a_table_may_read_it_after_a_rebuild(store: Store, followed: Rows) -> None:
    with store.connect() as connection:
        connection.execute("DROP ROLE IF EXISTS projection_reader")
        connection.execute("CREATE ROLE projection_reader")
        try:
            connection.execute("GRANT SELECT ON projections.run_results TO projection_reader")
            rebuild(connection)
            may = connection.execute(
                "SELECT has_table_privilege('projection_reader', 'projections.run_results', %s), "
                "has_table_privilege('projection_reader', 'projections.run_results', 'INSERT'), "
                "has_table_privilege('projection_reader', 'projections.runs', 'SELECT')",
                ("SELECT",),
            ).fetchone()
            assert may == (True, False, False)
        finally:
            connection.execute("DROP OWNED BY projection_reader")
            connection.execute("DROP ROLE projection_reader")


def test_the_tables_of_another_version_are_replaced_whatever_they_were(
    store: Store, followed: Rows
) -> None:
    with store.connect() as connection:
        connection.execute("DROP VIEW projections.run_results")
        connection.execute("CREATE TABLE projections.run_results (old text)")
        connection.execute(
            "UPDATE projections.positions SET version = 1 WHERE name = 'run_results'"
        )
        prepare(connection)
        assert rows(connection) == followed


# -- status only looks -----------------------------------------------------------------------


def read_only(store: Store) -> psycopg.Connection[tuple[object, ...]]:
    return store.connect(options="-c default_transaction_read_only=on")


def test_status_writes_nothing_where_nothing_is(
    postgres_server: EmbeddedServer, bare_database: str, world: World
) -> None:
    with open_copy(postgres_server, bare_database) as store, read_only(store) as connection:
        record(store, world.events)
        found = status(connection)
        assert {(s.position, s.behind, s.updated_at) for s in found} == {
            (0, len(world.events), None)
        }
        assert [s.name for s in found] == [p.name for p in PROJECTIONS]
        tables = connection.execute("SELECT to_regclass('projections.positions')").fetchone()
        assert tables == (None,)


def test_status_says_what_is_outdated_and_rebuilds_nothing(store: Store, followed: Rows) -> None:
    with store.connect() as connection:
        connection.execute(
            "UPDATE projections.positions SET version = 0 WHERE name = 'run_results'"
        )
        connection.execute("TRUNCATE projections.token_usage")
    with read_only(store) as connection:
        assert [s.name for s in status(connection) if s.outdated] == ["run_results"]
        assert rows(connection)["token_usage"] == []
