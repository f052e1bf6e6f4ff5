"""Record what this version's `db init` makes, and a run's rows, as data for the upgrade tests.

`python -m tests.released.record NAME` writes `tests/released/NAME.json` and the statements that
it names, each once, under `tests/released/sql/`. A state that stands is never changed: it is what
some database has. Record one before a change of what `failproof_es/store` installs is released.

It uses nothing but what every released version had, so it can be run on an older one, too.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psycopg

FOLDER = Path(__file__).parent
SQL = "sql"
_READS = ("select to_reg", "select number", "select sha256", "select pg_advisory", "set local")
_NOT_KEPT = ("migrations", "installations", "schema_changes", "ledger_identity")
"""Tables that the installation itself fills, and the name of a log that no other one may have."""

CLASS = "constant_model:Model"
"""The client of the run, which `write_files` writes."""
_CASES = [
    {
        "case_id": f"case-{number}", "suite_id": "released",
        "prompt": f"Say {number}\u2028 and naïve", "expected_response": str(number),
    }
    for number in range(3)
]  # fmt: skip
_MODEL = (
    "class Model:\n"
    "    def __init__(self, *args, **kwargs): pass\n"
    "    def get_completion(self, prompt, params): return 'it is 1'\n"
)


_NOBODY = (
    "import getpass, os, pwd, socket\n"
    "os.environ.setdefault('USER', 'someone')\n"
    "getpass.getuser = lambda: 'someone'\n"
    "pwd.getpwuid = lambda uid: type('Account', (), {'pw_name': 'someone'})\n"
    "socket.gethostname = lambda: 'host'\n"
)
"""Who recorded it, and where, is nobody's business: a module that Python imports as it begins."""


def installed_statements(url: str) -> list[str]:
    """Every statement of an installation into the empty database at `url`, which has it then."""
    statements: list[str] = []
    execute = psycopg.Cursor.execute

    def recording(
        cursor: psycopg.Cursor[Any], query: Any, params: Any = None, **options: Any
    ) -> Any:
        text = query.decode() if isinstance(query, bytes) else str(query)
        if not text.lower().startswith(_READS) and not isinstance(cursor, psycopg.ClientCursor):
            told = psycopg.ClientCursor(cursor.connection).mogrify(query, params)
            statements.append(told if params else text)
        return execute(cursor, query, params, **options)

    with psycopg.connect(url, autocommit=True) as connection:
        psycopg.Cursor.execute = recording  # type: ignore[method-assign, assignment]
        try:
            _install(connection)
        finally:
            psycopg.Cursor.execute = execute  # type: ignore[method-assign]
    return statements


def _install(connection: psycopg.Connection[Any]) -> None:
    from failproof_es.store.schema.installation import install

    assert install(connection, logins=True).problems == []


def a_run(url: str, folder: Path) -> None:
    """Run three cases with a model that is a class, by the command of this version."""
    write_files(folder)
    command(url, folder, "start", "run.yaml")


def write_files(folder: Path) -> None:
    """What a run needs: its model, its cases, its configuration `run.yaml`."""
    (folder / "constant_model.py").write_text(_MODEL, "utf-8")
    nobody_in(folder)
    (folder / "suite.jsonl").write_text(
        "".join(json.dumps(case) + "\n" for case in _CASES), "utf-8"
    )
    configuration = {
        "test_run": {"name": "released"},
        "models": [{"provider": "python", "class": CLASS, "model": "constant"}],
        "prompts": {"path": "suite.jsonl", "dialect": "failproof"},
        "execution": {"parallel_workers": 2, "retry_attempts": 1, "repetitions": 2},
    }
    (folder / "run.yaml").write_text(json.dumps(configuration), "utf-8")


def nobody_in(folder: Path) -> None:
    """Have commands whose home is in `folder` record nobody's account and host."""
    (folder / "sitecustomize.py").write_text(_NOBODY, "utf-8")


def command(url: str, folder: Path, *arguments: str, codes: tuple[int, ...] = (0,)) -> str:
    """What a command of this version prints, whose home is in `folder`; it ends by such a code."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", str(Path.cwd()))]),
        "FAILPROOF_ES_DATABASE_URL": url,
        "FAILPROOF_ES_HOME": str(folder / "home"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "failproof_es.cli", *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode not in codes:
        raise SystemExit(f"exit code {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def rows(connection: psycopg.Connection[Any]) -> dict[str, dict[str, Any]]:
    """By table its columns, and its rows as COPY writes them."""
    found = connection.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'failproof'::regnamespace "
        "AND relkind = 'r' ORDER BY relname"
    ).fetchall()
    tables = {}
    for (table,) in found:
        columns = [
            name
            for (name,) in connection.execute(
                "SELECT attname FROM pg_attribute WHERE attrelid = ('failproof.' || %s)::regclass "
                "AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum",
                (table,),
            )
        ]
        if table in _NOT_KEPT or table.startswith("ledger") or not columns:
            continue
        listed = ", ".join(columns)
        with (
            connection.cursor() as cursor,
            cursor.copy(f"COPY failproof.{table} ({listed}) TO STDOUT") as copy,
        ):
            data = b"".join(bytes(block) for block in copy)
        if data:
            tables[table] = {"columns": columns, "rows": data.decode().splitlines()}
    return tables


def record(into: Path, name: str) -> None:
    """Record this version under `name`, in a folder."""
    from failproof_es.store.embedded.server import EmbeddedServer

    home = Path(tempfile.mkdtemp(prefix="failproof-es-released-"))
    home.chmod(0o755)
    server = EmbeddedServer(home)
    try:
        url = server.ensure_running()
        record_state(into, name, url, installed_statements(url), home / "run")
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


def record_state(into: Path, name: str, url: str, statements: list[str], folder: Path) -> None:
    """Make a run in the database at `url`, that these statements installed, and write its state."""
    folder.mkdir()
    a_run(url, folder)
    with psycopg.connect(url, autocommit=True) as connection:
        tables = rows(connection)
    (into / SQL).mkdir(exist_ok=True)
    names = []
    for statement in statements:
        digest = hashlib.sha256(statement.encode()).hexdigest()[:12]
        (into / SQL / f"{digest}.sql").write_text(statement, "utf-8")
        names.append(digest)
    state = {"statements": names, "tables": tables}
    (into / f"{name}.json").write_text(json.dumps(state, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    record(FOLDER, sys.argv[1])
