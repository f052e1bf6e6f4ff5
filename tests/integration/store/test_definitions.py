"""What a fresh installation is, as the package knows it without asking a database."""

from __future__ import annotations

import re
from pathlib import Path
from typing import LiteralString

import pytest

import failproof_es
from failproof_es.store.connecting import connect
from failproof_es.store.schema import installation
from failproof_es.store.schema.definitions import accepted, as_file, differences, expected
from failproof_es.store.schema.installation import (
    INSTALLED,
    PROJECTOR,
    SchemaState,
    install,
    schema_state,
)
from failproof_es.store.schema.migration import SCHEMAS
from failproof_es.store.store import Store
from projections import PROJECTIONS
from projections.definitions import expected as read_models
from projections.definitions import read_model_differences
from projections.relations import LIVE
from projections.runner import prepare

HOW = (
    "the SQL in failproof_es/store changed: run "
    "`python -m tools.store_definitions > failproof_es/store/definitions.json`"
)


def test_the_definitions_in_the_package_are_those_of_a_fresh_installation(
    database_url: str,
) -> None:
    with connect(database_url) as connection:
        install(connection)
        assert accepted(connection, SCHEMAS) == expected(), HOW
        assert differences(connection) == []
    file = Path(failproof_es.__file__).parent / "store" / "definitions.json"
    assert file.read_text("utf-8") == as_file(expected()), HOW


def test_functions_and_views_that_were_changed_are_put_back_by_the_next_installation(
    database_url: str,
) -> None:
    with connect(database_url) as connection:
        install(connection)
        connection.execute("SET event_triggers = off")
        connection.execute(
            "CREATE OR REPLACE FUNCTION failproof.number_run(new_run_id uuid) RETURNS bigint "
            "LANGUAGE sql AS 'SELECT 1::bigint'"
        )
        assert len(differences(connection)) == 1
        connection.execute("SET event_triggers = on")
        install(connection)
        assert differences(connection) == []


def test_every_file_that_is_installed_again_is_noticed_when_it_changed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the embedded server the roles log in themselves: `roles/logins.sql` is one of them."""
    written = installation._sql
    with store.connect() as connection:
        assert schema_state(connection) is SchemaState.CURRENT
        for name in INSTALLED:

            def changed(asked: LiteralString, name: str = name) -> LiteralString:
                return written(asked) + ("-- changed" if asked == name else "")

            monkeypatch.setattr(installation, "_sql", changed)
            installation._sha256.cache_clear()
            try:
                assert schema_state(connection) is SchemaState.OUTDATED, name
            finally:
                installation._sha256.cache_clear()


def test_every_file_that_ships_is_a_migration_or_installed_again() -> None:
    """The queue is made anew where it is another version's: `test_shard_queue`."""
    root = Path(failproof_es.__file__).parent / "store"
    shipped = {
        file.relative_to(root).with_suffix("").as_posix()
        for file in root.rglob("*.sql")
        if not {"migrations", "queries", "queue"}.intersection(file.parts)
    }
    assert shipped == set(INSTALLED)
    assert len(INSTALLED) == len(shipped)


def test_each_function_is_made_in_a_file_of_its_name_and_nowhere_twice() -> None:
    """A function is one readable file. Migrations made some before: the file makes it last."""
    root = Path(failproof_es.__file__).parent / "store"
    making = re.compile(r"CREATE (?:OR REPLACE )?FUNCTION failproof\.(\w+)")
    made = {
        file.stem: making.findall(file.read_text("utf-8"))
        for file in sorted((root / "functions").glob("*.sql"))
    }
    assert {name: found for name, found in made.items() if found not in ([name], [])} == {}
    ours = {
        thing.split("failproof.")[1].split("(")[0]
        for thing in expected()
        if thing.startswith("function failproof.")
    }
    assert ours == {name for name, found in made.items() if found}


def test_the_read_models_in_the_package_are_those_that_this_version_makes(
    database_url: str,
) -> None:
    with connect(database_url) as connection:
        install(connection)
        assert read_model_differences(connection) == []  # they come with the first run
        prepare(connection)
        how = HOW.replace("failproof_es/store/", "projections/").replace(
            "store_definitions", "projection_definitions"
        )
        assert accepted(connection, [LIVE]) == read_models(), how
        assert read_model_differences(connection) == []
        with connection.transaction(force_rollback=True):
            connection.execute("ALTER TABLE projections.runs DROP CONSTRAINT runs_pkey")
            connection.execute("DROP INDEX projections.evaluations_order_idx")
            assert {difference.what for difference in read_model_differences(connection)} == {
                "the constraint runs_pkey on projections.runs is missing",
                "the index runs_pkey on projections.runs is missing",
                "the index evaluations_order_idx on projections.evaluations is missing",
            }
        connection.execute(f"SET ROLE {PROJECTOR}".encode())
        connection.execute("SELECT set_config('search_path', 'projections_building', false)")
        for projection in PROJECTIONS:
            connection.execute(projection.ddl())
        assert read_model_differences(connection) == []  # a rebuild is under way
