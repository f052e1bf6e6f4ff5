"""Records the preflight check: what was resolved, its begin and its result.

It is recorded beside the run (`operations`), so a failed check has an audit trail without a run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
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
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ResolvedConfiguration:
    """A configuration as it is to be run, and the file or the run that it was taken from."""

    path: str
    configuration: dict[str, Any]
    configuration_digest: str


@dataclass(frozen=True, slots=True)
class PreflightResult(Generic[T]):
    """What a check found that nothing stands against, and what is to be said of it."""

    found: T
    warnings: Sequence[Problem]
    remarks: Sequence[str]
    estimate: dict[str, Any]


async def record_refusal(store: Store, run_id: UUID, targets: Targets, error: InvalidInput) -> None:
    """Put on record what stands against a run, and note in the error where that is."""
    redact = targets.redactor().scrubbing()
    told = tuple(redact.text("problems", str(each)) for each in error.problems)
    failed: Operation = (ValidationFailed, {"problems": told})
    await asyncio.to_thread(record_operations, store, run_id, [failed])
    error.add_note(f"this is on record: `failproof-es audit {run_id}`")


async def open_models(store: Store, run_id: UUID, targets: Targets) -> None:
    """Start what the models need, before anything is said on the run's own stream.

    Raises `InvalidInput`, which is on record: a run whose models cannot start is not begun,
    and one that was begun stays as it is.
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
    """Carry out the check of the run that is to have this id, every step of it on record.

    Raises `InvalidInput` as `check` does, with a note that says where that is on record.
    """
    redact = targets.redactor().scrubbing()

    async def record(*operations: Operation) -> None:
        await asyncio.to_thread(record_operations, store, run_id, operations)

    await record((ConfigurationResolved, asdict(resolved)), (ValidationStarted, {}))
    try:
        passed = await check()
    except InvalidInput as error:
        await record_refusal(store, run_id, targets, error)
        raise
    said = {
        "warnings": tuple(str(each) for each in passed.warnings),
        "remarks": tuple(redact.text("remarks", each) for each in passed.remarks),
        "estimate": passed.estimate,
    }
    await record((ValidationPassed, said))
    for remark in passed.remarks:
        say(remark)
    return passed
