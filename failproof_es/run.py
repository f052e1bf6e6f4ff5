"""The run: what its stream says of it, which evaluations it plans, how they stand. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import islice
from typing import Any, Literal
from uuid import UUID

from failproof_es.case import prompt_id
from failproof_es.evaluation import Evaluation, EvaluationKey, ImpossibleHistory
from failproof_es.events import (
    CaseSkipped,
    CasesPlanned,
    Counts,
    Event,
    LimitChanged,
    RunCompleted,
    RunFailed,
    RunPaused,
    RunResumed,
    RunSealed,
    RunStarted,
    RunValidated,
)

RunStatus = Literal["absent", "running", "paused", "completed", "failed"]

CHUNK = 1_000
"""How many case digests one `CasesPlanned` holds."""


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that a run's own stream says, folded. The planned digests stay in the log."""

    version: int = 0
    manifest: RunStarted | None = None
    chunks: int = 0
    status: RunStatus = "absent"
    reason: str | None = None
    counts: Counts | None = None
    gates: Mapping[str, Any] | None = None
    validation: RunValidated | None = None
    sealed: bool = False

    @property
    def started(self) -> RunStarted:
        """The run's manifest. Raises `ImpossibleHistory` where the stream has none."""
        if self.manifest is None:
            raise ImpossibleHistory("the run's stream does not begin with RunStarted")
        return self.manifest

    @property
    def ended(self) -> bool:
        """Whether nothing is left to be driven."""
        return self.status in ("completed", "failed")


def fold_run(events: Iterable[Event]) -> Run:
    """The run after `events`. Raises `ImpossibleHistory` where they cannot be true."""
    return reduce(evolve_run, events, Run())


def evolve_run(run: Run, event: Event) -> Run:
    """The run after one more event of its stream."""
    if event.originator_version != run.version + 1:
        raise ImpossibleHistory(
            f"run {event.originator_id}: expected version {run.version + 1}, "
            f"found {event.originator_version}"
        )
    run = replace(run, version=event.originator_version)
    match event:
        case RunStarted():
            return replace(run, manifest=event, status="running")
        case CasesPlanned():
            return replace(run, chunks=run.chunks + 1)
        case RunPaused():
            return replace(run, status="paused", reason=event.reason, counts=event.counts)
        case RunResumed():
            return replace(run, status="running", reason=None)
        case RunCompleted():
            return replace(run, status="completed", counts=event.counts, gates=event.gates)
        case RunFailed():
            return replace(run, status="failed", reason=event.reason, counts=event.counts)
        case RunSealed():
            return replace(run, sealed=True)
        case RunValidated():
            return replace(run, validation=event)
        case CaseSkipped() | LimitChanged():
            return run
        case _:
            raise ImpossibleHistory(f"{type(event).__name__} does not belong to a run")


def chunked(digests: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """The digests cut into the chunks that are recorded."""
    remaining = iter(digests)
    while chunk := tuple(islice(remaining, CHUNK)):
        yield chunk


def planned_evaluations(
    run_id: UUID, digests: Iterable[str], model_keys: Sequence[str], repetitions: int
) -> Iterator[EvaluationKey]:
    """Case by case, repetition by repetition, every model: the order in which they are begun."""
    for digest in digests:
        prompt = prompt_id(digest)
        for repetition in range(1, repetitions + 1):
            for model_key in model_keys:
                yield EvaluationKey(run_id, prompt, model_key, repetition)


@dataclass(slots=True)
class CategoryTally:
    """The finished evaluations of one category; those without an accuracy count as 0."""

    finished: int = 0
    accuracy_sum: float = 0.0

    @property
    def success_rate(self) -> float | None:
        """Accuracy summed over finished; `None` where there is nothing to divide by."""
        return self.accuracy_sum / self.finished if self.finished else None


@dataclass(slots=True)
class Tally:
    """How the planned evaluations stand, counted as they finish."""

    planned: int
    scored: int = 0
    abandoned: int = 0
    accuracy_sum: float = 0.0
    accuracy_count: int = 0
    categories: dict[str, CategoryTally] = field(default_factory=dict)

    def add(self, evaluation: Evaluation, category: str | None = None) -> None:
        """Count one finished evaluation of a case of that category."""
        counted = None
        if category is not None:
            counted = self.categories.setdefault(category, CategoryTally())
            counted.finished += 1
        if evaluation.score is None:
            self.abandoned += 1
            return
        self.scored += 1
        accuracy = evaluation.score.scores.get("accuracy")
        if accuracy is not None:
            self.accuracy_sum += accuracy
            self.accuracy_count += 1
            if counted is not None:
                counted.accuracy_sum += accuracy

    @property
    def finished(self) -> int:
        """Evaluations that have their one final result."""
        return self.scored + self.abandoned

    def counts(self) -> Counts:
        """The tally as an event carries it."""
        return Counts(
            planned=self.planned,
            finished=self.finished,
            scored=self.scored,
            abandoned=self.abandoned,
        )


def judge_gates(
    tally: Tally,
    *,
    min_accuracy: float | None,
    max_error_rate: float | None,
    min_csr: float | None = None,
    min_safety_accuracy: float | None = None,
    min_posix_compliance_rate: float | None = None,
) -> dict[str, dict[str, Any]]:
    """Each configured gate with its limit, what was measured, and whether it is met.

    Accuracy is the mean over evaluations that have one. The command success rate and the
    two category rates (specification 004) count an evaluation without an answer as failed.
    Where nothing was measured, the gate is not met. The error rate is abandoned / planned.
    """
    count = tally.accuracy_count
    everything = CategoryTally(tally.finished, tally.accuracy_sum)
    safety = tally.categories.get("safety", CategoryTally())
    posix = tally.categories.get("posix", CategoryTally())
    gates: dict[str, dict[str, Any]] = {}
    for name, limit, measured, of in (
        ("min_accuracy", min_accuracy, tally.accuracy_sum / count if count else None, count),
        ("min_csr", min_csr, everything.success_rate, everything.finished),
        ("min_safety_accuracy", min_safety_accuracy, safety.success_rate, safety.finished),
        (
            "min_posix_compliance_rate",
            min_posix_compliance_rate,
            posix.success_rate,
            posix.finished,
        ),
    ):
        if limit is not None:
            gates[name] = {
                "limit": limit,
                "measured": measured,
                "of": of,
                "met": measured is not None and measured >= limit,
            }
    if max_error_rate is not None:
        measured = tally.abandoned / tally.planned if tally.planned else 0.0
        gates["max_error_rate"] = {
            "limit": max_error_rate,
            "measured": measured,
            "of": tally.planned,
            "met": measured <= max_error_rate,
        }
    return gates
