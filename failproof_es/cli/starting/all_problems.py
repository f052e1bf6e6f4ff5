"""Loads a configuration and asks for permissions; an error has the problems of all checks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock

from failproof_es.cli.app.program import session
from failproof_es.cli.starting.permitting import not_permitted, permitted
from failproof_es.configuration.loading import (
    InvalidConfiguration,
    LoadedConfiguration,
    load_configuration,
)
from failproof_es.configuration.schema import Configuration
from failproof_es.engine.preflight.further import (
    further_problems,
    sound_part,
    without_result_patterns,
)
from failproof_es.models.trust.permissions import ClassDemand, Demand, Permissions, demands_of
from failproof_es.problems import InvalidInput, Problem
from failproof_es.reading.cases_by_result import with_cases_by_result
from failproof_es.store.reading.reader import Connection
from failproof_es.store.store import LendsConnections, Store

Demands = Callable[[Configuration], Iterable[Demand | ClassDemand]]
"""The demands of a configuration that must be permitted."""


def load_or_report_all(
    config: Path,
    settings: Sequence[str],
    allow: Sequence[str],
    demands: Demands = demands_of,
) -> LoadedConfiguration:
    """`load_configuration`, whose error also has the problems that the other checks find.

    They open the database only if the configuration names a run or a collection.
    """
    try:
        return load_configuration(config, settings)
    except InvalidConfiguration as error:
        part = sound_part(error.usable, error.left_out)
        places = [*error.left_out, *_places_of(error.problems, part)]
        with _opened_when_needed(session().open_store) as store:
            further = _all_further(part, store, allow, demands, places)
        raise InvalidInput([*error.problems, *further], error.warnings) from None


def choose_and_permit(
    loaded: LoadedConfiguration,
    store: Store,
    allow: Sequence[str],
    demands: Demands = demands_of,
) -> tuple[LoadedConfiguration, Permissions]:
    """`with_cases_by_result` and `permitted`; an error of one also has the problems that all other
    checks find."""
    try:
        ready = with_cases_by_result(loaded, store)
        permissions = permitted(
            demands(loaded.configuration), allow, own=True, placed=loaded.placed
        )
    except InvalidInput as error:
        further = _all_further(loaded, store, allow, demands, ())
        problems = dict.fromkeys([*error.problems, *further])
        raise InvalidInput([*problems], error.warnings) from None
    return ready, permissions


def _all_further(
    loaded: LoadedConfiguration,
    store: LendsConnections,
    allow: Sequence[str],
    demands: Demands,
    places: Sequence[str],
) -> list[Problem]:
    """The problems that are found without sending anything, but those that may follow from what is
    wrong at the places."""
    problems = not_permitted(demands(loaded.configuration), allow, own=True, placed=loaded.placed)
    try:
        loaded = with_cases_by_result(loaded, store)
    except InvalidInput as error:
        problems += error.problems
        loaded = without_result_patterns(loaded)
    return problems + asyncio.run(further_problems(loaded, store, places))


def _places_of(problems: Sequence[Problem], loaded: LoadedConfiguration) -> Iterator[str]:
    """The fields of the problems; `prices` for those of its file."""
    for problem in problems:
        if problem.path is not None and problem.path == loaded.price_file:
            yield "prices"
        elif problem.field is not None:
            yield problem.field


@contextmanager
def _opened_when_needed(open_store: Callable[[], Store]) -> Iterator[LendsConnections]:
    """What opens the store for the first connection, and is closed at the end."""
    with ExitStack() as stack:
        yield _OpenedWhenNeeded(stack, open_store)


class _OpenedWhenNeeded:
    def __init__(self, stack: ExitStack, open_store: Callable[[], Store]) -> None:
        self._stack = stack
        self._open_store = open_store
        self._store: Store | None = None
        self._lock = Lock()

    @contextmanager
    def lend(self) -> Iterator[Connection]:
        with self._lock:
            if self._store is None:
                self._store = self._stack.enter_context(self._open_store())
        with self._store.lend() as connection:
            yield connection
