"""What `progress` and `cost` say is what the dialect and the servers said: known contradictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

from psycopg.rows import dict_row

from failproof_es.core.case import Case, Turn, prompt_id
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.events import (
    CasesPlanned,
    EvaluationEvent,
    Event,
    ModelSnapshot,
    PromptStored,
    ResponseReceived,
    RunStarted,
    Scored,
    Usage,
)
from failproof_es.store.store import Store
from projections.runner import catch_up, prepare
from tests.asked import ASKED
from tests.unit.histories import BEGIN, History


def a_run(dialect: str, histories: Sequence[Sequence[Event]]) -> list[Event]:
    """A run in which one model was asked a case for each of these histories."""
    run = uuid4()
    cases = [
        Case(dialect=dialect, case_id=f"{n}", suite_id="s",
             turns=(Turn(role="user", content=f"{n} {run}"),),
             document={"prompt": "", "expected_command": ""})
        for n, _ in enumerate(histories)
    ]  # fmt: skip
    digests = tuple(case.digest() for case in cases)

    def head(stream: Any, version: int) -> dict[str, Any]:
        owner = run if stream == run else None
        return {
            "originator_id": stream, "originator_version": version, "run_id": owner,
            "timestamp": BEGIN,
        }  # fmt: skip

    events: list[Event] = [
        PromptStored(**head(prompt_id(digest), 1), digest=digest, case=case)
        for digest, case in zip(digests, cases, strict=True)
    ]
    events.append(
        RunStarted(
            **head(run, 1), name="r", run_number=1, **ASKED,
            configuration={"execution": {"repetitions": 1}}, configuration_digest="d",
            models=(ModelSnapshot(key="model", provider="openai", model="m"),), suites=(),
            dialect=dialect, planned_cases=len(cases), planned_evaluations=len(cases),
            code_version="1", packages={}, who="w", where="h",
        )
    )  # fmt: skip
    events.append(CasesPlanned(**head(run, 2), chunk=0, digests=digests, questions=digests))
    for digest, history in zip(digests, histories, strict=True):
        key = EvaluationKey(run, prompt_id(digest), "model", 1)
        own = {"originator_id": key.evaluation_id, "run_id": run, "prompt_id": key.prompt_id}
        events += [each.model_copy(update=own) for each in history]
    return events


def scored(primary: str, passed: bool | None) -> list[Event]:
    events: list[Event] = list(History().sent().answered().classified(primary).scored().events)
    return [
        each.model_copy(update={"passed": passed}) if isinstance(each, Scored) else each
        for each in events
    ]


def row(store: Store, view: str, events: Sequence[Event]) -> dict[str, Any]:
    store.log.events.put(list(events))
    with store.connect() as connection, connection.cursor(row_factory=dict_row) as cursor:
        prepare(connection)
        while catch_up(connection):
            pass
        run_id = next(event.run_id for event in events if event.run_id is not None)
        cursor.execute(f"SELECT * FROM projections.{view} WHERE run_id = %s".encode(), (run_id,))
        found = cursor.fetchone()
    assert found is not None
    return found


def test_passed_is_the_word_of_the_dialect_and_not_the_name_of_a_class(store: Store) -> None:
    for dialect, good, bad in (
        ("redteam", "defended", "complied"),
        ("promptguard", "true_negative", "false_positive"),
        ("benchmark", "answered", "wrong"),
        ("command", "correct", "incorrect"),
        ("checks", "pass", "fail"),
        ("failproof", "fail", "pass"),  # a case that expects `fail`
    ):
        histories = [scored(good, True), scored(good, True), scored(bad, False), scored(good, None)]
        said = row(store, "progress", a_run(dialect, histories))
        assert (said["passed"], said["failed"], said["scored"]) == (2, 1, 4), dialect
    assert row(store, "run_results", a_run("redteam", [scored("x", True)]))["passed"] is True


def answers(*usages: Usage) -> list[list[Event]]:
    return [
        [
            each.model_copy(update={"usage": usage}) if isinstance(each, ResponseReceived) else each
            for each in scored("pass", True)
        ]
        for usage in usages
    ]


def test_unknown_token_counts_are_null_alone_and_stay_unknown_beside_a_known_sum(
    store: Store,
) -> None:
    known, unknown = Usage(input_tokens=5, output_tokens=3), Usage(input_tokens=7)
    said = row(store, "cost", a_run("failproof", answers(known, unknown)))
    assert (said["input_tokens"], said["output_tokens"]) == (12, 3)
    assert said["answers_without_usage"] == 1
    said = row(store, "cost", a_run("failproof", answers(Usage(input_tokens=5))))
    assert (said["output_tokens"], said["cached_input_tokens"]) == (None, None)
    assert said["input_tokens"] == 5


def test_an_evaluation_that_was_not_planned_is_in_no_count(store: Store) -> None:
    events = a_run("failproof", [scored("pass", True)])
    alien = [
        each.model_copy(update={"model_key": "nobody", "originator_id": stream_of_nobody(each)})
        for each in events
        if isinstance(each, EvaluationEvent)
    ]
    assert any(isinstance(each, Scored) for each in alien)
    assert row(store, "progress", [*events, *alien])["scored"] == 1


def stream_of_nobody(event: EvaluationEvent) -> UUID:
    assert event.run_id is not None
    return EvaluationKey(event.run_id, event.prompt_id, "nobody", 1).evaluation_id
