"""Who may do what: the catalog against a table, and the roles for real."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from failproof_es.problems import InvalidInput
from failproof_es.store.embedded.server import HOME, EmbeddedServer
from failproof_es.store.reading.reader import read_after
from failproof_es.store.schema import installation, migration
from failproof_es.store.schema.installation import (
    ARCHIVER,
    AUDITOR,
    MIGRATOR,
    OWNER,
    PROJECTOR,
    WRITER,
    SchemaState,
    install,
    schema_state,
)
from failproof_es.store.schema.protection_layers import layers, missing_layers
from failproof_es.store.store import Store
from projections.runner import catch_up, prepare
from tests.conftest import database_url_as

ROLES = (OWNER, MIGRATOR, WRITER, PROJECTOR, AUDITOR, ARCHIVER)

READS = {
    "SELECT failproof.event_log",
    "SELECT failproof.readable_log",
    "EXECUTE failproof.readable",
    "EXECUTE failproof.cost_usd",
    "SELECT failproof.checkpoint_list",
    "SELECT failproof.installation_log",
    "SELECT failproof.ledger_origin",
    "SELECT failproof.ledger_tile_list",
    "SELECT failproof.lease_list",
    "SELECT failproof.migration_log",
    "SELECT failproof.price_list",
    "SELECT failproof.run_list",
    "SELECT failproof.archived_event_list",
    "SELECT failproof.asking_list",
    "SELECT failproof.question_asked_list",
    "SELECT failproof.question_set_list",
    "SELECT failproof.question_shared_list",
    "SELECT failproof.run_asked_list",
    "SELECT failproof.run_shard_list",
    "SELECT failproof.run_budget_list",
    "SELECT failproof.shard_budget_list",
    "SELECT failproof.provider_limit_list",
    "SELECT failproof.limit_share_list",
    "SELECT failproof.schema_change_log",
    "SELECT failproof.stored_events",
    "SELECT failproof_queue.*",
    "SELECT projections.*",
    "USAGE failproof",
    "USAGE projections",
    "EXECUTE promptguard.body_text",
    "EXECUTE promptguard.closed",
    "EXECUTE promptguard.opened",
    "SELECT promptguard.*",
    "USAGE promptguard",
}
MAY = {
    AUDITOR: READS,
    WRITER: READS
    | {
        "EXECUTE failproof.claim_lease",
        "EXECUTE failproof.renew_leases",
        "EXECUTE failproof.release_lease",
        "EXECUTE failproof.dead_leases",
        "EXECUTE failproof.open_shards",
        "EXECUTE failproof.close_shards",
        "EXECUTE failproof.begin_budget",
        "EXECUTE failproof.count_spending",
        "EXECUTE failproof.reserve_spending",
        "EXECUTE failproof.share_limits",
        "INSERT failproof_queue.*",
        "UPDATE failproof_queue.*",
        "DELETE failproof_queue.*",
        "EXECUTE failproof.add_checkpoint",
        "EXECUTE failproof.add_tile",
        "EXECUTE failproof.begin_tree",
        "EXECUTE failproof.lock_ledger",
        "EXECUTE failproof.append",
        "EXECUTE failproof.number_run",
        "EXECUTE failproof.models_asked",
        "EXECUTE failproof.sets_that_share",
        "EXECUTE failproof.take_in_runs",
    },
    ARCHIVER: {
        "EXECUTE failproof.attach_events",
        "EXECUTE failproof.detach_run",
        "USAGE failproof",
    },
    PROJECTOR: {
        "SELECT failproof.archived_event_list",
        "EXECUTE failproof.cost_usd",
        "SELECT failproof.installation_log",
        "SELECT failproof.migration_log",
        "SELECT failproof.price_list",
        "SELECT failproof.run_list",
        "SELECT failproof.stored_events",
        "EXECUTE failproof.readable",
        "USAGE failproof",
        "USAGE projections",
        "CREATE projections",
        "USAGE projections_building",
        "CREATE projections_building",
        "EXECUTE promptguard.body_text",
        "EXECUTE promptguard.closed",
        "EXECUTE promptguard.opened",
        "USAGE promptguard",
        "CREATE promptguard",
        *(
            f"{privilege} {schema}.*"
            for schema in ("projections", "promptguard")
            for privilege in (
                "SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER",
                "MAINTAIN",
            )
        ),
    },
}  # fmt: skip
"""All that these may do in our schemas, by right, membership or for being PUBLIC."""

EFFECTIVE = """
SELECT privilege || ' ' || n.nspname || CASE n.nspname WHEN 'failproof' THEN '.' || c.relname
        ELSE '.*' END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES',
    'TRIGGER', 'MAINTAIN']) AS privilege
WHERE n.nspname LIKE ANY (ARRAY['failproof%%', 'projections%%', 'promptguard'])
    AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND has_table_privilege(%(role)s, c.oid, privilege)
UNION
SELECT privilege || ' column ' || a.attname
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'REFERENCES']) AS privilege
WHERE c.relnamespace = 'failproof'::regnamespace AND c.relkind <> 'i' AND a.attacl IS NOT NULL
    AND has_column_privilege(%(role)s, c.oid, a.attnum, privilege)
UNION
SELECT privilege || ' sequence ' || c.relname
FROM pg_class c
CROSS JOIN unnest(ARRAY['USAGE', 'SELECT', 'UPDATE']) AS privilege
WHERE c.relnamespace = 'failproof'::regnamespace AND c.relkind = 'S'
    AND has_sequence_privilege(%(role)s, c.oid, privilege)
UNION
SELECT 'EXECUTE ' || n.nspname || '.' || p.proname
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname IN ('failproof', 'promptguard')
    AND has_function_privilege(%(role)s, p.oid, 'EXECUTE')
UNION
SELECT privilege || ' ' || nspname
FROM pg_namespace CROSS JOIN unnest(ARRAY['USAGE', 'CREATE']) AS privilege
WHERE nspname IN ('failproof', 'projections', 'projections_building', 'promptguard')
    AND has_schema_privilege(%(role)s, oid, privilege)
UNION
SELECT privilege || ' database'
FROM unnest(ARRAY['CREATE']) AS privilege
WHERE has_database_privilege(%(role)s, current_database(), privilege)
"""

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture
def projected(store: Store) -> Store:
    """A store whose read models exist."""
    with store.connect() as connection:
        prepare(connection)
    return store


@pytest.mark.parametrize("role", MAY)
def test_a_role_may_do_what_the_table_says_and_nothing_else(
    role: str, projected: Store, administrator: psycopg.Connection[Any]
) -> None:
    rows = administrator.execute(EFFECTIVE, {"role": role}).fetchall()
    assert {row[0] for row in rows} == MAY[role]


def test_nobody_else_may_anything(projected: Store, administrator: psycopg.Connection[Any]) -> None:
    name = f"stranger_{uuid4().hex}"
    with administrator.transaction(force_rollback=True):
        administrator.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(name)))
        rows = administrator.execute(EFFECTIVE, {"role": name}).fetchall()
    assert rows == []


def test_no_role_has_power_over_the_server(administrator: psycopg.Connection[Any]) -> None:
    mighty = administrator.execute(
        "SELECT rolname FROM pg_roles WHERE rolname LIKE 'failproof%%' AND "
        "(rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls)"
    ).fetchall()
    assert mighty == []


def test_who_is_a_member_of_what(administrator: psycopg.Connection[Any]) -> None:
    memberships = administrator.execute(
        "SELECT member::regrole::text, roleid::regrole::text, inherit_option, admin_option "
        "FROM pg_auth_members WHERE roleid::regrole::text LIKE 'failproof%%' "
        "AND member::regrole::text LIKE 'failproof%%' ORDER BY 1, 2"
    ).fetchall()
    assert memberships == [
        (MIGRATOR, OWNER, True, False),
        (MIGRATOR, PROJECTOR, True, False),
        (WRITER, PROJECTOR, False, False),
    ]


@pytest.mark.parametrize("role", [OWNER, MIGRATOR])
def test_owner_and_migrator_cannot_log_in(role: str, store: Store) -> None:
    with pytest.raises(psycopg.OperationalError, match="not permitted to log in"):
        psycopg.connect(store.url.replace(f"//{WRITER}@", f"//{role}@"))


@pytest.mark.parametrize("role", [OWNER, MIGRATOR, AUDITOR, "postgres"])
def test_the_writer_cannot_become_anybody_mightier(role: str, store: Store) -> None:
    with (
        store.connect() as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))


def test_names_that_a_writer_puts_in_the_way_are_not_used(store: Store) -> None:
    """A function that runs as its owner must not find tables or operators of its caller's."""
    run = uuid4()
    with store.connect() as connection:
        connection.execute("CREATE TEMP TABLE run_numbers (run_number bigint, run_id uuid)")
        connection.execute("CREATE TEMP TABLE unnest (n integer)")
        connection.execute("SET search_path = pg_temp, failproof, pg_catalog")
        connection.execute("SELECT failproof.number_run(%s)", (run,))
        assert connection.execute("SELECT count(*) FROM pg_temp.run_numbers").fetchone() == (0,)
        unfixed = connection.execute(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'failproof'::regnamespace "
            "AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (proconfig), false) "
            "AND prosqlbody IS NULL"  # one whose names were resolved when it was made
        ).fetchall()
    assert unfixed == []


def test_what_the_writer_projects_belongs_to_the_projector(projected: Store) -> None:
    with projected.connect() as connection:
        owners = connection.execute(
            "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'projections'"
        ).fetchall()
        assert owners == [(PROJECTOR,)]
        assert connection.execute("SELECT count(*) FROM projections.run_results").fetchone() == (0,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("DELETE FROM projections.positions")


def test_the_projector_follows_the_log_and_cannot_append(projected: Store) -> None:
    url = projected.url.replace(f"//{WRITER}@", f"//{PROJECTOR}@")
    with psycopg.connect(url, autocommit=True) as connection:
        prepare(connection)
        assert catch_up(connection) == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="function append"):
            connection.execute(
                "SELECT failproof.append(ARRAY[%s]::uuid[], '{1}', '{X}', '{}', '{null}', '{}')",
                (uuid4(),),
            )


# -- installing ------------------------------------------------------------------------------


@pytest.fixture
def login(postgres_server: EmbeddedServer) -> Iterator[Callable[[str], str]]:
    """Makes logins with the given attributes; they are gone afterwards."""
    made: list[sql.Identifier] = []

    def make(attributes: str) -> str:
        name = f"login_{uuid4().hex}"
        made.append(sql.Identifier(name))
        with psycopg.connect(postgres_server.url, autocommit=True) as connection:
            connection.execute(
                sql.SQL("CREATE ROLE {} LOGIN {}").format(made[-1], sql.SQL(attributes))
            )
        return name

    yield make
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        for name in made:
            connection.execute(sql.SQL("DROP ROLE {}").format(name))


def given_to(database_url: str, name: str) -> str:
    """The database's URL, after making the login its owner."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("ALTER DATABASE {} OWNER TO {}").format(
                sql.Identifier(connection.info.dbname), sql.Identifier(name)
            )
        )
    return database_url.replace("//postgres@", f"//{name}@")


@pytest.fixture
def returned(database_url: str) -> Iterator[None]:
    """Take the database back at the end, so that its owner can be dropped."""
    yield
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("ALTER DATABASE {} OWNER TO postgres").format(
                sql.Identifier(connection.info.dbname)
            )
        )
        for name in connection.execute(
            "SELECT rolname FROM pg_roles WHERE rolname LIKE 'login%%'"
        ).fetchall():
            connection.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(sql.Identifier(*name)))


def names(connection: psycopg.Connection[Any]) -> list[str]:
    return [layer.name for layer in missing_layers(connection)]


def test_on_a_server_of_ones_own_every_layer_is_installed(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        assert names(connection) == [layer.name for layer in layers(connection)]
        done = install(connection)
        assert [m.number for m in done.migrations] == [m.number for m in migration.migrations()]
        assert done.problems == []
        assert names(connection) == ["least privilege"]  # this connection is the superuser's
        again = install(connection)
        assert (again.migrations, again.problems) == ([], [])
        assert schema_state(connection) is SchemaState.CURRENT


def test_an_owner_of_the_database_alone_installs_the_tables(
    database_url: str, login: Callable[[str], str], returned: None
) -> None:
    url = given_to(database_url, login("NOSUPERUSER"))
    with psycopg.connect(url, autocommit=True) as connection:
        done = install(connection)
        assert [problem.partition(":")[0] for problem in done.problems] == [
            "roles/migrator.sql",
            "guards/schema_guard.sql",
        ]
        assert names(connection) == ["owner without a login", "least privilege", "guarded schema"]
        assert schema_state(connection) is SchemaState.CURRENT
        with pytest.raises(psycopg.errors.DatabaseError, match="append-only"):
            connection.execute("DELETE FROM failproof.events")
        prepare(connection)
        assert catch_up(connection) == 0


def test_with_the_migrators_role_everything_but_the_guard_is_installed(
    database_url: str, login: Callable[[str], str], returned: None
) -> None:
    name = login("NOSUPERUSER IN ROLE failproof_migrator")
    with psycopg.connect(given_to(database_url, name), autocommit=True) as connection:
        done = install(connection)
        assert [problem.partition(":")[0] for problem in done.problems] == [
            "guards/schema_guard.sql"
        ]
        assert names(connection) == ["least privilege", "guarded schema"]


@pytest.fixture
def other_server() -> Iterator[EmbeddedServer]:
    """A server on which no role of ours exists yet."""
    home = Path(tempfile.mkdtemp(prefix="failproof-es-roles-"))
    home.chmod(0o755)
    server = EmbeddedServer(home)
    server.ensure_running()
    yield server
    server.stop()
    shutil.rmtree(home, ignore_errors=True)


def test_who_may_create_roles_installs_everything_but_the_guard(
    other_server: EmbeddedServer,
) -> None:
    """As on most managed servers: CREATEROLE, and no superuser anywhere."""
    with psycopg.connect(other_server.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE managed LOGIN CREATEROLE")
        connection.execute("ALTER DATABASE failproof OWNER TO managed")
    url = other_server.url_as("managed")
    with psycopg.connect(url, autocommit=True) as connection:
        done = install(connection, logins=True)
        assert [problem.partition(":")[0] for problem in done.problems] == [
            "guards/schema_guard.sql"
        ]
        assert names(connection) == ["least privilege", "guarded schema"]
        assert install(connection).migrations == []
    with psycopg.connect(other_server.url_as(WRITER), autocommit=True) as connection:
        assert names(connection) == ["guarded schema"]


def test_what_stood_there_before_there_were_roles_is_handed_over(
    other_server: EmbeddedServer,
) -> None:
    with psycopg.connect(other_server.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE owner_of_old LOGIN")
        connection.execute("ALTER DATABASE failproof OWNER TO owner_of_old")
    with psycopg.connect(other_server.url_as("owner_of_old"), autocommit=True) as connection:
        assert install(connection).problems[0].startswith("roles/owner.sql")
        assert connection.execute("TABLE promptguard.evaluations").fetchall() == []
    with psycopg.connect(other_server.url, autocommit=True) as connection:
        assert install(connection, logins=True).problems == []
        owners = connection.execute(
            "SELECT DISTINCT relowner::regrole::text FROM pg_class "
            "WHERE relnamespace = 'promptguard'::regnamespace "
            "UNION SELECT proowner::regrole::text FROM pg_proc "
            "WHERE pronamespace = 'promptguard'::regnamespace"
        ).fetchall()
    assert owners == [(PROJECTOR,)]
    with psycopg.connect(other_server.url_as(AUDITOR), autocommit=True) as connection:
        assert connection.execute("TABLE promptguard.evaluations").fetchall() == []


@pytest.mark.slow
def test_many_databases_of_one_server_are_installed_at_once(other_server: EmbeddedServer) -> None:
    """Roles belong to the server: whoever comes second finds them made, at any moment."""
    databases = [f"many_{n}" for n in range(8)]
    with psycopg.connect(other_server.url, autocommit=True) as connection:
        for database in databases:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(database)))

    def install_one(database: str) -> list[str]:
        url = database_url_as(other_server, database)
        with psycopg.connect(url, autocommit=True) as connection:
            install(connection, logins=True)
        with psycopg.connect(database_url_as(other_server, database, WRITER)) as connection:
            return names(connection)

    with ThreadPoolExecutor(len(databases)) as pool:
        assert list(pool.map(install_one, databases * 2)) == [[]] * 16


def test_the_engine_is_the_writer_on_the_embedded_server(
    other_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOME, str(other_server.home))
    monkeypatch.delenv("FAILPROOF_ES_DATABASE_URL", raising=False)
    with Store.open() as store, store.connect() as connection:
        users = connection.execute("SELECT current_user, session_user").fetchone()
        assert users == (WRITER, WRITER)
        assert missing_layers(connection) == []
        assert store.log.recorder.max_notification_id() is None
        [pooled] = connection.execute(
            "SELECT DISTINCT usename FROM pg_stat_activity WHERE datname = current_database()"
        ).fetchall()
        assert pooled == (WRITER,)
    assert psycopg.conninfo.conninfo_to_dict(store.projections_url)["user"] == PROJECTOR


# -- upgrading -------------------------------------------------------------------------------


def make_old_log(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Migrations 1 and 2 as version 0.1.0 made them, an event, a run, a read model."""
    shipped = migration.migrations()
    with psycopg.connect(url, autocommit=True) as connection:
        with monkeypatch.context() as patched:
            patched.setattr(migration, "migrations", lambda: shipped[:2])
            migration.migrate(connection)
        connection.execute(
            "SELECT failproof.append(ARRAY[%s]::uuid[], '{1}', '{X}', ARRAY[%s]::bytea[], "
            "'{null}')",
            (uuid4(), b'{"a": 1}'),
        )
        connection.execute("INSERT INTO failproof.run_numbers VALUES (1, %s)", (uuid4(),))
        connection.execute(
            "CREATE SCHEMA projections; CREATE TABLE projections.positions (name text PRIMARY KEY, "
            "version integer NOT NULL, position bigint NOT NULL, "
            "updated_at timestamptz NOT NULL DEFAULT clock_timestamp())"
        )


@pytest.fixture
def old_log(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    make_old_log(database_url, monkeypatch)
    return database_url


EVERY_BYTE = (
    "SELECT notification_id, originator_id, originator_version, topic, state, run_id, recorded_at "
    "FROM failproof.events ORDER BY notification_id"
)


def test_an_old_log_is_upgraded_with_every_byte_in_place(old_log: str) -> None:
    with psycopg.connect(old_log, autocommit=True) as connection:
        before = connection.execute(EVERY_BYTE).fetchall()
        assert schema_state(connection) is SchemaState.OUTDATED
        done = install(connection, logins=True)
        assert [m.number for m in done.migrations] == [m.number for m in migration.migrations()[2:]]
        assert connection.execute(EVERY_BYTE).fetchall() == before
    with psycopg.connect(old_log.replace("//postgres@", f"//{WRITER}@")) as connection:
        connection.autocommit = True
        assert missing_layers(connection) == []
        assert connection.execute("SELECT failproof.number_run(%s)", (uuid4(),)).fetchone() == (2,)
        prepare(connection)


LATER = migration.Migration(
    9999,
    "later",
    "CREATE TABLE failproof.notes (n integer); "
    "CREATE FUNCTION failproof.note() RETURNS void LANGUAGE sql AS 'SELECT'; "
    "ALTER TABLE failproof.leases ADD COLUMN note text",
)


@pytest.mark.parametrize("user", ["postgres", "a login with the migrator's role"])
def test_a_later_migration_passes_the_guard_as_the_migrator_and_is_recorded(
    user: str,
    database_url: str,
    login: Callable[[str], str],
    returned: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        install(connection)
    name = user if user == "postgres" else login(f"IN ROLE {MIGRATOR}")
    shipped = migration.migrations()
    monkeypatch.setattr(migration, "migrations", lambda: [*shipped, LATER])
    url = database_url.replace("//postgres@", f"//{name}@")
    with psycopg.connect(url, autocommit=True) as connection:
        assert install(connection).migrations == [LATER]
        # What this version does not know is not what it installed.
        assert names(connection) == ["least privilege", "nothing in between"]
        changes = connection.execute(
            "SELECT DISTINCT command, changed_by FROM failproof.schema_change_log "
            "WHERE object LIKE '%%note%%' OR object = 'table failproof.leases' ORDER BY 1"
        ).fetchall()
        assert set(changes) >= {
            ("ALTER TABLE", name), ("CREATE FUNCTION", name), ("CREATE TABLE", name)
        }  # fmt: skip
        may = {row[0] for row in connection.execute(EFFECTIVE, {"role": WRITER}).fetchall()}
        assert may <= MAY[WRITER]


def test_an_old_log_on_another_server_is_not_upgraded_silently(old_log: str) -> None:
    with pytest.raises(InvalidInput, match="db init"):
        Store.open(old_log)
    Store.reach(old_log).install()
    Store.open(old_log).close()


def test_the_embedded_servers_old_log_is_upgraded_when_it_is_opened(
    other_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_old_log(other_server.url, monkeypatch)
    monkeypatch.setenv(HOME, str(other_server.home))
    monkeypatch.delenv("FAILPROOF_ES_DATABASE_URL", raising=False)
    with Store.open() as store, store.connect() as connection:
        assert connection.info.user == WRITER
        assert missing_layers(connection) == []
        [event] = read_after(connection, 0, 10)
        assert event.state == b'{"a": 1}'


def test_roles_that_changed_without_a_migration_are_noticed(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        install(connection)
        monkeypatch.setattr(installation, "_sha256", lambda: "another version's")
        assert schema_state(connection) is SchemaState.OUTDATED
        assert install(connection).migrations == []
        assert schema_state(connection) is SchemaState.CURRENT


def test_a_user_without_any_role_is_told_what_to_ask_for(
    store: Store, login: Callable[[str], str]
) -> None:
    url = store.url.replace(f"//{WRITER}@", f"//{login('')}@")
    with pytest.raises(InvalidInput, match="grant this user failproof_auditor"):
        Store.open(url)
