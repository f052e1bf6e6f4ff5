"""Counts how often the probes of a run changed a judge's verdict.

A pair is the same conversation with and without a probe, judged by the same judge. The pairs of one
case are a cluster.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from failproof_es.core.case import Case
from failproof_es.dialects.judge_probe.dialect import NAME
from failproof_es.dialects.judge_probe.probes import PROBES
from failproof_es.problems import InvalidInput
from failproof_es.reading.recorded_run import RecordedRun


class ProbedPair(NamedTuple):
    """A judge's verdicts on one conversation, and the case family that it belongs to."""

    family: tuple[str, str]
    before: bool | None
    """Whether the judge passes the answer without the probe; `None` without a verdict."""
    after: bool | None


@dataclass(frozen=True, slots=True)
class ProbeFlips:
    """How often one probe changed the verdicts of one judge."""

    run_number: int
    judge: str
    probe: str
    flips: int
    """Changed verdicts."""
    pairs: int
    """Pairs with two verdicts."""
    clusters: int
    """Number of independent cases and families among these pairs."""
    rate: float | None
    interval: tuple[float, float] | None
    """The 95 % interval of the rate, Wilson's over clusters."""
    to_pass: int
    """Answers that passed only with the probe, of `failing` that failed without it."""
    failing: int
    to_fail: int
    """Answers that failed only with the probe, of `passing` that passed without it."""
    passing: int
    undecided: int
    """Pairs without two verdicts."""

    @classmethod
    def of(cls, run_number: int, judge: str, probe: str, pairs: Sequence[ProbedPair]) -> ProbeFlips:
        """The flips in these pairs of one judge and probe. Needs the extra `report`."""
        from failproof_es.support.statistics import rate  # scipy takes a third of a second

        decided = [pair for pair in pairs if None not in (pair.before, pair.after)]
        failing = [pair for pair in decided if not pair.before]
        passing = [pair for pair in decided if pair.before]
        flipped = [pair.before != pair.after for pair in decided]
        measured = rate(flipped, [pair.family for pair in decided])
        interval = measured.interval
        return cls(
            run_number=run_number,
            judge=judge,
            probe=probe,
            flips=measured.passed,
            pairs=measured.total,
            clusters=measured.clusters,
            rate=measured.value,
            interval=None if interval is None else (interval.low, interval.high),
            to_pass=sum(pair.after is True for pair in failing),
            failing=len(failing),
            to_fail=sum(pair.after is False for pair in passing),
            passing=len(passing),
            undecided=len(pairs) - len(decided),
        )


def has_probes(run: RecordedRun) -> bool:
    """Whether the run asks judges, with probes."""
    return run.started.dialect == NAME


def judge_flips(run: RecordedRun) -> list[ProbeFlips]:
    """The flips of each judge by probe, in the order of the configuration and of `PROBES`.

    Evaluations that have not ended are left out. Needs the extra `report`. Raises `InvalidInput` if
    it is no run of probes.
    """
    if not has_probes(run):
        raise InvalidInput.because(
            "wrong-dialect",
            f"run {run.started.run_number} has no probes of judges",
            remedy="`failproof-es judges probe CONFIG` starts a run of probes",
        )
    pairs = _pairs_by_probe(run)
    return [
        ProbeFlips.of(run.started.run_number, model.key, probe, pairs[model.key, probe])
        for model in run.started.models
        for probe in PROBES
        if (model.key, probe) in pairs
    ]


def _pairs_by_probe(run: RecordedRun) -> Mapping[tuple[str, str], list[ProbedPair]]:
    """The pairs by judge and probe."""
    verdicts: dict[tuple[str, str, str], bool | None] = {}
    compared: list[tuple[str, Case, str]] = []
    for planned in run.outcomes():
        outcome, case = planned.outcome, planned.case
        if outcome.finished_at is None:
            continue
        verdicts[outcome.model_key, case.suite_id, case.case_id] = outcome.passed
        if (other := case.expectation["compared_with"]) is not None:
            compared.append((outcome.model_key, case, other))
    return _group_pairs(verdicts, compared)


def _group_pairs(
    verdicts: Mapping[tuple[str, str, str], bool | None], compared: list[tuple[str, Case, str]]
) -> Mapping[tuple[str, str], list[ProbedPair]]:
    pairs: defaultdict[tuple[str, str], list[ProbedPair]] = defaultdict(list)
    for judge, case, other in compared:
        if (judge, case.suite_id, other) in verdicts:
            before = verdicts[judge, case.suite_id, other]
            after = verdicts[judge, case.suite_id, case.case_id]
            pairs[judge, str(case.category)].append(ProbedPair(case.family, before, after))
    return pairs
