"""Records the preflight check: the resolved configuration, the check's beginning and its result.

The events are in the stream of the run's `operations`, so a failed check has an audit trail without
a run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from failproof_es.engine.drive.targets import Targets
from failproof_es.engine.operations import Operation, record_operations
from failproof_es.events import (
    ConfigurationResolved,
    ValidationFailed,
    ValidationPassed,
    ValidationStarted,
)
from failproof_es.problems import InvalidInput, Problem
from failproof_es.store.store import Store

Say = Callable[[str], None]
Step = Callable[[str], AbstractContextManager[object]]
"""Returns a context manager for a step that may take long; the text describes the step."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ResolvedConfiguration:
    """The resolved configuration of a run, its digest, and the file or run that it comes from."""

    path: str
    configuration: dict[str, Any]
    configuration_digest: str


@dataclass(frozen=True, slots=True)
class PreflightResult(Generic[T]):
    """The result of a passed check, and its remarks."""

    result: T
    warnings: Sequence[Problem]
    remarks: Sequence[str]
    estimate: dict[str, Any]


async def record_refusal(store: Store, run_id: UUID, targets: Targets, error: InvalidInput) -> None:
    """Record among the run's operations why the run was refused, without secrets.

    A note on `error` says where that is recorded.
    """
    redact = targets.redactor().for_event()
    messages = tuple(redact.text("problems", str(problem)) for problem in error.problems)
    failed: Operation = (ValidationFailed, {"problems": messages})
    await asyncio.to_thread(record_operations, store, run_id, [failed])
    error.add_note(f"this is on record: `failproof-es audit {run_id}`")


async def open_models(store: Store, run_id: UUID, targets: Targets) -> None:
    """Start the helpers of the models, before anything is recorded on the run's own stream.

    If a model cannot start, records that among the run's operations and raises `InvalidInput`. Such
    a run does not begin, and a run that had begun does not change.
    """
    try:
        await targets.open()
    except InvalidInput as error:
        await record_refusal(store, run_id, targets, error)
        raise


async def recorded_preflight(
    store: Store,
    run_id: UUID,
    resolved: ResolvedConfiguration,
    targets: Targets,
    check: Callable[[], Awaitable[PreflightResult[T]]],
    say: Say,
) -> PreflightResult[T]:
    """Run `check` for the run that will have this id, and record its beginning and its result.

    They are recorded among the run's operations, `resolved` as well. `say` gets the remarks. Raises
    `InvalidInput` as `check` does, with a note on where the failure is recorded.
    """
    redact = targets.redactor().for_event()

    async def record(*operations: Operation) -> None:
        await asyncio.to_thread(record_operations, store, run_id, operations)

    await record((ConfigurationResolved, asdict(resolved)), (ValidationStarted, {}))
    try:
        passed = await check()
    except InvalidInput as error:
        await record_refusal(store, run_id, targets, error)
        raise
    fields = {
        "warnings": tuple(str(warning) for warning in passed.warnings),
        "remarks": tuple(redact.text("remarks", remark) for remark in passed.remarks),
        "estimate": passed.estimate,
    }
    await record((ValidationPassed, fields))
    for remark in passed.remarks:
        say(remark)
    return passed
