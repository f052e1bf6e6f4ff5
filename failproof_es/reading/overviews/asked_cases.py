"""All stored suites and cases with their results over all runs, from the projections' rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from failproof_es.store.reading.reader import Connection
from failproof_es.support.document import KEYS
from projections.protocol import exact_text, visible

MOST_VERSIONS = 20
"""Maximum number of listed cases of the same name."""
MOST_RUNS = 40
"""Maximum number of runs in a trend: the newest ones."""

MOST_COUNTED = 50_000
"""Maximum number of suites or cases that a page counts."""
MOST_OF_SUITE = 2_000
"""Maximum number of cases of each suite that the list of suites counts."""
MOST_TIMES = 2_000
"""Maximum number of evaluations of a case that are read for its rates: the newest ones."""
LOOKED_AT = 50_000
"""Number of cases that a page scans for a text."""

_NAMES = """
WITH RECURSIVE names AS (
    (SELECT suite_id, 1 AS place FROM projections.prompts
        WHERE %(after)s::text IS NULL OR suite_id > %(after)s ORDER BY suite_id LIMIT 1)
    UNION ALL
    SELECT following.suite_id, names.place + 1 FROM names
    CROSS JOIN LATERAL (
        SELECT p.suite_id FROM projections.prompts AS p WHERE p.suite_id > names.suite_id
        ORDER BY p.suite_id LIMIT 1
    ) AS following
    WHERE %(limit)s::bigint IS NULL OR names.place < %(limit)s
)
"""
"""One index lookup for each name, instead of one for each case."""
_SUITES = f"{_NAMES} SELECT suite_id FROM names ORDER BY place"
_COUNT_SUITES = f"{_NAMES} SELECT count(*) FROM names"
_CASES_OF_SUITES = """
SELECT given.suite_id, counted.cases, counted.versions
FROM unnest(%(suites)s::text[]) AS given (suite_id)
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE new) AS cases, count(*) AS versions FROM (
        SELECT lag(case_id) OVER (ORDER BY case_id) IS DISTINCT FROM case_id AS new FROM (
            SELECT p.case_id FROM projections.prompts AS p WHERE p.suite_id = given.suite_id
            ORDER BY p.case_id LIMIT %(most)s
        ) AS near
    ) AS named
) AS counted
"""
_FIRST_OF_SUITES = """
SELECT suite_id, min(position) FROM projections.prompts WHERE suite_id = ANY (%s) GROUP BY suite_id
"""
_RUNS_OF_SUITES = """
SELECT asked.suite_id, count(*), max(r.run_number), max(r.started_at)
FROM (SELECT DISTINCT suite_id, run_id FROM projections.run_groups WHERE suite_id = ANY (%s))
    AS asked
JOIN projections.runs AS r USING (run_id) GROUP BY asked.suite_id
"""
_COLUMNS = "prompt_id, suite_id, case_id, category, label, severity, position"
_ID_MATCHES = (
    "(strpos(lower(case_id), lower(%(text)s)) > 0 OR starts_with(prompt_id::text, lower(%(text)s)))"
)
_TEXT = f"AND {_ID_MATCHES}"
_NEAR = "SELECT {} FROM projections.prompts WHERE true {}"
_OF_ALL = "AND (case_id, suite_id, prompt_id) > (%(after)s, %(after_suite)s, %(after_id)s::uuid)"
_OF_SUITE = "AND (case_id, prompt_id) > (%(after)s, %(after_id)s::uuid)"
_ORDER = "ORDER BY case_id, suite_id, prompt_id"
_COUNT = "SELECT count(*) FROM ({} LIMIT %(most)s) AS counted"
_VERSIONS = """
SELECT prompt_id, suite_id, case_id, category, label, severity, position
FROM projections.prompts WHERE suite_id = %s AND case_id = %s AND prompt_id <> %s
ORDER BY position DESC LIMIT %s
"""
_NEWEST = """
SELECT {} FROM projections.evaluations WHERE prompt_id = %(prompt)s AND counted
ORDER BY last_position DESC LIMIT %(most)s
"""
_TIMES = f"SELECT count(*) FROM ({_NEWEST.format('')}) AS counted"
_OF_RATES = "model_key, run_id, passed, status, awaiting_review, source_run_id IS NULL AS own"
_RATES = f"""
SELECT model_key, count(DISTINCT run_id) FILTER (WHERE own), count(*) FILTER (WHERE own),
    count(*) FILTER (WHERE own AND passed), count(*) FILTER (WHERE own AND NOT passed),
    count(*) FILTER (WHERE own AND status = 'abandoned' AND NOT awaiting_review),
    count(*) FILTER (WHERE own AND awaiting_review), count(*) FILTER (WHERE NOT own)
FROM ({_NEWEST.format(_OF_RATES)}) AS newest
GROUP BY model_key ORDER BY model_key
"""
"""A carried-over evaluation is the same answer again: it is counted in its original run."""
_TREND = f"""
SELECT model_key, run_number, passed, failed FROM (
    SELECT e.model_key, r.run_number, count(*) FILTER (WHERE e.passed) AS passed,
        count(*) FILTER (WHERE NOT e.passed) AS failed,
        row_number() OVER (PARTITION BY e.model_key ORDER BY r.run_number DESC) AS place
    FROM ({_NEWEST.format("model_key, run_id, passed")}) AS e
    JOIN projections.runs AS r USING (run_id) GROUP BY e.model_key, r.run_number
) AS runs WHERE place <= %(runs)s ORDER BY model_key, run_number
"""
_CASE_EVALUATIONS = """
SELECT r.run_number, r.name, r.started_at, e.evaluation_id, e.model_key, e.repetition, e.status,
    e.passed, e.class, e.latency_ms, e.last_position, e.source_run_id IS NOT NULL
FROM projections.evaluations AS e JOIN projections.runs AS r USING (run_id)
WHERE e.prompt_id = %(prompt)s AND e.counted AND e.last_position < %(before)s
ORDER BY e.last_position DESC LIMIT %(limit)s
"""
_BEYOND = 2**63 - 1


@dataclass(frozen=True, slots=True)
class AskedSuite:
    """A suite with at least one stored case."""

    suite: str
    cases: int
    versions: int
    """Number of stored cases; several can have the same name."""
    more: bool
    """Whether it has more than `MOST_OF_SUITE` versions, of which no more are counted."""
    runs: int
    """Number of runs with a finished evaluation of the suite."""
    newest_run: int | None
    newest_started_at: datetime | None
    first_position: int | None
    """The position of the event that stored its first case; `None` if `more`."""


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A stored case in a list."""

    prompt_id: UUID
    suite: str
    case: str
    category: str | None
    label: str | None
    severity: str | None
    position: int
    """The position of the event that stored it."""

    @property
    def key(self) -> tuple[str, str, UUID]:
        """Its place in the order of the list."""
        return visible(self.case), visible(self.suite), self.prompt_id


@dataclass(frozen=True, slots=True)
class CaseRate:
    """Results on a case over all runs of models with one key, each answer counted once.

    Models that share a key are added up, even with other versions or settings.
    """

    model: str
    runs: int
    evaluations: int
    passed: int
    failed: int
    abandoned: int
    awaiting: int
    carried_over: int
    """Carried-over evaluations, which the other counts exclude."""


@dataclass(frozen=True, slots=True)
class RunRate:
    """One model's results on a case in one run."""

    run_number: int
    passed: int
    failed: int


@dataclass(frozen=True, slots=True)
class AskedEvaluation:
    """One evaluation of a case, in the list of the case."""

    __pydantic_config__ = KEYS

    run_number: int
    run_name: str
    started_at: datetime
    evaluation_id: UUID
    model: str
    repetition: int
    status: str
    passed: bool | None
    class_: str | None
    latency_ms: float | None
    last_position: int
    carried_over: bool
    """Whether it was carried over from another run."""


class RowCount(NamedTuple):
    """A number of rows; with `more`, counting stopped there, and there are more."""

    rows: int
    more: bool


def list_suites(
    connection: Connection, *, after: str | None = None, limit: int | None = None
) -> Iterator[AskedSuite]:
    """The suites in order of name, at most `limit`; with `after`, those after this name."""
    parameters = {"after": after, "limit": limit}
    names = [name for (name,) in connection.execute(_SUITES, parameters)]
    counted = {
        name: (min(cases, MOST_OF_SUITE), min(versions, MOST_OF_SUITE), versions > MOST_OF_SUITE)
        for name, cases, versions in connection.execute(
            _CASES_OF_SUITES, {"suites": names, "most": MOST_OF_SUITE + 1}
        )
    }
    small = [name for name, (_, _, more) in counted.items() if not more]
    first = dict(connection.execute(_FIRST_OF_SUITES, (small,)).fetchall())
    runs_by_suite = {name: row for name, *row in connection.execute(_RUNS_OF_SUITES, (names,))}
    for name in names:
        runs, newest, started = runs_by_suite.get(name, (0, None, None))
        yield AskedSuite(exact_text(name), *counted[name], runs, newest, started, first.get(name))


def count_suites(connection: Connection) -> RowCount:
    """Number of suites, counted up to `MOST_COUNTED`."""
    return _count_rows(connection, _COUNT_SUITES, {"after": None}, MOST_COUNTED, "limit")


def list_cases(
    connection: Connection,
    *,
    suite: str | None = None,
    text: str | None = None,
    after: tuple[str, str, UUID] | None = None,
) -> Iterator[StoredCase]:
    """All cases in order of name; with `after`, those after this `StoredCase.key`.

    `suite` is the exact name of a suite. `text` is a part of the case's name in any case, or the
    beginning of its stream id. Needs a transaction, because it reads with a server-side cursor.
    """
    near, parameters = _cases_after(suite, after)
    where = "" if text is None else _TEXT
    with connection.cursor("stored_cases") as rows:
        statement = f"{near.format(_COLUMNS, where)} {_ORDER}"
        rows.execute(statement.encode(), parameters | {"text": text and visible(text)})
        for row in rows:
            yield _case(row)


class CaseBatch(NamedTuple):
    """A page of cases."""

    rows: tuple[StoredCase, ...]
    following: tuple[str, str, UUID] | None
    """The key after which the next page begins; `None` for the last page."""
    looked_at: int | None
    """Number of cases after which the scan for the text stopped; `None` if it was not stopped."""


def page_of_cases(
    connection: Connection,
    *,
    suite: str | None = None,
    text: str | None = None,
    after: tuple[str, str, UUID] | None = None,
    limit: int,
) -> CaseBatch:
    """At most `limit` cases in order of name; with `after`, those after this `StoredCase.key`.

    `suite` and `text` as in `list_cases`. A page scans only the next `LOOKED_AT` cases for a text,
    so that its cost is bounded. A page whose scan was stopped has a following page, even if it has
    no row.
    """
    near, parameters = _cases_after(suite, after)
    parameters |= {"text": text and visible(text), "most": LOOKED_AT, "limit": limit + 1}
    keys = f"{near.format('case_id, suite_id, prompt_id', '')} {_ORDER}"
    if text is None:
        statement = f"{near.format(_COLUMNS, '')} {_ORDER} LIMIT %(limit)s"
    else:
        statement = (
            f"SELECT {_COLUMNS} FROM (SELECT prompt_id FROM ({keys} LIMIT %(most)s) AS near "
            f"WHERE {_ID_MATCHES} {_ORDER} LIMIT %(limit)s) AS named "
            f"JOIN projections.prompts USING (prompt_id) {_ORDER}"
        )
    cases = tuple(map(_case, connection.execute(statement.encode(), parameters)))
    if len(cases) > limit:
        return CaseBatch(cases[:limit], cases[limit - 1].key, None)
    if text is None:
        return CaseBatch(cases, None, None)
    last = connection.execute(
        f"{keys} OFFSET %(most)s LIMIT 1".encode(), parameters | {"most": LOOKED_AT - 1}
    ).fetchone()
    return CaseBatch(cases, last, None if last is None else LOOKED_AT)


def count_cases(
    connection: Connection, *, suite: str | None = None, text: str | None = None
) -> tuple[RowCount | None, RowCount]:
    """Number of cases that match (`suite` and `text` as in `list_cases`), and number of all cases.

    Each is counted up to `MOST_COUNTED`. With a text, the first is `None` if more cases than that
    would have to be scanned.
    """
    every = _count_rows(connection, _COUNT.format(_NEAR.format("", "")), {}, MOST_COUNTED)
    if suite is None and text is None:
        return every, every
    near, parameters = _cases_after(suite, None)
    matching = _count_rows(connection, _COUNT.format(near.format("", "")), parameters, MOST_COUNTED)
    if text is None:
        return matching, every
    if matching.more:
        return None, every
    parameters["text"] = visible(text)
    return _count_rows(
        connection, _COUNT.format(near.format("", _TEXT)), parameters, MOST_COUNTED
    ), every


def _cases_after(
    suite: str | None, after: tuple[str, str, UUID] | None
) -> tuple[str, dict[str, Any]]:
    """SQL for the cases of a suite, or of all, after a key, and the values of its named parameters.

    The statement has two `{}`: for the columns and for a further condition that begins with `AND`.
    """
    parameters: dict[str, Any] = {}
    condition = "{}"
    if after is not None:
        parameters |= dict(zip(("after", "after_suite", "after_id"), after, strict=True))
        condition += f" {_OF_ALL if suite is None else _OF_SUITE}"
    if suite is not None:
        parameters["suite"] = visible(suite)
        condition += " AND suite_id = %(suite)s"
    return _NEAR.format("{}", condition), parameters


def _count_rows(
    connection: Connection,
    statement: str,
    parameters: dict[str, Any],
    most: int,
    name: str = "most",
) -> RowCount:
    row = connection.execute(statement.encode(), parameters | {name: most + 1}).fetchone()
    rows = 0 if row is None else int(row[0])
    return RowCount(min(rows, most), rows > most)


def versions_of(connection: Connection, case: StoredCase) -> tuple[StoredCase, ...]:
    """Other cases of the same name in the same suite, the newest first, at most `MOST_VERSIONS`."""
    parameters = (visible(case.suite), visible(case.case), case.prompt_id, MOST_VERSIONS)
    return tuple(map(_case, connection.execute(_VERSIONS, parameters)))


def times_asked(connection: Connection, prompt: UUID) -> RowCount:
    """Number of evaluations of the case with this stream id, counted up to `MOST_TIMES`."""
    return _count_rows(connection, _TIMES, {"prompt": prompt}, MOST_TIMES)


def rates_of(connection: Connection, prompt: UUID) -> tuple[CaseRate, ...]:
    """Each model's results on the case with this stream id, by model key.

    From the case's newest `MOST_TIMES` evaluations.
    """
    rows = connection.execute(_RATES, {"prompt": prompt, "most": MOST_TIMES})
    return tuple(CaseRate(exact_text(model), *numbers) for model, *numbers in rows)


def trend_of(connection: Connection, prompt: UUID) -> dict[str, tuple[RunRate, ...]]:
    """By model key, its latest runs of the case with this stream id, in chronological order.

    At most `MOST_RUNS`, from the case's newest `MOST_TIMES` evaluations.
    """
    rates: dict[str, tuple[RunRate, ...]] = {}
    parameters = {"prompt": prompt, "most": MOST_TIMES, "runs": MOST_RUNS}
    for model, number, passed, failed in connection.execute(_TREND, parameters):
        point = RunRate(number, passed, failed)
        rates[exact_text(model)] = (*rates.get(exact_text(model), ()), point)
    return rates


def list_asked(
    connection: Connection,
    prompt: UUID,
    *,
    before: int | None = None,
    limit: int | None = None,
) -> Iterator[AskedEvaluation]:
    """The evaluations of the case with this stream id, by their last event, the newest first.

    At most `limit`; with `before`, only those whose last event is before this position. Needs a
    transaction, because it reads with a server-side cursor.
    """
    parameters = {"prompt": prompt, "before": _BEYOND if before is None else before, "limit": limit}
    with connection.cursor("asked_evaluations") as rows:
        rows.execute(_CASE_EVALUATIONS, parameters)
        for run, name, started, evaluation, key, nth, status, passed, class_, *rest in rows:
            yield AskedEvaluation(
                run, exact_text(name), started, evaluation, exact_text(key), nth, status, passed,
                class_ and exact_text(class_), *rest,
            )  # fmt: skip


def _case(row: Sequence[Any]) -> StoredCase:
    prompt, *words, position = row
    suite, case, category, label, severity = (word and exact_text(word) for word in words)
    return StoredCase(prompt, suite, case, category, label, severity, position)
