"""The conditions that choose results, each said once: for rows in SQL, for outcomes in Python.

Both engines stay: the rows give a page of a million results, outcomes also those of an archived run
or of a position in the past. `conditions_sql` and `Conditions.take` choose the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from operator import eq
from typing import Any

from failproof_es.core.people import OUTCOMES
from failproof_es.core.severity import (
    WORDS,
    is_same_severity,
    severity_of,
    severity_rank,
    words_of_severity,
)
from failproof_es.reading.case_texts import TEXTS_OF_CASE
from failproof_es.reading.recorded_run import PlannedOutcome
from projections.protocol import visible

STATES = ("failed", "lost", "unscored", "awaiting", "scored", "passed", "unfinished")
"""The states of results, in the order of the list.

`lost` and `unscored` are abandoned. `awaiting`: left to people, whatever they decided. `scored`: a
score without a pass mark.
"""
UNFINISHED = STATES.index("unfinished")
AWAITING = STATES.index("awaiting")
PLACE = (
    "(CASE WHEN NOT e.passed THEN 0 WHEN e.lost THEN 1 WHEN e.awaiting_review THEN 3 "
    "WHEN e.status = 'abandoned' THEN 2 WHEN e.status <> 'scored' THEN 6 "
    "WHEN e.passed IS NULL THEN 4 ELSE 5 END)"
)
"""SQL for the index in `STATES`. The database index `evaluations_order_idx` has this expression."""
SEVERITY_RANK = (
    f"(CASE WHEN p.severity IS NULL THEN {severity_rank(None)} ELSE CASE lower(btrim(p.severity)) "
    + " ".join(f"WHEN '{word}' THEN {n}" for n, words in enumerate(WORDS) for word in words)
    + f" ELSE {len(WORDS)} END END)"
)
"""SQL for `core.severity.severity_rank`, with the alias `p` (`prompts`)."""
BY_PEOPLE = (
    "coalesce((SELECT people.outcome FROM projections.people_results AS people "
    f"WHERE people.evaluation_id = e.evaluation_id), '{OUTCOMES['awaiting']}')"
)
"""SQL for people's decision on a result that was left to them, one of `OUTCOMES`."""

STATUSES: Mapping[str, tuple[str, ...]] = {
    **{state: (state,) for state in STATES},
    **{outcome: (outcome,) for outcome in OUTCOMES.values()},
    "abandoned": ("lost", "unscored"),
}
"""The states and decisions of people that a status stands for."""
FAILED = ("failed", "failed_by_people")
ERRORS = ("lost",)
UNSCORED = ("lost", "unscored", "awaiting_review", "unclear", "disputed")
"""Ended without a score, errors included; not if people decided it."""
CHOICES: Mapping[str, tuple[str, ...]] = {"failed": FAILED, "errors": ERRORS, "unscored": UNSCORED}
"""The statuses that a user chooses by one word: `results --failed`, `start --only failed:RUN`."""

Range = tuple[str, Any, Any]
LATENCIES: tuple[Range, ...] = (
    ("0-500", 0, 500), ("500-2000", 500, 2_000), ("2000-10000", 2_000, 10_000),
    ("10000-", 10_000, None),
)  # fmt: skip
"""Ranges of milliseconds: (name, first value, end exclusive)."""
COSTS: tuple[Range, ...] = (
    ("0-0.001", 0, Decimal("0.001")), ("0.001-0.01", Decimal("0.001"), Decimal("0.01")),
    ("0.01-0.1", Decimal("0.01"), Decimal("0.1")), ("0.1-", Decimal("0.1"), None),
)  # fmt: skip
"""Ranges of US dollars, likewise."""
REQUESTS: tuple[Range, ...] = (("0-1", 0, 2), ("2", 2, 3), ("3-5", 3, 6), ("6-", 6, None))
"""Ranges of the number of requests, likewise."""
UNKNOWN = "unknown"
"""The range of unknown values."""


@dataclass(frozen=True, slots=True)
class Property:
    """A property of results to choose them by.

    `column` is its SQL, with the aliases `e` (`evaluations`) and `p` (`prompts`); `value` reads it
    of an outcome. With `ranges` it is a number, which is chosen by the name of its range.
    """

    column: str
    value: Callable[[PlannedOutcome], Any]
    ranges: tuple[Range, ...] = ()
    whole: Property | None = None
    """A longer name, which chooses as well."""
    is_same: Callable[[str, str], bool] = eq
    """Whether a value and a name are the same."""

    @property
    def sql(self) -> str:
        """SQL of the value that a condition compares: the column, or the name of its range."""
        if not self.ranges:
            return self.column
        cases = " ".join(
            f"WHEN {self.column} < {below} THEN '{name}'"
            for name, _, below in self.ranges
            if below is not None
        )
        last = self.ranges[-1][0]
        return f"CASE WHEN {self.column} IS NULL THEN '{UNKNOWN}' {cases} ELSE '{last}' END"

    def is_one_of(self, planned: PlannedOutcome, names: Sequence[str]) -> bool:
        """Whether a condition of these names chooses an outcome."""
        value = self.text_of(planned)
        return (value is not None and any(self.is_same(value, name) for name in names)) or (
            self.whole is not None and self.whole.is_one_of(planned, names)
        )

    def text_of(self, planned: PlannedOutcome) -> str | None:
        """The text that a condition names, of an outcome."""
        value = self.value(planned)
        if not self.ranges:
            return None if value is None else str(value)
        if value is None:
            return UNKNOWN
        return next(name for name, _, below in self.ranges if below is None or value < below)


PROPERTIES: Mapping[str, Property] = {
    "model": Property("e.model_key", lambda planned: planned.outcome.model_key),
    "suite": Property("p.suite_id", lambda planned: planned.case.suite_id),
    "case": Property(
        "p.case_id",
        lambda planned: planned.case.names[0],
        whole=Property("p.suite_id || '/' || p.case_id", lambda planned: planned.case.names[1]),
    ),
    "category": Property("p.category", lambda planned: planned.case.category),
    "severity": Property(
        "p.severity", lambda planned: severity_of(planned.case), is_same=is_same_severity
    ),
    "class_": Property("e.class", lambda planned: planned.outcome.class_),
    "error": Property("e.error_kind", lambda planned: planned.outcome.error_kind),
    "latency": Property("e.latency_ms", lambda planned: planned.outcome.latency_ms, LATENCIES),
    "cost": Property("e.cost_usd", lambda planned: planned.outcome.cost_usd, COSTS),
    "requests": Property("e.requests", lambda planned: planned.outcome.requests, REQUESTS),
}
"""The properties by the name of their condition. `tag`, `status` and `text` are conditions, too."""
_NUL = r"replace({0}::text, '\u0000', '\ufffd')::json #>> '{{}}'"
_TEXTS = (
    "p.case_id",
    *(_NUL.format(f"e.{name}") for name in ("answer", "reason", "error_message")),
)
_IS_IN_CASE = (
    "coalesce((SELECT bool_or(strpos(lower(sought), lower(%(text)s)) > 0) "
    f"FROM {TEXTS_OF_CASE} WHERE stored.originator_id = e.prompt_id "
    "AND stored.originator_version = 1), false)"
)
"""SQL: whether the case's headings, turns or tags hold the text. A subquery for each row, never a
hash of all cases: a page reads few rows."""
_TAG = (
    "EXISTS (SELECT FROM json_array_elements(p.tags) AS each (tag) WHERE "
    r"replace(tag::text, '\u0000', '\ufffd')::json #>> '{}' = ANY (%(tag)s))"
)


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions on a result, all of which hold together.

    Those in `named` are alternatives of names: of `PROPERTIES`, of `tag`, or of `STATUSES` under
    `status`. No condition is given by an empty tuple.
    """

    named: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    text: str | None = None
    """Part of the case's id, title, description, turns or tags, or of the answer, reason or error,
    in any letter case; or the beginning of the result's id."""

    @property
    def choose(self) -> bool:
        """Whether they can exclude a result."""
        return self.text is not None or any(self.named.values())

    @property
    def only_failed(self) -> bool:
        """Whether only results that failed are chosen."""
        return self.named.get("status") == FAILED

    def take(self, planned: PlannedOutcome) -> bool:
        """Whether the result is chosen."""
        return (
            all(
                not names or PROPERTIES[name].is_one_of(planned, names)
                for name, names in self.named.items()
                if name in PROPERTIES
            )
            and (not (tags := self.named.get("tag")) or not set(tags).isdisjoint(planned.case.tags))
            and (not (statuses := self.named.get("status")) or _has_status(planned, statuses))
            and (self.text is None or self._is_in(planned, self.text.lower()))
        )

    def _is_in(self, planned: PlannedOutcome, sought: str) -> bool:
        outcome, case = planned.outcome, planned.case
        texts = [case.case_id, outcome.answer, outcome.reason, outcome.error_message]
        texts += [*case.headings, *case.tags, *(turn.content for turn in case.turns)]
        return str(outcome.evaluation_id).startswith(sought) or any(
            sought in text.lower() for text in texts if text
        )


def state_of(planned: PlannedOutcome) -> str:
    """The state of an outcome, one of `STATES`; one that has not begun is `unfinished`, too."""
    outcome = planned.outcome
    if outcome.scored:
        return {True: "passed", False: "failed", None: "scored"}[outcome.passed]
    if not outcome.unscored:
        return "unfinished"
    return "lost" if outcome.lost else "awaiting" if outcome.awaiting_review else "unscored"


def conditions_sql(conditions: Conditions) -> tuple[str, dict[str, Any]]:
    """SQL for the conditions, and the values of its named parameters.

    Each condition follows an `AND`; empty without any. The tables are aliased `e` (`evaluations`)
    and `p` (`prompts`). Turns of cases are read from the log.
    """
    parts: list[str] = []
    values: dict[str, Any] = {}
    for name, names in conditions.named.items():
        if name == "severity" and names:
            condition, words = severity_condition(PROPERTIES[name].sql, names)
            parts.append(condition)
            values |= words
        elif name in PROPERTIES and names:
            either = (PROPERTIES[name], PROPERTIES[name].whole)
            equal = (f"{one.sql} = ANY (%({name})s)" for one in either if one is not None)
            parts.append(f"({' OR '.join(equal)})")
            values[name] = [visible(text) for text in names]
    if tags := conditions.named.get("tag"):
        parts.append(_TAG)
        values["tag"] = [tag.replace("\0", "\ufffd") for tag in tags]
    if statuses := conditions.named.get("status"):
        states, outcomes = _parts_of(statuses)
        parts.append(
            f"({PLACE} = ANY (%(states)s) OR "
            f"({PLACE} = {AWAITING} AND {BY_PEOPLE} = ANY (%(by_people)s)))"
        )
        values |= {"states": [STATES.index(state) for state in states], "by_people": outcomes}
    if conditions.text is not None:
        found = [f"strpos(lower({text}), lower(%(text)s)) > 0" for text in _TEXTS]
        found.append(_IS_IN_CASE)
        found.append("starts_with(e.evaluation_id::text, lower(%(text)s))")
        parts.append(f"({' OR '.join(found)})")
        values["text"] = conditions.text.replace("\0", "\ufffd")
    return "".join(f"AND {part} " for part in parts), values


def severity_condition(column: str, names: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """SQL: whether the column has one of these severities, in any of its words; with its values."""
    words = [word for name in names for word in words_of_severity(name)]
    return (
        f"({column} = ANY (%(severity)s) OR lower(btrim({column})) = ANY (%(severity_words)s))",
        {"severity": [visible(name) for name in names], "severity_words": words},
    )


def _has_status(planned: PlannedOutcome, statuses: Sequence[str]) -> bool:
    states, outcomes = _parts_of(statuses)
    return state_of(planned) in states or planned.by_people in outcomes


def _parts_of(statuses: Sequence[str]) -> tuple[list[str], list[str]]:
    """The states and the decisions of people that these statuses stand for."""
    names = dict.fromkeys(name for status in statuses for name in STATUSES[status])
    return [n for n in names if n in STATES], [n for n in names if n not in STATES]
