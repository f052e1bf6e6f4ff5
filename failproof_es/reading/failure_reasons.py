"""Why results of a run failed: the most frequent reasons, and the worst results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from heapq import nsmallest
from itertools import islice
from typing import NamedTuple

from failproof_es.core.evaluation import EvaluationKey
from failproof_es.dialects.expectations import fault_of
from failproof_es.reading.chosen_places import keys_of, with_places
from failproof_es.reading.recorded_run import PlannedOutcome, RecordedRun
from failproof_es.reading.result_conditions import PLACE, STATES
from failproof_es.reading.rows import RowReader
from failproof_es.reading.sorted_results import worst_first

MOST_READ = 1_000
"""Number of failed results that are read at most."""
_MOST_LOOKED_AT = 5_000
"""Number of evaluations that are searched for failed ones without the projections."""
_MOST_SHOWN = 3
_MOST_WORST = 5
_FAILED = (
    "SELECT e.prompt_id, e.model_key, e.repetition FROM projections.evaluations AS e "
    f"WHERE e.run_id = %s AND e.counted AND {PLACE} = {STATES.index('failed')} "
    f"ORDER BY {PLACE}, e.last_position, e.evaluation_id LIMIT {MOST_READ}"
)
"""In the form and the order of the index of a run's results."""


class FailureReasons(NamedTuple):
    """Numbers of failed results by reason, the most frequent first."""

    counts: tuple[tuple[str, int], ...]
    read: int
    """Number of failed results that were read."""
    failed: int
    """Number of failed results of the run."""
    worst: tuple[PlannedOutcome, ...] = ()
    """The worst of the results that were read, at most five, the worst first."""

    def describe(self) -> str | None:
        """One line for people: `does not contain the text (41), refuses (3)`; `None` for none."""
        if not self.read:
            return None
        shown = ", ".join(f"{reason} ({count:,})" for reason, count in self.counts[:_MOST_SHOWN])
        rest = sum(count for _, count in self.counts[_MOST_SHOWN:])
        line = f"{shown}, otherwise ({rest:,})" if rest else shown
        return line if self.read >= self.failed else f"of the first {self.read:,}: {line}"


NO_FAILURES = FailureReasons((), 0, 0)


def failure_reasons(run: RecordedRun) -> FailureReasons:
    """Why results of the run failed by their dialect; reads at most `MOST_READ` of them.

    A reason is the unmet expectations of a result, without the words of its case.
    """
    failed = run.summary.total.failed
    if not failed:
        return NO_FAILURES
    counts: Counter[str] = Counter()

    def counted() -> Iterator[PlannedOutcome]:
        for planned in run.outcomes_of(_failed_places(run)):
            counts[fault_of(planned.case, planned.outcome)] += 1
            yield planned

    worst = nsmallest(_MOST_WORST, counted(), lambda planned: (worst_first(planned), planned.place))
    return FailureReasons(tuple(counts.most_common()), counts.total(), failed, tuple(worst))


def _failed_places(run: RecordedRun) -> Iterator[tuple[int, EvaluationKey]]:
    """(place in the plan from 1, key) of failed results, at most `MOST_READ`."""
    if not isinstance(run.reader, RowReader):
        looked_at = run.outcomes(limit=_MOST_LOOKED_AT)
        failed = (
            (planned.place, planned.outcome.key) for planned in looked_at if planned.outcome.failed
        )
        yield from islice(failed, MOST_READ)
        return
    rows = run.connection.execute(_FAILED, (run.run_id,)).fetchall()
    yield from with_places(run, list(keys_of(run, rows)))
