"""The results of a run, those that need attention first: chosen, counted, and a page at a time.

They are read from the rows of the projections. What is listed has ended, so it never changes:
with a position of the log up to which is read, a list is the same whenever it is read. A page
begins after the key of the last row of the one before, and costs the same however deep it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

import orjson

from failproof_es.store.reading.reader import Connection
from projections.protocol import exact_text, visible

STATES = ("failed", "lost", "unscored", "awaiting", "scored", "passed", "running")
"""How an evaluation ended, in the order in which results are listed.

`unscored`: abandoned otherwise. `scored`: with a score, and no pass mark.
"""
_RUNNING = STATES.index("running")
_STATUSES = {name: (place,) for place, name in enumerate(STATES)} | {"abandoned": (1, 2, 3)}
PLACE = (
    "(CASE WHEN NOT e.passed THEN 0 WHEN e.lost THEN 1 WHEN e.awaiting_review THEN 3 "
    "WHEN e.status = 'abandoned' THEN 2 WHEN e.status <> 'scored' THEN 6 "
    "WHEN e.passed IS NULL THEN 4 ELSE 5 END)"
)
"""The place in `STATES`. The index `evaluations_order_idx` has the same expression."""

LATENCIES = (("0-500", 0, 500), ("500-2000", 500, 2_000), ("2000-10000", 2_000, 10_000),
             ("10000-", 10_000, None))  # fmt: skip
"""Ranges of milliseconds: each with its first value, without its last."""
COSTS = (("0-0.001", 0, Decimal("0.001")), ("0.001-0.01", Decimal("0.001"), Decimal("0.01")),
         ("0.01-0.1", Decimal("0.01"), Decimal("0.1")), ("0.1-", Decimal("0.1"), None))  # fmt: skip
"""Ranges of US dollars."""
ATTEMPTS = (("0-1", 0, 2), ("2", 2, 3), ("3-5", 3, 6), ("6-", 6, None))
"""Ranges of requests sent."""
UNKNOWN = "unknown"
"""The range of what is not known."""
LARGE = 50_000
"""In runs that plan more, what only the rows could tell is not counted."""
_EXCERPT = 400
_NUL = r"replace({0}::text, '\u0000', '\ufffd')::json #>> '{{}}'"
_TEXTS = tuple(_NUL.format(f"e.{name}") for name in ("response", "reason", "error_message"))


@dataclass(frozen=True, slots=True)
class ResultFilter:
    """Which results are listed: those of which everything holds that is not `None`."""

    status: str | None = None
    """One of `STATES`, or `abandoned`. Otherwise all that ended."""
    model: str | None = None
    suite: str | None = None
    category: str | None = None
    severity: str | None = None
    primary: str | None = None
    """The class."""
    tag: str | None = None
    error: str | None = None
    """The kind of the error that no later answer made good."""
    latency: str | None = None
    """A range of `LATENCIES`, or `UNKNOWN`; so the next two."""
    cost: str | None = None
    attempts: str | None = None
    text: str | None = None
    """In the case's id, the answer, the reason or the error, in any case; or the id's beginning."""

    @property
    def chooses(self) -> bool:
        """Whether any result could be left out."""
        return self != ResultFilter()


EVERY_RESULT = ResultFilter()


class ResultKey(NamedTuple):
    """Where a result stands in the list."""

    place: int
    last_position: int
    evaluation_id: UUID


@dataclass(frozen=True, slots=True)
class ListedResult:
    """One result as a list shows it. What is cut says so."""

    evaluation_id: UUID
    suite_id: str | None
    case_id: str | None
    category: str | None
    severity: str | None
    model_key: str
    repetition: int
    state: str
    """One of `STATES`."""
    primary: str | None
    reason: str | None
    """Its beginning."""
    error_kind: str | None
    error_message: str | None
    """Its beginning."""
    answer: str | None
    """Its beginning."""
    answer_cut: bool
    """Whether the answer goes on."""
    accuracy: float | None
    attempts: int
    retries: int
    latency_ms: float | None
    cost_usd: float | None
    """`None` where it is not known."""
    finished_at: datetime | None
    last_position: int
    """The position of its newest event in the log."""

    @property
    def key(self) -> ResultKey:
        """Where it stands in the list."""
        return ResultKey(STATES.index(self.state), self.last_position, self.evaluation_id)


@dataclass(frozen=True, slots=True)
class ResultNumbers:
    """How many results there are."""

    total: int
    """All that ended up to the position."""
    matching: int
    """Those that the filter leaves; of `running` those that have not ended."""
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


_SELECTED = f"""
SELECT e.evaluation_id, p.suite_id, p.case_id, p.category, p.severity, e.model_key, e.repetition,
    {PLACE} AS place, e.primary_class, left(e.reason::text, {_EXCERPT}), e.error_kind,
    left(e.error_message::text, {_EXCERPT}), left(e.response::text, {_EXCERPT}),
    e.accuracy, e.attempts, e.retries, e.latency_ms, e.cost_usd, e.finished_at, e.last_position
"""
_FROM = (
    "FROM projections.evaluations AS e LEFT JOIN projections.prompts AS p USING (prompt_id) "
    "WHERE e.run_id = %(run)s AND e.counted "
)
_KEY = f"({PLACE}, e.last_position, e.evaluation_id)"


def list_results(
    connection: Connection,
    run_id: UUID,
    which: ResultFilter,
    *,
    up_to: int,
    after: ResultKey | None = None,
    limit: int | None = None,
    backwards: bool = False,
) -> Iterator[ListedResult]:
    """The results after a key, those that failed first; `backwards` those before it, from it on.

    Without a limit all of them, a few at a time.
    """
    where, values = _where(which)
    order = "DESC" if backwards else "ASC"
    left = limit
    while left is None or left > 0:
        page = 500 if left is None else min(left, 500)
        values |= {"run": run_id, "up_to": up_to, "limit": page}
        begins = ""
        if after is not None:
            begins = f"AND {_KEY} {'<' if backwards else '>'} (%(k0)s, %(k1)s, %(k2)s) "
            values |= {f"k{n}": part for n, part in enumerate(after)}
        rows = connection.execute(
            f"{_SELECTED} {_FROM} AND e.last_position <= %(up_to)s {where} {begins} "
            f"ORDER BY {PLACE} {order}, e.last_position {order}, e.evaluation_id {order} "
            "LIMIT %(limit)s",
            values,
        ).fetchall()
        found = [_listed(row) for row in rows]
        yield from found
        if len(rows) < page:
            return
        after = found[-1].key
        left = None if left is None else left - page


def count_results(
    connection: Connection, run_id: UUID, which: ResultFilter, *, up_to: int
) -> ResultNumbers:
    """How many results the list has, and how many of them the filter leaves."""
    where, values = _where(which)
    matches = where.removeprefix("AND ") or "true"
    found = connection.execute(
        f"SELECT count(*) FILTER (WHERE {PLACE} <> {_RUNNING} AND e.last_position <= %(up_to)s), "
        f"count(*) FILTER (WHERE e.last_position <= %(up_to)s AND ({matches})), "
        f"count(*) FILTER (WHERE {PLACE} = {_RUNNING}), "
        f"count(*) FILTER (WHERE {PLACE} <> {_RUNNING} AND e.last_position > %(up_to)s) {_FROM}",
        values | {"run": run_id, "up_to": up_to},
    ).fetchone()
    assert found is not None
    return ResultNumbers(*found)


def place_of(connection: Connection, evaluation_id: UUID) -> ResultKey | None:
    """Where an evaluation stands in the list of its run; `None` where it has no row."""
    row = connection.execute(
        f"SELECT {PLACE}, e.last_position, e.evaluation_id FROM projections.evaluations AS e "
        "WHERE e.evaluation_id = %s AND e.counted",
        (evaluation_id,),
    ).fetchone()
    return None if row is None else ResultKey(*row)


def facets_of(
    connection: Connection, run_id: UUID, *, planned: int
) -> dict[str, tuple[FacetValue, ...]]:
    """By each field of `ResultFilter` but `text` the values that occur in the run, most first.

    Those of ranges are in order.
    """
    found: dict[str, dict[str | None, int]] = {}
    for name, value, results in connection.execute(_STORED, {"run": run_id}):
        found.setdefault(name, {})[exact_name(value)] = results
    facets = {name: _most_first(found.get(name, {})) for name in _BY_COUNT}
    ranges = {"latency": LATENCIES, "cost": COSTS, "attempts": ATTEMPTS}
    if planned > LARGE:
        return facets | {
            "status": tuple(FacetValue(name, None) for name in STATES),
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
    states = by_row.get("status", {})
    facets["status"] = tuple(
        FacetValue(name, states[str(place)])
        for place, name in enumerate(STATES)
        if str(place) in states
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
_STORED = "".join(
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


def _ranges(column: str, known: Sequence[tuple[str, Any, Any]]) -> str:
    cases = " ".join(
        f"WHEN {column} < {below} THEN '{name}'" for name, _, below in known if below is not None
    )
    return f"CASE WHEN {column} IS NULL THEN '{UNKNOWN}' {cases} ELSE '{known[-1][0]}' END"


_ROW_ORDER = ("status", "error", "latency", "cost", "attempts")
_ROW_FACETS = {31 ^ (1 << (4 - n)): name for n, name in enumerate(_ROW_ORDER)}
"""What `grouping` says of each set: a bit for each column that was not grouped by."""
_BY_ROW = f"""
WITH told AS (
    SELECT ({PLACE})::text AS status, e.error_kind AS error,
        {_ranges("e.latency_ms", LATENCIES)} AS latency, {_ranges("e.cost_usd", COSTS)} AS cost,
        {_ranges("e.attempts", ATTEMPTS)} AS attempts
    FROM projections.evaluations AS e WHERE e.run_id = %(run)s AND e.counted
)
SELECT grouping(status, error, latency, cost, attempts), status, error, latency, cost, attempts,
    count(*), count(*) FILTER (WHERE status <> '{_RUNNING}')
FROM told GROUP BY GROUPING SETS ((status), (error), (latency), (cost), (attempts))
"""
_TAGS = f"""
SELECT tag, count(*) FROM projections.evaluations AS e
JOIN projections.prompts AS p USING (prompt_id)
CROSS JOIN LATERAL (SELECT DISTINCT replace(each.tag::text, '\\u0000', '\\ufffd')::json #>> '{{}}'
    FROM json_array_elements(p.tags) AS each (tag)) AS tags (tag)
WHERE e.run_id = %(run)s AND e.counted AND {PLACE} <> {_RUNNING} GROUP BY tag
"""


def _most_first(counts: Mapping[str | None, int]) -> tuple[FacetValue, ...]:
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0] is None, each[0] or ""))
    return tuple(FacetValue(value, int(results)) for value, results in ordered if results)


def _where(which: ResultFilter) -> tuple[str, dict[str, Any]]:
    """The condition, beginning with `AND`, and its values."""
    said: list[str] = []
    values: dict[str, Any] = {}
    if which.status is None:
        said.append(f"{PLACE} <> {_RUNNING}")
    else:
        said.append(f"{PLACE} = ANY (%(places)s)")
        values["places"] = list(_STATUSES.get(which.status, ()))
    for name, column in (
        ("model", "e.model_key"), ("suite", "p.suite_id"), ("category", "p.category"),
        ("severity", "p.severity"), ("primary", "e.primary_class"), ("error", "e.error_kind"),
    ):  # fmt: skip
        if (value := getattr(which, name)) is not None:
            said.append(f"{column} = %({name})s")
            values[name] = visible(value)
    for name, column, known in (
        ("latency", "e.latency_ms", LATENCIES), ("cost", "e.cost_usd", COSTS),
        ("attempts", "e.attempts", ATTEMPTS),
    ):  # fmt: skip
        if (value := getattr(which, name)) is not None:
            said.append(f"{_ranges(column, known)} = %({name})s")
            values[name] = value
    if which.tag is not None:
        said.append(
            "EXISTS (SELECT FROM json_array_elements(p.tags) AS each (tag) WHERE "
            r"replace(tag::text, '\u0000', '\ufffd')::json #>> '{}' = %(tag)s)"
        )
        values["tag"] = which.tag.replace("\0", "\ufffd")
    if which.text is not None:
        places = ("p.case_id", *_TEXTS)
        said.append(
            "("
            + " OR ".join(f"strpos(lower({each}), lower(%(text)s)) > 0" for each in places)
            + " OR starts_with(e.evaluation_id::text, lower(%(text)s)))"
        )
        values["text"] = which.text.replace("\0", "\ufffd")
    return "AND " + " AND ".join(said), values


def _listed(row: Sequence[Any]) -> ListedResult:
    answer, cut = beginning(row[12])
    return ListedResult(
        evaluation_id=row[0],
        suite_id=exact_name(row[1]),
        case_id=exact_name(row[2]),
        category=exact_name(row[3]),
        severity=exact_name(row[4]),
        model_key=exact_text(row[5]),
        repetition=row[6],
        state=STATES[row[7]],
        primary=exact_name(row[8]),
        reason=beginning(row[9])[0],
        error_kind=exact_name(row[10]),
        error_message=beginning(row[11])[0],
        answer=answer,
        answer_cut=cut,
        accuracy=row[13],
        attempts=row[14],
        retries=row[15],
        latency_ms=row[16],
        cost_usd=None if row[17] is None else float(row[17]),
        finished_at=row[18],
        last_position=row[19],
    )


def beginning(told: str | None) -> tuple[str | None, bool]:
    """The text of which this is the beginning of the JSON string, and whether it goes on."""
    if told is None:
        return None, False
    if len(told) < _EXCERPT:
        return orjson.loads(told), False
    for less in range(7):  # an escape may be cut in the middle
        try:
            text = orjson.loads(told[: len(told) - less] + '"')
        except ValueError:
            continue
        return text, True
    return "", True


def exact_name(text: str | None) -> str | None:
    return None if text is None else exact_text(text)
