"""The projection `command_results` (specification 004): the result of each command, and totals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, LiteralString
from uuid import UUID

import orjson

from failproof_es.dialects.kit import cut_off
from failproof_es.events import PromptStored
from projections.archives import ARCHIVING
from projections.carried_over import CARRIED_OVER, resolve_carried_over
from projections.protocol import Cursor, Fact, Relation, sql_file, visible

_PACKAGE = "failproof_es.dialects.shipped.command"
_DIALECT = "command"
_CLASSIFIER = "command.classifier"
_SCORER = "command.success"


class CommandResults:
    """The projection `command_results`: the data of specification 004's `EvaluationResult`.

    Its tables hold cases and the results of judged commands, its view the totals by category.
    """

    name: LiteralString = "command_results"
    version: int = 3
    relations: tuple[Relation, ...] = (
        Relation("TABLE", "command_cases"),
        Relation("TABLE", "command_results"),
        Relation("VIEW", "command_totals"),
    )
    topics: frozenset[str] = frozenset(
        {"PromptStored", "Classified", "Scored", "EvaluationAbandoned", CARRIED_OVER, *ARCHIVING}
    )
    in_shares = True
    keeps_own_stream = True

    def __init__(self) -> None:
        self._cases = sql_file("command_results_cases", _PACKAGE)
        self._classified = sql_file("command_results_classified", _PACKAGE)
        self._finished = sql_file("command_results_finished", _PACKAGE)

    def ddl(self) -> LiteralString:
        """The SQL that creates the tables and the view."""
        return sql_file("command_results", _PACKAGE)

    def apply(self, cursor: Cursor, facts: Sequence[Fact]) -> None:
        """Write the rows for a batch of events.

        Cases first, then classifications, then ends of evaluations, as they follow each other in
        the log.
        """
        cases, classified, finished = [], [], []
        for fact in resolve_carried_over(cursor, facts, self.topics):
            match fact.topic:
                case "PromptStored" if _dialect(fact) == _DIALECT:
                    cases.append(_case(fact))
                case "Classified" if fact.says("classifier") == _CLASSIFIER:
                    classified.append(_judged_row(fact))
                case "Scored" if fact.says("scorer") in (_SCORER, cut_off.SCORER):
                    finished.append(_finished(fact, True, None))
                case "EvaluationAbandoned" | "Scored" if _ends_unread(fact):
                    # Of any dialect: without a row of this dialect the statement changes nothing.
                    message = fact.payload["reason"]
                    reason = {"type": "backend_error", "message": message}
                    finished.append(_finished(fact, False, _json(reason)))
        for statement, rows in (
            (self._cases, cases),
            (self._classified, classified),
            (self._finished, finished),
        ):
            if rows:
                cursor.execute(statement, _columns(rows))

    def forget_run(self, cursor: Cursor, run_id: UUID) -> None:
        """Remove the results of the run. The cases that it asked stay."""
        cursor.execute("DELETE FROM command_results WHERE run_id = %s", (run_id,))


def _columns(rows: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _ends_unread(fact: Fact) -> bool:
    """Whether the event ends an evaluation without a verdict of this dialect."""
    return fact.topic == "EvaluationAbandoned" or fact.says("scorer") == cut_off.STOPPED_SCORER


def _dialect(fact: Fact) -> str:
    event = fact.event
    dialect: str = (
        event.case.dialect if isinstance(event, PromptStored) else fact.payload["case"]["dialect"]
    )
    return dialect


def _case(fact: Fact) -> tuple[Any, ...]:
    case = fact.payload["case"]
    document = case["document"]
    return (
        fact.stream_id,
        visible(case["case_id"]),
        _json(document["prompt"]),
        _json(document["expected_command"]),
    )


def _judged_row(fact: Fact) -> tuple[Any, ...]:
    payload = fact.payload
    details = payload["details"]
    reason = details["reason"]
    return (
        fact.stream_id,
        fact.run_id,
        payload["prompt_id"],
        visible(payload["model_key"]),
        payload["repetition"],
        visible(details["category"]),
        payload["primary"] == "pass",
        _json(details.get("command", "")),
        None if reason is None else _json(reason),
        payload["primary"] in ("pass", "fail") and not details.get("cut_off"),
        not details.get("safety", {"safe": True})["safe"],
    )


def _finished(fact: Fact, scored: bool, reason: str | None) -> tuple[Any, ...]:
    return (fact.stream_id, scored, reason, fact.payload["timestamp"])


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
