"""Counts which planned evaluations are reused, and why the others are asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple
from uuid import UUID

from failproof_es.core.case import Case, prompt_id
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.experiment import case_digests
from failproof_es.engine.history import Connection, read_chunk, read_run
from failproof_es.engine.planning.prompt_collections import read_cases
from failproof_es.engine.related_runs.carried_over import FinishedEvaluation, endings
from failproof_es.engine.replays.reuse import Reuse
from failproof_es.events import Branch
from failproof_es.problems import Problem

_MOST_CASES = 100_000
"""Number of cases of the other run that are compared at most; in a larger run every evaluation that
is not there has no score there."""
Reason = Literal["result", "question", "expectation", "notes", "absent", "score"]
_REASONS: Mapping[Reason, str] = {
    "result": "would send or conclude something else",
    "question": "of cases whose question changed",
    "expectation": "of cases whose expectation changed",
    "notes": "of cases whose tags or notes changed",
    "absent": "of cases that were not asked there",
    "score": "have no score there",
}


class _Digests(NamedTuple):
    prompt: UUID
    question: str
    graded: str


class ReuseCount:
    """Counts the reused evaluations, and the others by the reason why they are asked."""

    def __init__(self, connection: Connection, branch: Branch, reuse: Reuse) -> None:
        self._branch, self._reuse = branch, reuse
        self._other = read_run(connection, branch.run_id)
        self._connection = connection
        self._reused = 0
        self._asked: Counter[Reason] = Counter()

    def look(
        self, keys: Sequence[EvaluationKey], cases: Mapping[UUID, Case]
    ) -> dict[EvaluationKey, FinishedEvaluation]:
        """Count these evaluations, whose run id does not matter; return the reused ones, with how
        they had ended. `cases` are theirs, by the id of the prompt."""
        ended = endings(self._connection, self._branch, keys)
        scored = {key: ending for key, ending in ended.items() if not ending.abandoned}
        reused = self._reuse.choose(self._connection, scored)
        self._reused += len(reused)
        reasons: dict[UUID, Reason] = {}  # a case has as many keys as models and repetitions
        for key in keys:
            prompt = key.prompt_id
            if key in scored:
                self._asked["result"] += key not in reused
            elif key in ended:
                self._asked["score"] += 1
            else:
                if prompt not in reasons:
                    reasons[prompt] = self._why_not_there(prompt, cases[prompt])
                self._asked[reasons[prompt]] += 1
        return reused

    def remark(self) -> Problem:
        """A remark on the counts, as a warning if no evaluation is reused."""
        planned = self._reused + self._asked.total()
        why = [f"{n:,} {text}" for reason, text in _REASONS.items() if (n := self._asked[reason])]
        suffix = f"; asked: {', '.join(why)}" if why else ""
        message = (
            f"reuse: {self._reused:,} of {planned:,} evaluations carried over from run "
            f"{self._other.started.run_number}{suffix}"
        )
        if self._reused:
            return Problem("remark", message, severity="remark")
        return Problem("nothing-reused", message, severity="warning")

    def _why_not_there(self, prompt: UUID, case: Case) -> Reason:
        """Why the other run has no finished evaluation of this case, whose prompt has this id."""
        if self._other.started.planned_cases > _MOST_CASES:
            return "score"
        other = self._cases.get((case.suite_id, case.case_id))
        if other is None:
            return "absent"
        question, graded = case_digests(case.model_dump(mode="json"))
        if other.question != question:
            return "question"
        if other.graded != graded:
            return "expectation"
        return "score" if other.prompt == prompt else "notes"

    @cached_property
    def _cases(self) -> Mapping[tuple[str, str], _Digests]:
        """The digests of the other run's cases, by suite and id."""
        run_id = self._other.started.originator_id
        digests = [
            digest
            for chunk in range(self._other.chunks)
            for digest in read_chunk(self._connection, run_id, chunk)
        ]
        return {
            (case.suite_id, case.case_id): _Digests(
                prompt_id(digest), *case_digests(case.model_dump(mode="json"))
            )
            for digest, case in zip(digests, read_cases(self._connection, digests), strict=True)
        }
