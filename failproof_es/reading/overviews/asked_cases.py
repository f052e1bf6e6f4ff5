"""Suites and cases as they were ever asked, from the rows that the projections keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from failproof_es.store.reading.reader import Connection
from projections.protocol import exact_text, visible

MOST_VERSIONS = 20
"""How many other cases of the same name are listed."""
MOST_RUNS = 40
"""How many runs a trend has: the newest."""

_SUITES = """
SELECT suite_id, count(DISTINCT case_id), count(*), min(position)
FROM projections.prompts WHERE %(after)s::text IS NULL OR suite_id > %(after)s
GROUP BY suite_id ORDER BY suite_id LIMIT %(limit)s
"""
_RUNS_OF_SUITES = """
SELECT g.suite_id, count(DISTINCT g.run_id), max(r.run_number), max(r.started_at)
FROM projections.run_groups AS g JOIN projections.runs AS r USING (run_id)
WHERE g.suite_id = ANY (%s) GROUP BY g.suite_id
"""
_COUNT_SUITES = "SELECT count(DISTINCT suite_id) FROM projections.prompts"
_CHOSEN = (
    "(%(suite)s::text IS NULL OR suite_id = %(suite)s) AND (%(text)s::text IS NULL "
    "OR strpos(lower(case_id), lower(%(text)s)) > 0 "
    "OR starts_with(prompt_id::text, lower(%(text)s)))"
)
_CASES = f"""
SELECT prompt_id, suite_id, case_id, category, label, severity, position
FROM projections.prompts WHERE {_CHOSEN} AND (%(after)s::text IS NULL
    OR (case_id, suite_id, prompt_id) > (%(after)s, %(after_suite)s, %(after_id)s::uuid))
ORDER BY case_id, suite_id, prompt_id LIMIT %(limit)s
"""
_COUNT_CASES = f"SELECT count(*) FILTER (WHERE {_CHOSEN}), count(*) FROM projections.prompts"
_VERSIONS = """
SELECT prompt_id, suite_id, case_id, category, label, severity, position
FROM projections.prompts WHERE suite_id = %s AND case_id = %s AND prompt_id <> %s
ORDER BY position DESC LIMIT %s
"""
_RATES = """
SELECT model_key, count(DISTINCT run_id), count(*), count(*) FILTER (WHERE passed),
    count(*) FILTER (WHERE NOT passed), count(*) FILTER (WHERE status = 'abandoned')
FROM projections.evaluations WHERE prompt_id = %s AND counted GROUP BY model_key ORDER BY model_key
"""
_TREND = """
SELECT model_key, run_number, passed, failed FROM (
    SELECT e.model_key, r.run_number, count(*) FILTER (WHERE e.passed) AS passed,
        count(*) FILTER (WHERE NOT e.passed) AS failed,
        row_number() OVER (PARTITION BY e.model_key ORDER BY r.run_number DESC) AS place
    FROM projections.evaluations AS e JOIN projections.runs AS r USING (run_id)
    WHERE e.prompt_id = %s AND e.counted GROUP BY e.model_key, r.run_number
) AS runs WHERE place <= %s ORDER BY model_key, run_number
"""
_ASKED = """
SELECT r.run_number, r.name, r.started_at, e.evaluation_id, e.model_key, e.repetition, e.status,
    e.passed, e.primary_class, e.latency_ms, e.last_position
FROM projections.evaluations AS e JOIN projections.runs AS r USING (run_id)
WHERE e.prompt_id = %(prompt)s AND e.counted AND (%(before)s::bigint IS NULL
    OR r.run_number < %(before)s
    OR (r.run_number = %(before)s
        AND (e.model_key, e.repetition) > (%(model)s, %(repetition)s)))
ORDER BY r.run_number DESC, e.model_key, e.repetition LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class AskedSuite:
    """A suite of which a case is stored."""

    suite: str
    cases: int
    versions: int
    """Different cases; those of one name count each."""
    runs: int
    """Runs in which an evaluation of it is finished."""
    newest_run: int | None
    newest_started_at: datetime | None
    first_position: int
    """The event that stored its first case."""


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A case as it is listed."""

    prompt_id: UUID
    suite: str
    case: str
    category: str | None
    label: str | None
    severity: str | None
    position: int
    """The event that stored it."""


@dataclass(frozen=True, slots=True)
class CaseRate:
    """How one model did on a case, over all runs."""

    model: str
    runs: int
    evaluations: int
    passed: int
    failed: int
    abandoned: int


@dataclass(frozen=True, slots=True)
class RunRate:
    """How one model did on a case in one run."""

    run_number: int
    passed: int
    failed: int


@dataclass(frozen=True, slots=True)
class AskedEvaluation:
    """One time that a case was asked."""

    run_number: int
    run_name: str
    started_at: datetime
    evaluation_id: UUID
    model: str
    repetition: int
    status: str
    passed: bool | None
    primary: str | None
    latency_ms: float | None
    last_position: int

    @property
    def key(self) -> tuple[int, str, int]:
        """Where it stands in the list."""
        return self.run_number, visible(self.model), self.repetition


def list_suites(
    connection: Connection, *, after: str | None = None, limit: int | None = None
) -> Iterator[AskedSuite]:
    """The suites by name, after the one with this name."""
    rows = connection.execute(_SUITES, {"after": after, "limit": limit}).fetchall()
    names = [name for name, *_ in rows]
    asked = {name: told for name, *told in connection.execute(_RUNS_OF_SUITES, (names,))}
    for name, cases, versions, position in rows:
        runs, newest, started = asked.get(name, (0, None, None))
        yield AskedSuite(exact_text(name), cases, versions, runs, newest, started, position)


def count_suites(connection: Connection) -> int:
    """How many suites there are."""
    (found,) = connection.execute(_COUNT_SUITES).fetchone() or (0,)
    return int(found)


def list_cases(
    connection: Connection,
    *,
    suite: str | None = None,
    text: str | None = None,
    after: tuple[str, str, UUID] | None = None,
    limit: int | None = None,
) -> Iterator[StoredCase]:
    """Cases by name, of one suite or with this text in the name, after the one with this key."""
    case, of, prompt = after or (None, None, None)
    wanted = _chosen(suite, text) | {
        "after": case, "after_suite": of, "after_id": prompt, "limit": limit,
    }  # fmt: skip
    with connection.cursor("stored_cases") as rows:
        rows.execute(_CASES, wanted)
        for row in rows:
            yield _case(row)


def count_cases(
    connection: Connection, *, suite: str | None = None, text: str | None = None
) -> tuple[int, int]:
    """How many cases the filter leaves, and how many there are."""
    row = connection.execute(_COUNT_CASES, _chosen(suite, text)).fetchone()
    return (0, 0) if row is None else (row[0], row[1])


def versions_of(connection: Connection, case: StoredCase) -> tuple[StoredCase, ...]:
    """Other cases of the same name in the same suite, the newest first, some of them at most."""
    named = (visible(case.suite), visible(case.case), case.prompt_id, MOST_VERSIONS)
    return tuple(map(_case, connection.execute(_VERSIONS, named)))


def rates_of(connection: Connection, prompt: UUID) -> tuple[CaseRate, ...]:
    """How each model did on a case."""
    rows = connection.execute(_RATES, (prompt,))
    return tuple(CaseRate(exact_text(model), *numbers) for model, *numbers in rows)


def trend_of(connection: Connection, prompt: UUID) -> dict[str, tuple[RunRate, ...]]:
    """By model the newest runs that asked the case, oldest first."""
    found: dict[str, tuple[RunRate, ...]] = {}
    for model, number, passed, failed in connection.execute(_TREND, (prompt, MOST_RUNS)):
        point = RunRate(number, passed, failed)
        found[exact_text(model)] = (*found.get(exact_text(model), ()), point)
    return found


def list_asked(
    connection: Connection,
    prompt: UUID,
    *,
    before: tuple[int, str, int] | None = None,
    limit: int | None = None,
) -> Iterator[AskedEvaluation]:
    """Every time that a case was asked, the newest run first, after the one with this key."""
    number, model, repetition = before or (None, None, None)
    wanted = {
        "prompt": prompt, "before": number, "model": model, "repetition": repetition,
        "limit": limit,
    }  # fmt: skip
    with connection.cursor("asked_evaluations") as rows:
        rows.execute(_ASKED, wanted)
        for run, name, started, evaluation, key, nth, status, passed, primary, ms, last in rows:
            yield AskedEvaluation(
                run, exact_text(name), started, evaluation, exact_text(key), nth, status, passed,
                primary and exact_text(primary), ms, last,
            )  # fmt: skip


def _chosen(suite: str | None, text: str | None) -> dict[str, Any]:
    return {"suite": suite and visible(suite), "text": text and visible(text)}


def _case(row: Sequence[Any]) -> StoredCase:
    prompt, *words, position = row
    suite, case, category, label, severity = (word and exact_text(word) for word in words)
    return StoredCase(prompt, suite, case, category, label, severity, position)
