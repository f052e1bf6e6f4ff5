"""A start that is refused because its id is taken leaves nothing beside the run that has the id."""

from __future__ import annotations

from pathlib import Path

from failproof_es.store.reading.reader import max_position
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite


def test_a_start_whose_id_exists_leaves_nothing_in_the_log(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    write_suite(tmp_path, 2)
    write_configuration(tmp_path, mock_url, test_run={"name": "first", "id": "nightly"})
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    with store.connect() as connection:
        before = max_position(connection)
    write_configuration(tmp_path, mock_url, test_run={"name": "second", "id": "nightly"})
    for words in ((), ("--detach",), ("--workers", "2")):
        done = invoke(store.url, "start", "run.yaml", *words, cwd=tmp_path)
        assert done.exit_code == 2, words
        assert "exists already" in done.stderr
        with store.connect() as connection:
            assert max_position(connection) == before, words
    trail = invoke(store.url, "audit", "1", "--json", cwd=tmp_path).stdout
    assert trail.count("ConfigurationResolved") == trail.count("ValidationPassed") == 1
