"""Every command and query of docs/how-to/auditing.md, as an auditor, on a run with a story."""

from __future__ import annotations

import re
import shlex
from base64 import b64encode
from pathlib import Path

import orjson
import psycopg
import pytest

from failproof_es.assurance.signing.kept_checkpoints import default_place
from failproof_es.assurance.signing.signing_key import log_key
from failproof_es.store import ledger
from failproof_es.store.connecting import connect
from failproof_es.store.schema.installation import AUDITOR, WRITER
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "auditing.md").read_text("utf-8")
COMMANDS = re.findall(r"```console\n\$ (.*?)\n```", PAGE, re.S)
ANSWERS = re.findall(r"^\| [^|]*\? \| `(failproof-es [^`]*)` \|", PAGE, re.M)
"""The commands of the table of questions."""
QUERIES = re.findall(r"```sql\n(.*?)\n```", PAGE, re.S)


NUL_ANSWER = b64encode(b"number \0 \\\0 \\u0000 1").decode()


@pytest.fixture
def audited(store: Store, mock_url: str, tmp_path: Path) -> str:
    """The auditor's URL of a log with one run; its key and its checkpoint are in `tmp_path`.

    NULs are in every prompt and every answer, and the text that a NUL is written as.
    """
    write_suite(tmp_path, 3, prompt=f"Say \0 \\\0 \\u0000 {{n}} [answer:{NUL_ANSWER}]")
    write_configuration(tmp_path, mock_url)
    done = invoke(store.url, "start", "run.yaml", cwd=tmp_path)
    assert done.exit_code == 0, done.output
    assert invoke(store.url, "report", "1", "-o", "report.html", cwd=tmp_path).exit_code == 0
    with store.connect() as connection:
        origin = ledger.origin(connection)
    (tmp_path / "log.pub").write_text(str(log_key(origin).public))
    (tmp_path / "kept.checkpoint").write_bytes(default_place(origin).read_bytes())
    return store.url.replace(f"//{WRITER}@", f"//{AUDITOR}@")


def test_every_command_and_every_query_answers_the_auditor(audited: str, tmp_path: Path) -> None:
    assert len(COMMANDS) == len(QUERIES) == 13
    for command in COMMANDS:
        program, *arguments = shlex.split(command)
        assert program == "failproof-es"
        done = invoke(audited, *arguments, cwd=tmp_path)
        assert done.exit_code == 0, (command, done.output)
        assert done.stdout.strip(), command
    assert len(ANSWERS) == 9
    for answer in ANSWERS:
        done = invoke(audited, *shlex.split(answer)[1:], cwd=tmp_path)
        assert done.exit_code == 0, (answer, done.output)
        assert done.output.strip(), answer
    with psycopg.connect(audited, autocommit=True) as connection:
        for query in QUERIES:
            assert connection.execute(query.encode()).fetchall(), query
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("DELETE FROM failproof.events")
    require_nuls(audited)


def require_nuls(audited: str) -> None:
    """What was said with a NUL in it is found, and its bytes are there."""
    with connect(audited) as connection:
        rows = connection.execute(
            "SELECT r.payload ->> 'text', convert_from(e.state, 'UTF8'), l.payload::text "
            "FROM failproof.readable_log r JOIN failproof.event_log l USING (position) "
            "JOIN failproof.stored_events e ON e.notification_id = position "
            "WHERE r.event_type = 'ResponseReceived'"
        ).fetchall()
        assert len(rows) == 3
        for text, exact, shown in rows:
            assert shown == exact
            said = orjson.loads(exact)["text"]
            assert text == re.sub(
                r"(\\*)(\0|u0000)",
                lambda m: m[1] * 2 + "\\u0000" if m[2] == "\0" else m[1] * 2 + "u0000",
                said,
            )
        counted = connection.execute(
            "SELECT count(*) FROM projections.run_results "
            "WHERE failproof.readable(answer) #>> '{}' LIKE '%number%'"
        ).fetchone()
        assert counted == (3,)


def test_documents_that_differ_stay_different_when_they_are_readable(store: Store) -> None:
    texts = ["\0", "\\u0000", "\\\0", "\\\\u0000", "\\\\\0", "u0000", "\\", "\0\0", "\\u0000\0"]
    with connect(store.url) as connection:
        shown = [
            connection.execute(
                "SELECT failproof.readable(%s::json) ->> 'a'", (orjson.dumps({"a": text}).decode(),)
            ).fetchone()
            for text in texts
        ]
    assert len(set(shown)) == len(texts)
