"""Which database is meant: by an option, by the environment, with a password from a file."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from failproof_es.problems import InvalidInput
from failproof_es.store.environment import DATABASE_URL, PASSWORD_FILE
from failproof_es.store.named_database import named_database
from failproof_es.store.store import _translate_errors

URL = "postgresql://worker@database.example:6432/evaluations?sslmode=verify-full"


@pytest.fixture
def password_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "password"
    monkeypatch.setenv(PASSWORD_FILE, str(file))
    monkeypatch.delenv(DATABASE_URL, raising=False)
    return file


def test_the_password_comes_from_the_file_and_all_else_from_the_url(
    password_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    password_file.write_text("it's a \\ 'secret'\n")
    monkeypatch.setenv(DATABASE_URL, URL)
    named = named_database(None)
    assert named is not None
    password = {"password": "it's a \\ 'secret'"}
    assert conninfo_to_dict(named) == {**conninfo_to_dict(URL), **password}


def test_a_password_in_the_url_counts(password_file: Path) -> None:
    url = URL.replace("worker@", "worker:given@")
    assert named_database(url) == url, "the file is not even read"


def test_without_a_url_there_is_none(password_file: Path) -> None:
    assert named_database(None) is None


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "cannot be read"), (b"", "no password"), (b"\n", "no password"),
     (b"two\nlines\n", "no password"), (b"\xff", "cannot be read")],
    ids=["missing", "empty", "only a line end", "two lines", "not text"],
)  # fmt: skip
def test_a_file_without_a_password_is_refused(
    password_file: Path, content: bytes | None, said: str
) -> None:
    if content is not None:
        password_file.write_bytes(content)
    with pytest.raises(InvalidInput, match=said) as refused:
        named_database(URL)
    assert PASSWORD_FILE in str(refused.value)
    assert "two" not in str(refused.value)


def test_a_refused_password_says_where_it_comes_from(
    password_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "secret")
    for reason in ("password authentication failed for user", "fe_sendauth: no password supplied"):
        with pytest.raises(InvalidInput) as refused, _translate_errors(URL):
            raise psycopg.OperationalError(reason)
        (problem,) = refused.value.problems
        assert f"set here: {PASSWORD_FILE}, PGPASSWORD" in (problem.remedy or "")
    with pytest.raises(InvalidInput, match="the server is running"), _translate_errors(URL):
        raise psycopg.OperationalError("connection refused")
