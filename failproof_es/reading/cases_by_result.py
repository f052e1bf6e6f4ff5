"""Reads the cases that a selection names by their results in another run: `failed:3`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from failproof_es.configuration.choices import fits
from failproof_es.configuration.loading import LoadedConfiguration
from failproof_es.core.selection import result_pattern
from failproof_es.problems import InvalidInput, Problem
from failproof_es.reading.chosen_places import chosen_outcomes
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.result_conditions import CHOICES, Conditions
from failproof_es.store.reading.reader import Connection, resolve_run
from failproof_es.store.store import LendsConnections

Names = Counter[tuple[str, str]]
"""By (suite, id) of a case, how many such results it has."""


def with_cases_by_result(
    loaded: LoadedConfiguration, store: LendsConnections
) -> LoadedConfiguration:
    """The configuration with the cases that its selection names by their results.

    Each run is named by its number then, so that the record says which run it was. Raises
    `InvalidInput` with each pattern whose run does not exist or has no such result.
    """
    selection = loaded.configuration.selection
    given = {"only": selection.only, "exclude": selection.exclude}
    if not any(
        result_pattern(pattern) for patterns in given.values() for pattern in patterns or ()
    ):
        return loaded
    cases: dict[str, Names] = {}
    changes: dict[str, list[str]] = {}
    problems: list[Problem] = []
    with store.lend() as connection:
        for name, patterns in given.items():
            if patterns is None:
                continue
            changes[name] = []
            for pattern in patterns:
                try:
                    read = _read_pattern(connection, loaded, name, pattern, cases)
                except InvalidInput as error:
                    problems += error.problems
                else:
                    changes[name].append(read)
    if problems:
        raise InvalidInput(problems)
    changed = selection.model_copy(update=changes)
    configuration = loaded.configuration.model_copy(update={"selection": changed})
    return replace(
        loaded,
        configuration=configuration,
        cases_by_result={pattern: frozenset(names) for pattern, names in cases.items()},
        results_by_pattern={pattern: names.total() for pattern, names in cases.items()},
    )


def _read_pattern(
    connection: Connection,
    loaded: LoadedConfiguration,
    name: str,
    pattern: str,
    cases: dict[str, Names],
) -> str:
    """The pattern with the number of its run; its cases are added to `cases`."""
    parsed = result_pattern(pattern)
    if parsed is None:
        return pattern
    kind, reference = parsed
    try:
        run = RecordedRun.read(connection, resolve_run(connection, reference))
    except InvalidInput as error:
        raise _refusal(loaded, name, error.problems) from None
    number = run.started.run_number
    models = chosen_models(
        [model.key for model in run.started.models], loaded.configuration.selection.models
    )
    chosen = Conditions({"status": CHOICES[kind], "model": models})
    named = Counter(
        (planned.case.suite_id, planned.case.case_id) for planned in chosen_outcomes(run, chosen)
    )
    if not named:
        of_models = f" of {' or '.join(models)}" if models else ""
        message = f"{pattern!r} names no case: run {number} has no such result{of_models}"
        problem = Problem(
            "no-match", message, remedy=f"`failproof-es show {number}` says what it has"
        )
        raise _refusal(loaded, name, [problem])
    cases[f"{kind}:{number}"] = named
    return f"{kind}:{number}"


def chosen_models(recorded: Sequence[str], patterns: Sequence[str] | None) -> tuple[str, ...]:
    """The models of a run whose results choose cases: those that `selection.models` chooses.

    Empty, for all models, without patterns, or if the run asked none of these models.
    """
    return tuple(key for key in recorded if any(fits(key, pattern) for pattern in patterns or ()))


def _refusal(loaded: LoadedConfiguration, name: str, problems: Sequence[Problem]) -> InvalidInput:
    field = f"selection.{name}"
    return InvalidInput(
        [loaded.placed(Problem(p.code, p.message, field=field, remedy=p.remedy)) for p in problems]
    )
