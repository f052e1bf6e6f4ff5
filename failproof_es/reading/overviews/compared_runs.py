"""Two runs on the questions that both were asked, from the rows that the projections keep.

What a pair is says `failproof_es.core.pairing`. A case that both planned is the same question, and
needs no reading; of the others only so many are read as a page can wait for. All counting is done
by the database: no evaluation is fetched but those that are listed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from failproof_es.core.case import Case
from failproof_es.core.pairing import ALONE, FEWER, NOT_SCORED, Unpaired, pair_evaluations
from failproof_es.engine.history import stored_case
from failproof_es.engine.planning.asked_cases import question_of
from failproof_es.store.reading.reader import Connection, portions, read_streams
from failproof_es.support.statistics import Paired, compare_outcomes
from projections.protocol import exact_text, visible

MOST_READ = 300
"""How many cases of each run that the other has not are looked into."""

MOST_PAIRED = 5_000
"""So many of the cases that both planned are compared while a page waits: those whose streams come
first. A stream's id is made of the case's digest, so that has nothing to do with what it asks."""

Which = Literal["discordant", "worse", "better", "both_failed", "both_passed", "all"]
_RANKS: Mapping[Which, tuple[int, ...]] = {
    "discordant": (0, 1),
    "worse": (0,),
    "better": (1,),
    "both_failed": (2,),
    "both_passed": (3,),
    "all": (0, 1, 2, 3),
}

_PLANS = """
SELECT count(*) FILTER (WHERE one.prompt_id IS NOT NULL AND two.prompt_id IS NOT NULL),
    count(*) FILTER (WHERE two.prompt_id IS NULL), count(*) FILTER (WHERE one.prompt_id IS NULL)
FROM (SELECT prompt_id FROM projections.planned_cases WHERE run_id = %(base)s) AS one
FULL JOIN (SELECT prompt_id FROM projections.planned_cases WHERE run_id = %(other)s) AS two
    USING (prompt_id)
"""
_ALONE = """
SELECT prompt_id FROM projections.planned_cases AS c WHERE run_id = %s AND NOT EXISTS (
    SELECT FROM projections.planned_cases AS d WHERE d.run_id = %s AND d.prompt_id = c.prompt_id
) ORDER BY position, prompt_id
"""
_PAIRS = """
WITH alike AS MATERIALIZED (
    SELECT * FROM unnest(%(ones)s::uuid[], %(twos)s::uuid[]) AS t (one, two)
), both_asked AS (
    SELECT one, two FROM alike
    UNION ALL
    SELECT * FROM (
        SELECT c.prompt_id, c.prompt_id FROM projections.planned_cases AS c
        JOIN projections.planned_cases AS d ON d.prompt_id = c.prompt_id AND d.run_id = %(other)s
        WHERE c.run_id = %(base)s ORDER BY c.prompt_id LIMIT %(most)s
    ) AS same (one, two)
), pairs AS (
    SELECT p.suite_id, p.case_id, p.category, p.tags, b.two AS other_prompt, b.one AS prompt_id,
        e.repetition, e.evaluation_id AS one_id, f.evaluation_id AS two_id,
        e.passed AS one_passed, f.passed AS two_passed,
        e.primary_class AS one_class, f.primary_class AS two_class,
        e.latency_ms AS one_ms, f.latency_ms AS two_ms,
        CASE WHEN e.passed AND NOT f.passed THEN 0 WHEN f.passed AND NOT e.passed THEN 1
            WHEN NOT e.passed THEN 2 ELSE 3 END AS place
    FROM both_asked AS b
    JOIN projections.evaluations AS e ON e.run_id = %(base)s AND e.prompt_id = b.one
        AND e.model_key = %(base_model)s AND e.counted AND e.passed IS NOT NULL
    JOIN projections.evaluations AS f ON f.run_id = %(other)s AND f.prompt_id = b.two
        AND f.model_key = %(other_model)s AND f.counted AND f.passed IS NOT NULL
        AND f.repetition = e.repetition
    JOIN projections.prompts AS p ON p.prompt_id = b.one
)
"""
_COUNTED = f"""{_PAIRS}, clusters AS (
    SELECT count(*) FILTER (WHERE place = 0) AS worse, count(*) FILTER (WHERE place = 1) AS better,
        count(*) FILTER (WHERE place = 2) AS failed, count(*) FILTER (WHERE place = 3) AS passed
    FROM pairs
    GROUP BY suite_id, coalesce(
        CASE WHEN tags::text LIKE '%%"paraphrase:%%'
            THEN substring(tags::text FROM '[[,]\\s*("paraphrase:(?:[^"\\\\]|\\\\.)*")') END,
        to_json(case_id)::text
    )
)
SELECT worse, better, failed, passed, count(*) FROM clusters GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
"""
_WHERE = f"""{_PAIRS}
SELECT suite_id, coalesce(category, suite_id), count(*), count(*) FILTER (WHERE place = 0),
    count(*) FILTER (WHERE place = 1)
FROM pairs GROUP BY 1, 2 HAVING count(*) FILTER (WHERE place < 2) > 0
ORDER BY abs(count(*) FILTER (WHERE place = 0) - count(*) FILTER (WHERE place = 1)) DESC,
    count(*) FILTER (WHERE place < 2) DESC, 1, 2
LIMIT 20
"""
_CLASSES = f"""{_PAIRS}
SELECT place, coalesce(one_class, '-'), coalesce(two_class, '-'), count(*) FROM pairs
WHERE place < 2 GROUP BY 1, 2, 3 ORDER BY 1, 4 DESC, 2, 3
"""
_LIST = f"""{_PAIRS}
SELECT place, suite_id, case_id, repetition, prompt_id, other_prompt, one_id, two_id, one_passed,
    two_passed, one_class, two_class, one_ms, two_ms, category
FROM pairs WHERE place = ANY (%(places)s) AND (%(after)s::int IS NULL
    OR (place, suite_id, case_id, repetition, one_id)
        > (%(after)s, %(suite)s, %(case)s, %(repetition)s, %(id)s::uuid))
ORDER BY place, suite_id, case_id, repetition, one_id
"""
_ANSWERS = """
SELECT evaluation_id, left(response::text, %s), length(response::text),
    left(reason::text, %s), length(reason::text)
FROM projections.evaluations WHERE evaluation_id = ANY (%s)
"""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: a run and a model in it."""

    run_id: UUID
    model: str
    repetitions: int


@dataclass(frozen=True, slots=True)
class ComparedCounts:
    """How the pairs of two sides stand: the 2x2 table, its test, and what is left out."""

    both_passed: int
    both_failed: int
    worse: int
    """Passed in the base alone."""
    better: int
    """Passed in the other alone."""
    paired: Paired
    """`other` less `base`: above 0 the other is better."""
    unpaired: tuple[Unpaired, ...]
    not_looked_into: int
    """Cases that one run alone planned, too many to be read: they may ask the same."""

    @property
    def pairs(self) -> int:
        """How many evaluations have a partner, both with a result."""
        return self.both_passed + self.both_failed + self.worse + self.better


@dataclass(frozen=True, slots=True)
class ComparedGroup:
    """The pairs of one suite and category of which some differ."""

    suite: str
    category: str
    pairs: int
    worse: int
    better: int


@dataclass(frozen=True, slots=True)
class ClassChange:
    """How often an answer of one class became one of another; of discordant pairs."""

    better: bool
    """Whether the other passed; else the base did."""
    base: str
    other: str
    pairs: int


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """One question in both runs."""

    place: int
    """0: passed in the base alone; 1: in the other alone; 2: in neither; 3: in both."""
    suite: str
    case: str
    repetition: int
    category: str | None
    prompt_id: UUID
    other_prompt_id: UUID
    """Another than `prompt_id` where only the notes of the case differ."""
    base_evaluation_id: UUID
    other_evaluation_id: UUID
    base_passed: bool
    other_passed: bool
    base_class: str | None
    other_class: str | None
    base_ms: float | None
    other_ms: float | None

    @property
    def key(self) -> tuple[int, str, str, int, UUID]:
        """Where it stands in the list."""
        return (
            self.place, visible(self.suite), visible(self.case), self.repetition,
            self.base_evaluation_id,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class AnswerText:
    """An answer, or why it was scored so: its beginning, and how long the whole is."""

    answer: str
    answer_cut: bool
    reason: str
    """In at most a thousand characters."""


class ComparedRuns:
    """Two runs and what both were asked. Reads projections only, and a few cases."""

    def __init__(
        self, connection: Connection, base: UUID, other: UUID, *, most: int | None = None
    ) -> None:
        """With `most`, so many of the cases that both planned are compared."""
        self._most = most
        self._connection = connection
        self._runs = {"base": base, "other": other}
        row = connection.execute(_PLANS, self._runs).fetchone()
        assert row is not None
        self.same_cases, self.only_base, self.only_other = row
        self.compared_cases = self.same_cases if most is None else min(self.same_cases, most)
        self._ones: list[UUID] = []
        self._twos: list[UUID] = []
        self._alone: tuple[Unpaired, ...] = ()
        """Cases without a partner, by reason."""
        self.looked_into = max(self.only_base, self.only_other) <= MOST_READ
        if self.looked_into:
            if self.only_base or self.only_other:
                self._pair_others()
        else:
            self._alone = (Unpaired(ALONE, self.only_base, self.only_other),)

    def counts(self, base: Side, other: Side) -> ComparedCounts:
        """The pairs of two models, counted."""
        rows = self._connection.execute(_COUNTED, self._wanted(base, other)).fetchall()
        outcomes: list[tuple[bool, bool]] = []
        clusters: list[int] = []
        told = [0, 0, 0, 0]
        cells = ((False, True), (True, False), (False, False), (True, True))  # other, base
        for *counts, times in rows:
            told = [one + each * times for one, each in zip(told, counts, strict=True)]
            pairs = [cell for cell, n in zip(cells, counts, strict=True) for _ in range(n)]
            for _ in range(times):
                number = clusters[-1] + 1 if clusters else 0
                outcomes += pairs
                clusters += [number] * len(pairs)
        worse, better, failed, passed = told
        return ComparedCounts(
            both_passed=passed,
            both_failed=failed,
            worse=worse,
            better=better,
            paired=compare_outcomes(outcomes, clusters),
            unpaired=tuple(self._unpaired(base, other, len(outcomes))),
            not_looked_into=0 if self.looked_into else self.only_base + self.only_other,
        )

    def groups(self, base: Side, other: Side) -> tuple[ComparedGroup, ...]:
        """Where pairs differ: the twenty suites and categories with the largest difference."""
        rows = self._connection.execute(_WHERE, self._wanted(base, other))
        return tuple(
            ComparedGroup(exact_text(suite), exact_text(category), *numbers)
            for suite, category, *numbers in rows
        )

    def classes(self, base: Side, other: Side) -> tuple[ClassChange, ...]:
        """What the answers of discordant pairs were classified as."""
        rows = self._connection.execute(_CLASSES, self._wanted(base, other))
        return tuple(
            ClassChange(place == 1, exact_text(one), exact_text(two), pairs)
            for place, one, two, pairs in rows
        )

    def pairs(
        self,
        base: Side,
        other: Side,
        which: Which,
        *,
        after: tuple[int, str, str, int, UUID] | None = None,
        limit: int | None = None,
    ) -> Iterator[ComparedPair]:
        """The pairs, discordant ones first, after the one with this key."""
        place, suite, case, repetition, last = after or (None, None, None, None, None)
        wanted = self._wanted(base, other) | {
            "places": list(_RANKS[which]), "after": place, "suite": suite, "case": case,
            "repetition": repetition, "id": last, "limit": limit,
        }  # fmt: skip
        with self._connection.cursor("compared_pairs") as rows:
            rows.execute(f"{_LIST} LIMIT %(limit)s", wanted)
            for row in rows:
                yield _pair(row)

    def answers(self, evaluations: Sequence[UUID], most: int) -> dict[UUID, AnswerText]:
        """The answers of these evaluations, each up to `most` characters of its JSON."""
        rows = self._connection.execute(_ANSWERS, (most, 4_000, list(evaluations)))
        return {
            each: AnswerText(
                beginning(answer, length), (length or 0) > most, beginning(why, whole)[:1_000]
            )
            for each, answer, length, why, whole in rows
        }

    def _wanted(self, base: Side, other: Side) -> dict[str, Any]:
        return {
            **self._runs,
            "base_model": visible(base.model),
            "other_model": visible(other.model),
            "ones": self._ones,
            "twos": self._twos,
            "most": self._most,
        }

    def _pair_others(self) -> None:
        """Pair the cases that only one of them planned: they may ask the same under other notes."""
        one, two = (
            self._read(of, but)
            for of, but in (
                (self._runs["base"], self._runs["other"]),
                (self._runs["other"], self._runs["base"]),
            )
        )
        found = pair_evaluations(
            [question_of(case) for _, case in one], [question_of(case) for _, case in two]
        )
        self._ones = [one[first][0] for first, _ in found.pairs]
        self._twos = [two[second][0] for _, second in found.pairs]
        self._alone = found.unpaired

    def _read(self, of: UUID, but: UUID) -> list[tuple[UUID, Case]]:
        prompts = [each for (each,) in self._connection.execute(_ALONE, (of, but))]
        return [
            (prompt, stored_case(streams, prompt))
            for portion in portions(self._connection, prompts)
            for streams in (read_streams(self._connection, portion),)
            for prompt in portion
        ]

    def _unpaired(self, base: Side, other: Side, pairs: int) -> Iterator[Unpaired]:
        """Evaluations without a partner, by reason."""
        fewest = min(base.repetitions, other.repetitions)
        cases = self.compared_cases + len(self._ones)
        for each in self._alone:
            yield Unpaired(each.why, each.first * base.repetitions, each.second * other.repetitions)
        if base.repetitions != other.repetitions:
            more = (cases * (each.repetitions - fewest) for each in (base, other))
            yield Unpaired(FEWER, *more)
        if unscored := cases * fewest - pairs:
            yield Unpaired(NOT_SCORED, unscored, unscored)


def beginning(text: str | None, length: int | None) -> str:
    """The text in a JSON string of this length, of which `text` is all or the first part."""
    if text is None or length is None:
        return ""
    if len(text) >= length:
        return _whole(json.loads(text))
    for end in range(len(text), max(len(text) - 12, 0), -1):  # an escape may be cut in two
        try:
            return _whole(json.loads(text[:end] + '"'))
        except ValueError:
            continue
    return ""


def _whole(text: str) -> str:
    """The text without half a character, which a cut may leave."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _pair(row: Sequence[Any]) -> ComparedPair:
    (
        place, suite, case, repetition, prompt, other_prompt, one, two, one_passed, two_passed,
        one_class, two_class, one_ms, two_ms, category,
    ) = row  # fmt: skip
    return ComparedPair(
        place=place,
        suite=exact_text(suite),
        case=exact_text(case),
        repetition=repetition,
        category=category and exact_text(category),
        prompt_id=prompt,
        other_prompt_id=other_prompt,
        base_evaluation_id=one,
        other_evaluation_id=two,
        base_passed=one_passed,
        other_passed=two_passed,
        base_class=one_class and exact_text(one_class),
        other_class=two_class and exact_text(two_class),
        base_ms=one_ms,
        other_ms=two_ms,
    )
