"""Lists how two runs differ: in configuration, models and cases. Nothing is judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from failproof_es.configuration.locations import dotted
from failproof_es.core import experiment
from failproof_es.core.case import Case
from failproof_es.core.run import Run
from failproof_es.engine.history import read_chunk
from failproof_es.engine.planning.prompt_collections import read_cases
from failproof_es.events import ModelSnapshot, RunStarted
from failproof_es.store.reading.reader import Connection

Path = tuple[str | int, ...]
Differs = Literal["what is sent", "what grades it", "what is noted"]


class Absent:
    """The type of `ABSENT`, which marks a side that has no value at all; that differs from
    `None`."""


ABSENT = Absent()


@dataclass(frozen=True, slots=True)
class Value:
    """A value that differs between the sides; `ABSENT` if a side has none."""

    path: str
    left: Any
    right: Any


@dataclass(frozen=True, slots=True)
class UnmatchedCase:
    """A case that only one of the runs planned."""

    suite: str
    case: str
    digest: str


@dataclass(frozen=True, slots=True)
class ChangedCase:
    """A case with the same id in both runs that differs, with its digests on both sides and its
    most important difference."""

    suite: str
    case: str
    left: str
    right: str
    differs: Differs


@dataclass(frozen=True, slots=True)
class CaseDifferences:
    """The differences of two plans, each case once, in the order of the plans."""

    same: int
    only_left: tuple[UnmatchedCase, ...]
    only_right: tuple[UnmatchedCase, ...]
    changed: tuple[ChangedCase, ...]


def differing(left: Any, right: Any, path: Path = ()) -> Iterator[Value]:
    """Every value that differs between two JSON values, each with its path; nested values one by
    one. `path` is the path of the two values themselves."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in dict.fromkeys((*left, *right)):
            yield from differing(left.get(key, ABSENT), right.get(key, ABSENT), (*path, key))
    elif isinstance(left, list) and isinstance(right, list):
        for at in range(max(len(left), len(right))):
            one, other = (side[at] if at < len(side) else ABSENT for side in (left, right))
            yield from differing(one, other, (*path, at))
    elif experiment.canonical(_encode_value(left)) != experiment.canonical(_encode_value(right)):
        yield Value(dotted(path), left, right)


def configuration_differences(left: RunStarted, right: RunStarted) -> list[Value]:
    """Every setting that differs between the configurations of two runs.

    `test_run.folder` is left out: it is a place, not a setting.
    """
    return [
        value
        for value in differing(left.configuration, right.configuration)
        if value.path != "test_run.folder"
    ]


def _encode_value(value: Any) -> Any:
    """The value wrapped so that an absent value equals no JSON value."""
    return ["absent", None] if isinstance(value, Absent) else ["value", value]


def case_differences(connection: Connection, left: Run, right: Run) -> CaseDifferences:
    """The differences of two runs' plans, by cases. Reads only cases that one plan lacks."""
    digests = [_planned_digests(connection, run) for run in (left, right)]
    shared = digests[0].keys() & digests[1].keys()
    mine, theirs = (
        _read_cases_by_id(connection, [d for d in side if d not in shared]) for side in digests
    )
    changed = tuple(_changed_case(mine[name], theirs[name]) for name in mine if name in theirs)
    return CaseDifferences(
        len(shared),
        tuple(_unmatched_case(mine[name]) for name in mine if name not in theirs),
        tuple(_unmatched_case(theirs[name]) for name in theirs if name not in mine),
        changed,
    )


def _planned_digests(connection: Connection, run: Run) -> dict[str, None]:
    """The digests of a plan in order, each once."""
    run_id = run.started.originator_id
    return {digest: None for n in range(run.chunks) for digest in read_chunk(connection, run_id, n)}


def _read_cases_by_id(
    connection: Connection, digests: Sequence[str]
) -> dict[tuple[str, str, int], tuple[str, Case]]:
    """The cases of these digests, each with its digest.

    The key is the suite, the case's id and a number from 0 that tells cases with the same id apart.
    """
    cases: dict[tuple[str, str, int], tuple[str, Case]] = {}
    for digest, case in zip(digests, read_cases(connection, digests), strict=True):
        nth = 0
        while (case.suite_id, case.case_id, nth) in cases:
            nth += 1
        cases[case.suite_id, case.case_id, nth] = digest, case
    return cases


def _unmatched_case(case: tuple[str, Case]) -> UnmatchedCase:
    return UnmatchedCase(case[1].suite_id, case[1].case_id, case[0])


def _changed_case(left: tuple[str, Case], right: tuple[str, Case]) -> ChangedCase:
    one, other = (side[1].model_dump(mode="json") for side in (left, right))
    differs: Differs = "what is noted"
    if experiment.question_digest(one) != experiment.question_digest(other):
        differs = "what is sent"
    elif experiment.graded_digest(one) != experiment.graded_digest(other):
        differs = "what grades it"
    return ChangedCase(left[1].suite_id, left[1].case_id, left[0], right[0], differs)


def model_differences(left: Run, right: Run) -> list[Value]:
    """Every setting that differs between the models and judges with the same keys.

    A model that only one run has differs as a whole.
    """
    one, other = (dict(_models(run)) for run in (left, right))
    return list(differing(one, other))


def renamed_models(
    left: Sequence[ModelSnapshot], right: Sequence[ModelSnapshot]
) -> Iterator[tuple[str, str]]:
    """The keys of models that are set alike, and that only one side has under that name.

    So it is after a prompt of `matrix.prompts` was renamed: its evaluations have no partners.
    """
    keys = [{model.key for model in models} for models in (left, right)]
    free: dict[bytes, list[str]] = {}
    for model in reversed(right):
        if model.key not in keys[0]:
            free.setdefault(_settings(model), []).append(model.key)
    for model in left:
        if model.key not in keys[1] and (others := free.get(_settings(model))):
            yield model.key, others.pop()


def _settings(model: ModelSnapshot) -> bytes:
    """All of the model but its key, as canonical JSON."""
    return experiment.canonical(model.model_dump(mode="json", exclude={"key"}))


def _models(run: Run) -> Iterable[tuple[str, dict[str, Any]]]:
    for model in (*run.started.models, *run.started.judges):
        yield model.key, model.model_dump(mode="json", exclude={"key"})
