"""Grades an answer: its class, the requests to judges, and the final score.

The class of an answer, by the first rule that holds: `error` (nothing usable came back), `withheld`
(by the provider), `broken` and `unknown` (see `dialects.kit.unusable`), `truncated` (it was cut
off, see `dialects.kit.cut_off`), `empty`, `answered`. Only `answered` goes to a judge, without the
opening thoughts, a refusal too; `empty` scores 0 without a judge; the other classes have no score.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import (
    JUDGE_FAILED,
    Classification,
    Failure,
    Judgement,
    Score,
    Transcript,
)
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.dialects.kit import cut_off, unusable
from failproof_es.dialects.protocol import Expectation
from failproof_es.dialects.shipped.benchmark.bands import BANDS, PASSES_FROM, band_of
from failproof_es.dialects.shipped.benchmark.prompts import judge_prompt

NAME = "benchmark"
VERSION = "5"
FAILING_SCORES = {"accuracy": 0.0, "evaluation_score": 0.0}


def classify(case: Case, transcript: Transcript) -> Classification:
    """The class of the answer or of the failure, by the rules of this module. Pure."""
    primary, details = _class_of(transcript)
    return Classification(primary, details, f"{NAME}.classifier", VERSION)


def judge_messages(case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
    """The question to each judge, as one user turn; `None` for a class that needs no judge."""
    if _class_of(transcript)[0] != "answered":
        return None
    template = case.expectation.get("judge_template")
    content = judge_prompt(case.expectation, graded_text(transcript), template)
    return (Turn(role="user", content=content),)


def graded_text(transcript: Transcript) -> str:
    """The text that a judge is shown and must quote: the last answer without its thoughts.

    The refusal where that is blank; empty if there is no reply.
    """
    return transcript.replies[-1].answer_or_refusal if transcript.replies else ""


def score(
    case: Case, classification: Classification, judgement: Judgement | None
) -> Score | Failure:
    """`evaluation_score` from 0 to 1, and `accuracy` 1 if it passes; or why there is no score.

    Of several judges the median score counts, if more than half of them gave one. Under the
    other rules all judges must have given one, and all must agree whether the answer passes. (Not
    on the band: three bands pass and one fails, so passing would need more agreement than failing.)
    """
    if (failure := unusable.unscored(classification)) is not None:
        return failure
    if classification.primary == "empty":
        return _scored(0.0, "the answer is empty")
    if judgement is None:
        return Failure(JUDGE_FAILED, "no judge was asked")
    verdicts = [verdict.verdict for verdict in judgement.verdicts if verdict.verdict is not None]
    if (undecided := _undecided(judgement, verdicts)) is not None:
        return undecided
    reasons = list(dict.fromkeys(str(verdict["reason"]) for verdict in verdicts))
    return _scored(_median(verdicts), " / ".join(reasons))


def expectations(case: Case, outcome: EvaluationOutcome) -> list[Expectation]:
    """The task's four descriptions, from the best, as one statement."""
    described = "\n".join(
        f"{'' if lowest else 'not '}{band.replace('_', ' ')}: {case.expectation[band]}"
        for lowest, band in BANDS
    )
    fault = "the answer is empty" if outcome.class_ == "empty" else "scored below `pass_option`"
    return [Expectation(described, met=outcome.passed, fault=fault)]


def _class_of(transcript: Transcript) -> tuple[str, dict[str, Any]]:
    if transcript.failure is not None:
        failure = transcript.failure
        return "error", {"kind": failure.kind, "message": failure.message}
    if not transcript.replies:
        return "empty", {}
    reply = transcript.replies[-1]
    seen = unusable.seen(reply)
    if (ended := unusable.unusable_class(transcript)) is not None:
        return ended[0], {**ended[1], **seen}
    if reply.cut_off:
        return cut_off.CLASS, seen
    return "answered" if reply.answer_or_refusal.strip() else "empty", seen


def _undecided(judgement: Judgement, verdicts: Sequence[dict[str, Any]]) -> Failure | None:
    """The failure of judges that reach no score; `None` if they reach one.

    `verdicts` are the valid ones among the judges' verdicts.
    """
    scores = [float(verdict["score"]) for verdict in verdicts]
    given_scores = ", ".join(f"{score:g} ({band_of(score)})" for score in scores)
    if judgement.rule != "majority" and len({score >= PASSES_FROM for score in scores}) > 1:
        return judgement.disagreement(f"the judges do not agree whether it passes: {given_scores}")
    if len(scores) < judgement.needed:
        problems = "; ".join(f"{v.judge}: {v.problem}" for v in judgement.verdicts if v.problem)
        score_note = f" (scores: {given_scores})" if scores else ""
        lacking = (
            f"{len(scores)} of {len(judgement.verdicts)} judges gave a score, "
            f"{judgement.needed} must{score_note}: {problems}"
        )
        return Failure(JUDGE_FAILED, lacking)
    return None


def _median(verdicts: Sequence[dict[str, Any]]) -> float:
    return float(median(float(verdict["score"]) for verdict in verdicts))


def _scored(value: float, reason: str) -> Score:
    passed = value >= PASSES_FROM
    scores = {"accuracy": float(passed), "evaluation_score": value}
    return Score(scores, reason, f"{NAME}.score", VERSION, passed=passed)
