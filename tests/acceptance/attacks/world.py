"""A small log with something to hide: what the attacks are carried out on.

Three runs: the first attempt of a configuration failed, the second one passed, and a run of
another configuration followed. Each is sealed and signed; behind them stands a tail that is
not. The checkpoint behind the second run is the one that somebody keeps elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from eventsourcing.persistence import IntegrityError

from failproof_es.assurance.signing.integrator import sign_checkpoint
from failproof_es.core.case import Case, Turn, prompt_id
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.engine.finish.sealing import seal_of
from failproof_es.engine.planning.asked_cases import PlannedCases
from failproof_es.events import (
    CasesPlanned,
    Classified,
    Counts,
    Event,
    ModelPrices,
    ModelSnapshot,
    PricesRecorded,
    PromptStored,
    RequestSent,
    ResponseReceived,
    RunCompleted,
    RunFailed,
    RunSealed,
    RunStarted,
    Scored,
    SuiteSnapshot,
    TokenPrices,
)
from failproof_es.ledger.note import Note, SigningKey
from failproof_es.store.store import Store

FAILED, PASSED, OTHER = (UUID(int=n << 100) for n in (1, 2, 3))
"""The runs, in the order of their numbers 1, 2, 3."""
CASES = 40
THRESHOLD = 0.9
PRICES = ModelPrices(
    model_key="m", source="s", rates=(TokenPrices(input=Decimal(7), output=Decimal(7)),)
)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many events were signed after each run, and how many there are."""

    failed: int
    passed: int
    other: int
    all: int


class Author:
    """Appends events as the engine does: through the log, in the runs' own streams."""

    def __init__(self, store: Store, key: SigningKey) -> None:
        self.store = store
        self._key = key
        self._versions: dict[UUID, int] = {}
        self._clock = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
        self._pending: list[Event] = []

    def sign(self) -> Note:
        """Sign what is committed."""
        self.flush()
        with self.store.connect() as connection:
            return sign_checkpoint(connection, self._key, None)

    def flush(self) -> None:
        """Append what was added."""
        if self._pending:
            self.store.log.events.put(self._pending)
            self._pending = []

    def store_prompts(self, cases: list[Case]) -> None:
        for case in cases:
            self.add(PromptStored, prompt_id(case.digest()), None, digest=case.digest(), case=case)

    def start(self, run: UUID, name: str, configuration: str, cases: list[Case]) -> None:
        """Number the run and record its plan."""
        self.flush()
        asked = PlannedCases()
        for case in cases:
            asked.add(case.digest(), case)
        models = (ModelSnapshot(key="m", provider="openai", model="m"),)
        set_out: dict[str, Any] = {"gates": {"min_accuracy": THRESHOLD}}
        draft = self.make(
            RunStarted, run, run, name=name, run_number=0, attempt=0,
            experiment=asked.experiment(set_out, models, ()), configuration=set_out,
            configuration_digest=configuration, models=models,
            suites=(SuiteSnapshot(path="p", sha256="s", dialect="failproof", cases=CASES),),
            dialect="failproof", planned_cases=len(cases), planned_evaluations=len(cases),
            code_version="1", packages={}, who="w", where="h",
        )  # fmt: skip
        digests, questions = tuple(asked.digests()), tuple(asked.questions())
        plan = self.make(CasesPlanned, run, run, chunk=0, digests=digests, questions=questions)
        prices = self.make(PricesRecorded, run, run, models=(PRICES,))
        assert isinstance(draft, RunStarted)
        self.store.begin_run(draft, [plan, prices], asked.questions_asked)

    def evaluate(self, run: UUID, cases: list[Case], accuracy: float) -> None:
        for case in cases:
            prompt = prompt_id(case.digest())
            stream = EvaluationKey(run, prompt, "m").evaluation_id
            of: dict[str, Any] = {"prompt_id": prompt, "model_key": "m", "repetition": 1}
            which: dict[str, Any] = {"purpose": "target", "turn": 0, "attempt": 1}
            self.add(
                RequestSent, stream, run, **of, **which, model="m", parameters={}, endpoint="e",
                body=f"asked {case.case_id}", body_sha256="s",
            )  # fmt: skip
            self.add(
                ResponseReceived, stream, run, **of, **which, status=200, headers={},
                body=f"answered {case.case_id}", text="no", latency_ms=1.0,
            )  # fmt: skip
            self.add(
                Classified, stream, run, **of, primary="pass" if accuracy else "fail", details={},
                classifier="c", classifier_version="1",
            )  # fmt: skip
            self.add(
                Scored, stream, run, **of, scores={"accuracy": accuracy}, passed=accuracy >= 1,
                reason="", scorer="s", scorer_version="1",
            )  # fmt: skip

    def end(self, run: UUID, kind: type[Event], accuracy: float) -> None:
        """Record how the run ended, and its seal."""
        counts = Counts(planned=CASES, finished=CASES, scored=CASES, abandoned=0)
        gate = {"limit": THRESHOLD, "measured": accuracy, "met": accuracy >= THRESHOLD}
        said = {"gates": {"min_accuracy": gate}} if kind is RunCompleted else {"reason": "bad"}
        self.add(kind, run, run, counts=counts, **said)
        self.seal(run)

    def seal(self, run: UUID) -> None:
        self.flush()
        with self.store.connect() as connection:
            seal = seal_of(connection, run)
        root = seal.root.hex()
        self.add(RunSealed, run, run, streams=seal.streams, events=seal.events, root=root)

    def follow(self, stream: UUID, version: int) -> None:
        """Go on with a stream that has so many events already."""
        self._versions[stream] = version

    def lose_an_append(self) -> None:
        """Leave a gap in the positions, as an append that is refused does.

        To the stream of an evaluation: whoever is second at a run's own appends nothing.
        """
        self.flush()
        stream = next(each for each in self._versions if each not in (PASSED, FAILED))
        with pytest.raises(IntegrityError):
            self.store.log.events.put(
                [self._event(Scored, stream, 1, FAILED, prompt_id=FAILED, model_key="m",
                             repetition=1, scores={}, reason="", passed=None, scorer="s",
                             scorer_version="1")]
            )  # fmt: skip

    def add(self, kind: type[Event], stream: UUID, run: UUID | None, /, **fields: Any) -> None:
        self._pending.append(self.make(kind, stream, run, **fields))

    def make(self, kind: type[Event], stream: UUID, run: UUID | None, /, **fields: Any) -> Event:
        version = self._versions[stream] = self._versions.get(stream, 0) + 1
        return self._event(kind, stream, version, run, **fields)

    def _event(
        self, kind: type[Event], stream: UUID, version: int, run: UUID | None, /, **fields: Any
    ) -> Event:
        self._clock += timedelta(milliseconds=1)
        return kind(
            originator_id=stream, originator_version=version, run_id=run, timestamp=self._clock,
            **fields,
        )  # fmt: skip


def cases(suite: str) -> list[Case]:
    """The cases of a suite."""
    return [
        Case(
            dialect="failproof", case_id=f"{suite}-{n}", suite_id=suite,
            turns=(Turn(role="user", content=f"question {n} of {suite}"),),
        )
        for n in range(CASES)
    ]  # fmt: skip


def begin(author: Author) -> Note:
    """The first attempt, which failed, and its checkpoint."""
    asked = cases("asked")
    author.store_prompts(asked)
    author.start(FAILED, "the first try", "c0", asked)
    author.evaluate(FAILED, asked, 0.0)
    author.end(FAILED, RunFailed, 0.0)
    signed = author.sign()
    author.lose_an_append()
    return signed


def go_on(author: Author) -> Note:
    """The second attempt and its checkpoint; then another run, signed, and an unsigned tail.

    Returns the checkpoint behind the second attempt.
    """
    asked, others = cases("asked"), cases("other")
    author.start(PASSED, "the second try", "c0", asked)
    author.evaluate(PASSED, asked, 1.0)
    author.end(PASSED, RunCompleted, 1.0)
    kept = author.sign()
    author.store_prompts(others)
    author.start(OTHER, "something else", "c1", others)
    author.evaluate(OTHER, others, 1.0)
    author.end(OTHER, RunCompleted, 1.0)
    author.sign()
    author.store_prompts(cases("tail")[:5])
    author.flush()
    return kept
