"""What each judge of a run adds: its verdicts, its cost, and the decisions that rest on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from failproof_es.core.case import Case
from failproof_es.core.evaluation import (
    JUDGE_FAILED,
    Classification,
    Failure,
    Judgement,
    JudgeVerdict,
    Rule,
)
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.run import Run
from failproof_es.core.summary import RunSummary
from failproof_es.dialects.protocol import Dialect
from failproof_es.engine.drive.judging import judging_of
from failproof_es.engine.required_plugins import require_dialect
from failproof_es.problems import InvalidInput
from failproof_es.support.document import Document


class JudgeFigure(Document):
    """What one of several judges of a run adds, and what it costs."""

    judge: str
    asked: int
    """Evaluations that it was asked about, once it is done with them."""
    verdicts: int
    """Evaluations for which it gave a verdict."""
    decisive: int | None
    """Evaluations whose decision would be another one without this judge; `None` if the dialect is
    not installed."""
    answers: int
    cost_usd: float | None
    """Cost of these answers; `None` where one is not known."""
    possibly_charged: int
    """Requests without an answer that may have been charged: `cost_usd` lacks them."""


@dataclass(slots=True)
class Jury:
    """Counts what each judge of a run adds."""

    dialect: Dialect | None
    rule: Rule
    asked: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    decisive: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, run: Run) -> Jury:
        """The jury of a run, before its evaluations are counted."""
        try:
            dialect = require_dialect(run.started)
        except InvalidInput:
            dialect = None
        return cls(dialect, judging_of(run.started).rule)

    def add(self, case: Case, outcome: EvaluationOutcome) -> None:
        """Count the judges of one evaluation."""
        for verdict in outcome.judges:
            self.asked[verdict.judge] += 1
            self.verdicts[verdict.judge] += verdict.verdict is not None
        if self.dialect is not None and outcome.finished:
            self.decisive.update(decisive_judges(self.dialect, self.rule, case, outcome))

    def figures(self, summary: RunSummary) -> Iterator[JudgeFigure]:
        """The figures of each judge; `summary` is that of the run."""
        for judge in summary.run.started.judges:
            spent, cost = summary.spent_on(judge.key), summary.cost_of(judge.key)
            yield JudgeFigure(
                judge=judge.key,
                asked=self.asked[judge.key],
                verdicts=self.verdicts[judge.key],
                decisive=None if self.dialect is None else self.decisive[judge.key],
                answers=spent.answers,
                cost_usd=None if cost is None else float(cost),
                possibly_charged=spent.possibly_charged,
            )


def decisive_judges(
    dialect: Dialect, rule: Rule, case: Case, outcome: EvaluationOutcome
) -> Iterator[str]:
    """The judges of an evaluation without whom its decision would be another one.

    None of fewer than two judges. Scores that pass alike are the same decision.
    """
    if len(outcome.judges) < 2 or outcome.class_ is None:
        return
    classification = Classification(outcome.class_, dict(outcome.details), "", "")

    def decision(verdicts: Iterable[JudgeVerdict]) -> object:
        judgement = Judgement(rule, tuple(verdicts))
        if all(verdict.verdict is None for verdict in judgement.verdicts):
            return JUDGE_FAILED  # as a run decides, without its dialect
        end = dialect.score(case, classification, judgement)
        return end.kind if isinstance(end, Failure) else end.passed

    whole = decision(outcome.judges)
    for judge in outcome.judges:
        if decision(other for other in outcome.judges if other is not judge) != whole:
            yield judge.judge
