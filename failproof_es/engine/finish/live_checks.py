"""Checks evaluations while their run is driven, so that its end need not read them in full.

The committed bytes are decoded as every reader decodes them, and checked by the same
`Validation.check`. A hash over its events is kept of each evaluation. At the run's end every row is
hashed again (`final_pass`): if all hashes are equal, the log holds the checked events. The full
reading covers all that cannot be checked here.
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
"""Limit for the events of all unfinished evaluations. Others are read at the end."""
_MOST_CHECKED_BYTES = 1 << 18
"""Limit for the events of one evaluation, and for its requests as sent: checking more would hold up
the event loop for milliseconds."""


class CheckedPart(NamedTuple):
    """The checks of one process on a run, for another process of the same command."""

    run_id: UUID
    prices: Mapping[str, ModelPrices]
    """The prices of the counted costs."""
    counted: CountedChecks
    counts: RunCounts
    scores: dict[str, dict[QuestionKey, GradedAccuracy]] | None
    """The scores by model; `None` if they were not kept."""
    streams: CheckedStreams


class LiveChecks:
    """The checks on a run by the process that drives it.

    For one event loop. Call `begin` before work on an evaluation, `committed` with events that
    became durable, `end` after the work. None of them raises. Evaluations that cannot be checked
    here are left to the full reading.
    """

    def __init__(self, run: Run, *, scores: bool) -> None:
        self.run = run
        """The run as it was when the drive began."""
        self._reset()
        self._with_scores = scores
        self._open: dict[UUID, list[LogEntry]] = {}
        self._held = 0
        self._usable = True

    def _reset(self) -> None:
        self.validation = Validation(
            self.run.started,
            dialect_named(self.run.started.dialect),
            self.run.imported is not None,
        )
        self.counts = RunCounts(clusters=None)
        self.scores = RunScores(self.run)
        self.streams = CheckedStreams()

    def hand_over(self) -> CheckedPart | None:
        """Remove and return the checks so far; `None` if there are none."""
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
        self._reset()
        return part

    def take_over(self, part: CheckedPart) -> None:
        """Add the checks of another process on this run, if they can be used here.

        Evaluations without a check are read in full.
        """
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
        """Note that work on an evaluation begins. Only an evaluation without events is checked."""
        if self._usable and not recorded.history and recorded.prompt is not None:
            self._open[recorded.key.evaluation_id] = []

    def committed(self, entries: Sequence[LogEntry]) -> None:
        """Note entries that are durable.

        Entries of evaluations that are not being checked are ignored.
        """
        for entry in entries:
            stream_id = entry.originator_id
            held = self._open.get(stream_id)  # type: ignore[arg-type]
            if held is None:
                continue
            held.append(entry)
            self._held += len(entry.state)
            if self._held > _MOST_HELD_BYTES:
                self._drop_entries(stream_id)  # type: ignore[arg-type]

    def end(self, recorded: RecordedEvaluation, finished: bool) -> None:
        """Note that work on the evaluation stopped; check the evaluation if it is finished."""
        entries = self._drop_entries(recorded.key.evaluation_id)
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
            return  # nothing was counted yet; the full reading reports the error
        except Exception:  # the full reading meets the same error and reports it
            self._give_up()

    def take(self, run: Run, *, scores: bool) -> bool:
        """Whether these checks can be used for `run`, the run as it ends now.

        `scores` says whether its scores are needed. Call it once: it ends the checks, and later
        calls return false.
        """
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
        if self.validation.findings:  # only a full reading gives findings in plan order
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

    def _drop_entries(self, stream_id: UUID) -> list[LogEntry]:
        entries = self._open.pop(stream_id, [])
        self._held -= sum(len(entry.state) for entry in entries)
        return entries

    def _give_up(self) -> None:
        """Leave the whole run to the full reading."""
        self._usable = False
        self._open.clear()
        self.streams = CheckedStreams()


def _request_bytes(history: Sequence[Event]) -> int:
    """The number of bytes of all requests as they were sent: a conversation records far fewer."""
    return sum(event.body_bytes for event in history if isinstance(event, RequestSent))


def _prompt_leaf(row: RecordedEvent) -> bytes:
    return leaf_hash(row.stream_id.bytes, row.version, row.topic.encode(), row.state)
