"""The results of a run by case and model.

A case stands where the first of its chosen results stands in the list of `chosen_results`. Its
other results are looked up by their ids, which are derived from run, case, model and repetition:
the cost of a page depends on neither the size of the run nor its depth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from failproof_es.core.evaluation_state import stream_number
from failproof_es.reading.chosen_results import (
    LOOKED_AT,
    LOOKED_INTO,
    ListedResult,
    ResultFilter,
    ResultKey,
    key_at_distance,
    key_columns,
    places_of,
    read_listed,
    scan_rows,
    where_of,
)
from failproof_es.reading.overviews.counted_results import FROM
from failproof_es.reading.result_conditions import PLACE, UNFINISHED
from failproof_es.store.reading.reader import Connection

MOST_CELLS = 4_000
"""Most evaluations of a page. A page has fewer cases where a case has many evaluations."""
LOOKED_UP = 10_000
"""Number of evaluations that a page looks up to leave out the cases of the pages before."""
_FIRSTS = f"""
SELECT DISTINCT ON (e.prompt_id) e.prompt_id, {{keys}}
FROM projections.evaluations AS e LEFT JOIN projections.prompts AS p USING (prompt_id)
WHERE e.evaluation_id = ANY(%(ids)s) AND e.counted AND {PLACE} = ANY(%(places)s)
    AND e.last_position <= %(up_to)s {{where}}
ORDER BY e.prompt_id, {PLACE}, e.last_position, e.evaluation_id
"""


@dataclass(frozen=True, slots=True)
class AskedModels:
    """The models that a run asks each of its cases."""

    run_id: UUID
    models: tuple[str, ...]
    """Their keys, in the order of the run's configuration."""
    repetitions: int

    @property
    def of_each_case(self) -> int:
        """Number of evaluations of a case."""
        return len(self.models) * self.repetitions

    def evaluations(
        self, prompt_ids: Sequence[UUID], models: Sequence[str]
    ) -> Iterator[tuple[UUID, tuple[UUID, str]]]:
        """The id of each evaluation of these cases by these models, with its case and model."""
        for prompt_id in prompt_ids:
            for model in models:
                for repetition in range(1, self.repetitions + 1):
                    number = stream_number(self.run_id, prompt_id, model, repetition)
                    yield UUID(int=number), (prompt_id, model)


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """The results of one model on one case, over all repetitions."""

    first: ListedResult
    """The result that needs attention first."""
    begun: int
    """Number of repetitions that have begun."""
    passed: int
    """Number of those that passed, by people's verdict where people decide."""


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A case and its results."""

    prompt_id: UUID
    cells: tuple[MatrixCell | None, ...]
    """The cells by model; `None` where no evaluation has begun."""

    @property
    def first(self) -> ListedResult | None:
        """The result that needs attention first; `None` without any."""
        results = [cell.first for cell in self.cells if cell is not None]
        return min(results, key=lambda result: result.key, default=None)


@dataclass(frozen=True, slots=True)
class MatrixRows:
    """Cases with their results: a page of them."""

    rows: tuple[MatrixRow, ...]
    following: ResultKey | None
    """The key after which the next page begins; `None` for the last page."""
    looked_at: int | None
    """Number of results after which the scan stopped; `None` if it was not stopped."""


def page_of_matrix(
    connection: Connection,
    asked: AskedModels,
    which: ResultFilter,
    *,
    columns: Sequence[str],
    up_to: int,
    after: ResultKey | None = None,
    limit: int,
    by_severity: bool = False,
) -> MatrixRows:
    """At most `limit` cases that have a result that matches `which`, with all of their results.

    The rows have a cell for each model of `columns`. `up_to`, `after` and `by_severity` mean the
    same as in `page_of_results`, and a page whose scan was stopped has a following page, too.
    """
    limit = max(min(limit, MOST_CELLS // asked.of_each_case), 1)
    cases, following, looked_at = _find_cases(
        connection, asked, which, up_to, after, limit, by_severity
    )
    rows = _read_rows(connection, asked, cases, columns, up_to)
    return MatrixRows(rows, following, looked_at)


def count_cases_of_results(
    connection: Connection, run_id: UUID, which: ResultFilter, *, up_to: int
) -> tuple[int, int]:
    """Number of cases with a result up to the position `up_to`, and of those that `which` chooses.

    Reads every result of the run.
    """
    where, values = where_of(which)
    row = connection.execute(
        f"SELECT count(DISTINCT e.prompt_id) FILTER (WHERE {PLACE} <> {UNFINISHED}), "
        f"count(DISTINCT e.prompt_id) FILTER (WHERE {PLACE} = ANY(%(places)s) {where}) {FROM} "
        "AND e.last_position <= %(up_to)s",
        values | {"run": run_id, "up_to": up_to, "places": places_of(which.status)},
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def _find_cases(
    connection: Connection,
    asked: AskedModels,
    which: ResultFilter,
    up_to: int,
    after: ResultKey | None,
    limit: int,
    by_severity: bool,
) -> tuple[list[UUID], ResultKey | None, int | None]:
    """The cases of a page, the key after which the next one begins, and `looked_at`."""
    keys = key_columns(by_severity)
    most = LOOKED_AT if which.text is None else LOOKED_INTO
    scanned = min((limit + 2) * asked.of_each_case + LOOKED_INTO, most)
    matches = [
        (prompt_id, ResultKey(*key))
        for prompt_id, *key in scan_rows(
            connection,
            f"SELECT e.prompt_id, {keys} ",
            asked.run_id,
            which,
            up_to,
            after,
            scanned,
            most,
            by_severity=by_severity,
        )
    ]
    seen: dict[UUID, ResultKey] = {}
    for prompt_id, key in matches:
        seen.setdefault(prompt_id, key)
    looked_up = list(seen)[: max(limit + 1, LOOKED_UP // asked.of_each_case)]
    cases: list[UUID] = []
    begin, size = 0, limit + 1
    while portion := looked_up[begin : begin + size]:
        begin, size = begin + size, 2 * size
        firsts = _find_firsts(connection, asked, which, portion, up_to, keys)
        cases += [prompt_id for prompt_id in portion if firsts.get(prompt_id) == seen[prompt_id]]
        if len(cases) > limit:
            return cases[:limit], seen[cases[limit - 1]], None
    if len(looked_up) < len(seen):
        stopped = seen[looked_up[-1]]
        return cases, stopped, 1 + [key for _, key in matches].index(stopped)
    if len(matches) == scanned:
        return cases, matches[-1][1], scanned
    distant = None
    if which.seldom:
        distant = key_at_distance(
            connection, asked.run_id, which, up_to, after, most, by_severity=by_severity
        )
    return cases, distant, None if distant is None else most


def _find_firsts(
    connection: Connection,
    asked: AskedModels,
    which: ResultFilter,
    prompt_ids: Sequence[UUID],
    up_to: int,
    keys: str,
) -> Mapping[UUID, ResultKey]:
    """The key of the first matching result of each case; `keys` are the columns of a key."""
    where, values = where_of(which)
    values |= {
        "ids": [evaluation_id for evaluation_id, _ in asked.evaluations(prompt_ids, asked.models)],
        "places": places_of(which.status),
        "up_to": up_to,
    }
    rows = connection.execute(_FIRSTS.format(keys=keys, where=where).encode(), values)
    return {prompt_id: ResultKey(*key) for prompt_id, *key in rows}


def _read_rows(
    connection: Connection,
    asked: AskedModels,
    prompt_ids: Sequence[UUID],
    columns: Sequence[str],
    up_to: int,
) -> tuple[MatrixRow, ...]:
    places = dict(asked.evaluations(prompt_ids, columns))
    results: dict[tuple[UUID, str], list[ListedResult]] = {}
    for result in read_listed(connection, list(places), up_to=up_to):
        results.setdefault(places[result.evaluation_id], []).append(result)
    return tuple(
        MatrixRow(prompt_id, tuple(_cell(results.get((prompt_id, model), ())) for model in columns))
        for prompt_id in prompt_ids
    )


def _cell(results: Sequence[ListedResult]) -> MatrixCell | None:
    if not results:
        return None
    return MatrixCell(
        first=min(results, key=lambda result: result.key),
        begun=len(results),
        passed=sum(
            result.state == "passed" or result.by_people == "passed_by_people" for result in results
        ),
    )
