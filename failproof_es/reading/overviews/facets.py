"""Facets of a run's results: the values to filter by, each with its number of results.

A value is counted within the other facets of the filter; a choice in its own facet is ignored. For
a small run, rows are counted. For a large one, the stored counters are read, and values that they
cannot give are not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from failproof_es.core.severity import is_same_severity
from failproof_es.reading.chosen_results import ResultFilter, exact_name, places_of, where_of
from failproof_es.reading.overviews.counted_results import (
    FROM,
    count_unfinished,
    group_condition,
    is_large,
    stored_states,
)
from failproof_es.reading.result_conditions import PLACE, PROPERTIES, STATES, UNFINISHED, UNKNOWN
from failproof_es.store.reading.reader import Connection
from projections.protocol import visible


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value to filter results by."""

    value: str | None
    """`None` for results without a value."""
    results: int | None
    """Number of results if you add this filter; `None`: not counted."""


Counts = dict[str | None, int]

_RANGES = {name: one.ranges for name, one in PROPERTIES.items() if one.ranges}
_COLUMNS = {"status": f"({PLACE})::text"} | {
    name: one.sql for name, one in PROPERTIES.items() if name != "case"
}
"""The SQL expression of each facet. Tags are counted separately: a result can have several."""
_GROUP_COLUMNS = {"model": "model_key", "suite": "suite_id", "category": "category",
            "severity": "severity"}  # fmt: skip
_OPTIONAL_FACETS = ("class_", "error")
"""Facets that omit results without a value."""
_TAG = r"replace(each.tag::text, '\u0000', '\ufffd')::json #>> '{}'"


def facets_of(
    connection: Connection,
    run_id: UUID,
    which: ResultFilter,
    *,
    up_to: int,
    planned: int,
    newer: int,
) -> dict[str, tuple[FacetValue, ...]]:
    """The values to filter by, for each field of `ResultFilter` but `text`, most frequent first.

    Ranges and states are in their own order. Results up to the position `up_to` are counted;
    `newer` is the number of those that ended later, `planned` that of the evaluations that the run
    plans. A chosen value is included even if it has no results. A large run has no `tag`.
    """
    if is_large(planned):
        return dict(_read_counters(connection, run_id, which, up_to, newer))
    facets = _count_rows(connection, run_id, which, up_to)
    for name in facets:
        choice = getattr(which, name)
        if choice is not None and (name != "status" or choice in STATES):
            facets[name].setdefault(choice, 0)
    return {
        name: _order_values(name, counts, getattr(which, name)) for name, counts in facets.items()
    }


def _count_rows(
    connection: Connection, run_id: UUID, which: ResultFilter, up_to: int
) -> dict[str, Counts]:
    """The counts of all facets, from one scan; each counts the rows that match all other facets."""
    text, values = where_of(ResultFilter(text=which.text))
    values |= {"run": run_id, "up_to": up_to, "places": places_of(which.status)}
    holds = {"status": f"{PLACE} = ANY (%(places)s)"}
    for name in (*_COLUMNS, "tag"):
        if name != "status" and getattr(which, name) is not None:
            condition, more = where_of(replace(ResultFilter(), **{name: getattr(which, name)}))
            holds[name] = condition.removeprefix("AND ")
            values |= more
    columns = ", ".join(
        [f"{column} AS {name}_" for name, column in _COLUMNS.items()]
        + [f"({condition}) IS TRUE AS {name}_holds" for name, condition in holds.items()]
    )
    counted = [
        f"SELECT '{name}', {name}_, count(*) FROM told "
        f"WHERE {_join_conditions(holds, name)} GROUP BY 2"
        for name in _COLUMNS
    ]
    counted.append(
        "SELECT 'tag', tag, count(*) FROM told CROSS JOIN LATERAL (SELECT DISTINCT "
        f"{_TAG} FROM json_array_elements(tags) AS each (tag)) AS own (tag) "
        f"WHERE {_join_conditions(holds, 'tag')} GROUP BY 2"
    )
    facets: dict[str, Counts] = {name: {} for name in (*_COLUMNS, "tag")}
    for name, value, results in connection.execute(
        f"WITH told AS MATERIALIZED (SELECT {columns}, p.tags AS tags {FROM} "
        f"AND e.last_position <= %(up_to)s {text}) " + " UNION ALL ".join(counted),
        values,
    ):
        if value is None and name in _OPTIONAL_FACETS:
            continue
        facets[name][STATES[int(value)] if name == "status" else exact_name(value)] = results
    return facets


def _join_conditions(holds: Mapping[str, str], name: str) -> str:
    return " AND ".join(f"{other}_holds" for other in holds if other != name) or "true"


def _order_values(name: str, counts: Counts, choice: str | None) -> tuple[FacetValue, ...]:
    """The values with results, and the chosen value, in the order of the facet `name`."""
    if name == "severity":
        counts = _merge_severities(counts, choice)
    offered = {value: int(n) for value, n in counts.items() if n or value == choice}
    if name == "status":
        return tuple(FacetValue(value, offered[value]) for value in STATES if value in offered)
    if name in _RANGES:
        order = (*(bounds[0] for bounds in _RANGES[name]), UNKNOWN)
        return tuple(FacetValue(value, offered[value]) for value in order if value in offered)
    ordered = sorted(offered.items(), key=lambda pair: (-pair[1], pair[0] is None, pair[0] or ""))
    return tuple(FacetValue(value, results) for value, results in ordered)


def _merge_severities(counts: Counts, choice: str | None) -> Counts:
    """The counts with one word for each severity: the chosen one, else the most frequent."""
    merged: Counts = {}
    for word, results in sorted(counts.items(), key=lambda pair: (pair[0] != choice, -pair[1])):
        synonyms = (name for name in merged if word and name and is_same_severity(word, name))
        name = next(synonyms, word)
        merged[name] = merged.get(name, 0) + results
    return merged


def _read_counters(
    connection: Connection, run_id: UUID, which: ResultFilter, up_to: int, newer: int
) -> Iterator[tuple[str, tuple[FacetValue, ...]]]:
    everything: dict[str, Counts] = {}
    for name, value, results in connection.execute(_EVERY_VALUE, {"run": run_id}):
        everything.setdefault(name, {})[exact_name(value)] = results
    for name in ("status", *_GROUP_COLUMNS, "class_"):
        rest = replace(which, **{name: None})
        counts = _count_by_facet(connection, run_id, name, rest)
        if counts is not None and newer:
            for value, results in _count_newer(connection, run_id, name, rest, up_to):
                if value in counts:
                    counts[value] -= results
        if name == "status":
            yield name, tuple(_status_values(connection, run_id, rest, counts))
        elif counts is None:
            values = everything.get(name, {})
            choice = getattr(which, name)
            order = [facet_value.value for facet_value in _order_values(name, values, choice)]
            yield name, tuple(FacetValue(value, None) for value in order)
        else:
            if (choice := getattr(which, name)) is not None:
                counts.setdefault(choice, 0)
            yield name, _order_values(name, counts, getattr(which, name))
    kinds = [
        facet_value.value
        for facet_value in _order_values("error", everything.get("error", {}), None)
    ]
    yield "error", tuple(FacetValue(kind, None) for kind in kinds)
    for name, ranges in _RANGES.items():
        offered = (*(bounds[0] for bounds in ranges), *([UNKNOWN] if name != "requests" else []))
        yield name, tuple(FacetValue(value, None) for value in offered)


def _count_by_facet(
    connection: Connection, run_id: UUID, name: str, rest: ResultFilter
) -> Counts | None:
    """The counts of the facet `name` within the rest of the filter, from the counters.

    `None` if the counters cannot give them.
    """
    in_groups = ResultFilter(
        status=rest.status, model=rest.model, suite=rest.suite, category=rest.category,
        severity=rest.severity, class_=rest.class_,
    )  # fmt: skip
    if rest != in_groups or (rest.status is not None and rest.class_ is not None):
        return None
    where, values = group_condition(rest)
    values |= {"run": run_id, "class": visible(rest.class_ or "")}
    if name == "status":
        if rest.class_ is not None:
            return None
        return dict(stored_states(connection, run_id, rest).items())
    if name == "class_" or rest.class_ is not None:
        if rest.status is not None:
            return None
        column = "class" if name == "class_" else _GROUP_COLUMNS[name]
        class_condition = "" if name == "class_" else "AND class = %(class)s "
        query = (
            f"SELECT {column}, sum(evaluations) FROM {_CLASSES} "
            "JOIN projections.run_groups USING (run_id, group_key) "
            f"WHERE run_id = %(run)s {class_condition}{where} GROUP BY 1"
        )
    elif rest.status in _OF_STATUS:
        query = (
            f"SELECT {_GROUP_COLUMNS[name]}, sum({_OF_STATUS[rest.status]}) "
            f"FROM projections.run_groups WHERE run_id = %(run)s {where} GROUP BY 1"
        )
    else:
        return None
    rows = connection.execute(query, values).fetchall()
    return {exact_name(value): int(results) for value, results in rows}


_CLASSES = "(SELECT run_id, group_key, class, evaluations FROM projections.run_classes) AS of_class"
"""Without the columns that `run_groups` also has."""
_OF_STATUS = {
    None: "finished",
    "failed": "failed",
    "passed": "passed",
    "scored": "scored - passed - failed",
    "awaiting": "awaiting",
    "lost": "lost",
    "unscored": "abandoned - awaiting - lost",
    "abandoned": "abandoned - awaiting",
}
"""The columns of `run_groups` that count each status."""


def _count_newer(
    connection: Connection, run_id: UUID, name: str, rest: ResultFilter, up_to: int
) -> Iterator[tuple[str | None, int]]:
    """(value of the facet `name`, number of matching results that ended after `up_to`)."""
    where, values = where_of(rest)
    for value, results in connection.execute(
        f"SELECT {_COLUMNS[name]}, count(*) {FROM} AND {PLACE} = ANY (%(places)s) "
        f"AND e.last_position > %(up_to)s {where} GROUP BY 1",
        values | {"run": run_id, "up_to": up_to, "places": places_of(rest.status)},
    ):
        yield (STATES[int(value)] if name == "status" else exact_name(value)), results


def _status_values(
    connection: Connection, run_id: UUID, rest: ResultFilter, counts: Counts | None
) -> Iterator[FacetValue]:
    """The values of the status facet. `counts`: the numbers by state, `None` if they are unknown.

    `unfinished` ones are counted from the rows, which are few.
    """
    whole = stored_states(connection, run_id, ResultFilter())
    whole["unfinished"] = count_unfinished(connection, run_id)
    for name in STATES:
        if counts is None:
            results = None if whole[name] else 0
        elif name == STATES[UNFINISHED]:
            results = count_unfinished(connection, run_id, rest)
        else:
            results = counts[name]
        if results is None or results:
            yield FacetValue(name, results)


_EVERY_VALUE = "".join(
    f"SELECT '{name}', {column}, sum(finished) FROM projections.run_groups "
    f"WHERE run_id = %(run)s GROUP BY {column} HAVING sum(finished) > 0 UNION ALL "
    for name, column in _GROUP_COLUMNS.items()
) + (
    "SELECT 'class_', class, sum(evaluations) FROM projections.run_classes "
    "WHERE run_id = %(run)s GROUP BY class HAVING sum(evaluations) > 0 UNION ALL "
    "SELECT 'error', kind, sum(times) FROM ("
    "SELECT kind, evaluations AS times FROM projections.run_unscored "
    "WHERE run_id = %(run)s AND unscored_as <> 'awaiting_people' UNION ALL "
    "SELECT kind, requests FROM projections.run_errors WHERE run_id = %(run)s) AS said "
    "GROUP BY kind HAVING sum(times) > 0"
)
"""Every value of the facets in the run's results; kinds of errors also from failed requests."""
