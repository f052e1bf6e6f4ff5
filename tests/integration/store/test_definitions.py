"""What a fresh installation is, as the package knows it without asking a database."""

from __future__ import annotations

import re
from pathlib import Path

import failproof_es
from failproof_es.store.connecting import connect
from failproof_es.store.definitions import SCHEMAS, as_file, differences, expected, installed
from failproof_es.store.installation import PROJECTOR, install
from projections import PROJECTIONS
from projections.definitions import expected as read_models
from projections.definitions import read_model_differences
from projections.relations import LIVE
from projections.runner import prepare

HOW = (
    "the SQL in failproof_es/store changed: run "
    "`python -m failproof_es.store.definitions > failproof_es/store/definitions.json`"
)


def test_the_definitions_in_the_package_are_those_of_a_fresh_installation(
    database_url: str,
) -> None:
    with connect(database_url) as connection:
        install(connection)
        assert installed(connection, SCHEMAS) == expected(), HOW
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


def test_the_read_models_in_the_package_are_those_that_this_version_makes(
    database_url: str,
) -> None:
    with connect(database_url) as connection:
        install(connection)
        assert read_model_differences(connection) == []  # they come with the first run
        prepare(connection)
        how = HOW.replace("failproof_es/store/", "projections/").replace(
            "failproof_es.store", "projections"
        )
        assert installed(connection, [LIVE]) == read_models(), how
        assert read_model_differences(connection) == []
        connection.execute(f"SET ROLE {PROJECTOR}".encode())
        connection.execute("SELECT set_config('search_path', 'projections_building', false)")
        for projection in PROJECTIONS:
            connection.execute(projection.ddl())
        assert read_model_differences(connection) == []  # a rebuild is under way


def test_connections_are_opened_in_one_place() -> None:
    root = Path(failproof_es.__file__).parent
    opening = re.compile(r"psycopg\.(?:Async)?(?:Connection\.)?connect\(|ConnectionPool\(")
    found = [
        file.relative_to(root.parent).as_posix()
        for package in (root, root.parent / "projections")
        for file in package.rglob("*.py")
        if opening.search(file.read_text("utf-8"))
    ]
    assert found == ["failproof_es/store/connecting.py"]
