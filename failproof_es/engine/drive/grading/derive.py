"""Derives the class, the judgements and the score from a recorded answer.

A running run, a replay and an external verdict all use this code. Pure: it sends nothing and
knows no event.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from failproof_es.core.case import Case
from failproof_es.core.evaluation import (
    Abandon,
    Classification,
    Classify,
    Failure,
    ReadJudgement,
    Score,
    ScoreReply,
    Transcript,
)
from failproof_es.dialects.kit import cut_off
from failproof_es.dialects.protocol import Dialect, JudgeReading, failing_scores
from failproof_es.dialects.scorers import Scorer, grade
from failproof_es.engine.drive.grading.judge_reply import read_judgement

Derivable = Classify | ReadJudgement | ScoreReply | Abandon
Derived = Classification | JudgeReading | Score | Failure


_NOTHING_SAID = Transcript()


@overload
def derive(dialect: Dialect, case: Case, action: Classify) -> Classification: ...
@overload
def derive(dialect: Dialect, case: Case, action: ReadJudgement) -> JudgeReading: ...
@overload
def derive(
    dialect: Dialect,
    case: Case,
    action: ScoreReply | Abandon,
    *,
    scorers: Sequence[Scorer],
    scorer_input: Transcript,
    cut_off_fails: bool = False,
) -> Score | Failure: ...
def derive(
    dialect: Dialect,
    case: Case,
    action: Derivable,
    *,
    scorers: Sequence[Scorer] = (),
    scorer_input: Transcript = _NOTHING_SAID,
    cut_off_fails: bool = False,
) -> Derived:
    """Derive the result of an action from the answers that it holds, by the rules of the dialect.

    The result is a class, a judge's verdict, a score, or a `Failure`, which ends the evaluation
    without a score. `scorers` are the run's scorers, `scorer_input` the answers that they get. With
    `cut_off_fails` a reply that was cut off gets a failing score (`grading.on_cut_off`).
    """
    match action:
        case Classify(transcript):
            return dialect.classify(case, transcript)
        case ReadJudgement():
            return read_judgement(dialect, case, action)
        case ScoreReply(classification, judgement):
            end = grade(dialect, scorers, case, scorer_input, classification, judgement)
            if cut_off_fails and isinstance(end, Failure) and end.kind == cut_off.CLASS:
                return cut_off.failed(end, failing_scores(dialect))
            return end
        case Abandon(failure):
            return failure
