"""A reader of one project attacks the other one, with whatever SQL their login speaks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from failproof_es.store.embedded.server import EmbeddedServer
from tests.acceptance.attacks.projects_world import OURS, SHARED, THEIRS, Projects, two_projects

READABLE = """
SELECT n.nspname, c.relname
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
    AND has_schema_privilege(n.oid, 'USAGE')
    AND has_table_privilege(c.oid, 'SELECT')
    AND (n.nspname IN ('pg_catalog', 'information_schema')) = %s
ORDER BY 1, 2
"""
CALLABLE = """
SELECT n.nspname || '.' || p.proname
FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')
    AND has_schema_privilege(n.oid, 'USAGE')
    AND has_function_privilege(p.oid, 'EXECUTE')
ORDER BY 1
"""
OTHERS = {
    "failproof.append_login_list", "failproof.append_logins", "failproof.asking_list",
    "failproof.askings", "failproof.installation_log", "failproof.installations",
    "failproof.limit_share_list", "failproof.limit_shares", "failproof.migration_log",
    "failproof.migrations", "failproof.person_login_list", "failproof.person_logins",
    "failproof.project_list", "failproof.project_run_list", "failproof.projects",
    "failproof.provider_limit_list", "failproof.provider_limits",
    "failproof.question_asked_list", "failproof.question_set_list",
    "failproof.question_shared_list", "failproof.question_sets", "failproof.questions_asked",
    "failproof.questions_shared", "failproof.run_asked_list", "failproof.runs_asked",
    "failproof.schema_change_log", "failproof.schema_changes",
}  # fmt: skip
"""What belongs to no run, or counts runs of several projects: a reader sees no row of it."""
OF_EVERYBODY = {
    "failproof.checkpoint_list", "failproof.ledger_checkpoints", "failproof.ledger_identity",
    "failproof.ledger_origin", "failproof.ledger_tile_list", "failproof.ledger_tiles",
    "projections.positions",
}  # fmt: skip
"""What has hashes and positions, and no text: a reader sees all of it, to prove their events."""
NOT_IN_THIS_LOG = {
    "failproof.archived_event_list", "failproof.archived_events",
    "failproof.review_claim_list", "failproof.review_claims", "failproof.run_budget_list",
    "failproof.run_budgets", "failproof.run_shard_list", "failproof.run_shards",
    "failproof.shard_budget_list", "failproof.shard_budgets", "projections.command_cases",
    "projections.command_results", "projections.command_totals", "projections.run_clusters",
    "projections.unplaced_events",
}  # fmt: skip
"""What has no row in this log: `test_policies_of_empty_tables_name_the_run` looks at them."""
ATTACKS: dict[str, LiteralString] = {
    "failproof.cost_usd": "SELECT failproof.cost_usd('{}', '{}', now())",
    "failproof.readable": "SELECT failproof.readable(to_json(t)) FROM failproof.events AS t",
    "failproof.reading_person": "SELECT failproof.reading_person()",
    "failproof.sent_bodies": "SELECT s FROM unnest({ids}::uuid[]) AS i (id), "
    "failproof.sent_bodies(i.id) AS s",
    "failproof.visible_prompts": "SELECT failproof.visible_prompts()",
    "failproof.visible_runs": "SELECT failproof.visible_runs()",
    "failproof.visible_side_events": "SELECT failproof.visible_side_events()",
    "failproof_guard.is_ours": "SELECT c.relname, failproof_guard.is_ours(1259, c.oid, 0) "
    "FROM pg_class AS c",
    "failproof_guard.refuse_definition": "SELECT failproof_guard.refuse_definition()",
    "failproof_guard.refuse_drop": "SELECT failproof_guard.refuse_drop()",
    "failproof_guard.refuse_rewrite": "SELECT failproof_guard.refuse_rewrite()",
    "promptguard.body_text": "SELECT promptguard.body_text(encode(state, 'base64'), 'base64') "
    "FROM failproof.events",
    "promptguard.closed": "SELECT promptguard.closed(to_json(t)) FROM failproof.events AS t",
    "promptguard.opened": "SELECT promptguard.opened(state) FROM failproof.events",
}
"""A statement with every function that the role may call; {ids} are ids of the other project."""
STATEMENTS: tuple[LiteralString, ...] = (
    "SELECT schema_to_xml('failproof', true, false, '')",
    "SELECT schema_to_xml('projections', true, false, '')",
    "SELECT database_to_xml(true, false, '')",
    "SELECT query_to_xml('TABLE failproof.stored_events', true, false, '')",
    "SELECT ts_stat('SELECT to_tsvector(convert_from(state, ''UTF8'')) FROM failproof.events')",
    "COPY failproof.events TO STDOUT",
    "COPY (TABLE projections.evaluations) TO STDOUT",
    "TABLE failproof_queue.procrastinate_jobs",
    "TABLE failproof.limit_uses",
    "TABLE failproof.side_events",
    "SELECT * FROM failproof.events TABLESAMPLE SYSTEM (100)",
    "SELECT * FROM failproof.events FOR UPDATE",
    "EXPLAIN (ANALYZE, VERBOSE) TABLE failproof.readable_log",
    "SET row_security = off; TABLE failproof.events",
    "SET failproof.person = 'someone of betacanary'; TABLE failproof.events",
    "SET ROLE failproof_reader; SET failproof.person = 'someone of betacanary'; "
    "TABLE projections.runs",
    "SET ROLE failproof_auditor; TABLE failproof.events",
    "SET ROLE failproof_writer; TABLE failproof.events",
    "SET ROLE failproof_projector; TABLE projections.runs",
    "SET ROLE failproof_owner; TABLE failproof.events",
    "SET SESSION AUTHORIZATION failproof_auditor; TABLE failproof.events",
    "CREATE POLICY mine ON failproof.events TO CURRENT_USER USING (true)",
    "ALTER TABLE projections.runs DISABLE ROW LEVEL SECURITY",
    "GRANT failproof_auditor TO CURRENT_USER",
    "SELECT failproof.append('{}', '{}', '{}', '{}', '{}', '{}')",
    "SELECT failproof.take_in_runs(0, 100)",
    "INSERT INTO failproof.person_logins VALUES (session_user, 'someone of betacanary')",
    "CREATE VIEW projections.mine AS TABLE projections.evaluations",
    "CREATE TEMP VIEW mine AS TABLE projections.evaluations; TABLE mine",
    "CREATE TEMP TABLE mine AS TABLE failproof.events; TABLE mine",
    "PREPARE mine AS TABLE failproof.events; EXECUTE mine",
    "LISTEN anything",
    "SELECT lo_get(oid) FROM pg_largeobject_metadata",
    "SELECT pg_get_viewdef(oid) FROM pg_class WHERE relkind = 'v'",
    "SELECT pg_get_expr(polqual, polrelid) FROM pg_policy",
    "SELECT last_value FROM pg_sequences",
    "SELECT pg_read_file('PG_VERSION')",
    "SELECT convert_from(state, 'UTF8')::integer FROM failproof.events",
    "SELECT evaluation_id::text::integer FROM projections.evaluations",
)
LEAK = (
    "CREATE FUNCTION pg_temp.leak(seen text) RETURNS boolean LANGUAGE plpgsql "
    "COST 0.0000001 AS 'BEGIN RAISE NOTICE ''%'', seen; RETURN false; END'"
)


@pytest.fixture(scope="module")
def world(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Projects]:
    folder: Path = tmp_path_factory.mktemp("projects")
    with two_projects(postgres_server, migrated_database, folder) as made:
        yield made


@pytest.fixture
def ann(world: Projects) -> Iterator[psycopg.Connection[Any]]:
    """Ann's login, which reads `alpha`."""
    with world.connect(world.reader) as connection:
        yield connection


def readable(connection: psycopg.Connection[Any], *, of_system: bool = False) -> list[str]:
    rows = connection.execute(READABLE, (of_system,)).fetchall()
    return [f"{schema}.{name}" for schema, name in rows]


def content(connection: psycopg.Connection[Any], relation: str) -> str:
    """Every row of the relation as one text; bytes as text, too, and an error as its message."""
    name = sql.Identifier(*relation.split(".", 1))
    try:
        rows = connection.execute(sql.SQL("SELECT t::text FROM {} AS t").format(name)).fetchall()
    except psycopg.Error as error:
        return str(error)
    return "\n".join(row[0] for row in rows)


def says(text: str, word: str) -> bool:
    """Whether the text has the word, written plainly, in hexadecimal or in base64."""
    return word in text.lower() or word.encode().hex() in text


def everything(connection: psycopg.Connection[Any], statement: str) -> str:
    """All that the server answers to the statements: rows, notices and the error."""
    answers: list[str] = []

    def listen(diagnostic: Any) -> None:
        answers.append(f"{diagnostic.message_primary} {diagnostic.message_detail}")

    connection.add_notice_handler(listen)
    try:
        with connection.cursor() as cursor:
            if statement.startswith("COPY"):
                with cursor.copy(statement.encode()) as copied:
                    answers += [bytes(part).decode() for part in copied]
            else:
                cursor.execute(statement.encode())
                while True:
                    if cursor.description is not None:
                        answers += map(str, cursor.fetchall())
                    if not cursor.nextset():
                        break
    except psycopg.Error as error:
        answers.append(f"{error} {error.diag.message_detail} {error.diag.context}")
    finally:
        connection.remove_notice_handler(listen)
    return "\n".join(answers)


def test_a_reader_sees_their_project_and_nothing_of_another_in_any_relation(
    world: Projects, ann: psycopg.Connection[Any]
) -> None:
    relations = readable(ann)
    ids = world.ids(THEIRS)
    empty = set()
    for relation in relations:
        text = content(ann, relation)
        assert not says(text, THEIRS), relation
        assert not [each for each in ids if each in text], relation
        if not text:
            empty.add(relation)
    assert empty == OTHERS | NOT_IN_THIS_LOG


def test_an_auditor_finds_in_the_same_relations_what_a_reader_does_not(world: Projects) -> None:
    """So that the test above can fail."""
    with world.connect(world.auditor) as connection, world.connect(world.reader) as reader:
        relations = set(readable(reader))
        texts = {relation: content(connection, relation) for relation in relations}
    ids = world.ids(THEIRS)
    told = {
        relation
        for relation, text in texts.items()
        if says(text, THEIRS) or any(each in text for each in ids)
    }
    silent = {relation for relation in relations - told if relation not in OTHERS}
    assert silent == NOT_IN_THIS_LOG | OF_EVERYBODY
    empty = {relation for relation, text in texts.items() if not text}
    assert empty >= NOT_IN_THIS_LOG


def test_a_case_that_both_asked_is_seen_with_the_results_of_ones_own_project(
    world: Projects, ann: psycopg.Connection[Any]
) -> None:
    assert SHARED in content(ann, "failproof.readable_log")
    counts = "SELECT count(*) FROM projections.run_results WHERE case_id = 'shared'"
    assert ann.execute(counts).fetchone() == (1,)
    with world.connect(world.auditor) as auditor:
        assert auditor.execute(counts).fetchone() == (2,)
    for text in ("failproof.readable_log", "projections.run_results", "promptguard.prompts"):
        assert says(content(ann, text), OURS), text


def test_no_system_catalog_tells_a_reader_anything(ann: psycopg.Connection[Any]) -> None:
    for relation in readable(ann, of_system=True):
        text = content(ann, relation).replace(f"login_of_{THEIRS}", "")
        assert not says(text, THEIRS), relation


def test_no_function_tells_a_reader_anything(world: Projects, ann: psycopg.Connection[Any]) -> None:
    callable_functions = {row[0] for row in ann.execute(CALLABLE).fetchall()}
    assert callable_functions == set(ATTACKS)
    ids = sql.Literal(world.ids(THEIRS))
    for name, statement in ATTACKS.items():
        text = (
            everything(ann, sql.SQL(statement).format(ids=ids).as_string(ann))
            if ("{ids}" in statement)
            else everything(ann, statement)
        )
        assert not says(text, THEIRS), name


@pytest.mark.parametrize("statement", STATEMENTS)
def test_no_statement_tells_a_reader_anything(world: Projects, statement: str) -> None:
    with world.connect(world.reader) as connection:
        text = everything(connection, statement)
        asked = ("someone of betacanary" in statement) * text.count("'someone of betacanary'")
        assert text.count(THEIRS) == asked, text[:2000]
        assert THEIRS.encode().hex() not in text
        assert not [each for each in world.ids(THEIRS) if each in text]


def test_a_function_in_a_condition_sees_only_the_rows_of_the_reader(
    ann: psycopg.Connection[Any],
) -> None:
    ann.execute(LEAK)
    heard = ""
    for relation in readable(ann):
        text = everything(ann, f"SELECT 1 FROM {relation} AS t WHERE pg_temp.leak(t::text)")
        assert not says(text, THEIRS), relation
        heard += text
    assert OURS in heard


def test_a_login_of_nobody_sees_no_row(world: Projects) -> None:
    with world.connect("postgres") as connection:
        connection.execute("CREATE ROLE stranger LOGIN IN ROLE failproof_reader")
    try:
        with world.connect("stranger") as connection:
            seen = {name for name in readable(connection) if content(connection, name)}
            assert seen == OF_EVERYBODY
    finally:
        with world.connect("postgres") as connection:
            connection.execute("DROP ROLE stranger")


def test_who_reads_everything_narrows_a_transaction_to_a_person(world: Projects) -> None:
    count = "SELECT count(*) FROM projections.runs"
    with world.connect(world.auditor) as connection:
        connection.execute("PREPARE counted AS " + count)
        seen = []
        for person in ("ann", f"someone of {THEIRS}", "nobody", ""):
            with connection.transaction():
                connection.execute("SELECT set_config('failproof.person', %s, true)", (person,))
                connection.execute("SET LOCAL ROLE failproof_reader")
                seen.append(connection.execute("EXECUTE counted").fetchone())
                assert person == "ann" or not says(content(connection, "failproof.events"), OURS)
        assert seen == [(4,), (4,), (0,), (0,)]
        assert connection.execute("EXECUTE counted").fetchone() == (8,)


def test_a_login_with_another_role_beside_the_readers_sees_no_more(world: Projects) -> None:
    with world.connect("postgres") as connection, connection.transaction(force_rollback=True):
        connection.execute(
            sql.SQL("GRANT SELECT ON failproof.events TO {}").format(sql.Identifier(world.reader))
        )
        connection.execute(
            sql.SQL("SET LOCAL SESSION AUTHORIZATION {}").format(sql.Identifier(world.reader))
        )
        assert not says(content(connection, "failproof.events"), THEIRS)


def test_policies_of_empty_tables_name_the_run(world: Projects) -> None:
    """Those of the tables that have no row in this log."""
    with world.connect("postgres") as connection:
        rows = connection.execute(
            "SELECT polrelid::regclass::text, pg_get_expr(polqual, polrelid) FROM pg_policy "
            "WHERE NOT polpermissive AND polrelid::regclass::text = ANY (%s)",
            (list(NOT_IN_THIS_LOG),),
        ).fetchall()
    tables = {name for name in NOT_IN_THIS_LOG if not name.endswith(("_list", "_totals"))}
    column = {table: condition.removeprefix("(").split(" ")[0] for table, condition in rows}
    assert column == dict.fromkeys(tables, "run_id") | {"projections.command_cases": "prompt_id"}


def test_without_its_policy_each_table_shows_the_other_project(world: Projects) -> None:
    ids = world.ids(THEIRS)
    kept = set()
    with world.connect("postgres") as connection, connection.transaction(force_rollback=True):
        for name in ("definitions_stay", "objects_stay", "rows_are_not_rewritten"):
            connection.execute(f"DROP EVENT TRIGGER failproof_{name}".encode())
        rows = connection.execute(
            "SELECT polrelid::regclass::text FROM pg_policy WHERE polname = 'readers' "
            "AND has_table_privilege('failproof_reader', polrelid, 'SELECT')"
        ).fetchall()
        for (table,) in rows:
            with connection.transaction(force_rollback=True):
                connection.execute(f"ALTER POLICY readers ON {table} USING (true)".encode())
                connection.execute(
                    sql.SQL("SET LOCAL SESSION AUTHORIZATION {}").format(
                        sql.Identifier(world.reader)
                    )
                )
                text = content(connection, table)
            if not says(text, THEIRS) and not any(each in text for each in ids):
                kept.add(table)
    silent = {table for table in kept if table not in OTHERS}
    tables = {name for name in NOT_IN_THIS_LOG if not name.endswith(("_list", "_totals"))}
    assert silent == tables | {name for name in OF_EVERYBODY if name in kept}
