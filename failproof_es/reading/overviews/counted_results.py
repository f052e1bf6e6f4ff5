"""How many results a run has, and by what they can be chosen.

Of a small run the rows are counted. Of a large one the counters tell that are kept with the rows,
and of the rows only those are counted that ended after a position. What neither tells is not
counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from failproof_es.reading.chosen_results import (
    ATTEMPTS,
    COSTS,
    LATENCIES,
    PLACE,
    RUNNING,
    STATES,
    UNKNOWN,
    ResultFilter,
    exact_name,
    places_of,
    ranges_of,
    where_of,
)
from failproof_es.store.reading.reader import Connection
from projections.protocol import visible

LARGE = 5_000
"""A run that plans more is large."""


def is_large(planned: int) -> bool:
    """Whether a run that plans so many evaluations is large."""
    return planned > LARGE


_FROM = (
    "FROM projections.evaluations AS e LEFT JOIN projections.prompts AS p USING (prompt_id) "
    "WHERE e.run_id = %(run)s AND e.counted "
)


@dataclass(frozen=True, slots=True)
class ResultNumbers:
    """How many results there are."""

    total: int
    """All that ended up to the position."""
    matching: int | None
    """Those that the filter leaves; of `running` those that have not ended. `None`: not counted."""
    running: int
    newer: int
    """Those that ended after the position."""


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value by which results can be chosen."""

    value: str | None
    """`None` where the results say nothing of it."""
    results: int | None
    """How many of the run have it, whatever else is chosen; `None`: not counted."""


def count_results(
    connection: Connection, run_id: UUID, which: ResultFilter, *, up_to: int, planned: int
) -> ResultNumbers:
    """How many results the list has, and how many of them the filter leaves."""
    if is_large(planned):
        return _of_counters(connection, run_id, which, up_to)
    where, values = where_of(which)
    matches = f"{PLACE} = ANY (%(places)s) {where}"
    found = connection.execute(
        f"SELECT count(*) FILTER (WHERE {PLACE} <> {RUNNING} AND e.last_position <= %(up_to)s), "
        f"count(*) FILTER (WHERE e.last_position <= %(up_to)s AND {matches}), "
        f"count(*) FILTER (WHERE {PLACE} = {RUNNING}), "
        f"count(*) FILTER (WHERE {PLACE} <> {RUNNING} AND e.last_position > %(up_to)s) {_FROM}",
        values | {"run": run_id, "up_to": up_to, "places": places_of(which.status)},
    ).fetchone()
    assert found is not None
    return ResultNumbers(*found)


def _of_counters(
    connection: Connection, run_id: UUID, which: ResultFilter, up_to: int
) -> ResultNumbers:
    newer = _newer(connection, run_id, ResultFilter(), up_to)
    total = sum(_stored_states(connection, run_id, ResultFilter()).values()) - newer
    running = _running(connection, run_id)
    matching: int | None = total
    if which == ResultFilter(status="running"):
        matching = running  # none of them has ended
    elif which.chooses:
        matching = _stored(connection, run_id, which)
        if matching is not None and newer:
            matching -= _newer(connection, run_id, which, up_to)
    return ResultNumbers(total, matching, running, newer)


def _newer(connection: Connection, run_id: UUID, which: ResultFilter, up_to: int) -> int:
    """How many of the results ended after the position."""
    where, values = where_of(which)
    row = connection.execute(
        f"SELECT count(*) {_FROM} AND {PLACE} = ANY (%(places)s) "
        f"AND e.last_position > %(up_to)s {where}",
        values | {"run": run_id, "up_to": up_to, "places": places_of(which.status)},
    ).fetchone()
    return 0 if row is None else int(row[0])


def _running(connection: Connection, run_id: UUID) -> int:
    """How many evaluations have begun and not ended."""
    row = connection.execute(
        f"SELECT count(*) FROM projections.evaluations AS e WHERE e.run_id = %s AND e.counted "
        f"AND {PLACE} = {RUNNING}",
        (run_id,),
    ).fetchone()
    return 0 if row is None else int(row[0])


def _stored(connection: Connection, run_id: UUID, which: ResultFilter) -> int | None:
    """How many results the filter leaves, whenever they ended; `None` where no counter tells."""
    if which != ResultFilter(
        which.status, which.model, which.suite, which.category, which.severity, which.primary
    ):
        return None
    if which.primary is not None:
        return None if which.status is not None else _stored_class(connection, run_id, which)
    if which.status == "running":
        return None
    if which.status in ("lost", "unscored") and _grouped(which)[1]:
        return None
    states = _stored_states(connection, run_id, which)
    return sum(states[STATES[place]] for place in places_of(which.status))


def _stored_states(connection: Connection, run_id: UUID, which: ResultFilter) -> dict[str, int]:
    """By state, of the groups that the filter names.

    Of some groups alone `unscored` has those that were lost, too.
    """
    where, values = _grouped(which)
    row = connection.execute(
        "SELECT sum(failed), sum(awaiting), sum(abandoned), sum(scored), sum(passed) "
        f"FROM projections.run_groups WHERE run_id = %(run)s {where}",
        values | {"run": run_id},
    ).fetchone()
    failed, awaiting, abandoned, scored, passed = (int(each or 0) for each in row or [0] * 5)
    lost = 0
    if not where:
        row = connection.execute(
            "SELECT sum(evaluations) FROM projections.run_lost WHERE run_id = %s", (run_id,)
        ).fetchone()
        lost = int(row[0] or 0) if row is not None else 0
    return {
        "failed": failed,
        "lost": lost,
        "unscored": abandoned - awaiting - lost,
        "awaiting": awaiting,
        "scored": scored - passed - failed,
        "passed": passed,
    }


def _stored_class(connection: Connection, run_id: UUID, which: ResultFilter) -> int:
    where, values = _grouped(which)
    row = connection.execute(
        "SELECT sum(c.evaluations) FROM projections.run_classes AS c WHERE run_id = %(run)s "
        "AND class = %(primary)s AND group_key IN (SELECT group_key FROM projections.run_groups "
        f"WHERE run_id = %(run)s {where})",
        values | {"run": run_id, "primary": visible(which.primary or "")},
    ).fetchone()
    return int(row[0] or 0) if row is not None else 0


def _grouped(which: ResultFilter) -> tuple[str, dict[str, Any]]:
    """The condition on groups, and its values."""
    named = {
        column: visible(value)
        for column, value in (
            ("model_key", which.model), ("suite_id", which.suite),
            ("category", which.category), ("severity", which.severity),
        ) if value is not None
    }  # fmt: skip
    return "".join(f"AND {column} = %({column})s " for column in named), dict(named)


def facets_of(
    connection: Connection, run_id: UUID, *, planned: int
) -> dict[str, tuple[FacetValue, ...]]:
    """By each field of `ResultFilter` but `text` the values that occur in the run, most first.

    Those of ranges are in order.
    """
    found: dict[str, dict[str | None, int]] = {}
    for name, value, results in connection.execute(_COUNTED, {"run": run_id}):
        found.setdefault(name, {})[exact_name(value)] = results
    facets = {name: _most_first(found.get(name, {})) for name in _BY_COUNT}
    ranges = {"latency": LATENCIES, "cost": COSTS, "attempts": ATTEMPTS}
    if is_large(planned):
        states = _stored_states(connection, run_id, ResultFilter())
        states["running"] = _running(connection, run_id)
        return facets | {
            "status": tuple(FacetValue(name, states[name]) for name in STATES if states.get(name)),
            **{
                name: tuple(FacetValue(each[0], None) for each in known)
                for name, known in ranges.items()
            },
        }
    by_row: dict[str, dict[str | None, int]] = {}
    for *values, every, ended in connection.execute(_BY_ROW, {"run": run_id}):
        grouping, values = values[0], values[1:]
        name = _ROW_FACETS[grouping]
        value = exact_name(values[_ROW_ORDER.index(name)])
        if results := every if name == "status" else ended:
            by_row.setdefault(name, {})[value] = results
    for value, results in connection.execute(_TAGS, {"run": run_id}):
        by_row.setdefault("tag", {})[exact_name(value)] = results
    facets["error"] = _most_first(
        {value: n for value, n in by_row.get("error", {}).items() if value is not None}
    )
    facets["tag"] = _most_first(by_row.get("tag", {}))
    by_place = by_row.get("status", {})
    facets["status"] = tuple(
        FacetValue(name, by_place[str(place)])
        for place, name in enumerate(STATES)
        if str(place) in by_place
    )
    for name, known in ranges.items():
        counts = by_row.get(name, {})
        facets[name] = tuple(
            FacetValue(value, counts[value])
            for value in (*(each[0] for each in known), UNKNOWN)
            if value in counts
        )
    return facets


_BY_COUNT = ("model", "suite", "category", "severity", "primary")
_COUNTED = "".join(
    f"SELECT '{name}', {column}, sum(finished) FROM projections.run_groups "
    f"WHERE run_id = %(run)s GROUP BY {column} HAVING sum(finished) > 0 UNION ALL "
    for name, column in (
        ("model", "model_key"), ("suite", "suite_id"), ("category", "category"),
        ("severity", "severity"),
    )
) + (
    "SELECT 'primary', class, sum(evaluations) FROM projections.run_classes "
    "WHERE run_id = %(run)s GROUP BY class HAVING sum(evaluations) > 0"
)  # fmt: skip


_ROW_ORDER = ("status", "error", "latency", "cost", "attempts")
_ROW_FACETS = {31 ^ (1 << (4 - n)): name for n, name in enumerate(_ROW_ORDER)}
"""What `grouping` says of each set: a bit for each column that was not grouped by."""
_BY_ROW = f"""
WITH told AS (
    SELECT ({PLACE})::text AS status, e.error_kind AS error,
        {ranges_of("e.latency_ms", LATENCIES)} AS latency, {ranges_of("e.cost_usd", COSTS)} AS cost,
        {ranges_of("e.attempts", ATTEMPTS)} AS attempts
    FROM projections.evaluations AS e WHERE e.run_id = %(run)s AND e.counted
)
SELECT grouping(status, error, latency, cost, attempts), status, error, latency, cost, attempts,
    count(*), count(*) FILTER (WHERE status <> '{RUNNING}')
FROM told GROUP BY GROUPING SETS ((status), (error), (latency), (cost), (attempts))
"""
_TAGS = f"""
SELECT tag, count(*) FROM projections.evaluations AS e
JOIN projections.prompts AS p USING (prompt_id)
CROSS JOIN LATERAL (SELECT DISTINCT replace(each.tag::text, '\\u0000', '\\ufffd')::json #>> '{{}}'
    FROM json_array_elements(p.tags) AS each (tag)) AS tags (tag)
WHERE e.run_id = %(run)s AND e.counted AND {PLACE} <> {RUNNING} GROUP BY tag
"""


def _most_first(counts: Mapping[str | None, int]) -> tuple[FacetValue, ...]:
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0] is None, each[0] or ""))
    return tuple(FacetValue(value, int(results)) for value, results in ordered if results)
