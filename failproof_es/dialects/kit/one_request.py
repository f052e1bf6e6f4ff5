"""Methods of a dialect whose cases are one request each, and which no judge grades."""

from __future__ import annotations

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import Transcript


def messages(case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
    """All messages of the case; `None` once they are answered."""
    return None if transcript.replies else case.turns


def judge_messages(case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
    """Always `None`: the dialect grades without a judge."""
    return None
