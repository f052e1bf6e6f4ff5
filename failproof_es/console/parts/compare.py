"""The parts of a comparison's page: the runs, how their models compare, the pairs."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import orjson

from failproof_es.catalogue.pass_rate import PassRate, build_pass_rate
from failproof_es.console.texts import TextShown
from failproof_es.core.pairing import Unpaired, advice_on
from failproof_es.core.run import Run
from failproof_es.engine.related_runs.differences import Absent, Value
from failproof_es.reading.overviews.run_comparison import ComparedCounts, ComparedPair, Side
from failproof_es.support.document import Document
from failproof_es.support.text_differences import DiffLine

_LONGEST_VALUE = 600


class ComparedRun(Document):
    """One of the two runs."""

    run_id: UUID
    run_number: int
    name: str
    status: str
    started_at: datetime
    code_version: str
    dialect: str
    models: tuple[str, ...]
    remarks: tuple[str, ...]
    """Remarks that qualify its numbers."""


class RenamedModel(Document):
    """A model of each run; both are set alike, and only their keys differ."""

    base: str
    other: str


class ModelsCompared(Document):
    """A model of each run, and the results of their pairs."""

    base_model: str
    other_model: str
    both_passed: int
    both_failed: int
    worse: int
    better: int
    one_answer: int
    """Pairs of one and the same answer, which one run reused: nothing could differ."""
    base: PassRate
    """Pass rate over the pairs, as `other`: evaluations without a partner are in neither."""
    other: PassRate
    difference: float | None
    """Rate of `other` less rate of `base`, over the pairs. `None`, like the interval, the test and
    `p`, where the page's `incomparable` says why."""
    low: float | None = None
    high: float | None = None
    method: str | None = None
    test: str | None
    p: float | None
    adjusted_p: float | None
    """`p`, adjusted for the number of models on this page (Benjamini and Hochberg)."""
    adjusted_for: int
    """Number of models that `adjusted_p` is adjusted for."""
    clusters: int
    smallest_effect: float | None
    unpaired: tuple[Unpaired, ...]
    not_looked_into: int

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        return self.both_passed + self.both_failed + self.worse + self.better

    @property
    def advice(self) -> str | None:
        """Advice to get more evaluations into pairs."""
        return advice_on(self.unpaired)


class PairShown(Document):
    """A question in both runs, with the differences of the answers."""

    pair: ComparedPair
    base_reason: str
    other_reason: str
    base_answer: TextShown
    """The whole is on the page of the evaluation."""
    other_answer: TextShown
    same_answer: bool
    lines: tuple[DiffLine, ...]
    cut: bool
    """Whether either answer is longer than what was compared."""


class ValueShown(Document):
    """A value that differs, as JSON; `None` where a side has none."""

    path: str
    base: str | None
    other: str | None


def models_compared(
    sides: tuple[Side, Side], counts: ComparedCounts, adjusted: float, together: int
) -> ModelsCompared:
    """The comparison of two models, as the page shows it where their runs can be compared."""
    base, other = sides
    return ModelsCompared.copy_of(
        counts,
        counts.paired,
        counts.paired.interval,
        base_model=base.model,
        other_model=other.model,
        base=build_pass_rate(counts.base),
        other=build_pass_rate(counts.other),
        adjusted_p=adjusted,
        adjusted_for=together,
    )


def without_difference(models: ModelsCompared) -> ModelsCompared:
    """The counts alone, of runs that cannot be compared."""
    untold = ("difference", "low", "high", "method", "test", "p", "adjusted_p", "smallest_effect")
    return models.model_copy(update=dict.fromkeys(untold))


def value_shown(value: Value) -> ValueShown:
    """A value that differs, as JSON."""
    return ValueShown(path=value.path, base=_json(value.left), other=_json(value.right))


def _json(value: object) -> str | None:
    if isinstance(value, Absent):
        return None
    text = orjson.dumps(value).decode()
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "…"


def run_compared(run: Run, remarks: tuple[str, ...]) -> ComparedRun:
    """A compared run, as the page shows it."""
    started = run.started
    return ComparedRun.copy_of(
        started,
        run,
        run_id=started.originator_id,
        started_at=started.timestamp,
        models=tuple(model.key for model in started.models),
        remarks=remarks,
    )
