"""`run_results`: one row for each evaluation, current while the run is going."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, LiteralString

import orjson

from projections.carried_over import CARRIED_OVER, followed
from projections.protocol import Cursor, Fact, Relation, sql_file, visible


@dataclass(slots=True)
class _Evaluation:
    """What a batch says about one evaluation: `sql/run_results_incoming.sql`, in its order.

    `None` where it says nothing; `sql/run_results_merge.sql` puts it to what stands.
    """

    evaluation_id: str
    run_id: str | None
    prompt_id: str
    model_key: str
    repetition: int
    started_at: str
    last_position: int
    status: str = "running"
    attempts: int = 0
    retries: int = 0
    lost_attempts: int = 0
    response: str | None = None
    finish_reason: str | None = None
    model_answered: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    latency_us: int | None = None
    error_kind: str | None = None
    error_message: str | None = None
    error_position: int | None = None
    primary_class: str | None = None
    details: str | None = None
    scores: str | None = None
    accuracy: float | None = None
    finished_at: str | None = None


_as_row: Callable[[_Evaluation], tuple[Any, ...]] = attrgetter(
    *(field.name for field in fields(_Evaluation))
)


class RunResults:
    """One row for each evaluation, and one for each case that was asked."""

    name: LiteralString = "run_results"
    version: int = 2
    relations: tuple[Relation, ...] = (
        Relation("TABLE", "prompts"),
        Relation("TABLE", "evaluations"),
        Relation("VIEW", "run_results"),
    )

    def __init__(self) -> None:
        self.topics = frozenset({"PromptStored", CARRIED_OVER, *_TAKE_IN})
        self._incoming = sql_file("run_results_incoming")
        self._merge = sql_file("run_results_merge")
        self._prompts = sql_file("run_results_prompts")

    def ddl(self) -> LiteralString:
        """`run_results.sql`."""
        return sql_file("run_results")

    def apply(self, cursor: Cursor, facts: Sequence[Fact]) -> None:
        """Fold the batch into one row for each evaluation it touches, then merge them."""
        prompts: list[tuple[Any, ...]] = []
        evaluations: dict[str, _Evaluation] = {}
        for fact in followed(cursor, facts, _TAKE_IN):
            if fact.topic == "PromptStored":
                prompts.append(_prompt(fact))
                continue
            evaluation = evaluations.get(fact.stream_id)
            if evaluation is None:
                evaluation = evaluations[fact.stream_id] = _begin(fact)
            evaluation.last_position = fact.position
            _TAKE_IN[fact.topic](evaluation, fact)
        if prompts:
            cursor.execute(self._prompts, [list(column) for column in zip(*prompts, strict=True)])
        if evaluations:
            cursor.execute(self._incoming)
            with cursor.copy("COPY incoming_evaluations FROM STDIN") as copy:
                for evaluation in evaluations.values():
                    copy.write_row(_as_row(evaluation))
            cursor.execute(self._merge)


def _prompt(fact: Fact) -> tuple[Any, ...]:
    case = fact.payload["case"]
    return (
        fact.stream_id,
        visible(case["suite_id"]),
        visible(case["case_id"]),
        _name(case["category"]),
        _name(case["label"]),
        _name(case["severity"]),
        _json(case["tags"]),
    )


def _begin(fact: Fact) -> _Evaluation:
    payload = fact.payload
    return _Evaluation(
        fact.stream_id,
        fact.run_id,
        payload["prompt_id"],
        visible(payload["model_key"]),
        payload["repetition"],
        payload["timestamp"],
        fact.position,
    )


def _sent(evaluation: _Evaluation, fact: Fact) -> None:
    evaluation.attempts += 1
    evaluation.retries += fact.payload["attempt"] > 1


def _answered(evaluation: _Evaluation, fact: Fact) -> None:
    payload = fact.payload
    # Whoever answered, target or judge: the error before it is overcome.
    evaluation.error_kind = evaluation.error_message = None
    evaluation.error_position = fact.position
    if payload["purpose"] != "target":
        return
    evaluation.response = _json(payload["text"])
    evaluation.finish_reason = _name(payload["finish_reason"])
    evaluation.model_answered = _name(payload["model"])
    usage = payload["usage"]
    evaluation.input_tokens = _sum(evaluation.input_tokens, usage["input_tokens"])
    evaluation.output_tokens = _sum(evaluation.output_tokens, usage["output_tokens"])
    evaluation.latency_us = _sum(evaluation.latency_us, round(payload["latency_ms"] * 1000))


def _failed(evaluation: _Evaluation, fact: Fact) -> None:
    _set_error(evaluation, fact, fact.payload["message"])


def _lost(evaluation: _Evaluation, fact: Fact) -> None:
    evaluation.lost_attempts += 1


def _classified(evaluation: _Evaluation, fact: Fact) -> None:
    evaluation.primary_class = visible(fact.payload["primary"])
    evaluation.details = _json(fact.payload["details"])


def _scored(evaluation: _Evaluation, fact: Fact) -> None:
    scores = fact.payload["scores"]
    evaluation.status = "scored"
    evaluation.scores = _json(scores)
    evaluation.accuracy = scores.get("accuracy")
    evaluation.finished_at = fact.payload["timestamp"]


def _abandoned(evaluation: _Evaluation, fact: Fact) -> None:
    evaluation.status = "abandoned"
    evaluation.finished_at = fact.payload["timestamp"]
    _set_error(evaluation, fact, fact.payload["reason"])


def _set_error(evaluation: _Evaluation, fact: Fact, message: str) -> None:
    evaluation.error_kind = visible(fact.payload["kind"])
    evaluation.error_message = _json(message)
    evaluation.error_position = fact.position


_TAKE_IN: dict[str, Callable[[_Evaluation, Fact], None]] = {
    "RequestSent": _sent,
    "ResponseReceived": _answered,
    "ErrorRecorded": _failed,
    "AttemptLost": _lost,
    "Classified": _classified,
    "Scored": _scored,
    "EvaluationAbandoned": _abandoned,
}


def _sum(left: int | None, right: int | None) -> int | None:
    return left if right is None else (left or 0) + right


def _name(text: str | None) -> str | None:
    return None if text is None else visible(text)


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
