"""The questions of an auditor about one run, answered from the record, or said to be open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from failproof_es.assurance.event_proof import cosigners, leaf_index
from failproof_es.catalogue.run import RunDocument
from failproof_es.catalogue.wording import describe_model, moment
from failproof_es.core.case import operations_id
from failproof_es.events import (
    CaseSkipped,
    CasesPlanned,
    JudgeCalibrated,
    PlanRegistered,
    RunArchived,
    RunAttached,
    RunSealed,
    RunStarted,
    RunValidated,
)
from failproof_es.events.base import ENDED
from failproof_es.events.evaluations import VOIDS_ANSWER
from failproof_es.ledger import checkpoint, note
from failproof_es.ledger.leaf import leaf_hash
from failproof_es.ledger.note import Note, NoteError
from failproof_es.ledger.time_stamp import time_stamps
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store import ledger
from failproof_es.store.ledger import LedgerBroken
from failproof_es.store.reading.reader import RecordedEvent, find
from failproof_es.support.document import Document
from failproof_es.support.plurals import plural

_MOST_EVENTS = 20
"""The most events that an answer names."""
_OPEN = "cannot be answered from this record"


class AuditAnswer(Document):
    """One question of an auditor, and what the record of the run says."""

    question: str
    answered: bool
    """Whether the record answers the whole question."""
    answer: str
    events: tuple[int, ...]
    """The positions of the events on which the answer rests; at most the first 20."""
    commands: tuple[str, ...]
    """The commands that repeat the answer."""


class _Answer(NamedTuple):
    """An answer without its question; `open` says what the record does not answer."""

    text: str
    events: Sequence[RecordedEvent] = ()
    open: str = ""


def audit_answers(recorded: RecordedRun, document: RunDocument) -> tuple[AuditAnswer, ...]:
    """The answers about a run, in the order of the questions. Verifies nothing: the commands do."""
    record = _AuditedRun(recorded, document)
    number = str(document.run_number)
    return tuple(
        AuditAnswer(
            question=question,
            answered=not answer.open,
            answer=" ".join(filter(None, (answer.text, answer.open))),
            events=tuple(event.position for event in answer.events),
            commands=tuple(command.replace("RUN", number) for command in commands),
        )
        for question, commands, find_answer in _QUESTIONS
        for answer in (find_answer(record),)
    )


@dataclass(frozen=True, slots=True)
class _AuditedRun:
    """A run, and the events about it."""

    recorded: RecordedRun
    run: RunDocument

    def own(self, *kinds: type) -> list[RecordedEvent]:
        """The first events of these types on the run's own stream."""
        return self.of_stream(self.recorded.run_id, *kinds)

    def about(self, *kinds: type) -> list[RecordedEvent]:
        """The first operations of these types on the run."""
        return self.of_stream(operations_id(self.recorded.run_id), *kinds)

    def of_stream(self, stream: UUID, *kinds: type) -> list[RecordedEvent]:
        """The first events of these types on a stream."""
        rows = find(
            self.recorded.connection,
            stream_id=stream,
            topics=[kind.__name__ for kind in kinds],
            up_to=self.recorded.up_to,
            limit=_MOST_EVENTS,
        )
        return list(rows)

    def checkpoints_over(self, event: RecordedEvent) -> Iterator[Note]:
        """The checkpoints of trees that hold the event. Their signatures are not checked."""
        connection = self.recorded.connection
        origin = ledger.origin(connection)
        try:
            leaf = leaf_hash(
                event.stream_id.bytes, event.version, event.topic.encode(), event.state
            )
            index = leaf_index(connection, event.position, leaf)
        except (KeyError, LedgerBroken):
            return
        if index is None:
            return
        for stored in ledger.checkpoints(connection):
            try:
                signed = note.parse(stored.note)
                of_tree = checkpoint.parse(signed.text)
            except NoteError:
                continue
            if of_tree.origin == origin and of_tree.size > index:
                yield signed


def _when_it_existed(record: _AuditedRun) -> _Answer:
    seals = record.own(RunSealed)
    if not seals:
        return _Answer("The run is not sealed, so it may still grow.", open=f"When: {_OPEN}.")
    origin = ledger.origin(record.recorded.connection)
    by: dict[str, None] = {}
    for signed in record.checkpoints_over(seals[-1]):
        by.update((f"a time stamp of {line.name}", None) for line in time_stamps(signed))
        by.update((f"a cosignature of {name}", None) for name in cosigners(signed, origin))
    text = f"By its own clock the log sealed the run at {moment(seals[-1].recorded_at)}."
    if by:
        text += f" Signed trees with the seal claim {', '.join(by)}, which are not checked here."
    return _Answer(text, seals, f"Whether that time holds {_OPEN} alone.")


def _what_was_left_out(record: _AuditedRun) -> _Answer:
    run, counts = record.run, record.run.counts
    waiting = counts.awaiting_review
    unscored = counts.finished - counts.scored - waiting
    sentences = [
        "The answers were imported: of what the source left out only it knows."
        if run.imported is not None
        else "",
        f"Of the configuration a part was asked: {run.part}." if run.part is not None else "",
        f"{plural(run.skipped_defects, 'defect')} kept cases out." if run.skipped_defects else "",
        f"Planned and not finished: {counts.planned - counts.finished:,}."
        if counts.planned > counts.finished
        else "",
        f"Ended without a score: {unscored:,}." if unscored else "",
        f"Left to people: {waiting:,}." if waiting else "",
    ]
    text = " ".join(filter(None, sentences)) or "Nothing: every planned case was asked and scored."
    return _Answer(f"{text} Evidence holds every event of the run.", record.own(CaseSkipped))


def _whether_the_rule_was_fixed(record: _AuditedRun) -> _Answer:
    run, started, registration = record.run, record.own(RunStarted), record.run.registration
    if run.imported is not None or run.branched_from is not None:
        return _Answer("Answers of this run are older than its first event.", started, _NO_PLAN)
    if registration is None:
        text = "The configuration and the gates are in the run's first event, before any request."
        return _Answer(text, started, _NO_PLAN)
    plans = record.of_stream(operations_id(registration.registration_id), PlanRegistered)
    changed = ", ".join(registration.changed) or "nothing"
    text = (
        "A plan was registered before the run, by the log's clock at "
        f"{moment(registration.registered_at)}. Changed since: {changed}. The code of classes of "
        "the owner's own is not compared."
    )
    return _Answer(text, [*plans, *started])


def _how_many_attempts(record: _AuditedRun) -> _Answer:
    text = f"In this log: attempt {record.run.attempts.describe()}."
    return _Answer(text, record.own(RunStarted), f"Whether other logs hold more {_OPEN}.")


def _which_items(record: _AuditedRun) -> _Answer:
    files = "; ".join(f"{suite.path} (SHA-256 {suite.sha256})" for suite in record.run.suites)
    text = f"{plural(record.run.planned_cases, 'case')} of {files or 'no file'}."
    return _Answer(f"{text} The plan has the digest of each.", record.own(CasesPlanned))


def _which_model(record: _AuditedRun) -> _Answer:
    run = record.run
    models = "; ".join(map(describe_model, run.models))
    strange = sum(error.requests for error in run.errors if error.kind == VOIDS_ANSWER)
    text = f"{models}. Replies that named another model, and were not graded: {strange:,}."
    is_pinned = all(model.settings.get("weights_sha256") for model in run.models)
    weights = "" if is_pinned else f"Which weights a provider used {_OPEN}."
    return _Answer(text, record.own(RunStarted), weights)


def _whether_it_comes_again(record: _AuditedRun) -> _Answer:
    text = "The verdicts of rules and judges can be derived again from what was recorded."
    return _Answer(text, record.own(RunValidated), f"Whether a model answers the same {_OPEN}.")


def _how_good_the_judge_is(record: _AuditedRun) -> _Answer:
    run = record.run
    people = run.people_judge or run.counts.awaiting_review > 0
    if not run.judges:
        return _Answer("People judge." if people else "There is none: rules grade the answers.")
    if (measured := run.judges_measured) is None:
        return _Answer("", open=f"Its judges were not measured, so that {_OPEN}.")
    text = f"{measured[0].upper()}{measured[1:]}."
    return _Answer(text, record.about(JudgeCalibrated))


def _who_could_change_it(record: _AuditedRun) -> _Answer:
    missing = ", ".join(record.run.protection.missing_layers)
    text = f"The database does not enforce: {missing}." if missing else (
        "The database refuses changes to all but its superuser. A change no longer fits the signed "
        "tree, which only the holder of the log's key can sign anew, against checkpoints of others."
    )  # fmt: skip
    return _Answer(text, open=f"Who looked {_OPEN}: the console writes that to a file.")


def _what_was_deleted(record: _AuditedRun) -> _Answer:
    moves = record.about(RunArchived, RunAttached)
    if not moves:
        return _Answer("Nothing: no event of the run ever left the log.")
    texts = (
        f"{'Archived' if move.topic == RunArchived.__name__ else 'Attached again'} at "
        f"{moment(move.recorded_at)} by {move.payload()['who']}."
        for move in moves
    )
    return _Answer(" ".join(texts), moves, f"Why {_OPEN}.")


def _whether_all_was_measured(record: _AuditedRun) -> _Answer:
    run, counts = record.run, record.run.counts
    text = (
        f"Of {counts.planned:,} planned evaluations {counts.finished:,} ended, {counts.scored:,} "
        "with a score."
    )
    if run.status not in ENDED:
        return _Answer(text, open=f"The run has not ended, so the rest {_OPEN}.")
    if run.validation is None:
        return _Answer(f"{text} The run is {run.status.replace('_', ' ')}, and was not checked.")
    checked = "passed" if run.validation.passed else "FAILED"
    return _Answer(f"{text} The check of the record {checked}.", record.own(RunValidated))


_NO_PLAN = f"No plan was registered before, so what was {_OPEN}."
_QUESTIONS: tuple[tuple[str, tuple[str, ...], Callable[[_AuditedRun], _Answer]], ...] = (
    (
        "Did it exist at the stated time?",
        ("failproof-es verify --time-stamp-root FILE",),
        _when_it_existed,
    ),
    (
        "What was withheld or left out?",
        ("failproof-es show RUN", "failproof-es audit RUN --only thrown-away"),
        _what_was_left_out,
    ),
    (
        "Was the rule fixed before the data?",
        ("failproof-es evidence export RUN -o FILE", "failproof-es evidence verify FILE --key KEY"),
        _whether_the_rule_was_fixed,
    ),
    (
        "How many attempts were there?",
        ("failproof-es runs --experiment RUN --hidden",),
        _how_many_attempts,
    ),
    ("Which exact items were asked?", ("failproof-es show RUN --json",), _which_items),
    ("Which model answered?", ("failproof-es show RUN --json",), _which_model),
    ("Would I get it again?", ("failproof-es replay RUN",), _whether_it_comes_again),
    ("How good is the judge?", ("failproof-es show RUN",), _how_good_the_judge_is),
    (
        "Who could have changed it, and who looked?",
        ("failproof-es db status", "failproof-es verify RUN"),
        _who_could_change_it,
    ),
    (
        "What was deleted, when, why and by whom?",
        ("failproof-es audit RUN",),
        _what_was_deleted,
    ),
    (
        "Was everything measured that was reported?",
        ("failproof-es verify RUN", "failproof-es replay RUN"),
        _whether_all_was_measured,
    ),
)
"""Each question, the commands that repeat its answer, and what finds the answer."""
