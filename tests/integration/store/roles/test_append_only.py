"""Nobody changes what is on record: each forbidden statement, carried out by each role."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from failproof_es.events import Scored
from failproof_es.store.schema.installation import AUDITOR, MIGRATOR, OWNER, PROJECTOR, WRITER
from failproof_es.store.schema.protection_layers import missing_layers
from failproof_es.store.store import Store
from failproof_es.store.writing.journal import Journal
from failproof_es.store.writing.recorder import IncompleteAppend

RUN = UUID(int=7)
GUARDS = (
    "failproof_definitions_stay",
    "failproof_objects_stay",
    "failproof_rows_are_not_rewritten",
)

CHANGES = {
    "update": "UPDATE failproof.events SET topic = 'Scored2'",
    "update one row": "UPDATE failproof.events SET state = '{}' WHERE notification_id = 1",
    "update of no row": "UPDATE failproof.events SET state = '{}' WHERE false",
    "update through a view": "UPDATE failproof.stored_events SET state = '{}'",
    "upsert": "INSERT INTO failproof.events (originator_id, originator_version, topic, state, "
    "leaf_hash) SELECT originator_id, originator_version, topic, state, leaf_hash "
    "FROM failproof.stored_events "
    "ON CONFLICT (originator_id, originator_version) DO UPDATE SET state = '{}'",
    "merge": "MERGE INTO failproof.events e USING (SELECT 1) AS one ON true "
    "WHEN MATCHED THEN UPDATE SET state = '{}'",
    "delete": "DELETE FROM failproof.events",
    "delete through a view": "DELETE FROM failproof.stored_events",
    "truncate": "TRUNCATE failproof.events",
    "renumber runs": "UPDATE failproof.run_numbers SET run_number = run_number + 1",
    "forget a run": "DELETE FROM failproof.run_numbers",
    "turn an epoch back": "UPDATE failproof.leases SET epoch = epoch - 1",
    "forget a lease": "DELETE FROM failproof.leases",
    "forget a migration": "DELETE FROM failproof.migrations",
    "forget an installation": "DELETE FROM failproof.installations",
}

DEFINITIONS = {
    "disable a trigger": "ALTER TABLE failproof.events DISABLE TRIGGER ALL",
    "drop a trigger": "DROP TRIGGER rows_never_change ON failproof.events",
    "add a trigger": "CREATE TRIGGER mine BEFORE INSERT ON failproof.events "
    "FOR EACH ROW EXECUTE FUNCTION failproof.refuse_change()",
    "rewrite": "ALTER TABLE failproof.events SET UNLOGGED",
    "rewrite with USING": "DROP VIEW failproof.stored_events, failproof.event_log, "
    "failproof.readable_log CASCADE; "
    "ALTER TABLE failproof.events "
    "ALTER COLUMN state TYPE bytea USING '{}'::bytea",
    "add a column": "ALTER TABLE failproof.events ADD COLUMN note text DEFAULT 'x'",
    "drop a column": "ALTER TABLE failproof.events DROP COLUMN recorded_at CASCADE",
    "drop the table": "DROP TABLE failproof.events CASCADE",
    "drop the schema": "DROP SCHEMA failproof CASCADE",
    "drop the primary key": "ALTER TABLE failproof.events DROP CONSTRAINT events_stream_version",
    "drop an index": "DROP INDEX failproof.events_notification_id_idx",
    "rename the table": "ALTER TABLE failproof.events RENAME TO old_events",
    "rename the schema": "ALTER SCHEMA failproof RENAME TO old",
    "move the table away": "ALTER TABLE failproof.events SET SCHEMA public",
    "swallow with a rule": "CREATE RULE quiet AS ON INSERT TO failproof.events DO INSTEAD NOTHING",
    "hide with a policy": "CREATE POLICY hide ON failproof.events USING (false)",
    "no row security": "ALTER TABLE failproof.events DISABLE ROW LEVEL SECURITY",
    "inherit from another": "ALTER TABLE failproof.events INHERIT public.parent",
    "add rows by a child": "CREATE TABLE public.child () INHERITS (failproof.events)",
    "replace a view": "CREATE OR REPLACE VIEW failproof.run_list AS "
    "SELECT run_number, run_id FROM failproof.run_numbers WHERE false",
    "replace append": "CREATE OR REPLACE FUNCTION failproof.number_run(new_run_id uuid) "
    "RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'",
    "unfix a search path": "ALTER FUNCTION failproof.number_run(uuid) RESET search_path",
    "take over": "ALTER TABLE failproof.events OWNER TO CURRENT_USER",
    "drop everything": "DROP OWNED BY failproof_owner CASCADE",
    "grant": f"GRANT UPDATE ON failproof.events TO {WRITER}",
    "comment": "COMMENT ON TABLE failproof.events IS 'nothing to see'",
    "replace the guard": "CREATE OR REPLACE FUNCTION failproof_guard.refuse_drop() "
    "RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'",
}

OUTSIDERS = (WRITER, PROJECTOR, AUDITOR)
"""Who can log in, each of whom may nothing of all this."""


def scored(stream: UUID) -> Scored:
    return Scored(
        originator_id=stream, originator_version=1, run_id=RUN, timestamp=datetime.now(UTC),
        prompt_id=RUN, model_key="m", repetition=1, scores={"accuracy": 1.0},
        passed=True, reason="",
        scorer="s", scorer_version="1",
    )  # fmt: skip


@pytest.fixture
def recorded(store: Store, administrator: psycopg.Connection[Any]) -> Iterator[Store]:
    """A store with three events, a run's number and a lease; unchanged at the end."""
    store.log.events.put([scored(uuid4()) for _ in range(3)])
    with store.connect() as connection:
        connection.execute("SELECT failproof.number_run(%s)", (RUN,))
        connection.execute("SELECT failproof.claim_lease(%s, -1, 'me', 600)", (RUN,))
    administrator.execute("CREATE TABLE public.parent AS TABLE failproof.events WITH NO DATA")
    before = everything(administrator)
    yield store
    assert everything(administrator) == before


def everything(connection: psycopg.Connection[Any]) -> list[Any]:
    tables = ("events", "run_numbers", "leases", "migrations", "installations")
    return [
        connection.execute(
            sql.SQL("SELECT t::text FROM failproof.{} t ORDER BY 1").format(sql.Identifier(table))
        ).fetchall()
        for table in tables
    ]


def refusal(
    connection: psycopg.Connection[Any], statement: str, role: str | None = None
) -> psycopg.Error:
    """What the database says to `statement`; it is rolled back, should it say nothing."""
    with pytest.raises(psycopg.Error) as raised, connection.transaction(force_rollback=True):
        if role is not None:
            connection.execute("SELECT set_config('role', %s, true)", (role,))
        connection.execute(statement.encode())
    return raised.value


@pytest.mark.parametrize("role", OUTSIDERS)
def test_who_can_log_in_changes_nothing(role: str, recorded: Store) -> None:
    url = recorded.url.replace(f"//{WRITER}@", f"//{role}@")
    with psycopg.connect(url, autocommit=True) as connection:
        for name, statement in (CHANGES | DEFINITIONS).items():
            if name == "grant":
                connection.execute(statement.encode())  # a warning: nothing was granted
                continue
            refused = refusal(connection, statement)
            assert isinstance(
                refused,
                psycopg.errors.InsufficientPrivilege | psycopg.errors.DependentObjectsStillExist,
            ), (name, refused)
        granted = connection.execute(
            "SELECT has_table_privilege(%s, 'failproof.events', 'UPDATE')", (WRITER,)
        ).fetchone()
    assert granted == (False,)


@pytest.mark.parametrize("replica", [False, True], ids=["", "replica mode"])
@pytest.mark.parametrize("role", [OWNER, MIGRATOR, None], ids=["owner", "migrator", "superuser"])
def test_rows_are_refused_to_the_mighty_too(
    role: str | None, replica: bool, recorded: Store, administrator: psycopg.Connection[Any]
) -> None:
    if replica:
        administrator.execute("SET session_replication_role = replica")
    for name, statement in CHANGES.items():
        refused = refusal(administrator, statement, role)
        assert refused.sqlstate == "FP002", (name, refused)


@pytest.mark.parametrize("replica", [False, True], ids=["", "replica mode"])
@pytest.mark.parametrize("role", [OWNER, None], ids=["owner", "superuser"])
def test_definitions_are_refused_to_the_mighty_too(
    role: str | None, replica: bool, recorded: Store, administrator: psycopg.Connection[Any]
) -> None:
    if replica:
        administrator.execute("SET session_replication_role = replica")
    for name, statement in DEFINITIONS.items():
        refused = refusal(administrator, statement, role)
        permitted = {"FP004"} if role is None else {"FP004", "42501"}
        assert refused.sqlstate in permitted, (name, refused)


def test_other_schemas_are_nobodys_business(administrator: psycopg.Connection[Any]) -> None:
    administrator.execute(
        "CREATE SCHEMA other; CREATE TABLE other.events (n integer); "
        "ALTER TABLE other.events ALTER n TYPE bigint USING n + 1, ADD CHECK (n > 0); "
        "CREATE RULE quiet AS ON INSERT TO other.events DO INSTEAD NOTHING; "
        f"GRANT ALL ON other.events TO {WRITER}; DROP SCHEMA other CASCADE"
    )


def test_the_migrator_changes_definitions_and_is_recorded(
    recorded: Store, administrator: psycopg.Connection[Any]
) -> None:
    with administrator.transaction(force_rollback=True):
        administrator.execute(f"SET LOCAL ROLE {MIGRATOR}")
        administrator.execute("CREATE INDEX events_by_topic_only ON failproof.events (topic)")
        administrator.execute("DROP INDEX failproof.events_by_topic_only")
        administrator.execute("RESET ROLE")
        changes = administrator.execute(
            "SELECT command, object, changed_by FROM failproof.schema_change_log"
        ).fetchall()
    assert changes == [
        ("CREATE INDEX", "index failproof.events_by_topic_only", "postgres"),
        ("DROP INDEX", "drops index failproof.events_by_topic_only", "postgres"),
    ]


def test_not_even_the_migrator_rewrites_rows(
    recorded: Store, administrator: psycopg.Connection[Any]
) -> None:
    refused = refusal(administrator, DEFINITIONS["rewrite with USING"], MIGRATOR)
    assert "it rewrites the rows of failproof.events" in str(refused)


# -- with a layer taken down, which a superuser can ------------------------------------------


@pytest.fixture
def unguarded(administrator: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    """The administrator's connection, after taking the schema guard down."""
    for guard in GUARDS:
        administrator.execute(f"ALTER EVENT TRIGGER {guard} DISABLE".encode())
    return administrator


def missing(store: Store) -> list[str]:
    with store.connect() as connection:
        return [layer.name for layer in missing_layers(connection)]


def test_every_layer_is_in_place(store: Store) -> None:
    assert missing(store) == []


def test_without_the_guard_rows_are_still_refused(
    recorded: Store, unguarded: psycopg.Connection[Any]
) -> None:
    assert missing(recorded) == ["guarded schema"]
    for name, statement in CHANGES.items():
        assert refusal(unguarded, statement).sqlstate == "FP002", name


def test_a_parent_table_is_no_way_around_the_statement_trigger(
    recorded: Store, unguarded: psycopg.Connection[Any]
) -> None:
    with unguarded.transaction(force_rollback=True):
        unguarded.execute(
            "CREATE TABLE public.above (LIKE failproof.events); "
            "ALTER TABLE failproof.events INHERIT public.above"
        )
        with pytest.raises(psycopg.errors.DatabaseError, match="UPDATE refused") as raised:
            unguarded.execute("UPDATE public.above SET state = '{}'")
    assert raised.value.sqlstate == "FP002"


TAMPERING = {
    "ALTER TABLE failproof.events DISABLE TRIGGER rows_never_change": "immutable rows",
    "ALTER TABLE failproof.events ENABLE TRIGGER statements_change_nothing": "immutable rows",
    DEFINITIONS["hide with a policy"]: "nothing in between",
    DEFINITIONS["no row security"]: "nothing in between",
    "CREATE RULE quiet AS ON UPDATE TO failproof.events DO INSTEAD NOTHING": "nothing in between",
    DEFINITIONS["add rows by a child"]: "nothing in between",
    DEFINITIONS["add a trigger"]: "nothing in between",
    f"GRANT UPDATE ON failproof.leases TO {WRITER}": "least privilege",
    f"GRANT TRIGGER ON failproof.events TO {WRITER}": "least privilege",
    "ALTER TABLE failproof.events OWNER TO postgres": "owner without a login",
    "ALTER FUNCTION failproof.append OWNER TO postgres": "owner without a login",
    # The one definition that PostgreSQL fires no event trigger for.
    "REASSIGN OWNED BY failproof_owner TO postgres": "owner without a login",
    "ALTER TABLE failproof.events ALTER recorded_at SET DEFAULT now() - interval '1 day'": (
        "nothing in between"
    ),
    "CREATE OR REPLACE VIEW failproof.event_log AS SELECT * FROM failproof.event_log": (
        "nothing in between"
    ),
}
BOTH = {
    "ALTER FUNCTION failproof.append SECURITY INVOKER": "one way in",
    "ALTER FUNCTION failproof.append RESET search_path": "one way in",
    "DROP TRIGGER rows_never_change ON failproof.events": "immutable rows",
}
"""What takes a layer down and is not as it was installed, too."""


def test_what_a_superuser_takes_down_is_reported_as_missing(
    unguarded: psycopg.Connection[Any],
) -> None:
    two = {statement: [layer, "nothing in between"] for statement, layer in BOTH.items()}
    one = {statement: [layer] for statement, layer in TAMPERING.items()}
    for statement, layers in (one | two).items():
        with unguarded.transaction(force_rollback=True):
            unguarded.execute(statement.encode())
            unguarded.execute(f"SET LOCAL SESSION AUTHORIZATION {WRITER}")
            found = [layer.name for layer in missing_layers(unguarded)]
            assert found == [*layers, "guarded schema"], statement


def test_a_superuser_who_takes_everything_down_can_change_an_event(
    store: Store, unguarded: psycopg.Connection[Any]
) -> None:
    """The limit of this part, and why there is a ledger: docs/concepts/guarantees.md says so."""
    store.log.events.put([scored(uuid4())])
    unguarded.execute("ALTER TABLE failproof.events DISABLE TRIGGER ALL")
    unguarded.execute("UPDATE failproof.events SET state = '{}'")
    unguarded.execute("ALTER TABLE failproof.events ENABLE ALWAYS TRIGGER rows_never_change")
    unguarded.execute(
        "ALTER TABLE failproof.events ENABLE ALWAYS TRIGGER statements_change_nothing"
    )
    for guard in GUARDS:
        unguarded.execute(f"ALTER EVENT TRIGGER {guard} ENABLE ALWAYS".encode())
    assert missing(store) == []


# -- appends that the database swallows ------------------------------------------------------

SWALLOW = {
    "a rule": "CREATE RULE quiet AS ON INSERT TO failproof.events DO INSTEAD NOTHING",
    "a rule for some": "CREATE RULE quiet AS ON INSERT TO failproof.events "
    "WHERE NEW.originator_id = '{}' DO INSTEAD NOTHING",
    "a rule that returns": "CREATE TABLE public.elsewhere (LIKE failproof.events); "
    "GRANT ALL ON public.elsewhere TO failproof_owner; "
    "CREATE RULE quiet AS ON INSERT TO failproof.events DO INSTEAD "
    "INSERT INTO public.elsewhere SELECT 1, NEW.originator_id, 1, '', '', NULL, now(), sha256('') "
    "WHERE NEW.originator_id <> '{}' RETURNING *",
    "a trigger": "CREATE FUNCTION public.swallow() RETURNS trigger LANGUAGE plpgsql AS "
    "'BEGIN IF NEW.originator_id = ''{}'' THEN RETURN NULL; END IF; RETURN NEW; END'; "
    "CREATE TRIGGER quiet BEFORE INSERT ON failproof.events "
    "FOR EACH ROW EXECUTE FUNCTION public.swallow()",
}


@pytest.mark.parametrize("how", SWALLOW)
def test_a_batch_of_which_one_event_is_swallowed_is_refused_whole(
    how: str, store: Store, unguarded: psycopg.Connection[Any]
) -> None:
    first, second = uuid4(), uuid4()
    unguarded.execute(SWALLOW[how].format(second).encode())
    with pytest.raises(IncompleteAppend):
        store.log.events.put([scored(first), scored(second)])
    assert unguarded.execute("SELECT count(*) FROM failproof.events").fetchone() == (0,)
    assert missing(store) == ["nothing in between", "guarded schema"]


def test_a_rule_that_pretends_is_not_noticed_by_the_writer_but_reported(
    store: Store, unguarded: psycopg.Connection[Any]
) -> None:
    """A superuser's: what only looking at the catalog, or a ledger, can tell."""
    unguarded.execute(
        "CREATE TABLE public.elsewhere (LIKE failproof.events); "
        "GRANT ALL ON public.elsewhere TO failproof_owner; "
        "CREATE RULE quiet AS ON INSERT TO failproof.events DO INSTEAD INSERT INTO "
        "public.elsewhere SELECT 1, NEW.originator_id, 1, '', '', NULL, now(), sha256('') "
        "RETURNING *"
    )
    store.log.events.put([scored(uuid4()), scored(uuid4())])
    assert unguarded.execute("SELECT count(*) FROM failproof.events").fetchone() == (0,)
    assert missing(store) == ["nothing in between", "guarded schema"]


def test_an_append_function_that_swallows_is_not_believed(
    store: Store, unguarded: psycopg.Connection[Any]
) -> None:
    unguarded.execute(
        "CREATE OR REPLACE FUNCTION failproof.append(originator_ids uuid[], "
        "originator_versions bigint[], topics text[], states bytea[], run_ids uuid[], "
        "leaf_hashes bytea[], lease_run_ids uuid[] DEFAULT NULL, "
        "lease_shards integer[] DEFAULT NULL, lease_epochs bigint[] DEFAULT NULL) "
        "RETURNS SETOF bigint LANGUAGE sql AS 'SELECT 1::bigint'"
    )
    with pytest.raises(IncompleteAppend, match="2 events were appended but 1 rows came back"):
        store.log.events.put([scored(uuid4()), scored(uuid4())])


def test_the_journal_stops_when_an_event_is_swallowed(
    store: Store, unguarded: psycopg.Connection[Any]
) -> None:
    swallowed = uuid4()
    unguarded.execute(SWALLOW["a rule for some"].format(swallowed).encode())

    async def append_two() -> None:
        journal = Journal(store.log)
        try:
            with pytest.raises(IncompleteAppend):
                await journal.append(scored(swallowed))
            with pytest.raises(IncompleteAppend):
                await journal.append(scored(uuid4()))
        finally:
            await journal.close()

    asyncio.run(append_two())
    assert unguarded.execute("SELECT count(*) FROM failproof.events").fetchone() == (0,)
