"""What a fresh installation is, as the package knows it without asking a database."""

from __future__ import annotations

import re
from pathlib import Path

import failproof_es
from failproof_es.store.connecting import connect
from failproof_es.store.definitions import SCHEMAS, as_file, differences, expected, installed
from failproof_es.store.installation import install

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
