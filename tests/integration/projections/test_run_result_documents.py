"""The view of RunResults (specification 000 § 2) says what `results` prints, from any history."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any
from uuid import UUID

import psycopg
from jsonschema import Draft7Validator
from psycopg.rows import dict_row

from failproof_es.core.case import Case
from failproof_es.core.evaluation import fold
from failproof_es.dialects.shipped.failproof.run_result import run_result
from failproof_es.events import EvaluationEvent, PromptStored
from failproof_es.store.schema.installation import AUDITOR
from failproof_es.store.store import Store
from projections.protocol import visible
from tests.integration.projections.test_what_sql_says import a_run, row, scored
from tests.integration.projections.world import Rows, World

FIELDS = (
    *("case_id", "suite_id", "run_id", "model_id", "timestamp_utc", "raw_response", "error"),
    *("classification", "scores"),
)
SCHEMA = json.loads(
    files("failproof_es.dialects.shipped.failproof")
    .joinpath("run_result.schema.json")
    .read_text("utf-8")
)


def test_each_row_is_the_run_result_of_its_events(
    store: Store, world: World, followed: Rows
) -> None:
    streams: dict[UUID, list[EvaluationEvent]] = {}
    cases: dict[UUID, Case] = {}
    for event in world.events:
        if isinstance(event, EvaluationEvent):
            streams.setdefault(event.originator_id, []).append(event)
        elif isinstance(event, PromptStored):
            cases.setdefault(event.originator_id, event.case)
    auditors = store.url.replace("//postgres@", f"//{AUDITOR}@")
    with psycopg.connect(auditors) as connection, connection.cursor(row_factory=dict_row) as cursor:
        cursor.execute("SELECT *, document::text AS text FROM projections.run_result_documents")
        shown = cursor.fetchall()
    assert {each["evaluation_id"] for each in shown} == set(streams)
    assert len({json.dumps(sorted(json.loads(each["text"]))) for each in shown}) > 2
    for each in shown:
        history = streams[each["evaluation_id"]]
        result = run_result(cases[history[0].prompt_id], fold(history))
        document = json.loads(each["text"])
        assert list(document) == list(result) and document == json.loads(json.dumps(result))
        Draft7Validator(SCHEMA).validate(document)
        columns = {name: _shown(name, result.get(name)) for name in FIELDS}
        assert {name: each[name] for name in FIELDS if name != "classification"} == {
            name: value for name, value in columns.items() if name != "classification"
        }


def _shown(name: str, value: Any) -> Any:
    if name == "run_id":
        return UUID(value)
    return visible(value) if isinstance(value, str) else value


def test_runs_of_other_dialects_have_none(store: Store) -> None:
    store.log.events.put(a_run("redteam", [scored("defended", True)]))
    found = row(store, "run_result_documents", a_run("failproof", [scored("pass", True)]))
    assert found["model_id"] == "model" and found["classification"]["primary"] == "pass"
    with store.connect() as connection:
        count = connection.execute("SELECT count(*) FROM projections.run_result_documents")
        assert count.fetchone() == (1,)
