"""The verdicts of a run's judges, and the digests of how they were asked."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Evaluation, Judgement
from failproof_es.core.experiment import canonical, conditions, graded_digest, set_digest
from failproof_es.core.run import Run
from failproof_es.dialects.kit.judging import checklist, decide
from failproof_es.engine.history import Connection, RecordedEvaluation, recorded_evaluations
from failproof_es.engine.reviews.comparison import (
    JUDGES,
    ItemOutcome,
    decided_items,
    gave_items,
    item_outcome,
)
from failproof_es.events import Judged, ResponseReceived, RunStarted, Scored

_TEMPLATE = "judge_template"
"""The key of a case's expectation that holds the prompt of the judges."""


class JudgedEvaluation(NamedTuple):
    """A scored evaluation that judges had a say in."""

    evaluation_id: UUID
    model_key: str
    family: tuple[str, str]
    """The cluster of its case."""
    passed: bool
    items: Mapping[str, Mapping[str, ItemOutcome]]
    """The votes by item key and by rater: `judges` together, or a judge's key. Empty for a case
    without a checklist."""


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """The judged evaluations of a run in plan order, and how its judges were asked."""

    started: RunStarted
    evaluations: tuple[JudgedEvaluation, ...]
    answered: Mapping[str, tuple[str, ...]]
    """The names that each judge's answers gave to its model, by the judge's key."""
    judges_sha256: str
    prompts_sha256: str
    rubric_sha256: str


@dataclass(slots=True)
class _Asked:
    """What the judges of a run were asked with, collected evaluation by evaluation."""

    answered: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    graders: set[tuple[str, str]] = field(default_factory=set)
    templates: set[str] = field(default_factory=set)
    rubrics: set[str] = field(default_factory=set)

    def add_case(self, case: Case) -> None:
        self.templates.add(str(case.expectation.get(_TEMPLATE)))
        self.rubrics.add(graded_digest(case.model_dump(mode="json")))

    def add_verdicts(self, evaluation: RecordedEvaluation) -> None:
        for event in evaluation.history:
            if isinstance(event, ResponseReceived) and event.judge is not None and event.model:
                self.answered[event.judge].add(event.model)
            elif isinstance(event, Judged):
                self.graders.add((event.grader, event.grader_version))
            elif isinstance(event, Scored):
                self.graders.add((event.scorer, event.scorer_version))


def read_judged_run(connection: Connection, run: Run, up_to: int | None = None) -> JudgedRun:
    """The verdicts of the run's judges up to a position (`None`: all).

    Reads every event of its evaluations. Raises `RunIsArchived` if the run is archived, and
    `ImpossibleHistory` if a record contradicts itself.
    """
    asked = _Asked()
    evaluations = []
    for recorded in recorded_evaluations(connection, run, up_to=up_to):
        asked.add_case(recorded.case)  # scored or not: a lost answer changes no rubric
        state = recorded.state()
        if state.verdicts and state.score is not None and state.score.passed is not None:
            asked.add_verdicts(recorded)
            evaluations.append(
                JudgedEvaluation(
                    recorded.key.evaluation_id,
                    recorded.key.model_key,
                    recorded.case.family,
                    state.score.passed,
                    _item_votes(recorded.case, state),
                )
            )
    started = run.started
    of_run = conditions(started.model_dump(mode="json"))
    return JudgedRun(
        started,
        tuple(evaluations),
        {judge: tuple(sorted(names)) for judge, names in asked.answered.items()},
        judges_sha256=_sha256([of_run["judges"], of_run["rule"]]),
        prompts_sha256=_sha256([sorted(asked.templates), sorted(map(list, asked.graders))]),
        rubric_sha256=set_digest(asked.rubrics),
    )


def _item_votes(case: Case, state: Evaluation) -> dict[str, dict[str, ItemOutcome]]:
    items = checklist(case.expectation)
    if not items or not gave_items(state):
        return {}
    together = decided_items(items, state)
    return {
        item.key: {
            **({JUDGES: together[item.key]} if item.key in together else {}),
            **{
                judge: item_outcome(item, passes)
                for judge, passes in votes.items()
                if passes is not None
            },
        }
        for decision in decide(items, Judgement("majority", state.verdicts))
        for item, votes in ((decision.item, decision.votes),)
    }


def _sha256(value: object) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()
