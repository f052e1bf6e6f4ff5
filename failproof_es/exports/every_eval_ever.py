"""`every-eval-ever`: aggregate and per-sample records of the Every Eval Ever format, version 0.3.0.

The aggregate record of a model names its file of samples, with the file's SHA-256. A sample's hash
is defined by the format: the SHA-256 of its input and its references. Its metadata have the digest
of the case and the digest over the leaf hashes of its events.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath
from typing import Any, NamedTuple, Self
from uuid import UUID

from failproof_es.core.severity import severity_of
from failproof_es.core.tally import BOUNDS, BoundedRate, Group
from failproof_es.engine.required_plugins import require_dialect
from failproof_es.engine.reviews.conversation import ConversationTurn
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
from failproof_es.exports.file_names import file_name
from failproof_es.problems import InvalidInput, Problem
from failproof_es.reading.recorded_run import RecordedRun

VERSION = "0.3.0"
_RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
_SETTINGS = ("organization", "relationship")
ACCURACY, PASS_RATE = "accuracy", "pass_rate"


@dataclass(frozen=True, slots=True)
class EveryEvalEver:
    """The exporter `every-eval-ever`: files `data/RUN/DEVELOPER/MODEL/` for the datastore."""

    organization: str = "unknown"
    relationship: str = "other"

    @property
    def name(self) -> str:
        """`every-eval-ever`, the name for `export --shape`."""
        return "every-eval-ever"

    @property
    def says(self) -> str:
        """The content of the files, for the help."""
        return "Every Eval Ever: an aggregate record and a file of samples for each model"

    def with_settings(self, settings: Mapping[str, str]) -> Self:
        """The exporter with these settings: `organization` and `relationship`.

        `organization` provides the data; `relationship` is the evaluator's to the model's
        developer. Raises `InvalidInput` for an unknown setting or relationship.
        """
        refuse_settings(self.name, settings, _SETTINGS)
        relationship = settings.get("relationship", self.relationship)
        if relationship not in _RELATIONSHIPS:
            names = ", ".join(_RELATIONSHIPS)
            raise InvalidInput(
                [
                    Problem(
                        "invalid-option",
                        f"there is no relationship {relationship!r}",
                        field="--with relationship",
                        remedy=f"use one of: {names}",
                    )
                ]
            )
        return replace(
            self,
            organization=settings.get("organization", self.organization),
            relationship=relationship,
        )

    def files(self, runs: Sequence[RecordedRun], export: Export) -> Iterator[ExportedFile]:
        """For each run and model the samples, and then the aggregate record with their digest.

        A model without a score has no files. Raises `InvalidInput` if a run's dialect, or an extra
        that it needs, is not installed.
        """
        for run in runs:
            require_dialect(run.started)
        for run in runs:
            for model in run.started.models:
                yield from self._of_model(run, model, export)

    def _of_model(
        self, run: RecordedRun, model: ModelSnapshot, export: Export
    ) -> Iterator[ExportedFile]:
        identity = _Identity.of(run, model, int(export.moment.timestamp()))
        results = list(results_of(run, model, identity))
        if not results:
            export.left_out.add(f"the records of {model.key}", "nothing of the model has a score")
            return
        samples = Pieces(partial(_samples, run, model, identity, export.left_out))
        path = identity.folder / f"{identity.uuid}_samples.jsonl"
        yield ExportedFile(path, "samples", samples)
        aggregate = {
            **self._head(run, model, identity),
            "evaluation_results": results,
        }
        if samples.rows:
            aggregate["detailed_evaluation_results"] = {
                "format": "jsonl",
                "file_path": str(path),
                "hash_algorithm": "sha256",
                "checksum": samples.sha256,
                "total_rows": samples.rows,
            }

        def write(pieces: Pieces) -> Iterator[bytes]:
            pieces.rows = len(results)
            yield exact_json(aggregate, export.left_out, indent=True) + b"\n"

        yield ExportedFile(identity.folder / f"{identity.uuid}.json", "aggregate", Pieces(write))

    def _head(self, run: RecordedRun, model: ModelSnapshot, identity: _Identity) -> dict[str, Any]:
        started = run.started
        return {
            "schema_version": VERSION,
            "evaluation_id": identity.evaluation_id,
            "evaluation_timestamp": str(int(started.timestamp.timestamp())),
            "retrieved_timestamp": str(identity.retrieved),
            "source_metadata": {
                "source_name": "failproof-es",
                "source_type": "evaluation_run",
                "source_organization_name": self.organization,
                "evaluator_relationship": self.relationship,
                "additional_details": {
                    "run_id": str(run.run_id),
                    "run_number": str(started.run_number),
                    "origin": run.origin,
                    "status": run.run.status,
                    "dialect": started.dialect,
                    "configuration_sha256": started.configuration_digest,
                    "sealed": str(run.run.sealed).lower(),
                },
            },
            "eval_library": {"name": "failproof-es", "version": started.code_version},
            "model_info": {
                "name": model.model,
                "id": identity.model_id,
                "inference_platform": model.provider,
                "additional_details": {
                    "deployment_type": "unknown",
                    "model_availability": "unknown",
                    "model_key": model.key,
                },
            },
        }


class _Identity(NamedTuple):
    """The ids and the folder that all records of one model of a run share.

    `retrieved` is the time of the export, in seconds since 1970.
    """

    evaluation_id: str
    model_id: str
    retrieved: int
    uuid: UUID
    folder: PurePosixPath

    @classmethod
    def of(cls, run: RecordedRun, model: ModelSnapshot, retrieved: int) -> _Identity:
        model_id = model.model if "/" in model.model else f"{model.provider}/{model.model}"
        developer, _, rest = model_id.partition("/")
        digest = hashlib.sha256(f"{run.run_id}\n{model.key}".encode()).digest()
        folder = PurePosixPath(
            "data", file_name(run.started.name), file_name(developer), file_name(rest)
        )
        uuid = UUID(bytes=digest[:16], version=4)
        # Two models of a run, or two runs, may have one name: the digest makes the id unique.
        evaluation_id = f"{run.started.name}-{uuid.hex[:12]}/{model_id}/{retrieved}"
        return cls(evaluation_id, model_id, retrieved, uuid, folder)

    def result_id(self, suite: str, metric: str) -> str:
        """The id of the aggregate result for a suite and a metric, to which its samples refer."""
        return f"{self.uuid}/{suite}/{metric}"


def results_of(
    run: RecordedRun, model: ModelSnapshot, identity: _Identity
) -> Iterator[dict[str, Any]]:
    """The aggregate results of a model, one for each suite and metric that has a score.

    Each is an object of the format; the numbers are those of the run's summary.
    """
    of_file = {"files": ", ".join(f"{s.path} sha256:{s.sha256}" for s in run.started.suites)}
    judges = ", ".join(judge.key for judge in run.started.judges)
    generation = {
        name: value
        for name, kinds in (("temperature", (int, float)), ("top_p", (int, float)),
                            ("max_tokens", (int,)))
        if isinstance(value := model.parameters.get(name), kinds) and not isinstance(value, bool)
    }  # fmt: skip
    for (key, suite), group in run.summary.by_suite().items():
        if key != model.key:
            continue
        for metric, rate in (
            (ACCURACY, group.bounded_accuracy),
            (PASS_RATE, group.bounded_pass_rate),
        ):
            if rate.rate is not None:
                yield {
                    "evaluation_result_id": identity.result_id(suite, metric),
                    "evaluation_name": suite,
                    "source_data": {
                        "dataset_name": suite,
                        "source_type": "other",
                        "additional_details": of_file,
                    },
                    "metric_config": {
                        "metric_id": metric,
                        "metric_name": metric.replace("_", " ").capitalize(),
                        "metric_kind": metric,
                        "metric_unit": "proportion",
                        "lower_is_better": False,
                        "score_type": "continuous",
                        "min_score": 0,
                        "max_score": 1,
                        "additional_details": {"judges": judges} if judges else {},
                    },
                    "score_details": {
                        "score": rate.rate,
                        "details": _counts(group, rate),
                        "uncertainty": {"num_samples": rate.scored},
                    },
                    "generation_config": {"generation_args": generation},
                }


def _counts(group: Group, rate: BoundedRate) -> dict[str, str]:
    counts = {
        "finished": group.finished,
        "scored": group.scored,
        "abandoned": group.missing,
        "awaiting": group.awaiting,
        "passed": group.passed,
        "failed": group.failed,
    }
    bounds = zip(BOUNDS, rate.bounds or (), strict=False)
    return {name: str(value) for name, value in (*counts.items(), *bounds)}


def _samples(
    run: RecordedRun, model: ModelSnapshot, identity: _Identity, left_out: LeftOut, pieces: Pieces
) -> Iterator[bytes]:
    begun_count = 0
    for evaluation in evaluated(run, require_dialect(run.started), model.key):
        begun_count += 1
        samples = list(samples_of(evaluation, identity, left_out))
        if not samples:
            kind = evaluation.outcome.ended_kind or evaluation.outcome.status
            left_out.add("evaluations without a score", f"{kind}: a sample must have a score")
        for sample in samples:
            pieces.rows += 1
            yield exact_json(sample, left_out) + b"\n"
    planned = run.summary.planned // len(run.started.models)
    left_out.add("evaluations", "they have not begun", planned - begun_count)
    left_out.add("bodies of requests and replies", "the format keeps none; the log does")


def samples_of(
    evaluation: ExportedEvaluation, identity: _Identity, left_out: LeftOut
) -> Iterator[dict[str, Any]]:
    """A sample, an object of the format, for each metric with a score.

    Empty if the evaluation has no score. Counts data that JSON cannot hold in `left_out`.
    """
    case, outcome = evaluation.case, evaluation.outcome
    scores = [(ACCURACY, outcome.accuracy), (PASS_RATE, outcome.passed)]
    expected = case.expectation.get("expected_response")
    reference = [expected] if isinstance(expected, str) else []
    raw = case.questions[0] if case.questions else ""
    last = evaluation.state.replies[-1] if evaluation.state.replies else None
    called = 0 if last is None else len(last.tool_calls)
    single = len(case.turns) == 1 and len(evaluation.conversation) <= 2 and not called
    messages = [_message(at, turn, left_out) for at, turn in enumerate(evaluation.conversation)]
    answer = outcome.answer
    said_at = 0 if single else max(len(messages) - 1, 0)
    hashed = (raw + "".join(reference)).encode(errors="backslashreplace")
    sample: dict[str, Any] = {
        "schema_version": VERSION,
        "evaluation_id": identity.evaluation_id,
        "model_id": identity.model_id,
        "evaluation_name": case.suite_id,
        "sample_id": case.case_id
        if outcome.repetition == 1
        else f"{case.case_id}#{outcome.repetition}",
        "sample_hash": hashlib.sha256(hashed).hexdigest(),
        "interaction_type": "single_turn" if single else "agentic" if called else "multi_turn",
        "input": {"raw": raw, "reference": reference},
        "output": {"raw": [] if answer is None else [answer]} if single else None,
        "messages": None if single else messages,
        "answer_attribution": []
        if answer is None
        else [
            {
                "turn_idx": said_at,
                "source": "output.raw" if single else f"messages[{said_at}].content",
                "extracted_value": answer,
                "extraction_method": "custom",
                "is_terminal": True,
            }
        ],
        "performance": {
            "latency_ms": outcome.latency_ms,
            "time_to_first_token_ms": outcome.first_token_ms,
        },
        "metadata": {
            name: _json_text(value, left_out)
            for name, value in (
                ("evaluation_id", str(outcome.evaluation_id)),
                ("source_run_id", outcome.source_run_id and str(outcome.source_run_id)),
                ("case_sha256", case.digest()),
                ("leaves_sha256", evaluation.leaves_sha256),
                ("repetition", outcome.repetition),
                ("class", outcome.class_),
                ("category", case.category),
                ("severity", severity_of(case)),
                ("reason", outcome.reason),
                ("passed", outcome.passed),
                ("expectation", case.expectation),
                ("refusal", None if last is None else last.refusal),
            )
            if value is not None
        },
    }
    if outcome.input_tokens is not None and outcome.output_tokens is not None:
        sample["token_usage"] = {
            "input_tokens": outcome.input_tokens,
            "output_tokens": outcome.output_tokens,
            "total_tokens": outcome.input_tokens + outcome.output_tokens,
        }
    for metric, score in scores:
        if score is not None:
            yield sample | {
                "evaluation_result_id": identity.result_id(case.suite_id, metric),
                "evaluation": {
                    "score": float(score),
                    "is_correct": outcome.passed
                    if outcome.passed is not None
                    else outcome.accuracy == 1,
                    "num_turns": max(len(evaluation.state.replies), 1),
                    "tool_calls_count": called,
                },
            }


def _message(at: int, turn: ConversationTurn, left_out: LeftOut) -> dict[str, Any]:
    reply = turn.reply
    if reply is None:
        return {"turn_idx": at, "role": turn.role, "content": turn.text}
    calls = [
        {
            "id": call.id or f"call-{number}",
            "name": call.name,
            "arguments": _arguments(call, left_out),
        }
        for number, call in enumerate(reply.tool_calls, 1)
    ]
    return {"turn_idx": at, "role": turn.role, "content": reply.text, "tool_calls": calls or None}


def _arguments(call: ToolCall, left_out: LeftOut) -> dict[str, str]:
    """A tool call's arguments as texts, as the format requires: other values become JSON.

    Arguments that are no JSON object stand verbatim under an empty name.
    """
    arguments = arguments_of(call)
    if arguments is None:
        return {"": call.arguments}
    return {name: _json_text(value, left_out) for name, value in arguments.items()}


def _json_text(value: Any, left_out: LeftOut) -> str:
    """A text as it is, any other value as JSON."""
    return value if isinstance(value, str) else exact_json(value, left_out).decode()
