"""Counts evaluations in a row that have no usable reply of a model or judge. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from failproof_es.core.evaluation_state import Evaluation
from failproof_es.core.unscored import unscored_group
from failproof_es.support.plurals import plural


@dataclass(slots=True)
class LostInARow:
    """The current count of each model and judge; a usable reply ends it.

    `most` is the count at which the run is paused; `None` is never.
    """

    most: int | None
    _cases: dict[str, Counter[UUID | None]] = field(default_factory=dict)
    """By model and judge, the number of lost evaluations of each case."""

    def add(self, evaluation: Evaluation, *, is_only_case: bool = False) -> str | None:
        """Count a finished evaluation. Returns why the run must pause, or `None`.

        The repetitions of one case alone never pause a run: the case may be why no reply is
        usable. `is_only_case` is whether the run has no other case; then they do.
        """
        if self.most is None:
            return None
        why = None
        for key, problem in problems_of(evaluation).items():
            if problem is None:
                self._cases.pop(key, None)
                continue
            cases = self._cases.setdefault(key, Counter())
            cases[evaluation.prompt_id] += 1
            is_enough = cases.total() >= self.most and (is_only_case or len(cases) > 1)
            if why is None and is_enough:
                why = _describe(key, cases.total(), problem)
        return why


def problems_of(evaluation: Evaluation) -> Mapping[str, str | None]:
    """Why a model or judge gave no usable reply, by its key; `None` if it gave one.

    Has only those that this run asked for the finished evaluation.
    """
    problems: dict[str, str | None] = {}
    if evaluation.request is not None and evaluation.model_key is not None:
        error = evaluation.last_error if unscored_group(evaluation) == "no_answer" else None
        problems[evaluation.model_key] = None if error is None else error.message
    for verdict in evaluation.verdicts:
        problems[verdict.judge] = None if verdict.verdict is not None else verdict.problem or ""
    return problems


def _describe(key: str, count: int, problem: str) -> str:
    return (
        f"{key}: no usable reply for {plural(count, 'evaluation')} in a row "
        f"(`execution.pause_after_lost`), the last one: {problem}"
    )
