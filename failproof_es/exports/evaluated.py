"""An evaluation with its outcome and its conversation, for formats that hold both."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from json import JSONDecoder
from typing import Any, NoReturn
from uuid import UUID

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Evaluation
from failproof_es.core.outcome import EvaluationOutcome, FoldedHistory
from failproof_es.dialects.protocol import Dialect
from failproof_es.engine.evaluation_outcomes import evaluation_outcome
from failproof_es.engine.history import WINDOW, iterate_evaluations
from failproof_es.engine.reviews.conversation import ConversationTurn, conversation
from failproof_es.events import ToolCall
from failproof_es.exports.exporter import require_possible
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.reading.archives import require_attached


@dataclass(frozen=True, slots=True)
class ExportedEvaluation:
    """One evaluation that has begun, with its case, its outcome and its conversation."""

    case: Case
    outcome: EvaluationOutcome
    state: Evaluation
    conversation: tuple[ConversationTurn, ...]
    """Everything that was sent to the model, and its last answer."""
    leaves_sha256: str | None
    """SHA-256 over the leaf hashes of its events in version order, as in its seal (hexadecimal).
    `None` if an old event has no leaf hash on record.
    """


def arguments_of(call: ToolCall) -> dict[str, Any] | None:
    """The arguments of a tool call by name; `None` if the model wrote no JSON object. Pure.

    Integers of any size are exact. An object with a name twice is no JSON object: the arguments
    by name would lack one.
    """
    try:
        arguments = _ARGUMENTS.decode(call.arguments)
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, dict) else None


def _unique_members(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of a JSON object by name. Raises `ValueError` if a name occurs twice."""
    by_name = dict(members)
    if len(by_name) < len(members):
        raise ValueError("a name occurs twice")
    return by_name


def _refuse_constant(word: str) -> NoReturn:
    """Raise `ValueError`: `NaN` and `Infinity` are no JSON, though Python's reader takes them."""
    raise ValueError(f"{word} is no JSON")


_ARGUMENTS = JSONDecoder(object_pairs_hook=_unique_members, parse_constant=_refuse_constant)


_LEAVES = (
    "SELECT originator_id, array_agg(leaf_hash ORDER BY originator_version) "
    "FROM failproof.stored_events WHERE originator_id = ANY (%b) GROUP BY originator_id"
)


def evaluated(run: RecordedRun, dialect: Dialect, model: str) -> Iterator[ExportedEvaluation]:
    """The evaluations of one model that have begun, in plan order, a few in memory.

    `model` is a model's key in the configuration. Raises `ImpossibleHistory` if the record of an
    evaluation contradicts itself.
    """
    planned = run.keys()
    keys = (key for _, key in planned if key.model_key == model)
    while window := list(islice(keys, WINDOW)):
        leaves = _leaves(run, [key.evaluation_id for key in window])
        for recorded in iterate_evaluations(run.connection, window, up_to=run.up_to):
            if recorded.history or recorded.broken is not None:
                folded = FoldedHistory.of(recorded.history)
                outcome = evaluation_outcome(run.run, recorded, folded)
                require_possible(outcome)
                spoken = conversation(dialect, recorded.case, folded.state)
                yield ExportedEvaluation(
                    recorded.case,
                    outcome,
                    folded.state,
                    tuple(spoken),
                    leaves.get(outcome.evaluation_id),
                )
        require_attached(run.connection, run.run_id)


def _leaves(run: RecordedRun, evaluations: Sequence[UUID]) -> dict[UUID, str]:
    rows = run.connection.execute(_LEAVES, (list(evaluations),)).fetchall()
    return {
        evaluation: hashlib.sha256(b"".join(map(bytes, hashes))).hexdigest()
        for evaluation, hashes in rows
        if None not in hashes
    }
