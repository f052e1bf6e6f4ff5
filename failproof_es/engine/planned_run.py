"""Plans a run from its configuration: checks everything, and stores the prompts."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from failproof_es.configuration.loading import LoadedConfiguration
from failproof_es.dialects.protocol import Dialect
from failproof_es.engine.drive.targets import Targets
from failproof_es.engine.identity import code_version, package_versions
from failproof_es.engine.planning.planner import CollectedCases, Plan, skipped_lines, store_plan
from failproof_es.engine.preflight.checks import check
from failproof_es.engine.preflight.destinations import announce, unencrypted
from failproof_es.engine.preflight.record import (
    PreflightResult,
    ResolvedConfiguration,
    Say,
    Step,
    recorded_preflight,
)
from failproof_es.events import Selection
from failproof_es.models.trust.permissions import Permissions
from failproof_es.models.trust.remembered import remember_own
from failproof_es.problems import InvalidInput
from failproof_es.store.store import Store


def own_targets(loaded: LoadedConfiguration, permissions: Permissions) -> Targets:
    """The models of a configuration file of the user, with their providers, not opened yet.

    Raises `InvalidInput` if the configuration demands something that is not permitted, with the
    place in the file.
    """
    try:
        return Targets(loaded.configuration, permissions)
    except InvalidInput as error:
        raise InvalidInput([loaded.placed(problem) for problem in error.problems]) from None


async def plan_run(
    loaded: LoadedConfiguration,
    store: Store,
    run_id: UUID,
    targets: Targets,
    say: Say,
    step: Step = nullcontext,
) -> tuple[Dialect, Plan]:
    """Check everything, store the prompts, and record the checks.

    The run is not recorded yet. Returns the dialect and the plan. Raises `InvalidInput` if a check
    fails.
    """
    announce(loaded.configuration, say, loaded.placed)
    if (unwritten := remember_own(loaded.configuration)) is not None:
        say(unwritten.describe())
    resolved = ResolvedConfiguration(str(loaded.path), loaded.resolved(), loaded.digest())
    checked = partial(_check_and_store, loaded, store, targets, step, say)
    dialect, plan = (
        await recorded_preflight(store, run_id, resolved, targets, checked, say)
    ).result
    for warning in plan.warnings:
        say(warning.describe())
    for line in skipped_lines(plan.skipped):
        say(line)
    return dialect, plan


async def _check_and_store(
    loaded: LoadedConfiguration, store: Store, targets: Targets, step: Step, say: Say
) -> PreflightResult[tuple[Dialect, Plan]]:
    cases = CollectedCases()
    with step("reading and checking the suites and the models"):
        checked = await check(loaded, store, targets, take=cases.add)
    for line in checked.files:
        say(line)
    dialect, estimates = checked.source.dialect, checked.estimates
    reading = replace(checked.reading, findings=checked.findings)
    with step("storing the cases"):
        plan = await asyncio.to_thread(store_plan, store, checked.source, reading, cases)
    plan = replace(plan, reuse=checked.reuse)
    warnings = (*map(loaded.placed, unencrypted(loaded.configuration)), *plan.warnings)
    return PreflightResult((dialect, plan), warnings, checked.remarks, estimates.as_json())


def plan_facts(
    loaded: LoadedConfiguration, dialect: Dialect, targets: Targets, plan: Plan
) -> dict[str, Any]:
    """The fields that `RunStarted` and `PlanRegistered` of this plan have in common."""
    configuration, resolved = loaded.configuration, loaded.resolved()
    models, judges = targets.snapshots(), targets.judge_snapshots()
    return {
        "name": configuration.test_run.name,
        "experiment": plan.planned_cases.experiment(resolved, models, judges),
        "configuration": resolved,
        "configuration_digest": loaded.digest(),
        "models": models,
        "judges": judges,
        "suites": plan.suites,
        "dialect": dialect.name,
        "planned_cases": plan.cases,
        "planned_evaluations": plan.cases * len(models) * configuration.execution.repetitions,
        "code_version": code_version(),
        "packages": package_versions(configuration, dialect.name),
        "selection": _selection(loaded, plan),
    }


def _selection(loaded: LoadedConfiguration, plan: Plan) -> Selection | None:
    """The part of the cases and models that the run asks; `None` if it asks for all of them."""
    selection = loaded.configuration.selection
    if plan.selected is None or selection == type(selection)():
        return None
    changes = {"of_models": loaded.of_models, "models": tuple(selection.models or ())}
    return plan.selected.model_copy(update=changes)
