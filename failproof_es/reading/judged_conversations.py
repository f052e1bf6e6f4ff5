"""Reads the conversations of a run that its judges judged."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from failproof_es.core.case import prompt_id
from failproof_es.dialects.judge_probe.conversation import JudgedConversation
from failproof_es.engine.planning.selection import rank
from failproof_es.engine.required_plugins import require_dialect
from failproof_es.reading.recorded_run import RecordedRun


def judged_conversations(run: RecordedRun, count: int, seed: int) -> Iterator[JudgedConversation]:
    """The judged answers of all models to a sample of at most `count` cases, in plan order.

    Raises `InvalidInput` if the dialect of the run is not installed.
    """
    dialect = require_dialect(run.started)
    sample = heapq.nsmallest(count, run.cases(), key=lambda case: rank(seed, case))
    prompts = {prompt_id(case.digest()) for case in sample}
    planned = run.keys(after=0)
    for evaluation in run.evaluations_of(key for _, key in planned if key.prompt_id in prompts):
        state = evaluation.state()
        conversation = JudgedConversation(
            judged_case=evaluation.case,
            replies=state.replies,
            origin=f"{evaluation.key.model_key}#{evaluation.key.repetition}",
        )
        if state.verdicts and conversation.question(dialect) is not None:
            yield conversation
