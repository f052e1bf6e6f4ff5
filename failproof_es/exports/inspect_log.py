"""`inspect`: Inspect's evaluation logs, one for each model, as JSON that `inspect view` opens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import PurePosixPath
from typing import Any, Self

from failproof_es.configuration.recorded import repetitions_of
from failproof_es.core.case import Case
from failproof_es.core.finish_reasons import common_word
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.severity import severity_of
from failproof_es.core.tally import BOUNDS, Group
from failproof_es.core.transcript import ModelReply
from failproof_es.engine.required_plugins import require_dialect
from failproof_es.events import ModelSnapshot, ToolCall
from failproof_es.exports.evaluated import ExportedEvaluation, arguments_of, evaluated
from failproof_es.exports.exact_json import exact_json
from failproof_es.exports.exporter import (
    Export,
    ExportedFile,
    LeftOut,
    Pieces,
    refuse_settings,
)
from failproof_es.reading.recorded_run import RecordedRun

VERSION = 2
"""The version of Inspect's format."""
_STATUS = {"completed": "success", "failed": "error", "running": "started"}
"""Inspect's status of a run; `cancelled` for the others."""
_STOPS = {
    "stop": "stop", "length": "max_tokens", "tool_calls": "tool_calls",
    "content_filter": "content_filter",
}  # fmt: skip
_IDS = b'"sample_ids":[]'
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9.]+")
_LONGEST_NAME = 60


class InspectLog:
    """The exporter `inspect`: results, conversations and scores as logs of Inspect."""

    name = "inspect"
    says = "an Inspect evaluation log (JSON) for each model, with every conversation and score"

    def with_settings(self, settings: Mapping[str, str]) -> Self:
        """The exporter itself. Raises `InvalidInput` for any setting: it has none."""
        refuse_settings(self.name, settings)
        return self

    def files(self, runs: Sequence[RecordedRun], export: Export) -> Iterator[ExportedFile]:
        """One log for each run and model.

        Raises `InvalidInput` if a run's dialect is not installed.
        """
        for run in runs:
            require_dialect(run.started)
        for run in runs:
            for number, model in enumerate(run.started.models, 1):
                yield ExportedFile(
                    PurePosixPath(_file_name(run, export.moment, number)),
                    f"samples of {model.key}",
                    Pieces(partial(_log, run, number, model, export)),
                )


def _file_name(run: RecordedRun, moment: datetime, model: int) -> str:
    """The file name that `inspect view` expects: the time, the task, an id.

    `model` is the model's number in the run, from 1.
    """
    task = _NOT_IN_A_NAME.sub("-", run.started.name).strip("-")[:_LONGEST_NAME] or "run"
    time = moment.strftime("%Y-%m-%dT%H-%M-%S+00-00")
    return f"{time}_{task}_run{run.started.run_number}model{model}.json"


def _log(
    run: RecordedRun, number: int, model: ModelSnapshot, export: Export, pieces: Pieces
) -> Iterator[bytes]:
    """The bytes of one model's log, sample by sample, so that one sample is in memory.

    `number` is the model's number in the run, from 1. Counts samples in `pieces`, and what the
    format cannot hold in `export`.
    """
    left_out = export.left_out
    head = exact_json(head_of(run, model), left_out)
    before, ids, after = head.partition(_IDS)  # unique: quotes in texts are escaped
    yield before + ids[:-1]
    yield from _sample_ids(run, left_out)
    yield b"]" + after[:-1] + b',"samples":[\n'
    for evaluation in evaluated(run, require_dialect(run.started), model.key):
        separator = b",\n" if pieces.rows else b""
        pieces.rows += 1
        outcome = evaluation.outcome
        unknown = (outcome.input_tokens is None) != (outcome.output_tokens is None)
        left_out.add("token counts that are not known", "0 stands for them", unknown)
        yield separator + exact_json(sample_of(evaluation), left_out)
    yield b"\n]}\n"
    planned = run.summary.planned // len(run.started.models)
    left_out.add("evaluations", "they have not begun: Inspect has no such sample",
                 planned - pieces.rows)  # fmt: skip
    left_out.add("bodies of requests and replies", "Inspect keeps none; the log does")
    why = "Inspect counts those of a model; `show` has them"
    left_out.add("tokens of judges", why, number == 1 and len(run.started.judges))


def _sample_ids(run: RecordedRun, left_out: LeftOut) -> Iterator[bytes]:
    """The ids of all samples as elements of a JSON array, commas included.

    Inspect finds only samples whose ids are listed in a log's head.
    """
    for number, case in enumerate(run.cases()):
        yield (b"," if number else b"") + exact_json(_sample_id(case), left_out)


def _sample_id(case: Case) -> str:
    return f"{case.suite_id}/{case.case_id}"


def head_of(run: RecordedRun, model: ModelSnapshot) -> dict[str, Any]:
    """The log as an object without its samples, with the numbers of the run's summary."""
    started, summary = run.started, run.summary
    group = summary.group(model=model.key)
    spent = summary.counts.spending
    status = _STATUS.get(run.run.status, "cancelled")
    ended_at = run.run.ended_at
    settings = {
        "temperature": model.parameters.get("temperature"),
        "max_tokens": model.parameters.get("max_tokens"),
        "seed": model.parameters.get("seed"),
        "top_p": model.parameters.get("top_p"),
    }
    head: dict[str, Any] = {
        "version": VERSION,
        "status": status,
        "eval": {
            "eval_id": f"{run.run_id}-{model.key}",
            "run_id": str(run.run_id),
            "created": started.timestamp.isoformat(),
            "task": started.name,
            "task_id": started.configuration_digest,
            "task_version": 0,
            "task_attribs": {},
            "task_args": {},
            "task_args_passed": {},
            "dataset": {
                "name": ", ".join(suite.path for suite in started.suites),
                "samples": started.planned_cases,
                "sample_ids": [],
                "shuffled": False,
            },
            "model": f"{model.provider}/{model.model}",
            "model_generate_config": _numbers(settings),
            "model_args": {},
            "config": {"epochs": repetitions_of(started)},
            "packages": {"failproof-es": started.code_version, **started.packages},
            "metadata": {
                "failproof_es": {
                    "run_number": started.run_number,
                    "origin": run.origin,
                    "dialect": started.dialect,
                    "model_key": model.key,
                    "configuration_sha256": started.configuration_digest,
                    "suites": [suite.model_dump(mode="json") for suite in started.suites],
                    "seeds": started.seeds,
                    "sealed": run.run.sealed,
                }
            },
        },
        "plan": {"name": "failproof-es", "steps": [], "config": {}},
        "results": {
            "total_samples": summary.planned // len(started.models),
            "completed_samples": group.finished,
            "scores": list(_scores(group)),
        },
        "stats": {
            "started_at": started.timestamp.isoformat(),
            "completed_at": "" if ended_at is None else ended_at.isoformat(),
            "model_usage": {
                key: _usage(
                    model_spent.input.reported_total,
                    model_spent.output.reported_total,
                    model_spent.cost_usd,
                )
                for key, model_spent in spent.items()
                if key == model.key and model_spent.answers
            },
            "role_usage": {},
            "connection_limit_history": [],
        },
        "invalidated": False,
        "tags": [],
        "metadata": {},
    }
    if status == "error":
        head["error"] = _error(run.run.reason or "the run failed")
    return head


def _numbers(settings: Mapping[str, object]) -> dict[str, object]:
    """The settings that are numbers: Inspect accepts no others as parameters of a model."""
    return {
        name: value
        for name, value in settings.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _scores(group: Group) -> Iterator[dict[str, Any]]:
    for name, metric, rate in (
        ("accuracy", "mean", group.bounded_accuracy),
        ("passed", "accuracy", group.bounded_pass_rate),
    ):
        if rate.rate is not None:
            score: dict[str, Any] = {
                "name": name,
                "scorer": name,
                "scored_samples": rate.scored,
                "unscored_samples": group.finished - rate.scored,
                "params": {},
                "metrics": {metric: {"name": metric, "value": rate.rate, "params": {}}},
            }
            if rate.bounds is not None:
                score["metadata"] = dict(zip(BOUNDS, rate.bounds, strict=True))
            yield score


def sample_of(evaluation: ExportedEvaluation) -> dict[str, Any]:
    """One evaluation as a sample, an object of Inspect's log. Pure."""
    case, outcome = evaluation.case, evaluation.outcome
    model = outcome.model_answered or outcome.model_key
    messages = [
        _message(turn.role, turn.text) if turn.reply is None else _answer(turn.reply, model)
        for turn in evaluation.conversation
    ]
    expected = case.expectation.get("expected_response")
    usage = _usage(outcome.input_tokens, outcome.output_tokens, outcome.cost_usd)
    has_usage = outcome.input_tokens is not None or outcome.output_tokens is not None
    sample: dict[str, Any] = {
        "id": _sample_id(case),
        "epoch": outcome.repetition,
        "input": [_message(turn.role, turn.content) for turn in case.turns],
        "target": expected if isinstance(expected, str) else "",
        "messages": messages,
        "output": {
            "model": model,
            "choices": [],
            "completion": outcome.answer or "",
        },
        "scores": dict(_sample_scores(outcome)),
        "metadata": {
            "category": case.category,
            "severity": severity_of(case),
            "tags": list(case.tags),
            "expectation": case.expectation,
            "failproof_es": {
                "evaluation_id": str(outcome.evaluation_id),
                "case_sha256": case.digest(),
                "leaves_sha256": evaluation.leaves_sha256,
                "status": outcome.status,
                "class": outcome.class_,
                "awaiting_review": outcome.awaiting_review,
                "source_run_id": outcome.source_run_id and str(outcome.source_run_id),
                "requests": outcome.requests,
                "retries": outcome.retries,
                "cost_usd": None if outcome.cost_usd is None else str(outcome.cost_usd),
            },
        },
        "store": {},
        "events": [],
        "model_usage": {outcome.model_key: usage} if has_usage else {},
        "role_usage": {},
        "attachments": {},
        "uuid": str(outcome.evaluation_id),
        "started_at": None if outcome.started_at is None else outcome.started_at.isoformat(),
        "completed_at": None if outcome.finished_at is None else outcome.finished_at.isoformat(),
    }
    if outcome.latency_ms is not None:
        sample["total_time"] = sample["working_time"] = outcome.latency_ms / 1000
    if evaluation.state.replies:
        message = _answer(evaluation.state.replies[-1], model)
        stop = _STOPS.get(common_word(outcome.finish_reason or ""), "unknown")
        sample["output"]["choices"] = [{"message": message, "stop_reason": stop}]
        if has_usage:
            sample["output"]["usage"] = usage
    if outcome.unscored and not outcome.awaiting_review:
        sample["error"] = _error(f"{outcome.ended_kind}: {outcome.reason}")
    return sample


def _sample_scores(outcome: EvaluationOutcome) -> Iterator[tuple[str, dict[str, Any]]]:
    judges = [
        {"judge": verdict.judge, "verdict": verdict.verdict, "problem": verdict.problem}
        for verdict in outcome.judges
    ]
    for name, value in outcome.scores.items():
        yield name, {"value": value, "history": []}
    if outcome.passed is not None:
        yield (
            "passed",
            {
                "value": "C" if outcome.passed else "I",
                "answer": outcome.answer,
                "explanation": outcome.reason,
                "metadata": {"class": outcome.class_, "judges": judges},
                "history": [],
            },
        )


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def _answer(reply: ModelReply, model: str) -> dict[str, Any]:
    """A model's reply as a message: its text, its refusal (marked as such), its tool calls."""
    message: dict[str, Any] = {
        "role": "assistant",
        "content": reply.text,
        "source": "generate",
        "model": model,
    }
    if reply.refusal:
        texts = [{"type": "text", "text": reply.text}] if reply.text else []
        message["content"] = [*texts, {"type": "text", "text": reply.refusal, "refusal": True}]
    if reply.tool_calls:
        message["tool_calls"] = [
            _call(number, call) for number, call in enumerate(reply.tool_calls, 1)
        ]
    return message


def _call(number: int, call: ToolCall) -> dict[str, Any]:
    tool_call: dict[str, Any] = {
        "id": call.id or f"call-{number}",
        "function": call.name,
        "arguments": arguments_of(call),
        "type": "function",
    }
    if tool_call["arguments"] is None:
        tool_call |= {"arguments": {}, "parse_error": f"no JSON object: {call.arguments}"}
    return tool_call


def _usage(
    input_tokens: int | None, output_tokens: int | None, usd: Decimal | None
) -> dict[str, int | float]:
    """A sample's or model's token counts and cost; unknown counts become 0.

    Inspect has no value for "unknown". An unknown cost is left out.
    """
    cost = {} if usd is None else {"total_cost": float(usd)}
    return {
        "input_tokens": input_tokens or 0,
        "output_tokens": output_tokens or 0,
        "total_tokens": (input_tokens or 0) + (output_tokens or 0),
        **cost,
    }


def _error(message: str) -> dict[str, str]:
    return {"message": message, "traceback": "", "traceback_ansi": ""}
