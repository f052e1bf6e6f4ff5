"""Every command and every query of docs/auditing.md, as an auditor, on a run with a story."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from failproof_es.assurance.signing_key import log_key
from failproof_es.assurance.trusted import default_place
from failproof_es.store import ledger
from failproof_es.store.installation import AUDITOR, WRITER
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, run, write_configuration, write_suite

PAGE = (Path(__file__).parents[2] / "docs" / "auditing.md").read_text("utf-8")
COMMANDS = re.findall(r"```console\n(.*?)\n```", PAGE, re.S)
QUERIES = re.findall(r"```sql\n(.*?)\n```", PAGE, re.S)


@pytest.fixture
def audited(store: Store, mock_url: str, tmp_path: Path) -> Iterator[str]:
    """The auditor's URL of a log with one run; its key and its checkpoint are in `tmp_path`."""
    write_suite(tmp_path, 3)
    write_configuration(tmp_path, mock_url)
    done = run(store.url, "start", "run.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with store.connect() as connection:
        origin = ledger.origin(connection)
    (tmp_path / "log.pub").write_text(str(log_key(origin).public))
    (tmp_path / "kept.checkpoint").write_bytes(default_place(origin).read_bytes())
    yield store.url.replace(f"//{WRITER}@", f"//{AUDITOR}@")


def test_every_command_and_every_query_answers_the_auditor(audited: str, tmp_path: Path) -> None:
    assert len(COMMANDS) == len(QUERIES) == 13
    for command in COMMANDS:
        program, *arguments = shlex.split(command)
        assert program == "failproof-es"
        done = invoke(audited, *arguments, cwd=tmp_path)
        assert done.exit_code == 0, (command, done.output)
        assert done.stdout.strip(), command
    with psycopg.connect(audited, autocommit=True) as connection:
        for query in QUERIES:
            assert connection.execute(query.encode()).fetchall(), query
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("DELETE FROM failproof.events")
