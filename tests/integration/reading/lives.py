"""Runs as chance would have them: everything that can happen, and some things that cannot."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID, uuid5

from eventsourcing.persistence import StoredEvent

from failproof_es.core.case import Case, Turn, prompt_id, review_id
from failproof_es.core.evaluation import AWAITING_REVIEW, EvaluationKey
from failproof_es.core.run import planned_evaluations
from failproof_es.events import (
    AnswerImported,
    CarriedOver,
    CaseSkipped,
    CasesPlanned,
    Classified,
    Counts,
    ErrorRecorded,
    EvaluationAbandoned,
    Event,
    ImportedError,
    ImportedReply,
    LimitChanged,
    ModelPrices,
    ModelSnapshot,
    PricesRecorded,
    PromptStored,
    Redaction,
    ResponseReceived,
    Reviewed,
    RunCompleted,
    RunGivenUp,
    RunImported,
    RunPaused,
    RunResumed,
    RunSealed,
    RunStarted,
    RunValidated,
    Scored,
    SpendCeilingChanged,
    TokenPrices,
    ToolCall,
    Usage,
)
from failproof_es.store.mapper import LogEntry, encode
from failproof_es.store.reading.carried_over import stream_digest
from failproof_es.store.reading.reader import RecordedEvent
from tests.asked import ASKED
from tests.unit.histories import BEGIN, History, lived

SPACE = UUID(int=4711)
ODD = ("", "plain", "odd \x00 text", "\\u0000", "a\\\x00", "\u202e \U0001f600", "two\nlines")
TOKENS = (None, 0, 1, 7, 12_345, 2**40)
LATENCIES = (0.1, 0.2, 0.3, 1 / 3, 12.25, 1e-7, 1e15)
OUTCOMES = (
    "answer", "answer", "answer", "nonsense", "another model", "transient", "deferred", "final",
    "halting", "killed",
)  # fmt: skip
RATES = (
    (TokenPrices(input=Decimal("0.15"), output=Decimal("0.6"), request=Decimal("0.001")),),
    (
        TokenPrices(input=Decimal(1), output=Decimal(2), cached_input=Decimal("0.5")),
        TokenPrices(over_input_tokens=5, input=Decimal(10), output=Decimal("20.25")),
    ),
    (),
)


def _entry(event: Event) -> LogEntry:
    return LogEntry(
        event.originator_id,
        event.originator_version,
        type(event).__name__,
        encode(event),
        run_id=event.run_id,
    )


class Life:
    """A run, what was evaluated in it, and what people said; as the log would hold it."""

    def __init__(self, seed: int, number: int, source: Life | None = None) -> None:
        self.chance = Random(seed)
        self.run_id = uuid5(SPACE, f"{number} {seed} {source is None}")
        self.models = ("m-1", "odd\x00m")[: self.chance.choice((1, 2))]
        self.judges = self.chance.choice(((), ("j1",), ("j1", "j2", "j3")))
        self.repetitions = self.chance.choice((1, 1, 2))
        self.number = number
        self.source = source
        cases = [self._case(n) for n in range(self.chance.randint(1, 4))]
        self.cases: list[Case] = source.cases if source else cases
        if source:
            self.models, self.repetitions = source.models, source.repetitions
        digests = [case.digest() for case in self.cases]
        self.keys = list(planned_evaluations(self.run_id, digests, self.models, self.repetitions))
        self.histories: dict[UUID, list[Event]] = {}
        self.entries = self._entries()

    def _entries(self) -> list[LogEntry]:
        planned = self._plan()
        plan = [*(self._prompts() if self.source is None else ()), *planned]
        streams: list[list[Event]] = []
        for key in self.keys:
            if self.chance.random() < 0.85:
                self.histories[key.evaluation_id] = self._evaluation(key)
                streams.append(list(self.histories[key.evaluation_id]))
        streams.append(self._drive(len(planned)))
        streams += [self._reviews(key) for key in self.keys if self.chance.random() < 0.4]
        if self.chance.random() < 0.15:
            streams.append(self._alien())
        mixed: list[Event] = []
        while streams := [left for left in streams if left]:
            mixed.append(self.chance.choice(streams).pop(0))
        entries = [_entry(event) for event in [*plan, *mixed]]
        if self.chance.random() < 0.2:
            self._damage(entries)
        return entries

    # -- the run -----------------------------------------------------------------------------

    def _case(self, n: int) -> Case:
        return Case(
            dialect="failproof",
            case_id=f"case-{self.number}-{n}",
            suite_id=self.chance.choice(("suite", "other\x00")),
            turns=(Turn(role="user", content=f"q {n}"),),
            category=self.chance.choice((None, "c", "c\\u0000")),
            severity=self.chance.choice((None, "S1")),
        )

    def _head(self, version: int, stream: UUID, run_id: UUID | None) -> dict[str, Any]:
        return {
            "originator_id": stream,
            "originator_version": version,
            "run_id": run_id,
            "timestamp": BEGIN + timedelta(milliseconds=self.chance.randint(0, 10**6)),
        }

    def _prompts(self) -> list[Event]:
        return [
            PromptStored(
                **self._head(1, prompt_id(case.digest()), None), digest=case.digest(), case=case
            )
            for case in self.cases
        ]

    def _plan(self) -> list[Event]:

        def head(version: int) -> dict[str, Any]:
            return self._head(version, self.run_id, self.run_id)

        snapshots = [ModelSnapshot(key=m, provider="openai", model=m) for m in self.models]
        judges = [ModelSnapshot(key=j, provider="openai", model=j) for j in self.judges]
        digests = tuple(case.digest() for case in self.cases)
        events: list[Event] = [
            RunStarted(
                **head(1), name="odd \x00", run_number=self.number, **ASKED,
                configuration={"execution": {"repetitions": self.repetitions}},
                configuration_digest="d", models=tuple(snapshots), judges=tuple(judges),
                suites=(), dialect="failproof", planned_cases=len(digests),
                planned_evaluations=len(self.keys), code_version="1", packages={}, who="w",
                where="h",
            ),
            CasesPlanned(**head(2), chunk=0, digests=digests, questions=digests),
        ]  # fmt: skip
        if self.chance.random() < 0.2:
            events.append(CaseSkipped(**head(3), path="p", line=1, field=None, why="odd"))
        if self.chance.random() < 0.8:
            priced = [
                ModelPrices(model_key=key, source="s", rates=self.chance.choice(RATES))
                for key in (*self.models, *self.judges)
                if self.chance.random() < 0.9
            ]
            events.append(PricesRecorded(**head(len(events) + 1), models=tuple(priced)))
        if self.number % 5 == 0:
            events.append(
                RunImported(
                    **head(len(events) + 1), kind="k", tool="odd \x00", tool_version=None,
                    source_sha256="00", files=(), answers=1, absent=0, who="w", where="h",
                    code_version="1",
                )
            )  # fmt: skip
        return events

    def _drive(self, planned: int) -> list[Event]:
        version = [planned]
        events: list[Event] = []
        count = len(self.keys)
        counts = Counts(planned=count, finished=count, scored=count, abandoned=0)

        def add(kind: type[Event], **fields: Any) -> None:
            version[0] += 1
            head = self._head(version[0], self.run_id, self.run_id)
            events.append(kind(**head, **fields))

        for _ in range(self.chance.randint(0, 3)):
            add(
                LimitChanged, server=self.chance.choice(("a", "b")), models=(), limit_before=4,
                limit_after=self.chance.randint(1, 4), reason="rate_limited", retry_after_s=None,
                held_until=None,
            )  # fmt: skip
            if self.chance.random() < 0.3:
                add(SpendCeilingChanged, max_spend_usd=Decimal("1.5"), who="w", where="h")
            if self.chance.random() < 0.5:
                why, at_ceiling = self.chance.choice(ODD), version[0] % 2 == 0
                add(RunPaused, reason=why, counts=counts, at_ceiling=at_ceiling)
                if self.chance.random() < 0.2:
                    if self.chance.random() < 0.5:
                        why = self.chance.choice(ODD)
                        add(RunGivenUp, reason=why, counts=counts, who="w", where="h")
                    return events
                add(RunResumed, who="w", where="h", code_version="1")
        if self.chance.random() < 0.6:
            gates = {"min_accuracy": {"met": self.chance.random() < 0.5, "of": 3}}
            add(RunCompleted, counts=counts, gates=self.chance.choice(({}, gates)))
            if self.chance.random() < 0.7:
                add(
                    RunValidated, passed=True, checked={"events": 3}, findings=(), more={},
                    usage={"m": Usage(input_tokens=3)}, cost_usd={"m": "0.1"},
                )  # fmt: skip
                if self.chance.random() < 0.7:
                    add(RunSealed, streams=1, events=2, root="00")
                    if self.chance.random() < 0.1:
                        add(RunResumed, who="w", where="h", code_version="1")
        return events

    # -- evaluations -------------------------------------------------------------------------

    def _evaluation(self, key: EvaluationKey) -> list[Event]:
        if self.source is not None and self.chance.random() < 0.5:
            reference = self._carried(key)
            if reference is not None:
                return reference
        if key.evaluation_id.int % 8 == 0:
            return self._imported(key)
        outcomes = [self.chance.choice(OUTCOMES) for _ in range(self.chance.randint(1, 14))]
        turns = ("a", "b")[: self.chance.randint(1, 2)]
        if self.chance.random() < 0.12:
            events = History().sent().answered().classified("odd").abandoned(AWAITING_REVIEW).events
        else:
            events = lived(turns, self.judges, outcomes, retries=self.chance.randint(0, 2))
        if self.chance.random() < 0.12:
            events = self._impossible(events)
        own = {
            "originator_id": key.evaluation_id, "run_id": key.run_id,
            "prompt_id": key.prompt_id, "model_key": key.model_key, "repetition": key.repetition,
        }  # fmt: skip
        return [each.model_copy(update={**own, **self._varied(each)}) for each in events]

    def _imported(self, key: EvaluationKey) -> list[Event]:
        failed = self.chance.random() < 0.3
        error = ImportedError(kind="source_error", message=self.chance.choice(ODD))
        own = {"prompt_id": key.prompt_id, "model_key": key.model_key, "repetition": key.repetition}

        def head(version: int) -> dict[str, Any]:
            return {**self._head(version, key.evaluation_id, key.run_id), **own}

        graded = {"details": {}, "classifier": "c", "classifier_version": "1"}
        events: list[Event] = [
            AnswerImported(
                **head(1), source_place="p", sample_sha256="00",
                replies=(ImportedReply(text=self.chance.choice(ODD), finish_reason="stop"),),
                model=self.chance.choice(ODD), error=error if failed else None,
                usage=Usage(input_tokens=self.chance.choice(TOKENS)),
                latency_ms=self.chance.choice((None, *LATENCIES)),
            ),
            Classified(**head(2), primary="error" if failed else "pass", **graded),
            EvaluationAbandoned(**head(3), kind="source_error", reason="r")
            if failed
            else Scored(
                **head(3), scores={"accuracy": 1}, passed=True, reason="r", scorer="s",
                scorer_version="1",
            ),
        ]  # fmt: skip
        return self._impossible(events) if self.chance.random() < 0.12 else events

    def _impossible(self, events: list[Any]) -> list[Any]:
        at = self.chance.randrange(len(events))
        to = self.chance.randrange(len(events) + 1)
        if self.chance.random() < 0.5:
            events = events[:at] + events[at + 1 :]
        else:
            events = [*events[:to], events[at], *events[to:]]
        return [e.model_copy(update={"originator_version": n}) for n, e in enumerate(events, 1)]

    def _varied(self, event: Event) -> dict[str, Any]:
        pick, some = self.chance.choice, self.chance.random
        moment = {
            "timestamp": event.timestamp + timedelta(microseconds=self.chance.randint(0, 999))
        }
        match event:
            case ResponseReceived():
                usage = Usage(
                    input_tokens=pick(TOKENS), output_tokens=pick(TOKENS),
                    cached_input_tokens=pick((None, 0, 1)), cache_write_tokens=pick((None, 0, 2)),
                )  # fmt: skip
                streamed = {"first_token_ms": pick((0.05, 3.5))} if some() < 0.5 else {}
                called = (ToolCall(id=None, name="t", arguments="{}"),) if some() < 0.2 else ()
                text = {} if event.text == "nonsense" else {"text": pick(ODD)}
                return {
                    **moment, **streamed, **text, "usage": usage, "latency_ms": pick(LATENCIES),
                    "finish_reason": pick((None, "stop", "odd\x00")), "tool_calls": called,
                    "model": pick((None, "m-1", "m\x00")),
                }  # fmt: skip
            case ErrorRecorded():
                redacted = (Redaction(field="message", variable="KEY", count=1),)
                return {
                    **moment, "message": pick(ODD), "status": pick((None, 429, 500)),
                    "redactions": pick(((), redacted)),
                }  # fmt: skip
            case Classified():
                primary = event.primary if event.primary == "error" else pick(("pass", "odd\x00"))
                return {**moment, "primary": primary, "details": {"x": ["\x00", 1.5, None]}}
            case Scored():
                accuracy = pick((0.0, 0.1, 1 / 3, 1.0))
                scores = pick(({"accuracy": accuracy, "other": 2.0}, {"other": 1e-9}, {}))
                return {
                    **moment, "scores": scores, "passed": pick((None, True, False)),
                    "reason": pick(ODD),
                }  # fmt: skip
            case EvaluationAbandoned():
                return {**moment, "reason": pick(ODD)}
        return moment

    def _carried(self, key: EvaluationKey) -> list[Event] | None:
        assert self.source is not None
        there = EvaluationKey(self.source.run_id, key.prompt_id, key.model_key, key.repetition)
        found = self.source.histories.get(there.evaluation_id)
        if not found or not isinstance(found[-1], Scored | EvaluationAbandoned):
            return None
        entries = [e for e in self.source.entries if e.originator_id == there.evaluation_id]
        digest = stream_digest([_recorded(entry) for entry in entries])
        wrong = self.chance.random() < 0.1
        reference = CarriedOver(
            **self._head(1, key.evaluation_id, self.run_id), prompt_id=key.prompt_id,
            model_key=key.model_key, repetition=key.repetition, source_run_id=self.source.run_id,
            source_evaluation_id=there.evaluation_id, source_events=len(entries),
            source_sha256="00" if wrong else digest,
        )  # fmt: skip
        return [reference]

    # -- beside them -------------------------------------------------------------------------

    def _reviews(self, key: EvaluationKey) -> list[Event]:
        stream = review_id(key.evaluation_id)
        return [
            Reviewed(
                **self._head(version, stream, None), about=self.run_id, who="w", where="h",
                evaluation_id=key.evaluation_id, reviewer=self.chance.choice(("jane\x00", "joe")),
                verdict=self.chance.choice(("pass", "fail", "unclear")), items=(), severity=None,
                tags=(), notes="", blind=True, file_sha256=None, sheet=None,
                queue=None, seconds=None, adjudicates=self.chance.random() < 0.3,
            )
            for version in range(1, self.chance.randint(2, 4))
        ]  # fmt: skip

    def _alien(self) -> list[Event]:
        """An evaluation that the run did not plan."""
        key = EvaluationKey(self.run_id, self.keys[0].prompt_id, "nobody", 1)
        self.keys.append(key)
        return self._evaluation(key)

    def _damage(self, entries: list[LogEntry]) -> None:
        """Somebody wrote nonsense over an event of an evaluation."""
        streams = {key.evaluation_id for key in self.keys}
        places = [n for n, each in enumerate(entries) if each.originator_id in streams]
        if places:
            at = self.chance.choice(places)
            entry = entries[at]
            state = self.chance.choice((b"no json", b"[]", b'{"schema_version":1}'))
            entries[at] = LogEntry(
                entry.originator_id, entry.originator_version, entry.topic, state,
                run_id=entry.run_id,
            )  # fmt: skip


def _recorded(entry: StoredEvent) -> RecordedEvent:
    assert isinstance(entry.originator_id, UUID)
    return RecordedEvent(
        1, entry.originator_id, entry.originator_version, entry.topic, entry.state, None, BEGIN
    )


def portions_of(chance: Random, entries: Sequence[LogEntry]) -> list[Sequence[LogEntry]]:
    """The entries cut at random."""
    cuts = sorted(chance.randint(0, len(entries)) for _ in range(chance.randint(0, 3)))
    return [entries[a:b] for a, b in zip([0, *cuts], [*cuts, len(entries)], strict=True) if a < b]
