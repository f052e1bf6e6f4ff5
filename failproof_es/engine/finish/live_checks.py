"""Checks evaluations while their run is driven, so that its end need not read them in full.

Checked are the bytes that were committed, decoded as every reader decodes them, by the same
`Validation.check`. Kept of each evaluation is a hash over its events. At the run's end every row
is hashed again (`final_pass`): where all hashes are equal, the log holds what was checked.
What cannot be checked here is left to the full reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from failproof_es.core.run import Run
from failproof_es.core.summary import RunCounts
from failproof_es.dialects import dialect_named
from failproof_es.engine.evaluation_outcomes import evaluation_outcome
from failproof_es.engine.finish.checked_streams import CheckedStreams, checked_digest
from failproof_es.engine.finish.validation import CountedChecks, Validation
from failproof_es.engine.history import RecordedEvaluation
from failproof_es.engine.related_runs.paired_results import GradedAccuracy, QuestionKey, RunScores
from failproof_es.events import Event, ModelPrices, RequestSent
from failproof_es.ledger.leaf import leaf_hash
from failproof_es.store.errors import UnreadableState
from failproof_es.store.mapper import LogEntry, decode
from failproof_es.store.reading.reader import RecordedEvent

_MOST_HELD_BYTES = 1 << 24
"""Of evaluations that are under way, all together. What is beyond that is read at the end."""
_MOST_CHECKED_BYTES = 1 << 18
"""Of one evaluation, of its events and of its requests as sent: checking more would hold up the
event loop for milliseconds."""


class CheckedPart(NamedTuple):
    """What one process checked of a run, for another one of the same command."""

    run_id: UUID
    prices: Mapping[str, ModelPrices]
    """At which it was counted."""
    counted: CountedChecks
    counts: RunCounts
    scores: dict[str, dict[QuestionKey, GradedAccuracy]] | None
    """By model; `None` where they were not kept."""
    streams: CheckedStreams


class LiveChecks:
    """What was checked of a run by the process that drives it. For one event loop.

    `begin` before an evaluation is carried on, `committed` with what became durable, `end` when it
    is finished. None of them raises.
    """

    def __init__(self, run: Run, *, scores: bool) -> None:
        self.run = run
        """As it was when the drive began."""
        self._begin()
        self._with_scores = scores
        self._open: dict[UUID, list[LogEntry]] = {}
        self._held = 0
        self._usable = True

    def _begin(self) -> None:
        self.validation = Validation(
            self.run.started,
            dialect_named(self.run.started.dialect),
            self.run.imported is not None,
        )
        self.counts = RunCounts(clusters=None)
        self.scores = RunScores(self.run)
        self.streams = CheckedStreams()

    def hand_over(self) -> CheckedPart | None:
        """What was checked until now, which is not here any more then; `None` if there is none."""
        if not self._usable or not len(self.streams):
            return None
        part = CheckedPart(
            self.run.started.originator_id,
            self.run.prices,
            self.validation.counted(),
            self.counts,
            self.scores.by_model if self._with_scores else None,
            self.streams,
        )
        self._begin()
        return part

    def take_over(self, part: CheckedPart) -> None:
        """Add what another process checked of this run, if it can be used here. Without it those
        evaluations are read in full."""
        if (
            not self._usable
            or part.run_id != self.run.started.originator_id
            or part.prices != self.run.prices
            or (self._with_scores and part.scores is None)
        ):
            return
        self.validation.include(part.counted)
        self.counts.include(part.counts)
        for model, scores in (part.scores or {}).items():
            self.scores.by_model.setdefault(model, {}).update(scores)
        self.streams.include(part.streams)

    def begin(self, recorded: RecordedEvaluation) -> None:
        """An evaluation is carried on; it can be checked if that is from its first event on."""
        if self._usable and not recorded.history and recorded.prompt is not None:
            self._open[recorded.key.evaluation_id] = []

    def committed(self, entries: Sequence[LogEntry]) -> None:
        """These events are durable."""
        for entry in entries:
            stream_id = entry.originator_id
            held = self._open.get(stream_id)  # type: ignore[arg-type]
            if held is None:
                continue
            held.append(entry)
            self._held += len(entry.state)
            if self._held > _MOST_HELD_BYTES:
                self._let_go(stream_id)  # type: ignore[arg-type]

    def end(self, recorded: RecordedEvaluation, finished: bool) -> None:
        """The evaluation was carried on as far as it goes now; check it where it is finished."""
        entries = self._let_go(recorded.key.evaluation_id)
        if not finished or not entries or not self._usable:
            return
        if sum(len(entry.state) for entry in entries) > _MOST_CHECKED_BYTES:
            return
        try:
            history = [
                decode(
                    entry.topic, entry.state, recorded.key.evaluation_id, entry.originator_version
                )
                for entry in entries
            ]
            if _request_bytes(history) <= _MOST_CHECKED_BYTES:
                self._check(recorded, entries, history)
        except UnreadableState:
            return  # nothing was counted yet; whoever reads it says what is wrong
        except Exception:  # whatever it is, the full reading meets it again and says so
            self._give_up()

    def take(self, run: Run, *, scores: bool) -> bool:
        """Whether this can be used for the run as it ends now. True once, if at all."""
        usable = self._usable and len(self.streams) > 0 and run.prices == self.run.prices
        usable = usable and (self._with_scores or not scores)
        self._usable = False
        self._open.clear()
        return usable and run.manifest == self.run.manifest

    def _check(
        self, recorded: RecordedEvaluation, entries: Sequence[LogEntry], history: Sequence[Event]
    ) -> None:
        key = recorded.key
        whole = RecordedEvaluation(key, recorded.case, history)
        folded = self.validation.check(whole)
        if self.validation.findings:  # they are told in the order of the plan
            self._give_up()
            return
        outcome = evaluation_outcome(self.run, whole, folded)
        self.counts.add(outcome, whole.case)
        if self._with_scores:
            self.scores.add(outcome)
        assert recorded.prompt is not None
        leaves = b"".join(entry.leaf for entry in entries)
        self.streams.add(
            key.evaluation_id.bytes, checked_digest(_prompt_leaf(recorded.prompt), leaves)
        )

    def _let_go(self, stream_id: UUID) -> list[LogEntry]:
        entries = self._open.pop(stream_id, [])
        self._held -= sum(len(entry.state) for entry in entries)
        return entries

    def _give_up(self) -> None:
        """Leave all of the run to the full reading."""
        self._usable = False
        self._open.clear()
        self.streams = CheckedStreams()


def _request_bytes(history: Sequence[Event]) -> int:
    """The bytes of all requests as they were sent: a conversation records far fewer."""
    return sum(event.body_bytes for event in history if isinstance(event, RequestSent))


def _prompt_leaf(row: RecordedEvent) -> bytes:
    return leaf_hash(row.stream_id.bytes, row.version, row.topic.encode(), row.state)
