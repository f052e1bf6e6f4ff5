"""What follows from a recorded answer: its class, what its judges said, its score.

Derived here and nowhere else, for a run that goes on, for one that is replayed, and for a verdict
that comes from outside. Pure: it asks nobody and knows no event.
"""

from __future__ import annotations

from typing import overload

from failproof_es.case import Case
from failproof_es.dialects.protocol import Dialect, JudgeReading
from failproof_es.engine.judging import read_judgement
from failproof_es.evaluation import (
    Classification,
    Classify,
    Failure,
    GiveUp,
    Judgement,
    ReadJudgement,
    Score,
    ScoreReply,
)

Derivable = Classify | ReadJudgement | ScoreReply | GiveUp
Derived = Classification | JudgeReading | Score | Failure


@overload
def derive(dialect: Dialect, case: Case, action: Classify) -> Classification: ...
@overload
def derive(dialect: Dialect, case: Case, action: ReadJudgement) -> JudgeReading: ...
@overload
def derive(dialect: Dialect, case: Case, action: ScoreReply | GiveUp) -> Score | Failure: ...
def derive(dialect: Dialect, case: Case, action: Derivable) -> Derived:
    """What the action comes to. A `Failure` ends the evaluation without a score."""
    match action:
        case Classify(transcript):
            return dialect.classify(case, transcript)
        case ReadJudgement():
            return read_judgement(dialect, case, action)
        case ScoreReply(classification, judgement):
            return grade(dialect, case, classification, judgement)
        case GiveUp(failure):
            return failure


def grade(
    dialect: Dialect, case: Case, classification: Classification, judgement: Judgement | None
) -> Score | Failure:
    """The score of a classified answer, or why it has none."""
    return dialect.score(case, classification, judgement)
