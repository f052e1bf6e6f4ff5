"""Estimates a run's requests case by case, without the reused answers."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from failproof_es.configuration.schema import Configuration
from failproof_es.core.case import Case, prompt_id
from failproof_es.core.evaluation import EvaluationKey, Judging
from failproof_es.dialects.protocol import Dialect
from failproof_es.engine.drive.grading.grader import Grader
from failproof_es.engine.drive.targets import Targets
from failproof_es.engine.history import Connection
from failproof_es.engine.preflight.estimates import Estimates
from failproof_es.engine.replays.reuse import Reuse, reuse_from
from failproof_es.engine.replays.reuse_count import ReuseCount
from failproof_es.engine.requests import Requests
from failproof_es.events import Branch
from failproof_es.problems import Problem

_AT_ONCE = 200
_NO_RUN = UUID(int=0)
"""Id in place of the new run's, which has none yet."""


class CaseEstimator:
    """Adds each case to the estimates, without the evaluations that are reused.

    Call `begin` first, `end` last. The connection serves to read reused answers. Without it no
    answer counts as reused.
    """

    def __init__(
        self,
        connection: Connection | None,
        configuration: Configuration,
        dialect: Dialect,
        targets: Targets,
        estimates: Estimates,
    ) -> None:
        self.branch: Branch | None = None
        """The run whose answers are reused, and the position up to which; `None` without reuse."""
        self._connection = connection
        self._configuration = configuration
        self._dialect = dialect
        self._targets = targets
        self._estimates = estimates
        self._count: ReuseCount | None = None
        self._waiting: list[Case] = []

    def begin(self) -> None:
        """Set `branch` to the run whose answers are reused, if the configuration names one.

        Does nothing without a connection. Raises `InvalidInput` if there is no such run, or if its
        answers cannot be reused.
        """
        from_run = self._configuration.reuse.from_run
        if from_run is None or self._connection is None:
            return
        self.branch = reuse_from(self._connection, from_run)
        targets = self._targets
        judging = self._configuration.judging
        reuse = Reuse.of(
            self._connection,
            self.branch,
            Requests(self._dialect, targets.models, targets.judges),
            Grader(
                self._dialect,
                Judging(tuple(targets.judges), judging.rule, judging.attempts),
                self._configuration.execution.retry_attempts,
                self._configuration.model_dump(include={"grading"}),
            ),
            (*targets.snapshots(), *targets.judge_snapshots()),
        )
        self._count = ReuseCount(self._connection, self.branch, reuse)

    def add(self, case: Case) -> None:
        """Count the next case in the estimates, without its reused evaluations."""
        if self._count is None:
            self._estimates.add(case)
            return
        self._waiting.append(case)
        if len(self._waiting) == _AT_ONCE:
            self._flush(self._count)

    def end(self) -> tuple[Problem, ...]:
        """Count the cases that are left; return the remark on reused answers, or nothing without
        reuse."""
        if self._count is None:
            return ()
        self._flush(self._count)
        return (self._count.remark(),)

    def _flush(self, count: ReuseCount) -> None:
        repetitions = range(1, self._configuration.execution.repetitions + 1)
        prompts = [prompt_id(case.digest()) for case in self._waiting]
        planned = [
            [
                EvaluationKey(_NO_RUN, prompt, model, repetition)
                for model in self._targets.models
                for repetition in repetitions
            ]
            for prompt in prompts
        ]
        keys = [key for of_case in planned for key in of_case]
        reused = count.look(keys, dict(zip(prompts, self._waiting, strict=True)))
        for case, of_case in zip(self._waiting, planned, strict=True):
            remaining = Counter(key.model_key for key in of_case if key not in reused)
            self._estimates.add(case, remaining)
        self._waiting.clear()
