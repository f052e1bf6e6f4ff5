"""The numbers of a run's results, and of those that a filter matches.

For a small run, rows are counted. For a large one, the stored counters are used, less the rows
that ended after the position; a number that the counters cannot give is `None`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from failproof_es.reading.chosen_results import EVERY_RESULT, ResultFilter, places_of, where_of
from failproof_es.reading.result_conditions import (
    PLACE,
    STATES,
    UNFINISHED,
    severity_condition,
)
from failproof_es.store.reading.reader import Connection
from projections.protocol import visible

LARGE = 5_000
"""A run is large if it plans more evaluations than this."""


def is_large(planned: int) -> bool:
    """Whether a run with this number of planned evaluations is large."""
    return planned > LARGE


def is_listed_by_severity(planned: int) -> bool:
    """Whether the results of a run are listed with the most severe cases first in each state.

    Those of a large run are not: their severities would all be read for the first page.
    """
    return not is_large(planned)


FROM = (
    "FROM projections.evaluations AS e LEFT JOIN projections.prompts AS p USING (prompt_id) "
    "WHERE e.run_id = %(run)s AND e.counted "
)


@dataclass(frozen=True, slots=True)
class ResultNumbers:
    """The numbers of a run's results in a list that is read up to a position of the log."""

    total: int
    """Results that ended up to the position."""
    matching: int | None
    """Results that the filter matches (unended ones for status `unfinished`); `None`: not counted.
    """
    unfinished: int
    newer: int
    """Results that ended after the position."""


def count_results(
    connection: Connection, run_id: UUID, which: ResultFilter, *, up_to: int, planned: int
) -> ResultNumbers:
    """The numbers of results up to the position `up_to`, and of those that `which` matches.

    `planned` is the number of evaluations that the run plans: it decides between rows and counters.
    """
    if is_large(planned):
        return _count_from_counters(connection, run_id, which, up_to)
    where, values = where_of(which)
    matches = f"{PLACE} = ANY (%(places)s) {where}"
    row = connection.execute(
        f"SELECT count(*) FILTER (WHERE {PLACE} <> {UNFINISHED} AND e.last_position <= %(up_to)s), "
        f"count(*) FILTER (WHERE e.last_position <= %(up_to)s AND {matches}), "
        f"count(*) FILTER (WHERE {PLACE} = {UNFINISHED}), "
        f"count(*) FILTER (WHERE {PLACE} <> {UNFINISHED} AND e.last_position > %(up_to)s) {FROM}",
        values | {"run": run_id, "up_to": up_to, "places": places_of(which.status)},
    ).fetchone()
    assert row is not None
    return ResultNumbers(*row)


def _count_from_counters(
    connection: Connection, run_id: UUID, which: ResultFilter, up_to: int
) -> ResultNumbers:
    newer = _count_newer(connection, run_id, ResultFilter(), up_to)
    total = sum(stored_states(connection, run_id, ResultFilter()).values()) - newer
    unfinished = count_unfinished(connection, run_id)
    matching: int | None = total
    if which == ResultFilter(status="unfinished"):
        matching = unfinished  # none has ended, so the position does not matter
    elif which.chooses:
        matching = _count_stored(connection, run_id, which)
        if matching is not None and newer:
            matching -= _count_newer(connection, run_id, which, up_to)
    return ResultNumbers(total, matching, unfinished, newer)


def _count_newer(connection: Connection, run_id: UUID, which: ResultFilter, up_to: int) -> int:
    """Number of matching results whose last event is after the position `up_to`."""
    where, values = where_of(which)
    row = connection.execute(
        f"SELECT count(*) {FROM} AND {PLACE} = ANY (%(places)s) "
        f"AND e.last_position > %(up_to)s {where}",
        values | {"run": run_id, "up_to": up_to, "places": places_of(which.status)},
    ).fetchone()
    return 0 if row is None else int(row[0])


def count_unfinished(
    connection: Connection, run_id: UUID, which: ResultFilter = EVERY_RESULT
) -> int:
    """Number of evaluations that have begun and not ended, and match `which`.

    The filter's status is ignored.
    """
    where, values = where_of(which)
    row = connection.execute(
        f"SELECT count(*) {FROM} AND {PLACE} = {UNFINISHED} {where}", values | {"run": run_id}
    ).fetchone()
    return 0 if row is None else int(row[0])


def _count_stored(connection: Connection, run_id: UUID, which: ResultFilter) -> int | None:
    """Number of matching results at any position, from the counters; `None` if they cannot tell."""
    if which != ResultFilter(
        which.status, which.model, which.suite, which.category, which.severity, which.class_
    ):
        return None
    if which.class_ is not None:
        return None if which.status is not None else _count_stored_class(connection, run_id, which)
    if which.status == "unfinished":
        return None
    states = stored_states(connection, run_id, which)
    return sum(states[STATES[place]] for place in places_of(which.status))


def stored_states(connection: Connection, run_id: UUID, which: ResultFilter) -> dict[str, int]:
    """Number of results by state, from the counters of the groups that the filter names.

    The states are `STATES` without `unfinished`. Groups are named by model, suite, category and
    severity; other fields are ignored.
    """
    where, values = group_condition(which)
    row = connection.execute(
        "SELECT sum(failed), sum(awaiting), sum(lost), sum(abandoned), sum(scored), sum(passed) "
        f"FROM projections.run_groups WHERE run_id = %(run)s {where}",
        values | {"run": run_id},
    ).fetchone()
    counts = (int(count or 0) for count in row or [0] * 6)
    failed, awaiting, lost, abandoned, scored, passed = counts
    return {
        "failed": failed,
        "lost": lost,
        "unscored": abandoned - awaiting - lost,
        "awaiting": awaiting,
        "scored": scored - passed - failed,
        "passed": passed,
    }


def _count_stored_class(connection: Connection, run_id: UUID, which: ResultFilter) -> int:
    where, values = group_condition(which)
    row = connection.execute(
        "SELECT sum(c.evaluations) FROM projections.run_classes AS c WHERE run_id = %(run)s "
        "AND class = %(class)s AND group_key IN (SELECT group_key FROM projections.run_groups "
        f"WHERE run_id = %(run)s {where})",
        values | {"run": run_id, "class": visible(which.class_ or "")},
    ).fetchone()
    return int(row[0] or 0) if row is not None else 0


def group_condition(which: ResultFilter) -> tuple[str, dict[str, Any]]:
    """SQL for the filter's model, suite, category and severity, on the columns of `run_groups`.

    Each condition follows an `AND`; empty if none of the four is set. With the values of its named
    parameters.
    """
    values: dict[str, Any] = {
        column: visible(value)
        for column, value in (
            ("model_key", which.model), ("suite_id", which.suite), ("category", which.category),
        ) if value is not None
    }  # fmt: skip
    conditions = [f"{column} = %({column})s" for column in values]
    if which.severity is not None:
        condition, words = severity_condition("severity", [which.severity])
        conditions.append(condition)
        values |= words
    return "".join(f"AND {condition} " for condition in conditions), values
