"""The database that a command works on: its URL, and its password from a file."""

from __future__ import annotations

import os
from pathlib import Path

from psycopg.conninfo import make_conninfo

from failproof_es.problems import InvalidInput
from failproof_es.store.connecting import parameters_of
from failproof_es.store.environment import DATABASE_URL, PASSWORD_FILE
from failproof_es.support.regular_file import read_regular

_MOST_BYTES = 1 << 16
_OF_LIBPQ = ("PGPASSWORD", "PGPASSFILE")


def named_database(option: str | None) -> str | None:
    """The database URL from the option, or else from the environment; `None` without either.

    If the URL has no password, it gets the one in the file that
    `FAILPROOF_ES_DATABASE_PASSWORD_FILE` names. Raises `InvalidInput` if the URL or the file cannot
    be read.
    """
    url = option or os.environ.get(DATABASE_URL)
    if not url:
        return None
    file = os.environ.get(PASSWORD_FILE)
    if "password" in parameters_of(url) or not file:
        return url
    return make_conninfo(url, password=_password_in(Path(file)))


def password_remedy() -> str:
    """The remedy for a refused password: where it is taken from, and which of that is set."""
    variables = [name for name in (PASSWORD_FILE, *_OF_LIBPQ) if os.environ.get(name)]
    here = f"; set here: {', '.join(variables)}" if variables else ""
    return (
        f"correct the password: that of the URL counts, else the file that {PASSWORD_FILE} names, "
        f"else PGPASSWORD, else ~/.pgpass{here}"
    )


def _password_in(file: Path) -> str:
    """The single line of the file, without its line end."""
    try:
        password = read_regular(file, _MOST_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput.because(
            "file-unreadable",
            f"the password of the database cannot be read: {error}",
            remedy=f"correct {PASSWORD_FILE}, which names its file",
        ) from None
    password = password.removesuffix("\n").removesuffix("\r")
    if not password or "\n" in password or "\0" in password:
        raise InvalidInput.because(
            "no-password",
            f"{file}, which {PASSWORD_FILE} names, holds no password",
            remedy="write the password into it, as its one line",
        )
    return password
