"""The choice of a run's results to show: by state, suite, class, model, text and more."""

from __future__ import annotations

from dataclasses import dataclass

from failproof_es.reading.recorded_run import PlannedOutcome


@dataclass(frozen=True, slots=True)
class ResultChoice:
    """Conditions on a result: at least one of the set states, and every other given condition.

    The states are `failed`, `errors` and `unscored`: if none is set, every state matches. An empty
    tuple or `None` is no condition; with several tags a case needs only one of them.
    """

    failed: bool = False
    """Scored and not passed, by people's verdict where people decide."""
    errors: bool = False
    """Ended without a usable answer."""
    unscored: bool = False
    """Ended without a score, errors included; not if people decided it."""
    suites: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    severities: tuple[str, ...] = ()
    text: str | None = None
    """Part of the case's id, a turn, the answer, the reason or the error, in upper or lower case.
    """

    @property
    def is_all(self) -> bool:
        """Whether every result is chosen."""
        return self == ResultChoice()

    @property
    def only_failed(self) -> bool:
        """Whether only results that failed are chosen."""
        return self.failed and not (self.errors or self.unscored)

    def takes(self, planned: PlannedOutcome) -> bool:
        """Whether the result is chosen."""
        case, outcome = planned.case, planned.outcome
        conditions = (
            (self.suites, case.suite_id),
            (self.classes, outcome.class_),
            (self.models, outcome.model_key),
            (self.cases, case.case_id),
            (self.severities, case.severity),
        )
        return (
            all(not names or name in names for names, name in conditions)
            and (not self.tags or not set(self.tags).isdisjoint(case.tags))
            and self._takes_state(planned)
            and self._takes_text(planned)
        )

    def _takes_state(self, planned: PlannedOutcome) -> bool:
        if not (self.failed or self.errors or self.unscored):
            return True
        outcome = planned.outcome
        is_decided = planned.by_people in ("passed_by_people", "failed_by_people")
        return (
            (self.failed and planned.failed)
            or (self.errors and outcome.lost)
            or (self.unscored and outcome.unscored and not is_decided)
        )

    def _takes_text(self, planned: PlannedOutcome) -> bool:
        if self.text is None:
            return True
        outcome = planned.outcome
        texts = (
            planned.case.case_id,
            *(turn.content for turn in planned.case.turns),
            outcome.answer,
            outcome.reason,
            outcome.error_message,
        )
        sought = self.text.casefold()
        return any(sought in text.casefold() for text in texts if text)
