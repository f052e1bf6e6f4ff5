"""`who` is the account of the process, and the database takes the login of each append itself."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import orjson
import psycopg
import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, run, write_configuration, write_suite

_LOGINS = "SELECT from_position, to_position, login FROM failproof.append_login_list"


def test_who_is_the_account_of_the_process_and_the_login_is_taken_by_the_database(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    """Whatever the environment says."""
    write_suite(tmp_path, 1)
    write_configuration(tmp_path, mock_url)
    named = dict.fromkeys(("LOGNAME", "USER", "LNAME", "USERNAME"), "cfo@bank.example")
    done = run(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path, **named)
    assert done.returncode == 0, done.stderr
    trail = invoke(store.url, "log", "--json", cwd=tmp_path).stdout
    assert "cfo@bank.example" not in trail
    account = pwd.getpwuid(os.geteuid()).pw_name
    rows = [orjson.loads(line) for line in trail.splitlines()]
    started = [row for row in rows if row["event_type"] == "RunStarted"]
    assert [row["payload"]["who"] for row in started] == [account]
    with store.connect() as connection:
        login = connection.execute("SELECT session_user::text").fetchone()
        assert login is not None
        assert connection.execute(_LOGINS).fetchall() == [(1, None, login[0])]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO failproof.append_logins VALUES (99, 'somebody')")
