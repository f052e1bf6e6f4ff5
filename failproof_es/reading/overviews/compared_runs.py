"""Two runs on the questions that both were asked, from the rows that the projections keep.

What a pair is says `failproof_es.core.pairing`. A case that both planned is the same question, and
needs no reading; of the others only so many are read as a page can wait for. All counting is done
by the database: no evaluation is fetched but those that are listed (`pair_statements`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from failproof_es.core.case import Case
from failproof_es.core.clusters import ClusterSums
from failproof_es.core.evaluation_state import stream_number
from failproof_es.core.pairing import (
    ALONE,
    FEWER,
    NOT_SCORED,
    OTHER_VERSIONS,
    Unpaired,
    pair_evaluations,
)
from failproof_es.engine.history import stored_case
from failproof_es.engine.planning.asked_cases import question_of
from failproof_es.reading.overviews.pair_statements import ALONE as ALONE_CASES
from failproof_es.reading.overviews.pair_statements import (
    ANSWERS,
    COMPARISON,
    EVERY_PAIR,
    MERGED,
    PLANS,
    SAME_CASES,
)
from failproof_es.store.reading.reader import Connection, portions, read_streams
from projections.protocol import exact_text, visible

if TYPE_CHECKING:
    from failproof_es.support.statistics import Paired

MOST_READ = 300
"""How many cases of each run that the other has not are looked into."""

MOST_PAIRED = 2_500
"""So many of the cases that both planned are compared while a page waits: those whose streams come
first. A stream's id is made of the case's digest, so that has nothing to do with what it asks."""

MOST_OF_RUN = 5_000
"""So many evaluations of each run are read for it: of several models and repetitions fewer cases
are compared."""

_AT_ONCE = 500
"""So many cases are paired at once, where all are."""

Which = Literal["discordant", "worse", "better", "both_failed", "both_passed", "all"]
_RANKS: Mapping[Which, tuple[int, ...]] = {
    "discordant": (0, 1),
    "worse": (0,),
    "better": (1,),
    "both_failed": (2,),
    "both_passed": (3,),
    "all": (0, 1, 2, 3),
}


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
    one_answer: int
    """Pairs of one and the same answer, which a run took over: nothing could differ."""
    base: ClusterSums
    """Over the clusters of the pairs, of the base's verdicts; `other` of the other's."""
    other: ClusterSums
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
    one_answer: bool
    """Whether both are one and the same answer, which a run took over."""

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


@dataclass(frozen=True, slots=True)
class RunComparison:
    """What a page tells of two runs."""

    counts: tuple[ComparedCounts, ...]
    """Of each of the models, in order."""
    groups: tuple[ComparedGroup, ...]
    """Of the first, as the next two: the twenty suites and categories with the largest
    difference."""
    classes: tuple[ClassChange, ...]
    """What the answers of discordant pairs were classified as."""
    pairs: tuple[ComparedPair, ...]
    """Those that are listed."""


class ComparedRuns:
    """Two runs and what both were asked. Reads projections only, and a few cases."""

    def __init__(
        self,
        connection: Connection,
        base: UUID,
        other: UUID,
        *,
        most: int | None = None,
        most_read: int | None = MOST_READ,
    ) -> None:
        """With `most`, so many of the cases that both planned are compared. Those that one planned
        alone are looked into where each has `most_read` at most; `None`: however many there are.
        """
        self._most = most
        self._connection = connection
        self._runs = {"base": base, "other": other}
        connection.execute(MERGED, ("off",))
        row = connection.execute(PLANS, self._runs).fetchone()
        connection.execute(MERGED, ("on",))
        assert row is not None
        self.same_cases, self.only_base, self.only_other = row
        self.compared_cases = self.same_cases if most is None else min(self.same_cases, most)
        self._ones: list[UUID] = []
        self._twos: list[UUID] = []
        self._alone: tuple[Unpaired, ...] = ()
        """Cases without a partner, by reason."""
        alone = max(self.only_base, self.only_other)
        self.looked_into = most_read is None or alone <= most_read
        if self.looked_into:
            if self.only_base or self.only_other:
                self._pair_others()
        else:
            self._alone = (Unpaired(ALONE, self.only_base, self.only_other),)

    def compare(
        self,
        sides: Sequence[tuple[Side, Side]],
        which: Which,
        *,
        after: tuple[int, str, str, int, UUID] | None = None,
        limit: int,
    ) -> RunComparison:
        """All that a page tells, of one set of pairs: those that it lists come after a key."""
        place, suite, case, repetition, last = after or (None, None, None, None, None)
        parameters = self._runs | {"most": self._most}
        same = [prompt for (prompt,) in self._connection.execute(SAME_CASES, parameters)]
        prompts = [*zip(self._ones, self._twos, strict=True), *zip(same, same, strict=True)]
        row = self._connection.execute(
            COMPARISON,
            _name_evaluations(sides, prompts)
            | {"places": list(_RANKS[which]), "after": place, "suite": suite, "case": case,
               "repetition": repetition, "id": last, "limit": limit},
        ).fetchone()  # fmt: skip
        assert row is not None
        counted, groups, classes, pair_rows = (column or () for column in row[:4])
        taken_over, regraded = row[4] or {}, row[5] or {}
        return RunComparison(
            counts=tuple(
                self._counts(
                    *pair,
                    [kinds for number, *kinds in counted if number == side],
                    taken_over.get(str(side), 0),
                    regraded.get(str(side), 0),
                )
                for side, pair in enumerate(sides)
            ),
            groups=tuple(
                ComparedGroup(exact_text(suite), exact_text(category), *numbers)
                for suite, category, *numbers in groups
            ),
            classes=tuple(
                ClassChange(place == 1, exact_text(one), exact_text(two), pairs)
                for place, one, two, pairs in classes
            ),
            pairs=tuple(_pair(_with_ids(pair_row)) for pair_row in pair_rows),
        )

    def pairs(self, base: Side, other: Side, which: Which) -> Iterator[ComparedPair]:
        """Every pair of these, some cases after the other: none is read before it is wanted."""
        for prompts in self._portions():
            parameters = _name_evaluations([(base, other)], prompts) | {
                "places": list(_RANKS[which])
            }
            for row in self._connection.execute(EVERY_PAIR, parameters).fetchall():
                yield _pair(row)

    def _portions(self) -> Iterator[list[tuple[UUID, UUID]]]:
        """All cases that both asked, by the stream in the one and in the other."""
        yield list(zip(self._ones, self._twos, strict=True))
        with self._connection.cursor("same_cases") as rows:
            rows.execute(SAME_CASES, self._runs | {"most": None})
            while same := rows.fetchmany(_AT_ONCE):
                yield [(prompt, prompt) for (prompt,) in same]

    def _counts(
        self,
        base: Side,
        other: Side,
        rows: Sequence[Sequence[int]],
        one_answer: int,
        regraded: int,
    ) -> ComparedCounts:
        """The pairs of two models: how many clusters have so many of each kind."""
        from failproof_es.support.statistics import compare_outcomes  # pairs alone need no extra

        outcomes: list[tuple[bool, bool]] = []
        clusters: list[int] = []
        totals = [0, 0, 0, 0]
        of_base: Counter[tuple[int, int]] = Counter()
        of_other: Counter[tuple[int, int]] = Counter()
        cells = ((False, True), (True, False), (False, False), (True, True))  # other, base
        for *counts, times in rows:
            totals = [total + count * times for total, count in zip(totals, counts, strict=True)]
            its_worse, its_better, _, both = counts
            of_base[its_worse + both, sum(counts)] += times
            of_other[its_better + both, sum(counts)] += times
            pairs = [cell for cell, n in zip(cells, counts, strict=True) for _ in range(n)]
            for _ in range(times):
                number = clusters[-1] + 1 if clusters else 0
                outcomes += pairs
                clusters += [number] * len(pairs)
        worse, better, failed, passed = totals
        return ComparedCounts(
            both_passed=passed,
            both_failed=failed,
            worse=worse,
            better=better,
            one_answer=one_answer,
            base=ClusterSums.of(of_base),
            other=ClusterSums.of(of_other),
            paired=compare_outcomes(outcomes, clusters),
            unpaired=tuple(self._unpaired(base, other, len(outcomes), regraded)),
            not_looked_into=0 if self.looked_into else self.only_base + self.only_other,
        )

    def answers(self, evaluations: Sequence[UUID], most: int) -> dict[UUID, AnswerText]:
        """The answers of these evaluations, each up to `most` characters of its JSON."""
        rows = self._connection.execute(ANSWERS, (most, 4_000, list(evaluations)))
        return {
            evaluation: AnswerText(
                beginning(answer, length), (length or 0) > most, beginning(why, whole)[:1_000]
            )
            for evaluation, answer, length, why, whole in rows
        }

    def _pair_others(self) -> None:
        """Pair the cases that only one of them planned: they may ask the same under other notes."""
        one, two = (
            self._read_cases(of, but)
            for of, but in (
                (self._runs["base"], self._runs["other"]),
                (self._runs["other"], self._runs["base"]),
            )
        )
        pairing = pair_evaluations(
            [question_of(case) for _, case in one], [question_of(case) for _, case in two]
        )
        self._ones = [one[first][0] for first, _ in pairing.pairs]
        self._twos = [two[second][0] for _, second in pairing.pairs]
        self._alone = pairing.unpaired

    def _read_cases(self, of: UUID, but: UUID) -> list[tuple[UUID, Case]]:
        prompts = [prompt for (prompt,) in self._connection.execute(ALONE_CASES, (of, but))]
        return [
            (prompt, stored_case(streams, prompt))
            for portion in portions(self._connection, prompts)
            for streams in (read_streams(self._connection, portion),)
            for prompt in portion
        ]

    def _unpaired(self, base: Side, other: Side, pairs: int, regraded: int) -> Iterator[Unpaired]:
        """Evaluations without a partner, by reason."""
        fewest = min(base.repetitions, other.repetitions)
        cases = self.compared_cases + len(self._ones)
        for group in self._alone:
            yield Unpaired(
                group.why, group.first * base.repetitions, group.second * other.repetitions
            )
        if regraded:
            yield Unpaired(OTHER_VERSIONS, regraded, regraded)
        if base.repetitions != other.repetitions:
            more = (cases * (side.repetitions - fewest) for side in (base, other))
            yield Unpaired(FEWER, *more)
        if unscored := cases * fewest - pairs - regraded:
            yield Unpaired(NOT_SCORED, unscored, unscored)


def _name_evaluations(
    sides: Sequence[tuple[Side, Side]], prompts: Sequence[tuple[UUID, UUID]]
) -> dict[str, list[Any]]:
    """The evaluations of both runs that would make pairs, by side."""
    columns: dict[str, list[Any]] = {"sides": [], "one_ids": [], "two_ids": []}
    for number, (base, other) in enumerate(sides):
        for repetition in range(1, min(base.repetitions, other.repetitions) + 1):
            columns["sides"] += [number] * len(prompts)
            columns["one_ids"] += [_stream(base, one, repetition) for one, _ in prompts]
            columns["two_ids"] += [_stream(other, two, repetition) for _, two in prompts]
    return columns


def _stream(side: Side, prompt: UUID, repetition: int) -> str:
    """The evaluation's id in hexadecimal: thousands of `UUID` take long to make and to write."""
    return f"{stream_number(side.run_id, prompt, side.model, repetition):032x}"


def _with_ids(row: Sequence[Any]) -> list[Any]:
    """A row that came as JSON, in which ids are text."""
    return [UUID(column) if 4 <= place <= 7 else column for place, column in enumerate(row)]


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
        one_class, two_class, one_ms, two_ms, category, one_answer,
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
        one_answer=one_answer,
    )
