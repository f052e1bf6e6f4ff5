"""The most frequent reasons why results of a run failed, by what they say, not by case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from failproof_es.core.evaluation import EvaluationKey
from failproof_es.dialects.expectations import fault_of
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.result_conditions import PLACE, STATES
from failproof_es.reading.rows import RowReader
from projections.protocol import exact_text

MOST_READ = 1_000
"""Number of failed results that are read at most."""
_MOST_LOOKED_AT = 5_000
"""Number of evaluations that are searched for failed ones without the projections."""
_MOST_SHOWN = 3
_FAILED = (
    "SELECT e.prompt_id, e.model_key, e.repetition FROM projections.evaluations AS e "
    f"WHERE e.run_id = %s AND e.counted AND {PLACE} = {STATES.index('failed')} "
    f"ORDER BY {PLACE}, e.last_position, e.evaluation_id LIMIT {MOST_READ}"
)
"""In the form and the order of the index of a run's results."""


class FailureReasons(NamedTuple):
    """How often results failed for each reason, the most frequent first."""

    counts: tuple[tuple[str, int], ...]
    read: int
    """Number of failed results that were read."""
    failed: int
    """Number of failed results of the run."""

    def describe(self) -> str | None:
        """One line for people: `does not contain the text (41), refuses (3)`; `None` for none."""
        if not self.read:
            return None
        shown = ", ".join(f"{reason} ({count:,})" for reason, count in self.counts[:_MOST_SHOWN])
        rest = sum(count for _, count in self.counts[_MOST_SHOWN:])
        line = f"{shown}, otherwise ({rest:,})" if rest else shown
        return line if self.read >= self.failed else f"of the first {self.read:,}: {line}"


def failure_reasons(run: RecordedRun) -> FailureReasons:
    """Why results of the run failed by their dialect; reads at most `MOST_READ` of them.

    A reason is what the unmet expectations of a result say without the words of its case.
    """
    failed = run.summary.total.failed
    if not failed:
        return FailureReasons((), 0, 0)
    places = ((0, key) for key in _failed_keys(run))  # the place is not needed
    counts = Counter(fault_of(planned.case, planned.outcome) for planned in run.outcomes_of(places))
    return FailureReasons(tuple(counts.most_common()), counts.total(), failed)


def _failed_keys(run: RecordedRun) -> Iterator[EvaluationKey]:
    if isinstance(run.reader, RowReader):
        for prompt_id, model_key, repetition in run.connection.execute(_FAILED, (run.run_id,)):
            yield EvaluationKey(run.run_id, prompt_id, exact_text(model_key), repetition)
        return
    looked_at = run.outcomes(limit=_MOST_LOOKED_AT)
    failed = (planned.outcome.key for planned in looked_at if planned.outcome.failed)
    yield from islice(failed, MOST_READ)
