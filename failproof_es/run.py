"""The run: what its stream says of it, which evaluations it plans. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import islice
from typing import Any, Literal
from uuid import UUID

from failproof_es.case import prompt_id
from failproof_es.evaluation import EvaluationKey, ImpossibleHistory
from failproof_es.events import (
    CaseSkipped,
    CasesPlanned,
    Counts,
    Event,
    LimitChanged,
    ModelPrices,
    PricesRecorded,
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
    skipped: int = 0
    """Defects that kept cases out of the plan."""
    prices: Mapping[str, ModelPrices] | None = None
    """By the keys of models and judges; `None` where the stream does not say (older runs)."""
    status: RunStatus = "absent"
    reason: str | None = None
    counts: Counts | None = None
    gates: Mapping[str, Any] | None = None
    validation: RunValidated | None = None
    sealed: bool = False
    limits: Mapping[str, LimitChanged] = field(default_factory=dict)
    """The last change of each server's limit."""

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

    @property
    def gates_met(self) -> bool | None:
        """Whether every gate that was judged is met; `None` where none was."""
        return all(gate["met"] for gate in self.gates.values()) if self.gates else None


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
        case LimitChanged():
            return replace(run, limits={**run.limits, event.server: event})
        case CaseSkipped():
            return replace(run, skipped=run.skipped + 1)
        case PricesRecorded() if run.prices is None:
            return replace(run, prices={each.model_key: each for each in event.models})
        case PricesRecorded():
            raise ImpossibleHistory(f"run {event.originator_id}: its prices stand twice")
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


def place_in_plan(manifest: RunStarted, key: EvaluationKey, cases_before: int) -> int:
    """Which of `planned_evaluations` this one is, from 1, after so many cases."""
    models = [model.key for model in manifest.models]
    repetitions = int(manifest.configuration["execution"]["repetitions"])
    before = cases_before * repetitions + key.repetition - 1
    return before * len(models) + models.index(key.model_key) + 1
