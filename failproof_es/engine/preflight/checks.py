"""Checks a run before anything is sent (specification 001 § 10.1).

All problems are collected before any is reported: cases and models are all checked, even if
others have errors.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from failproof_es.configuration.loading import LoadedConfiguration
from failproof_es.configuration.schema import Configuration
from failproof_es.core.case import Case
from failproof_es.dialects import dialect_named
from failproof_es.dialects.scorers import scorers_of
from failproof_es.engine.drive.judging import judge_problems
from failproof_es.engine.drive.targets import Targets
from failproof_es.engine.history import Connection
from failproof_es.engine.planning.planner import CaseSource, SourceReading, Take
from failproof_es.engine.planning.sources import source_of
from failproof_es.engine.preflight.asked_again import asked_again
from failproof_es.engine.preflight.estimates import Estimates, require_bounded_costs
from failproof_es.engine.preflight.gate_checks import UnmeasuredGates, unused_prices
from failproof_es.engine.preflight.looking import CaseEstimator
from failproof_es.engine.preflight.parameter_checks import misspelt_parameters
from failproof_es.engine.related_runs.baseline_gates import require_complete, require_extras
from failproof_es.events import Branch
from failproof_es.models.trust.permissions import models_of
from failproof_es.problems import InvalidInput, Problem
from failproof_es.store.store import LendsConnections
from failproof_es.support.extras import require_for
from failproof_es.support.plurals import plural
from failproof_es.support.shipped import shorten


@dataclass(frozen=True, slots=True)
class Preflight:
    """The result of checks that a run has passed."""

    source: CaseSource
    reading: SourceReading
    estimates: Estimates
    """The estimates of the run's requests and costs."""
    findings: tuple[Problem, ...]
    """Warnings, and as errors the defects of the cases that are skipped."""
    remarks: tuple[str, ...]
    """The remarks of the models' servers."""
    reuse: Branch | None = None
    """The run whose recorded answers are reused, and the position up to which."""
    price_file: str | None = None
    """The file of prices, with the number of its models."""

    @property
    def files(self) -> list[str]:
        """A phrase about each file and collection that was read, with the number of its cases or
        prices."""
        parts = [part.describe() for part in self.reading.parts]
        return parts if self.price_file is None else [*parts, self.price_file]


async def check(
    loaded: LoadedConfiguration,
    store: LendsConnections,
    targets: Targets,
    *,
    offline: bool = False,
    run_classes: bool = True,
    take: Take = lambda case: None,
) -> Preflight:
    """Check everything that `start` needs.

    Raises `InvalidInput` with every error. Asks each server for its models, with its key, and
    constructs each class of a user's own. An `offline` check does neither; without `run_classes` no
    class is run. `take` is called with every case that is to be asked, in order, from another
    thread. Nothing is stored.
    """
    has_class = any(model.class_ for _, model in models_of(loaded.configuration))
    counts_reuse = not has_class or (run_classes and not offline)
    warnings: list[Problem] = []
    gates = asyncio.to_thread(require_gates, store, loaded.configuration)
    cases = asyncio.to_thread(
        _read_and_check_cases, loaded, store, targets, take, warnings, counts_reuse=counts_reuse
    )
    scorers = asyncio.to_thread(scorers_of, loaded.resolved())
    costs = asyncio.to_thread(require_bounded_costs, loaded.configuration, targets)
    models = targets.check(offline=offline, run_classes=run_classes)
    try:
        (source, reading, estimates, findings, reuse), *_, remarks = await all_of(
            cases, gates, scorers, costs, models
        )
    except InvalidInput as error:
        problems = [loaded.placed(problem) for problem in error.problems]
        raise InvalidInput(problems, [*error.warnings, *warnings]) from None
    matrix = () if loaded.matrix is None else (Problem("remark", loaded.matrix, severity="remark"),)
    findings = (*targets.short_key_warnings(), *matrix, *findings)
    prices = _describe_prices(loaded)
    return Preflight(source, reading, estimates, findings, tuple(remarks), reuse, prices)


def _describe_prices(loaded: LoadedConfiguration) -> str | None:
    if loaded.price_file is None:
        return None
    count = len(loaded.configuration.prices.models)
    return f"prices: {shorten(loaded.price_file)} ({plural(count, 'model')})"


async def all_of(*checks: Awaitable[Any]) -> list[Any]:
    """Run all checks at the same time; return their results in order.

    Raises `InvalidInput` with the errors and warnings of all, each once, or the first other error.
    """
    outcomes = await asyncio.gather(*checks, return_exceptions=True)
    problems, warnings = list[Problem](), list[Problem]()
    for outcome in outcomes:
        if isinstance(outcome, InvalidInput):
            problems.extend(outcome.problems)
            warnings.extend(outcome.warnings)
        elif isinstance(outcome, BaseException):
            raise outcome
    if problems:
        raise InvalidInput(list(dict.fromkeys(problems)), warnings)
    return outcomes


def require_gates(store: LendsConnections, configuration: Configuration) -> None:
    """Raise `InvalidInput` if a gate needs an extra that is not installed, or a baseline run that
    does not exist or is not complete."""
    require_extras(configuration.gates)
    if configuration.gates.no_regression_against is not None:
        with store.lend() as connection:
            require_complete(connection, configuration.gates)


def _errors_of_named_dialect(loaded: LoadedConfiguration) -> list[Problem]:
    """The errors in the judges of the dialect that the configuration names, if there is one."""
    try:
        dialect = dialect_named(loaded.configuration.prompts.dialect or "")
    except InvalidInput:
        return []
    problems = judge_problems(dialect, loaded.configuration)
    return [problem for problem in problems if problem.severity == "error"]


def _read_and_check_cases(
    loaded: LoadedConfiguration,
    store: LendsConnections,
    targets: Targets,
    take: Take,
    case_warnings: list[Problem],
    *,
    counts_reuse: bool,
) -> tuple[CaseSource, SourceReading, Estimates, tuple[Problem, ...], Branch | None]:
    """Read every case, and check that its judges exist.

    Returns the source, what was read, the estimates, the warnings, and the branch from the run
    whose answers are reused (`None` without reuse). `case_warnings` gets those of
    the cases once all are read, as later checks may fail. Counting reused answers prepares
    requests, which runs some users' classes: only with `counts_reuse`.
    """
    try:
        source = source_of(loaded, store)
    except InvalidInput as error:
        problems = [*error.problems, *_errors_of_named_dialect(loaded)]
        raise InvalidInput(problems, error.warnings) from None
    require_for(source.dialect, f"the dialect `{source.dialect.name}`")
    judges = tuple(map(loaded.placed, judge_problems(source.dialect, loaded.configuration)))
    problems = [problem for problem in judges if problem.severity == "error"]
    estimates = Estimates(source.dialect, loaded.configuration, targets)
    gates = UnmeasuredGates(loaded.configuration.gates)

    reuses = counts_reuse and loaded.configuration.reuse.from_run is not None
    reading_it: AbstractContextManager[Connection | None]
    reading_it = store.lend() if reuses else nullcontext()
    with reading_it as connection:
        looking = CaseEstimator(
            connection, loaded.configuration, source.dialect, targets, estimates
        )
        try:
            looking.begin()
        except InvalidInput as error:
            problems.extend(map(loaded.placed, error.problems))

        def look(case: Case) -> None:
            looking.add(case)
            gates.add(case)
            take(case)

        try:
            reading = source.read(look)
        except InvalidInput as error:
            raise InvalidInput([*problems, *error.problems], error.warnings) from None
        case_warnings += (problem for problem in reading.findings if problem.severity != "error")
        if problems:
            raise InvalidInput(problems)
        reused = looking.end()
    configured = (*unused_prices(loaded.configuration), *misspelt_parameters(loaded.configuration))
    warnings = (*configured, *estimates.warnings(), *gates.warnings())
    again = asked_again(loaded, estimates.evaluations)
    findings = (*judges, *map(loaded.placed, warnings), *reading.findings, *again, *reused)
    return source, reading, estimates, findings, looking.branch
