"""The state of a run, folded from its stream, and the evaluations that it plans. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID

from failproof_es.core.case import digest_uuid_text, prompt_id
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.history_errors import ImpossibleHistory, require
from failproof_es.core.selection import describe_recorded_part
from failproof_es.events import (
    ENDED,
    EVENTS,
    RUN_STATUS,
    Branch,
    CaseSkipped,
    CasesPlanned,
    CountedEvent,
    Counts,
    Event,
    LimitChanged,
    ModelPrices,
    PricesRecorded,
    RunCompleted,
    RunEvent,
    RunFailed,
    RunGivenUp,
    RunImported,
    RunPaused,
    RunResumed,
    RunSealed,
    RunStarted,
    RunStatus,
    RunValidated,
    SpendCeilingChanged,
)
from failproof_es.support.untrusted_text import shortened

T = TypeVar("T")
CHUNK = 1_000
"""Maximum number of case digests in one `CasesPlanned`."""
_DIGEST = re.compile("[0-9a-fA-F]{32,}")


@dataclass(frozen=True, slots=True)
class Run:
    """The state of a run, folded from its own stream. The planned digests stay in the log."""

    version: int = 0
    manifest: RunStarted | None = None
    plan_place: int | None = None
    """`plan_place` of the last event while the plan is being recorded; else `None`."""
    came_once: tuple[str, ...] = ()
    """The topics in the stream so far that it may hold only once, in order."""
    chunks: int = 0
    planned_cases: int = 0
    """Cases in the chunks so far."""
    skipped: int = 0
    """Defects that kept cases out of the plan."""
    prices: Mapping[str, ModelPrices] = field(default_factory=dict)
    """Prices by the key of the model or judge."""
    status: RunStatus = "running"
    reason: str | None = None
    counts: Counts | None = None
    gates: Mapping[str, Any] | None = None
    ended_at: datetime | None = None
    """The timestamp of the event that ended it: by the clock of the host that drove it."""
    validation: RunValidated | None = None
    sealed: bool = False
    imported: RunImported | None = None
    """The source of a run that another tool recorded."""
    limits: Mapping[str, LimitChanged] = field(default_factory=dict)
    """The last change of each limit, by server; for further keys of a server, by server and
    models."""
    spend_ceiling: SpendCeilingChanged | None = None
    """The last change of the spend ceiling. `failproof_es.core.spend.ceiling_of` gives the one in
    force."""
    at_ceiling: bool = False
    """Whether it is paused because its next request does not fit below its spend ceiling."""

    @property
    def started(self) -> RunStarted:
        """The run's `RunStarted`.

        Raises `ImpossibleHistory` if the stream does not begin with one.
        """
        if self.manifest is None:
            raise ImpossibleHistory("the run's stream does not begin with RunStarted")
        return self.manifest

    @property
    def imported_from(self) -> str | None:
        """`imported from TOOL VERSION, not asked by us`; `None` if the run was not imported."""
        return None if self.imported is None else imported_from(self.imported)

    @property
    def ended(self) -> bool:
        """Whether the run is over, with or without success: nothing is left to ask."""
        return self.status in ENDED

    @property
    def at_rest(self) -> bool:
        """Whether nothing more will happen to the run until somebody acts: paused, or sealed."""
        return self.sealed or self.status == "paused"

    @property
    def gates_met(self) -> bool | None:
        """Whether every gate that was judged is met; `None` if none was judged."""
        return all(gate["met"] for gate in self.gates.values()) if self.gates else None


def imported_from(imported: RunImported) -> str:
    """Label of a run that another tool recorded: `imported from TOOL VERSION, not asked by us`."""
    version = f" {imported.tool_version}" if imported.tool_version else ""
    return f"imported from {imported.tool}{version}, not asked by us"


def fold_run(events: Iterable[Event]) -> Run:
    """The run after `events`. Raises `ImpossibleHistory` if they contradict each other."""
    return reduce(evolve_run, events, Run())


def run_in_brief(events: Iterable[Event]) -> Run:
    """The run from its first event and the last event of each kind that changes its status.

    `events` are, in order, `RunStarted` and the last event of each kind in `TELL_STATUS`. The
    events between them are skipped: the plan counts as complete, and limits, validation and seal
    stay unset. Raises `ImpossibleHistory` if these events contradict each other.
    """
    run = Run()
    for event in events:
        if run.manifest is not None:
            planned = run.manifest.planned_cases
            run = replace(run, version=event.originator_version - 1, planned_cases=planned)
        run = evolve_run(run, event)
    return run


def evolve_run(run: Run, event: Event) -> Run:
    """The run after one more event of its stream.

    Raises `ImpossibleHistory` if the event cannot follow, or belongs to another run.
    """
    if event.originator_version != run.version + 1:
        raise ImpossibleHistory(f"event {run.version + 1} of its stream is missing", event)
    if event.run_id != event.originator_id:
        raise ImpossibleHistory(f"it belongs to run {event.run_id}, and stands in another", event)
    if run.manifest is not None and event.originator_id != run.manifest.originator_id:
        raise ImpossibleHistory(f"the run is {run.manifest.originator_id}", event)
    if not isinstance(event, RunEvent):
        raise ImpossibleHistory(f"{type(event).__name__} does not belong to a run", event)
    _require_place(run, event)
    topic = type(event).__name__
    run = replace(
        run,
        version=event.originator_version,
        plan_place=event.plan_place,
        came_once=(*run.came_once, topic) if event.comes_once else run.came_once,
        status=event.run_status or run.status,
        ended_at=event.timestamp if event.run_status in ENDED else run.ended_at,
    )
    match event:
        case RunStarted():
            return replace(run, manifest=event)
        case CasesPlanned():
            return replace(
                run, chunks=run.chunks + 1, planned_cases=_count_planned_cases(run, event)
            )
        case RunPaused():
            return replace(
                run, reason=event.reason, counts=event.counts, at_ceiling=event.at_ceiling
            )
        case RunResumed():
            return replace(run, reason=None, at_ceiling=False)
        case RunCompleted():
            _require_gates(event)
            return replace(run, counts=event.counts, gates=event.gates)
        case RunFailed() | RunGivenUp():
            return replace(run, reason=event.reason, counts=event.counts)
        case RunSealed():
            return replace(run, sealed=True)
        case RunValidated():
            return replace(run, validation=event)
        case LimitChanged():
            return replace(run, limits=_limits(run.limits, event))
        case SpendCeilingChanged():
            return replace(run, spend_ceiling=event)
        case CaseSkipped():
            return replace(run, skipped=run.skipped + 1)
        case PricesRecorded():
            return replace(run, prices={prices.model_key: prices for prices in event.models})
        case RunImported():
            return replace(run, imported=event)
        case _:
            return run


def _count_planned_cases(run: Run, event: CasesPlanned) -> int:
    cases = run.planned_cases + len(event.digests)
    most = run.started.planned_cases
    require(event.chunk == run.chunks, event, f"its chunk is {event.chunk}, not {run.chunks}")
    require(cases <= most, event, f"it plans more than the {most} cases of the run")
    return cases


TELL_STATUS = tuple(EVENTS[topic] for topic in RUN_STATUS if topic != RunStarted.__name__)
"""The kinds of events that change a run's status after its `RunStarted`."""


def _require_place(run: Run, event: RunEvent) -> None:
    """Raise `ImpossibleHistory` unless this kind of event can come now."""
    require(not run.sealed, event, "the run is sealed: nothing follows")
    began, topic = isinstance(event, RunStarted), type(event).__name__
    require(run.manifest is None or not began, event, "the run has started already")
    require(run.manifest is not None or began, event, "the run has not started")
    require(topic not in run.came_once, event, f"the stream holds {topic} already")
    if began:
        return
    planning = run.plan_place
    if event.plan_place is not None:
        in_order = planning is not None and planning <= event.plan_place
        require(in_order, event, "the plan of the run is recorded already")
        return
    if planning is not None and run.planned_cases < run.started.planned_cases:
        planned = f"{run.planned_cases} of {run.started.planned_cases} cases"
        raise ImpossibleHistory(f"the plan that it follows has {planned}", event)
    require(run.status in event.comes_while, event, f"the run is {run.status.replace('_', ' ')}")
    if isinstance(event, CountedEvent):
        _require_counts(run.started, event)


def _require_counts(started: RunStarted, event: CountedEvent) -> None:
    """Raise `ImpossibleHistory` unless the event's counts fit the plan and this kind of end."""
    counts, planned = event.counts, started.planned_evaluations
    message = f"it counts {counts.planned} planned evaluations, the run has {planned}"
    require(counts.planned == planned, event, message)
    whole = counts.finished == counts.scored + counts.abandoned
    require(whole and counts.finished <= planned, event, "its counts do not add up")
    if not isinstance(event, RunPaused | RunGivenUp):
        require(counts.finished == planned, event, "not every evaluation is finished")


def _require_gates(event: RunCompleted) -> None:
    """Raise `ImpossibleHistory` unless each gate has a Boolean `met` and an integer or no `of`."""
    for name, gate in event.gates.items():
        has_verdict = isinstance(gate, dict) and isinstance(gate.get("met"), bool)
        counted = has_verdict and isinstance(gate.get("of"), int | None)
        require(counted, event, f"its gate {name} is none that was judged")


def chunked(digests: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """The digests in chunks of at most `CHUNK`, one for each `CasesPlanned`."""
    remaining = iter(digests)
    while chunk := tuple(islice(remaining, CHUNK)):
        yield chunk


def in_plan_order(
    cases: Iterable[T], models: Sequence[str], repetitions: range
) -> Iterator[tuple[T, str, int]]:
    """(case, model, repetition) of every evaluation, by case, then repetition, then model.

    This is the order in which evaluations begin.
    """
    for case in cases:
        for repetition in repetitions:
            for model in models:
                yield case, model, repetition


def planned_evaluations(
    run_id: UUID, digests: Iterable[str], model_keys: Sequence[str], repetitions: int
) -> Iterator[EvaluationKey]:
    """The evaluations of a plan, `in_plan_order`; `digests` are those of its cases.

    Raises `ImpossibleHistory` for an invalid digest.
    """
    for digest in digests:
        try:
            prompt = prompt_id(digest)
        except ValueError:
            text = shortened(digest, 100)
            raise ImpossibleHistory(f"the plan names {text!r}, which is no digest") from None
        for _, model_key, repetition in in_plan_order(
            (digest,), model_keys, range(1, repetitions + 1)
        ):
            yield EvaluationKey(run_id, prompt, model_key, repetition)


PlannedEvaluation = tuple[str, str, int]
"""(digest of the case, key of the model, repetition from 1)."""


def planned_names(
    digests: Iterable[str], model_keys: Sequence[str], repetitions: range
) -> Iterator[PlannedEvaluation]:
    """Like `planned_evaluations`, but as plain tuples: a plan can have millions.

    `repetitions` selects the repetitions of each case, from 1.

    Raises `ImpossibleHistory` for an invalid digest.
    """
    for digest in digests:
        if not _DIGEST.fullmatch(digest):
            text = shortened(digest, 100)
            raise ImpossibleHistory(f"the plan names {text!r}, which is no digest")
        yield from in_plan_order((digest,), model_keys, repetitions)


def planned_streams(run_id: UUID, planned: Iterable[PlannedEvaluation]) -> list[str]:
    """The `EvaluationKey.evaluation_id` of each planned evaluation of the run, as text."""
    run = f"{run_id}\n"
    streams = []
    for digest, model_key, repetition in planned:
        prompt = digest_uuid_text(digest)
        text = f"{run}{prompt}\n{model_key}\n{repetition}"
        streams.append(digest_uuid_text(hashlib.sha256(text.encode()).hexdigest()))
    return streams


def place_in_plan(
    manifest: RunStarted, key: EvaluationKey, cases_before: int, repetitions: int
) -> int:
    """The place of this evaluation in its run's plan, from 1.

    `cases_before` is the number of cases before its own, `repetitions` that of each case.
    """
    models = [model.key for model in manifest.models]
    before = cases_before * repetitions + key.repetition - 1
    return before * len(models) + models.index(key.model_key) + 1


def describe_selection(started: RunStarted) -> str | None:
    """The part of its cases and models that a run asked, in words; `None` if it asked all."""
    return describe_recorded_part(
        started.selection,
        started.configuration,
        started.planned_cases,
        len(started.models),
        started.suites,
    )


def describe_shortfall(unfinished: int, planned: int, status: str) -> str:
    """In words, how many planned evaluations did not end, and the status of their run."""
    run_is = status.replace("_", " ")
    return f"{unfinished:,} of {planned:,} planned evaluations did not end (the run is {run_is})"


def how_branched(reuse: bool) -> str:
    """The words before the name of the source run; `reuse`: the run reuses its answers to the same
    requests, which may be none."""
    return "may reuse answers of" if reuse else "branched from"


def describe_branch(branch: Branch, number: int | None = None) -> str:
    """The branch in words: what the run carries over or asks again, and from which run.

    `number` is the number of that other run, if known.
    """
    source = "another run" if number is None else f"run {number}"
    match branch.again:
        case None:
            return f"{how_branched(branch.reuse)} {source}"
        case "failed":
            return f"asks again what failed in {source}, so its pass rate is too high"
        case "errors":
            return f"asks again what had errors in {source}"
        case "abandoned":
            return f"asks again what had no score in {source}"


def _limits(before: Mapping[str, LimitChanged], event: LimitChanged) -> dict[str, LimitChanged]:
    """The limits after a change. A server has one limit for each API key, told apart by models.

    A change that names no model is for the whole server and replaces all of its limits.
    """
    remaining = {
        name: limit
        for name, limit in before.items()
        if limit.server != event.server
        or (event.models and set(limit.models).isdisjoint(event.models))
    }
    name = (
        event.server if event.server not in remaining else " ".join([event.server, *event.models])
    )
    return {**remaining, name: event}
