"""Compares two runs on the questions that both asked, from the projections' rows.

`failproof_es.core.pairing` defines pairs. A case that both planned is the same question, and is not
read; of the other cases a bounded number is read. The database does all counting
(`pair_statements`): only listed evaluations are fetched.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal
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
    MOST_CHANGED,
    PLANS,
    SAME_CASES,
)
from failproof_es.reading.overviews.run_comparison import (
    AnswerText,
    ClassChange,
    ComparedCounts,
    ComparedGroup,
    ComparedPair,
    RunComparison,
    Side,
)
from failproof_es.store.reading.reader import Connection, portions, read_streams
from projections.protocol import exact_text

MOST_READ = 300
"""Maximum number of cases that one run alone planned and that are read to pair them."""

MOST_PAIRED = 2_500
"""Maximum number of shared cases that a page compares: those with the smallest stream ids, which
are derived from digests and so independent of the questions."""

MOST_OF_RUN = 5_000
"""Maximum number of evaluations of each run that a page reads: with several models and repetitions
it compares fewer cases."""

_AT_ONCE = 500
"""Number of cases that are paired at once when all are."""

Which = Literal["discordant", "worse", "better", "both_failed", "both_passed", "all"]
_RANKS: Mapping[Which, tuple[int, ...]] = {
    "discordant": (0, 1),
    "worse": (0,),
    "better": (1,),
    "both_failed": (2,),
    "both_passed": (3,),
    "all": (0, 1, 2, 3),
}


class ComparedRuns:
    """Two runs and the questions that both asked. Reads projections, and a few cases."""

    def __init__(
        self,
        connection: Connection,
        base: UUID,
        other: UUID,
        *,
        most: int | None = None,
        most_read: int | None = MOST_READ,
    ) -> None:
        """Read both plans, and pair their cases. `base` and `other` are ids of runs.

        At most `most` cases that both planned are compared; `None`: all. Cases that one run alone
        planned are read, to pair those that ask the same, only if neither run has more than
        `most_read` of them; `None`: always.
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
        """Numbers of cases without a partner, by reason."""
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
        listed: int | None = None,
        after: tuple[int, str, str, int, UUID] | None = None,
        limit: int,
    ) -> RunComparison:
        """The comparison for a page, with the counts of each (base, other) of `sides`.

        For that at `listed`, or the one with the most pairs that differ, it lists at most `limit`
        pairs of the kind `which`, after the key `after` (`ComparedPair.key`), or from the first.
        """
        place, suite, case, repetition, last = after or (None, None, None, None, None)
        row = self._connection.execute(
            COMPARISON,
            self._name_compared(sides)
            | {"places": list(_RANKS[which]), "after": place, "suite": suite, "case": case,
               "repetition": repetition, "id": last, "limit": limit, "listed": listed},
        ).fetchone()  # fmt: skip
        assert row is not None
        counted, groups, classes, pair_rows = (column or () for column in row[:4])
        taken_over, regraded = row[4] or {}, row[5] or {}
        return RunComparison(
            counts=tuple(
                self._compare_pairs(
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
            listed=row[6],
        )

    def most_changed(self, sides: Sequence[tuple[Side, Side]]) -> int:
        """The index in `sides` with the most pairs that differ, the default of `compare`.

        0 if none differs.
        """
        row = self._connection.execute(MOST_CHANGED, self._name_compared(sides)).fetchone()
        return 0 if row is None else int(row[0])

    def _name_compared(self, sides: Sequence[tuple[Side, Side]]) -> dict[str, list[Any]]:
        """The ids of the possible pairs of the compared cases, as `_name_evaluations`."""
        parameters = self._runs | {"most": self._most}
        same = [prompt for (prompt,) in self._connection.execute(SAME_CASES, parameters)]
        prompts = [*zip(self._ones, self._twos, strict=True), *zip(same, same, strict=True)]
        return _name_evaluations(sides, prompts)

    def pairs(self, base: Side, other: Side, which: Which) -> Iterator[ComparedPair]:
        """All pairs of two sides of the kind `which`, read lazily in portions of cases.

        Needs a transaction, because it reads with a server-side cursor.
        """
        for prompts in self._batches():
            parameters = _name_evaluations([(base, other)], prompts) | {
                "places": list(_RANKS[which])
            }
            for row in self._connection.execute(EVERY_PAIR, parameters).fetchall():
                yield _pair(row)

    def _batches(self) -> Iterator[list[tuple[UUID, UUID]]]:
        """(stream id in the base, stream id in the other run) of all shared cases, in portions."""
        yield list(zip(self._ones, self._twos, strict=True))
        with self._connection.cursor("same_cases") as rows:
            rows.execute(SAME_CASES, self._runs | {"most": None})
            while same := rows.fetchmany(_AT_ONCE):
                yield [(prompt, prompt) for (prompt,) in same]

    def _compare_pairs(
        self,
        base: Side,
        other: Side,
        rows: Sequence[Sequence[int]],
        one_answer: int,
        regraded: int,
    ) -> ComparedCounts:
        """The counts and the test of two sides.

        A row has the worse, better, failed and passed pairs of a cluster, and the number of such
        clusters. `one_answer` is the number of pairs of one carried-over answer, `regraded` that of
        excluded pairs that different versions graded.
        """
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
        """The answers to these evaluations, by id.

        Each is cut to `most` characters of its JSON string.
        """
        rows = self._connection.execute(ANSWERS, (most, 4_000, list(evaluations)))
        return {
            evaluation: AnswerText(
                beginning(answer, length), (length or 0) > most, beginning(why, whole)[:1_000]
            )
            for evaluation, answer, length, why, whole in rows
        }

    def _pair_others(self) -> None:
        """Pair the cases that one run alone planned: they may ask the same with other notes."""
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
        """The numbers of evaluations without a partner, by reason.

        `pairs` is the number of pairs, `regraded` that of would-be pairs that different versions
        graded.
        """
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
    """The ids of both evaluations of each possible pair, as columns of the SQL statement.

    `prompts`: (stream id in the base, stream id in the other run). The columns are `sides` (the
    index in `sides`), `one_ids` (base) and `two_ids` (other run).
    """
    columns: dict[str, list[Any]] = {"sides": [], "one_ids": [], "two_ids": []}
    for number, (base, other) in enumerate(sides):
        for repetition in range(1, min(base.repetitions, other.repetitions) + 1):
            columns["sides"] += [number] * len(prompts)
            columns["one_ids"] += [_stream(base, one, repetition) for one, _ in prompts]
            columns["two_ids"] += [_stream(other, two, repetition) for _, two in prompts]
    return columns


def _stream(side: Side, prompt: UUID, repetition: int) -> str:
    """The evaluation's id in hexadecimal: thousands of `UUID` objects are slow to write."""
    return f"{stream_number(side.run_id, prompt, side.model, repetition):032x}"


def _with_ids(row: Sequence[Any]) -> list[Any]:
    """A row from JSON, with its ids converted from text to `UUID`."""
    return [UUID(column) if 4 <= place <= 7 else column for place, column in enumerate(row)]


def beginning(text: str | None, length: int | None) -> str:
    """The text of a JSON string of `length` characters, of which `text` may be only a prefix.

    Empty if one of them is `None`.
    """
    if text is None or length is None:
        return ""
    if len(text) >= length:
        return _without_surrogates(json.loads(text))
    for end in range(len(text), max(len(text) - 12, 0), -1):  # an escape may be cut in two
        try:
            return _without_surrogates(json.loads(text[:end] + '"'))
        except ValueError:
            continue
    return ""


def _without_surrogates(text: str) -> str:
    """The text with a lone surrogate, which a cut can leave, replaced."""
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
