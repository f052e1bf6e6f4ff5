"""`RecordedRun`: a run's summary, its outcomes in plan order, its documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Literal, NamedTuple
from uuid import UUID

from failproof_es.configuration.recorded import recorded_configuration, repetitions_of
from failproof_es.core.case import Case, prompt_id
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.people import OUTCOMES, PeopleOutcome, ReviewStatus
from failproof_es.core.run import CHUNK, Run, planned_evaluations
from failproof_es.core.selection import ChosenByResult
from failproof_es.core.summary import RunSummary
from failproof_es.engine.history import (
    WINDOW,
    RecordedEvaluation,
    iterate_evaluations,
    read_chunk,
    stored_case,
)
from failproof_es.engine.related_runs.asked_again import chosen_by_result
from failproof_es.engine.reviews.closings import calibrations_of, closings_of
from failproof_es.engine.reviews.people import read_reviews, status_of_reviews
from failproof_es.events import JudgeCalibrated, ReviewClosed, RunStarted
from failproof_es.reading.at_head import catch_up_problem
from failproof_es.reading.jury import Jury
from failproof_es.reading.log import LogReader, SummaryCounter
from failproof_es.reading.result_reader import ResultReader
from failproof_es.reading.rows import RowReader
from failproof_es.store.reading.archives import require_attached
from failproof_es.store.reading.reader import Connection, portions, read_streams

Origin = Literal["asked", "imported"]
"""The source of a run's answers: `asked` by this program, or `imported` from another one's record.
"""


class PlannedOutcome(NamedTuple):
    """An evaluation of a run's plan, with its case and its outcome so far."""

    place: int
    """Its place in the plan, from 1."""
    case: Case
    outcome: EvaluationOutcome
    people: ReviewStatus | None = None
    """The status of its reviews; `None` where it was not left to people."""

    @property
    def by_people(self) -> PeopleOutcome | None:
        """People's decision; `None` if it was not left to people."""
        return None if self.people is None else OUTCOMES[self.people]

    @property
    def failed(self) -> bool:
        """Whether it was scored and did not pass, or people failed it."""
        return self.outcome.failed or self.by_people == "failed_by_people"


@dataclass(frozen=True)
class RecordedRun:
    """A run as it is recorded, which reads more of itself from the database when it is needed."""

    connection: Connection
    run: Run
    reader: ResultReader
    messages: int | None = None
    """Maximum number of different messages of failed requests in the summary; `None`: all."""

    @property
    def origin(self) -> Origin:
        """The source of the run's answers."""
        return "asked" if self.run.imported is None else "imported"

    @classmethod
    def read(cls, connection: Connection, run_id: UUID, up_to: int | None = None) -> RecordedRun:
        """The run up to the position `up_to` of the log; `None`: all of it.

        Raises `InvalidInput` if there is no such run or it begins later, and `RunIsArchived` if its
        evaluations are in an archive file.
        """
        reader = reader_for(connection, up_to)
        return cls(connection, reader.run(run_id), reader)

    @classmethod
    def read_events(cls, connection: Connection, run_id: UUID) -> RecordedRun:
        """The run from its events: the projections are neither read nor updated.

        Files on record are made from it: rows can be changed by whoever has the projector's login.
        Its summary reads every event, unless `counted_outcomes` did. Raises `InvalidInput` if there
        is no such run, and `RunIsArchived` if its evaluations are in an archive file.
        """
        reader = LogReader(connection)
        return cls(connection, reader.run(run_id), reader)

    @property
    def started(self) -> RunStarted:
        """The `RunStarted` event of the run."""
        return self.run.started

    @property
    def run_id(self) -> UUID:
        """The run's id."""
        return self.started.originator_id

    @property
    def up_to(self) -> int | None:
        """The position of the log up to which it is read; `None` for all of it."""
        return self.reader.up_to

    @cached_property
    def closing(self) -> ReviewClosed | None:
        """The last closing of the run's reviews; `None` if they were never closed."""
        return max(
            closings_of(self.connection, self.run_id, up_to=self.up_to),
            key=lambda event: event.originator_version,
            default=None,
        )

    @cached_property
    def calibrated(self) -> JudgeCalibrated | None:
        """The last calibration of the run's judges by labels of its own evaluations."""
        return max(
            calibrations_of(self.connection, self.run_id, up_to=self.up_to),
            key=lambda event: event.originator_version,
            default=None,
        )

    @property
    def awaits_closing(self) -> bool:
        """Whether people decide the run's gates on rates, and nobody closed its reviews yet."""
        by_people = recorded_configuration(self.started).gates.by == "people"
        return by_people and self.closing is None

    @property
    def gates(self) -> dict[str, Any]:
        """The run's gates by name: those judged when it ended, those judged by people, and those
        judged by a calibration of its judges. The last of one name counts.
        """
        later = [event.gates for event in (self.closing, self.calibrated) if event is not None]
        return {
            name: gate for gates in (self.run.gates or {}, *later) for name, gate in gates.items()
        }

    @cached_property
    def summary(self) -> RunSummary:
        """The summary of the run. Raises `RunIsArchived` if the run is archived meanwhile."""
        summary = self.reader.summary(self.run, messages=self.messages)
        require_attached(self.connection, self.run_id)
        return summary

    @cached_property
    def jury(self) -> Jury:
        """What each judge adds. Reads each evaluation."""
        jury = Jury.of(self.run)
        for planned in self.outcomes():
            jury.add(planned.case, planned.outcome)
        return jury

    @cached_property
    def chosen_by_result(self) -> ChosenByResult | None:
        """Why the run's rates are no measurement; `None` if they are measurements."""
        branched = self.started.branched_from is not None
        carries = branched and self.summary.asking().carried_over > 0
        return chosen_by_result(self.connection, self.run, carries=carries)

    def outcomes(self, *, after: int = 0, limit: int | None = None) -> Iterator[PlannedOutcome]:
        """Planned evaluations in plan order, begun or not, at most `limit`.

        `after` is a place in the plan, counted from 1: the first evaluation is the next one. Holds
        a window of them in memory; the cost depends only on the number that is consumed. Raises
        `RunIsArchived` if the run is archived meanwhile.
        """
        yield from self.outcomes_of(islice(self.keys(after=after), limit))

    def counted_outcomes(self) -> Iterator[PlannedOutcome]:
        """All `outcomes`. When the last one was taken, the summary and the jury are known, and not
        read again."""
        counter, jury = SummaryCounter(self.connection, self.run, self.up_to), Jury.of(self.run)
        for planned in self.outcomes():
            counter.add(planned.outcome, planned.case)
            jury.add(planned.case, planned.outcome)
            yield planned
        self.__dict__["summary"] = counter.summary(messages=self.messages)
        self.__dict__["jury"] = jury

    def outcomes_of(self, places: Iterable[tuple[int, EvaluationKey]]) -> Iterator[PlannedOutcome]:
        """The evaluations with these (place in the plan from 1, key), in their order.

        Otherwise like `outcomes`.
        """
        remaining = iter(places)
        while window := list(islice(remaining, WINDOW)):
            keys = [key for _, key in window]
            cases = self._cases(keys)
            outcomes = self.reader.outcomes(self.run, keys)
            require_attached(self.connection, self.run_id)  # else some outcomes may be missing
            people = self._review_statuses(outcomes)
            for (place, key), outcome in zip(window, outcomes, strict=True):
                status = people.get(outcome.evaluation_id)
                yield PlannedOutcome(place, cases[key.prompt_id], outcome, status)

    def keys(self, *, after: int = 0) -> Iterator[tuple[int, EvaluationKey]]:
        """(place in the plan from 1, key) of the planned evaluations after the place `after`."""
        models = [model.key for model in self.started.models]
        repetitions = repetitions_of(self.started)
        of_a_case = len(models) * repetitions
        cases_before = after // of_a_case
        place = cases_before * of_a_case
        for chunk in range(cases_before // CHUNK, self.run.chunks):
            digests = read_chunk(self.connection, self.run_id, chunk)
            digests = digests[max(cases_before - chunk * CHUNK, 0) :]
            for key in planned_evaluations(self.run_id, digests, models, repetitions):
                place += 1
                if place > after:
                    yield place, key

    def cases(self) -> Iterator[Case]:
        """The planned cases, each once, in plan order. Holds a window of them in memory.

        Raises `RunIsArchived` if the run is archived meanwhile.
        """
        for chunk in range(self.run.chunks):
            prompts = [
                prompt_id(digest) for digest in read_chunk(self.connection, self.run_id, chunk)
            ]
            for portion in portions(self.connection, prompts):
                streams = read_streams(self.connection, portion)
                require_attached(self.connection, self.run_id)
                yield from (stored_case(streams, prompt) for prompt in portion)

    def evaluations(
        self, *, after: int = 0, limit: int | None = None
    ) -> Iterator[RecordedEvaluation]:
        """Like `outcomes`, but the evaluations with their events, for documents that quote them."""
        yield from self.evaluations_of(key for _, key in islice(self.keys(after=after), limit))

    def evaluations_of(self, keys: Iterable[EvaluationKey]) -> Iterator[RecordedEvaluation]:
        """The evaluations of the run with these keys, in their order, with their events.

        Takes the keys a window at a time. Raises `RunIsArchived` if the run is archived meanwhile.
        """
        remaining = iter(keys)
        while window := list(islice(remaining, WINDOW)):
            yield from iterate_evaluations(self.connection, window, up_to=self.up_to)
            require_attached(self.connection, self.run_id)

    def places_by_prompt(self) -> dict[UUID, int]:
        """The index in the plan, from 0, of each planned case, by the id of its stream."""
        return {prompt: place for place, prompt in enumerate(self.prompts())}

    def prompts(self) -> Iterator[UUID]:
        """The ids of the planned cases' streams, in plan order."""
        for chunk in range(self.run.chunks):
            yield from map(prompt_id, read_chunk(self.connection, self.run_id, chunk))

    def _review_statuses(self, outcomes: Iterable[EvaluationOutcome]) -> dict[UUID, ReviewStatus]:
        """The review statuses of the outcomes that were left to people, by evaluation."""
        ids = [outcome.evaluation_id for outcome in outcomes if outcome.awaiting_review]
        reviews = read_reviews(self.connection, ids, up_to=self.up_to) if ids else {}
        return {
            evaluation_id: status_of_reviews(reviews.get(evaluation_id, ()))
            for evaluation_id in ids
        }

    def _cases(self, keys: Sequence[EvaluationKey]) -> dict[UUID, Case]:
        prompts = list(dict.fromkeys(key.prompt_id for key in keys))
        return {
            prompt: stored_case(streams, prompt)
            for portion in portions(self.connection, prompts)
            for streams in (read_streams(self.connection, portion),)
            for prompt in portion
        }


def reader_for(connection: Connection, up_to: int | None = None) -> ResultReader:
    """A reader that reads the projections, after updating them to the head of the log.

    With `up_to`, a reader that reads the log up to this position. Without it, too, the log is read,
    with a `warning`, if the projections cannot be updated: the user may not write them, or an event
    in the log or a table prevents it.
    """
    if up_to is not None:
        return LogReader(connection, up_to)
    why_not = catch_up_problem(connection)
    return RowReader(connection) if why_not is None else LogReader(connection, warning=why_not)
