"""The results of a run, filtered, page by page, those that need attention first.

They are read from the rows of the projections. Listed results have ended and never change: up to a
fixed position of the log, a list is always the same. A page begins after the key of the last row of
the page before, and its cost does not depend on its depth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import orjson

from failproof_es.core.people import PeopleOutcome
from failproof_es.reading.result_conditions import (
    BY_PEOPLE,
    PLACE,
    SEVERITY_RANK,
    STATES,
    STATUSES,
    UNFINISHED,
    Conditions,
    conditions_sql,
)
from failproof_es.store.reading.reader import Connection
from failproof_es.support.document import KEYS
from projections.protocol import exact_text

LOOKED_AT = 20_000
"""Number of results that a page scans for a filter that may match few."""
LOOKED_INTO = 4_000
"""Number of results that a page scans for a text."""
_EXCERPT = 400


@dataclass(frozen=True, slots=True)
class ResultFilter:
    """The filter of listed results: a result must match every field that is not `None`."""

    status: str | None = None
    """One of `STATES`, or `abandoned` for `lost` and `unscored`; `None`: all that ended."""
    model: str | None = None
    suite: str | None = None
    category: str | None = None
    severity: str | None = None
    class_: str | None = None
    """The class."""
    tag: str | None = None
    error: str | None = None
    """The kind of the last error without a later good answer."""
    latency: str | None = None
    """The name of a range in `result_conditions.LATENCIES`, or `UNKNOWN`; likewise the next two."""
    cost: str | None = None
    requests: str | None = None
    text: str | None = None
    """Text to search for, like `Conditions.text`."""

    @property
    def conditions(self) -> Conditions:
        """The filter as conditions, one name each."""
        named = {name: getattr(self, name) for name in _NAMED}
        return Conditions(
            {name: (one,) for name, one in named.items() if one is not None}, self.text
        )

    @property
    def chooses(self) -> bool:
        """Whether the filter can exclude a result."""
        return self.conditions.choose

    @property
    def seldom(self) -> bool:
        """Whether matches may be rare: the filter has more than the indexed status."""
        return replace(self, status=None) != ResultFilter()


_NAMED = tuple(one.name for one in fields(ResultFilter) if one.name != "text")
EVERY_RESULT = ResultFilter()


class ResultKey(NamedTuple):
    """The place of a result in the list: index of its state in `STATES`, last position, id.

    In a list by severity its `severity_rank` comes after the state; in others it is 0.
    """

    place: int
    last_position: int
    evaluation_id: UUID
    severity: int = 0


@dataclass(frozen=True, slots=True)
class ListedResult:
    """One result in a list, with its texts cut."""

    __pydantic_config__ = KEYS

    evaluation_id: UUID
    suite_id: str | None
    case_id: str | None
    category: str | None
    severity: str | None
    model_key: str
    repetition: int
    state: str
    """One of `STATES`."""
    by_people: PeopleOutcome | None
    """People's decision; `None` if it was not left to them."""
    class_: str | None
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
    carried_over: bool
    """Whether it happened in another run. Its requests and its cost are that run's."""
    requests: int
    retries: int
    latency_ms: float | None
    cost_usd: float | None
    """`None` if unknown."""
    finished_at: datetime | None
    last_position: int
    """The position of its newest event in the log."""

    @property
    def key(self) -> ResultKey:
        """Its place in the order of the list."""
        return ResultKey(STATES.index(self.state), self.last_position, self.evaluation_id)


SELECTED = f"""
SELECT e.evaluation_id, p.suite_id, p.case_id, p.category, p.severity, e.model_key, e.repetition,
    {PLACE} AS place, e.class, left(e.reason::text, {_EXCERPT}), e.error_kind,
    left(e.error_message::text, {_EXCERPT}), left(e.answer::text, {_EXCERPT}),
    e.accuracy, e.requests, e.retries, e.latency_ms, e.cost_usd, e.finished_at, e.last_position,
    e.source_run_id IS NOT NULL, e.awaiting_review,
    CASE WHEN e.awaiting_review THEN {BY_PEOPLE} END
"""
"""The columns of `build_result`; `e` is a row of `evaluations`, `p` one of `prompts`."""


@dataclass(frozen=True, slots=True)
class ResultPage:
    """A page of results."""

    rows: tuple[ListedResult, ...]
    following: ResultKey | None
    """The key after which the next page begins; `None` for the last page."""
    looked_at: int | None
    """Number of results after which the scan stopped; `None` if it was not stopped."""


def page_of_results(
    connection: Connection,
    run_id: UUID,
    which: ResultFilter,
    *,
    up_to: int,
    after: ResultKey | None = None,
    limit: int,
    backwards: bool = False,
    by_severity: bool = False,
) -> ResultPage:
    """At most `limit` results that match `which`, after the key `after`, or from the first one.

    With `backwards`, those before the key, in reverse order. `by_severity` puts the most severe
    results of a state first; it reads all results of the run, so that only runs that are not large
    are listed in this order. Only results whose last event is at or
    before the position `up_to` are listed. A filter that may match few scans only the next
    `LOOKED_AT` results (`LOOKED_INTO` for a text), so that the cost is bounded. A page whose scan
    was stopped has a following page, even if it has no row.
    """
    most = LOOKED_AT if which.text is None else LOOKED_INTO
    results, keys = _scan_results(
        connection, run_id, which, up_to, after, limit + 1, most, backwards, by_severity
    )
    if len(results) > limit:
        return ResultPage(tuple(results[:limit]), keys[limit - 1], None)
    key = None
    if which.seldom:
        key = key_at_distance(
            connection, run_id, which, up_to, after, most,
            backwards=backwards, by_severity=by_severity,
        )  # fmt: skip
    return ResultPage(tuple(results), key, None if key is None else most)


def list_results(
    connection: Connection,
    run_id: UUID,
    which: ResultFilter,
    *,
    up_to: int,
    by_severity: bool = False,
) -> Iterator[ListedResult]:
    """All results that match `which`, in the order of the list; reads 500 at a time.

    Only results whose last event is at or before the position `up_to` are listed.
    """
    after = None
    while True:
        results, keys = _scan_results(
            connection, run_id, which, up_to, after, 500, None, False, by_severity
        )
        yield from results
        if len(results) < 500:
            return
        after = keys[-1]


def read_listed(
    connection: Connection, evaluation_ids: Sequence[UUID], *, up_to: int
) -> list[ListedResult]:
    """The evaluations that have begun and had their last event at `up_to` or before."""
    rows = connection.execute(
        f"{SELECTED} FROM projections.evaluations AS e "
        "LEFT JOIN projections.prompts AS p USING (prompt_id) "
        "WHERE e.evaluation_id = ANY(%s) AND e.counted AND e.last_position <= %s",
        (evaluation_ids, up_to),
    )
    return [build_result(row) for row in rows]


def _scan_results(
    connection: Connection,
    run_id: UUID,
    which: ResultFilter,
    up_to: int,
    after: ResultKey | None,
    limit: int,
    most: int | None,
    backwards: bool,
    by_severity: bool,
) -> tuple[list[ListedResult], list[ResultKey]]:
    """At most `limit` matching results, as `scan_rows` finds them, and the key of each."""
    rows = scan_rows(
        connection, f"{SELECTED}, e.in_rank", run_id, which, up_to, after, limit, most,
        backwards=backwards, by_severity=by_severity,
    )  # fmt: skip
    results = [build_result(row) for row in rows]
    keys = [
        result.key._replace(severity=row[-1]) for result, row in zip(results, rows, strict=True)
    ]
    return results, keys


def scan_rows(
    connection: Connection,
    selected: str,
    run_id: UUID,
    which: ResultFilter,
    up_to: int,
    after: ResultKey | None,
    limit: int,
    most: int | None,
    *,
    backwards: bool = False,
    by_severity: bool = False,
) -> Sequence[Sequence[Any]]:
    """The columns `selected` of at most `limit` matching results among the next `most` after a key.

    `selected` is the SELECT of a statement with the aliases of `where_of`. `None` for `most` scans
    all; `after`, `backwards` and `by_severity` mean the same as in `page_of_results`.
    """
    near, values = _from_key(run_id, which, up_to, after, backwards, by_severity)
    where, more = where_of(which)
    direction = "DESC" if backwards else "ASC"
    order, rank = _order(direction, by_severity), SEVERITY_RANK if by_severity else "0"
    # The outer ORDER BY uses the place of the inner query, so that the planner sees the order:
    # otherwise it would read and sort all scanned rows instead of the first few.
    return connection.execute(
        f"{selected} FROM (SELECT e.*, {PLACE} AS in_place, {rank} AS in_rank {near} "
        f"ORDER BY {order} LIMIT %(most)s) AS e "
        f"LEFT JOIN projections.prompts AS p USING (prompt_id) WHERE true {where} "
        f"ORDER BY e.in_place {direction}, {f'e.in_rank {direction},' if by_severity else ''} "
        f"e.last_position {direction}, e.evaluation_id {direction} LIMIT %(limit)s",
        values | more | {"most": most, "limit": limit},
    ).fetchall()


def key_at_distance(
    connection: Connection,
    run_id: UUID,
    which: ResultFilter,
    up_to: int,
    after: ResultKey | None,
    number: int,
    *,
    backwards: bool = False,
    by_severity: bool = False,
) -> ResultKey | None:
    """The key of the `number`th result after a key, filtered by status only; `None` if there are
    fewer."""
    near, values = _from_key(run_id, which, up_to, after, backwards, by_severity)
    order = _order("DESC" if backwards else "ASC", by_severity)
    row = connection.execute(
        f"SELECT {key_columns(by_severity)} {near} ORDER BY {order} OFFSET %(most)s LIMIT 1",
        values | {"most": number - 1},
    ).fetchone()
    return None if row is None else ResultKey(*row)


def _ordered(by_severity: bool) -> list[str]:
    """The columns of the list's order."""
    return [PLACE, *([SEVERITY_RANK] if by_severity else []), "e.last_position", "e.evaluation_id"]


def _order(direction: str, by_severity: bool) -> str:
    return ", ".join(f"{column} {direction}" for column in _ordered(by_severity))


def key_columns(by_severity: bool) -> str:
    """The columns of a `ResultKey`."""
    rank = f", {SEVERITY_RANK}" if by_severity else ""
    return f"{PLACE}, e.last_position, e.evaluation_id{rank}"


def _from_key(
    run_id: UUID,
    which: ResultFilter,
    up_to: int,
    after: ResultKey | None,
    backwards: bool,
    by_severity: bool,
) -> tuple[str, dict[str, Any]]:
    """FROM and WHERE for the indexed part of the filter, and their values.

    The form of the conditions makes the planner enter the index at the key, however deep, and use
    its order. A condition on places next to one on a key with a place reads from the beginning of
    that place; an equality on one place sorts the rows.
    """
    places = places_of(which.status)
    values: dict[str, Any] = {"run": run_id, "up_to": up_to}
    begins = f"{PLACE} >= %(first)s"
    ends = f"{PLACE} <= %(last)s"
    if after is not None:
        not_over = after.place.__ge__ if backwards else after.place.__le__
        places = list(filter(not_over, places))
        values |= {f"k_{name}": part for name, part in after._asdict().items()}
        names = ["place", *(["severity"] if by_severity else []), "last_position", "evaluation_id"]
        key = f"({', '.join(_ordered(by_severity))})"
        bound = f"({', '.join(f'%(k_{name})s' for name in names)})"
        if after.place in places and backwards:
            ends = f"{key} < {bound}"
        elif after.place in places:
            begins = f"{key} > {bound}"
    values |= {"first": places[0], "last": places[-1]} if places else {"first": None, "last": None}
    cases = "LEFT JOIN projections.prompts AS p USING (prompt_id) " if by_severity else ""
    return (
        f"FROM projections.evaluations AS e {cases}WHERE e.run_id = %(run)s AND e.counted "
        f"AND {begins} AND {ends} AND e.last_position <= %(up_to)s ",
        values,
    )


def place_of(
    connection: Connection, evaluation_id: UUID, *, by_severity: bool = False
) -> ResultKey | None:
    """The key of an evaluation in the list of its run; `None` if the list does not have it."""
    row = connection.execute(
        f"SELECT {key_columns(by_severity)} FROM projections.evaluations AS e "
        "LEFT JOIN projections.prompts AS p USING (prompt_id) "
        "WHERE e.evaluation_id = %s AND e.counted",
        (evaluation_id,),
    ).fetchone()
    return None if row is None else ResultKey(*row)


def places_of(status: str | None) -> list[int]:
    """The consecutive indices in `STATES` for a status; without one, all but `UNFINISHED`."""
    if status is None:
        return [place for place in range(len(STATES)) if place != UNFINISHED]
    return [STATES.index(state) for state in STATUSES.get(status, ()) if state in STATES]


def where_of(which: ResultFilter) -> tuple[str, dict[str, Any]]:
    """`conditions_sql` for the filter's fields other than `status`."""
    return conditions_sql(replace(which, status=None).conditions)


def build_result(row: Sequence[Any]) -> ListedResult:
    """The result of a row with the columns of `SELECTED`."""
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
        by_people=row[22],
        class_=exact_name(row[8]),
        reason=beginning(row[9])[0],
        error_kind=exact_name(row[10]),
        error_message=beginning(row[11])[0],
        answer=answer,
        answer_cut=cut,
        accuracy=row[13],
        carried_over=row[20],
        requests=row[14],
        retries=row[15],
        latency_ms=row[16],
        cost_usd=None if row[17] is None else float(row[17]),
        finished_at=row[18],
        last_position=row[19],
    )


def beginning(json_text: str | None) -> tuple[str | None, bool]:
    """The text of a JSON string that was cut to `_EXCERPT` characters, and whether it was cut.

    `json_text` begins with its quote. `None` gives `(None, False)`.
    """
    if json_text is None:
        return None, False
    if len(json_text) < _EXCERPT:
        return orjson.loads(json_text), False
    for less in range(7):  # an escape may be cut in the middle
        try:
            text = orjson.loads(json_text[: len(json_text) - less] + '"')
        except ValueError:
            continue
        return text, True
    return "", True


def exact_name(text: str | None) -> str | None:
    return None if text is None else exact_text(text)
