"""Validates a run that has ended (specification 001 § 10.2): complete, intact, and as sent.

Tokens and costs are counted again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from failproof_es.configuration.prompt_template import (
    apply_template,
    recorded_template,
)
from failproof_es.core.case import Case, prompt_id
from failproof_es.core.costs import Spent
from failproof_es.core.evaluation import (
    AWAITING_REVIEW,
    Evaluation,
    ImpossibleHistory,
    ModelReply,
    Transcript,
)
from failproof_es.core.evolution import fold_valid_prefix
from failproof_es.core.finish_reasons import Meaning, meaning_of
from failproof_es.core.outcome import FoldedHistory
from failproof_es.core.request_body import RequestBodies, SentBody
from failproof_es.core.tally import Tally
from failproof_es.dialects.fixed_outcomes import (
    FIXED_OUTCOME,
    FixedOutcomeCounts,
    fixed_outcomes_of,
)
from failproof_es.dialects.protocol import Dialect, FixedOutcome
from failproof_es.engine.finish.other_streams import OtherStreams
from failproof_es.engine.history import RecordedEvaluation
from failproof_es.events import (
    AnswerImported,
    Event,
    Finding,
    ModelSnapshot,
    RequestSent,
    ResponseReceived,
    RunStarted,
    Usage,
)
from failproof_es.models import provider_type
from failproof_es.models.replies.parse_check import find_parse_mismatch
from failproof_es.problems import InvalidInput
from failproof_es.support.plurals import plural

_MOST_LISTED = 100
"""The number of findings of one kind that are listed; the rest are counted."""
_ENDINGS: Mapping[Meaning, str] = {
    "cut_off": "ended at max_tokens",
    "withheld": "withheld by the provider",
    "broken": "broken off, or of no use to their server",
    "unknown": "ended for a reason of unknown meaning",
}
"""Words for replies that did not end well, by the meaning of their finish reason."""


class IncompleteReplies(NamedTuple):
    """A kind of replies to count: by model or judge, and by the meaning of a finish reason that
    says that they are incomplete or that is unknown."""

    key: str
    meaning: Meaning
    word: str
    """The finish reason word for word if its meaning is not known; else empty."""


class CountedChecks(NamedTuple):
    """The counts of a `Validation` without findings, to add to another `Validation` of the run."""

    checked: Counter[str]
    abandoned: Counter[str]
    endings: Counter[IncompleteReplies]
    unread: dict[str, str]
    streams: int
    scored: int
    fixed_outcomes: FixedOutcomeCounts


@dataclass(slots=True)
class Validation:
    """The validation of one run in progress: findings and counts so far."""

    started: RunStarted
    dialect: Dialect
    imported: bool
    """Whether another tool recorded the run: then the engine sent none of its requests."""
    checked: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    more: Counter[str] = field(default_factory=Counter)
    _finding_counts: Counter[str] = field(default_factory=Counter)
    _abandoned: Counter[str] = field(default_factory=Counter)
    _endings: Counter[IncompleteReplies] = field(default_factory=Counter)
    _unread: dict[str, str] = field(default_factory=dict)
    _models: dict[str, ModelSnapshot] = field(default_factory=dict)
    _streams: int = 0
    _scored: int = 0
    _fixed_outcomes: FixedOutcomeCounts = field(default_factory=FixedOutcomeCounts)
    _fixed_outcome: Callable[[Case], FixedOutcome | None] = field(init=False)

    def __post_init__(self) -> None:
        self._models = {m.key: m for m in (*self.started.models, *self.started.judges)}
        self._fixed_outcome = fixed_outcomes_of(self.dialect)

    def check(self, recorded: RecordedEvaluation) -> FoldedHistory:
        """Check one planned evaluation, event by event; a defect becomes a finding, not an error.

        Returns the events as far as they are valid, their folded state, and the error that follows.
        """
        self.checked["evaluations"] += 1
        self._streams += bool(recorded.history)
        self._fixed_outcomes.add(self._fixed_outcome(recorded.case))
        if prompt_id(recorded.case.digest()) != recorded.key.prompt_id:
            self._find("prompt_altered", "the stored prompt is not what its id says", recorded)

        bodies = RequestBodies()

        def look(state: Evaluation, event: Event) -> None:
            self.checked["events"] += 1
            if isinstance(event, RequestSent):
                self._look_at_request(event, bodies.rebuild(event), state.replies, recorded)
            elif isinstance(event, ResponseReceived):
                self._look_at_response(event, recorded)
            elif isinstance(event, AnswerImported):
                self._look_at_imported(event, recorded)

        state, possible, error = fold_valid_prefix(recorded.history, before=look)
        if error is not None:
            self.add_unreadable(error, recorded.key.evaluation_id)
            return FoldedHistory(state, recorded.history[:possible], error)
        if recorded.broken is not None:
            self.add_unreadable(recorded.broken, recorded.key.evaluation_id)
        else:
            self._count_ending(state, recorded)
        return FoldedHistory(state, recorded.history, None)

    def counted(self) -> CountedChecks:
        """The counts so far, for `include` of another validation.

        Call it only if there are no findings.
        """
        return CountedChecks(
            self.checked,
            self._abandoned,
            self._endings,
            self._unread,
            self._streams,
            self._scored,
            self._fixed_outcomes,
        )

    def include(self, other: CountedChecks) -> None:
        """Add the counts of other evaluations of the run, which were checked elsewhere."""
        self.checked.update(other.checked)
        self._abandoned.update(other.abandoned)
        self._endings.update(other.endings)
        self._unread.update(other.unread)
        self._streams += other.streams
        self._scored += other.scored
        self._fixed_outcomes.include(other.fixed_outcomes)

    def add_unreadable(self, error: Exception, evaluation_id: UUID | None = None) -> None:
        """Add a finding for an error of reading events: they are impossible or cannot be read.

        `evaluation_id` is the evaluation that it concerns; `None` if it concerns the run.
        """
        impossible = isinstance(error, ImpossibleHistory)
        self._add_integrity_finding(
            "impossible_history" if impossible else "unreadable", str(error), evaluation_id
        )

    @property
    def tally(self) -> Tally:
        """The numbers of checked evaluations that have ended, with a score and without."""
        return Tally(self.started.planned_evaluations, self._scored, self._abandoned.total())

    def end(
        self,
        other_streams: OtherStreams,
        stream_count: int,
        filed: int,
        spending: Mapping[str, Spent],
    ) -> dict[str, Any]:
        """The fields of `RunValidated`: the findings, the counts, and the usage.

        `other_streams` are the checks of the run's other streams, `stream_count` is the number of
        checked streams with events of the run, `filed` the number of evaluations with its run id,
        `spending` the usage of its answers, by the key of the model or judge. Call it once: it adds
        findings.
        """
        if other_streams.of_run is not None:
            self.add_unreadable(other_streams.of_run)
        for error, evaluation_id in other_streams.broken:
            self.add_unreadable(error, evaluation_id)
        counts = other_streams.counts
        abandoned = self._abandoned.total()
        if (self._scored, abandoned) != (counts.scored, counts.abandoned):
            self._find(
                "counts_differ",
                f"the run says {counts.scored} scored and {counts.abandoned} abandoned; "
                f"its events say {self._scored} and {abandoned}",
            )
        if filed != self._streams:
            self._find(
                "streams_differ",
                f"filed under this run: {plural(filed, 'evaluation')}; planned: {self._streams}",
            )
        elif stream_count != self._streams:
            self._find(
                "streams_differ",
                f"{plural(self._streams, 'evaluation')} planned; no more than {stream_count} are "
                "different: the plan lists others twice",
            )
        for kind, count in sorted(self._abandoned.items()):
            outcome = (
                "left to people" if kind == AWAITING_REVIEW else f"ended without a score: {kind}"
            )
            self._add_notice("not_scored", f"{plural(count, 'evaluation')} {outcome}")
        for line in self._fixed_outcomes.lines("evaluation"):
            self._add_notice(FIXED_OUTCOME, line)
        for key, why in sorted(self._unread.items()):
            unread = f"what was sent to {key} and came from it was not read again: {why}"
            self._add_notice("not_read_again", unread)
        for (key, meaning, word), count in sorted(self._endings.items()):
            message = f"{plural(count, 'reply', 'replies')} of {key} {_ENDINGS[meaning]}"
            kind = "unknown_finish_reason" if meaning == "unknown" else meaning
            self._add_notice(kind, f"{message}: {word}" if word else message)
        answered = {key: spent for key, spent in sorted(spending.items()) if spent.answers}
        return {
            "passed": not any(finding.integrity for finding in self.findings),
            "checked": dict(self.checked),
            "findings": tuple(self.findings),
            "more": dict(self.more),
            "usage": {key: _usage(spent) for key, spent in answered.items()},
            "cost_usd": {
                key: None if spent.cost_usd is None else str(spent.cost_usd)
                for key, spent in answered.items()
            },
        }

    # -- one event -------------------------------------------------------------------------

    def _look_at_request(
        self,
        request: RequestSent,
        sent: SentBody,
        replies: Sequence[ModelReply],
        recorded: RecordedEvaluation,
    ) -> None:
        self.checked["requests"] += 1
        if self.imported:
            problem = "a request was sent in a run that says that it is imported"
            self._find("asked_here", problem, recorded)
        if sent.problem is not None:
            self._find("request_altered", sent.problem, recorded)
        transcript = Transcript(tuple(replies))
        ask = self.dialect.messages if request.judge is None else self.dialect.judge_messages
        messages = ask(recorded.case, transcript)
        model = self._models.get(request.judge or request.model_key)
        if model is None:
            key = request.judge or request.model_key
            self._find("unknown_model", f"{key} was asked and is no model of this run", recorded)
        elif self._is_unreadable(model):
            return
        elif messages is None or not provider_type(model.provider).request_is_complete(
            sent.body, apply_template(recorded_template(model.parameters), messages)
        ):
            message = f"the request of turn {request.turn} is not the planned one"
            self._find("not_sent_whole", message, recorded)

    def _look_at_response(self, response: ResponseReceived, recorded: RecordedEvaluation) -> None:
        self.checked["responses"] += 1
        key = response.judge or response.model_key
        self._look_at_end(key, response.finish_reason)
        model = self._models.get(key)
        if model is None:
            self._find("unknown_model", f"{key} answered and is no model of this run", recorded)
        elif not self._is_unreadable(model) and (
            wrong := find_parse_mismatch(model.provider, response)
        ):
            message = (
                f"{wrong.field} is on record as {_abbreviate(wrong.recorded)}, the raw reply says"
            )
            self._find("misread", f"{message} {_abbreviate(wrong.raw)}", recorded)

    def _look_at_imported(self, answer: AnswerImported, recorded: RecordedEvaluation) -> None:
        self.checked["imported answers"] += 1
        for reply in answer.replies[-1:]:
            self._look_at_end(answer.model_key, reply.finish_reason)
        if answer.model_key not in self._models:
            key = answer.model_key
            self._find("unknown_model", f"{key} answered and is no model of this run", recorded)
        if self.imported == (answer.given_by is not None):
            problem = "the answer is imported, and its run says that it asked itself"
            if self.imported:
                problem = "a program handed the answer over in a run that says that it is imported"
            self._find("not_asked", problem, recorded)

    def _look_at_end(self, key: str, finish_reason: str | None) -> None:
        """Count a reply whose finish reason is unknown, or says that the reply is incomplete."""
        meaning = meaning_of(finish_reason)
        if meaning in _ENDINGS:
            word = repr(finish_reason) if meaning == "unknown" else ""
            ending = IncompleteReplies(key, meaning, word)
            if ending not in self._endings and len(self._endings) >= _MOST_LISTED:
                ending = IncompleteReplies(key, meaning, "")  # counted with others, and not named
            self._endings[ending] += 1

    def _is_unreadable(self, model: ModelSnapshot) -> bool:
        """Whether the model's provider is not installed. Notes such a model as not read again."""
        try:
            provider_type(model.provider)
        except InvalidInput as error:
            self._unread[model.key] = str(error)
            return True
        return False

    def _count_ending(self, state: Evaluation, recorded: RecordedEvaluation) -> None:
        if state.score is not None:
            self._scored += 1
        elif state.abandoned is not None:
            self._abandoned[state.abandoned.kind] += 1
        else:
            self._find("unaccounted", "the evaluation was planned and has no end", recorded)

    # -- keeping ---------------------------------------------------------------------------

    def _find(self, kind: str, message: str, recorded: RecordedEvaluation | None = None) -> None:
        self._add_integrity_finding(
            kind, message, None if recorded is None else recorded.key.evaluation_id
        )

    def _add_integrity_finding(self, kind: str, message: str, evaluation_id: UUID | None) -> None:
        self._finding_counts[kind] += 1
        if self._finding_counts[kind] > _MOST_LISTED:
            self.more[kind] += 1
            return
        self.findings.append(
            Finding(kind=kind, integrity=True, message=message, evaluation_id=evaluation_id)
        )

    def _add_notice(self, kind: str, message: str) -> None:
        self.findings.append(Finding(kind=kind, integrity=False, message=message))


def _usage(spent: Spent) -> Usage:
    """The sums of tokens, for `RunValidated`.

    If one input or output count is unknown, so is its sum.
    """
    return Usage(
        input_tokens=None if spent.input.unknown else spent.input.total,
        output_tokens=None if spent.output.unknown else spent.output.total,
        cached_input_tokens=spent.cached_input.reported_total,
        cache_write_tokens=spent.cache_write.reported_total,
        cache_write_1h_tokens=spent.cache_write_1h.reported_total,
    )


def _abbreviate(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
