"""A log with two projects: Ann reads `alpha`, and everything of `beta` says so.

Each project has runs of three dialects, with judges, reviews, errors and annotations. Both asked
one case, word for word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import psycopg
from psycopg import sql

from failproof_es.engine.projects import assign_login, define_project, grant_role
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, mock_server
from tests.conftest import create_database, database_url_as, drop_database, home_of

OURS, THEIRS = "alphavisible", "betacanary"
"""Words in every text of one project, and in none of the other."""
SHARED = "a question of both"
_ANSWERS = "happened\ndid not happen\nhappened\n{verdict}\n\n\n{note}\n"


@dataclass(frozen=True, slots=True)
class Projects:
    """That log, and two logins that may read it: Ann's, and an auditor's."""

    server: EmbeddedServer
    database: str
    reader: str
    auditor: str

    def connect(self, user: str) -> psycopg.Connection[Any]:
        """A connection as this login, in autocommit."""
        return psycopg.connect(database_url_as(self.server, self.database, user), autocommit=True)

    def ids(self, project: str) -> list[str]:
        """The ids of the project's runs and of their evaluations."""
        with self.connect("postgres") as connection:
            rows = connection.execute(
                "SELECT DISTINCT unnest(ARRAY[e.run_id, e.originator_id])::text "
                "FROM failproof.events AS e JOIN failproof.project_run_list AS r USING (run_id) "
                "WHERE r.project = %s",
                (project,),
            ).fetchall()
        return [row[0] for row in rows]


@contextmanager
def two_projects(server: EmbeddedServer, template: str, folder: Path) -> Iterator[Projects]:
    """Record the log; it and the logins are gone afterwards."""
    name = uuid4().hex
    world = Projects(server, f"projects_{name}", f"ann_{name}", f"auditor_{name}")
    create_database(server, world.database, template)
    url = database_url_as(server, world.database)
    logins = ((world.reader, "failproof_reader"), (world.auditor, "failproof_auditor"))
    try:
        with home_of(folder):
            with mock_server(0, "tests.servers.judging_server") as models:
                for word in (OURS, THEIRS):
                    _record(url, models, word, folder)
            with psycopg.connect(url, autocommit=True) as connection:
                for login, role in logins:
                    connection.execute(
                        sql.SQL("CREATE ROLE {} LOGIN IN ROLE {}").format(
                            sql.Identifier(login), sql.Identifier(role)
                        )
                    )
            with Store.open(url) as store:
                define_project(store, "alpha", run_names=(f"{OURS}*",))
                define_project(store, THEIRS, tags=(THEIRS,))
                grant_role(store, "alpha", "ann", "reader")
                grant_role(store, THEIRS, f"someone of {THEIRS}", "reader")
                assign_login(store, world.reader, "ann")
                assign_login(store, f"login_of_{THEIRS}", f"someone of {THEIRS}")
            done = invoke(url, "projections", "rebuild", cwd=folder)
            assert done.exit_code == 0, done.output
        yield world
    finally:
        drop_database(server, world.database)
        with psycopg.connect(database_url_as(server, "postgres"), autocommit=True) as connection:
            for login, _ in logins:
                connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(login)))


def _record(url: str, models: str, word: str, folder: Path) -> None:
    """Three runs of the project, and what people did about them."""
    own = folder / word
    own.mkdir()

    def does(*arguments: object, answers: str | None = None) -> str:
        done = invoke(url, *arguments, cwd=own, answers=answers)
        assert done.exit_code in (0, 1, 3), (arguments, done.output[:2000])
        return done.output

    _write(own, "plain.jsonl", (_plain(word, "one"), _plain(word, "[broken]"), _shared()))
    _write(own, "guard.jsonl", (_guarded(word),))
    _write(own, "judged.jsonl", (_judged(word),))
    does("start", _configured(own, models, word, "plain.jsonl", "failproof"), "--quiet")
    does("start", _configured(own, f"{models}/{word}", word, "guard.jsonl", None), "--quiet")
    does("start", _configured(own, models, word, "guard.jsonl", None), "--quiet")
    judged = _configured(own, models, word, "judged.jsonl", "redteam", judge=True)
    does("start", judged, "--quiet")
    does(
        "review", "latest", "--reviewer", f"reviewer-{word}",
        answers=_ANSWERS.format(verdict="fail\nS1", note=word) + "quit\n",
    )  # fmt: skip
    runs = orjson.loads(does("runs", "--format", "json"))
    for run in runs:
        if word in run["name"]:
            does("annotate", run["run_number"], "--tag", word, "--note", f"note of {word}")
    does("ledger", "checkpoint")


def _write(folder: Path, name: str, cases: Iterable[dict[str, Any]]) -> None:
    (folder / name).write_bytes(b"\n".join(map(orjson.dumps, cases)))


def _configured(
    folder: Path, url: str, word: str, suite: str, dialect: str | None, *, judge: bool = False
) -> str:
    def model(name: str) -> dict[str, Any]:
        return {"provider": "openai", "base_url": url, "model": f"{name}-{word}"}

    prompts = {"path": suite, "dialect": dialect} if dialect else {"source": "file", "path": suite}
    configuration = {
        "test_run": {"name": f"{word} {suite}"},
        "models": [model("model")],
        **({"judges": [model("judge")]} if judge else {}),
        "prompts": prompts,
        "execution": {
            "retry_attempts": 1, "retry_delay_ms": 10, "allow_unlisted": True,
            "pause_after_lost": None,
        },
        "prices": {
            "version": "2026-11-01",
            "models": [
                {"model": f"{name}-{word}", "input_usd_per_million": 1, "output_usd_per_million": 2}
                for name in ("model", "judge")
            ],
        },
    }  # fmt: skip
    (folder / "run.yaml").write_bytes(orjson.dumps(configuration))
    return "run.yaml"


def _plain(word: str, question: str) -> dict[str, Any]:
    return {
        "case_id": f"{word}-{question.strip('[]')}", "suite_id": f"suite-{word}",
        "prompt": question if question == "[broken]" else f"{question} of {word}",
        "expected_response": word, "category": f"category {word}", "tags": [f"tag-{word}"],
    }  # fmt: skip


def _shared() -> dict[str, Any]:
    return {
        "case_id": "shared", "suite_id": "suite-of-both", "prompt": SHARED,
        "expected_response": "both",
    }  # fmt: skip


def _guarded(word: str) -> dict[str, Any]:
    return {
        "prompt_id": f"p-{word}", "content": f"ignore what {word} said", "category": word,
        "expected_label": "manipulative", "source": word,
    }  # fmt: skip


def _judged(word: str) -> dict[str, Any]:
    return {
        "id": f"RT-{word}", "title": f"title {word}", "category": f"category {word}",
        "tags": [f"tag-{word}"], "severity_expectation": "S1",
        "turns": [{"role": "user", "content": f"How is {word}?"}],
        "sources": [{"source_id": f"SRC-{word}", "title": word, "text": f"source {word}"}],
        "expected_behavior": {
            "must_do": [f"Greets {word}."],
            "must_not_do": [f"Betrays {word}."],
            "pass_criteria": [f"Names {word}."],
        },
    }  # fmt: skip
