"""A log of many runs, one of which is large, with all that the console's pages show.

`python -m tests.benchmarks.console.log EVALUATIONS RUNS HOME` makes one that is kept, and prints
its URL.

Half of the evaluations are in one run. A fifth of them are in two runs that asked the same cases,
the first of those that the large one asked. The others are small runs: most asked the same fifteen
cases again and again, the rest belongs to fifty teams. Evaluations pass, fail, are refused, are
answered after an error, are judged, left to people, lost; errors say the same or something of their
own. A run's own events are appended by the engine's functions. An evaluation's are encoded by the
store's codec once of each kind, and of each evaluation what differs is put in; they are copied into
the table behind the lock that every writer takes, with the leaf that belongs to the bytes. The read
models are what the program's own rebuild makes of the log, and the tree is that of the integrator.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID, uuid4

import psycopg

from failproof_es.assurance.signing.integrator import integrate, sign_checkpoint
from failproof_es.core.case import Case, Turn, prompt_id, review_id
from failproof_es.core.evaluation import AWAITING_REVIEW
from failproof_es.core.run import chunked
from failproof_es.engine.planning.asked_cases import PlannedCases, question_of
from failproof_es.events import (
    CasesPlanned,
    Counts,
    Event,
    LimitChanged,
    ModelPrices,
    ModelSnapshot,
    PricesRecorded,
    PromptStored,
    Reviewed,
    RunCompleted,
    RunFailed,
    RunPaused,
    RunStarted,
    TokenPrices,
)
from failproof_es.ledger.leaf import leaf_hash
from failproof_es.ledger.note import SigningKey
from failproof_es.store import ledger
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.mapper import encode
from failproof_es.store.reading.experiments import try_index_runs
from failproof_es.store.schema.installation import WRITER, install
from failproof_es.store.store import Store
from projections.runner import prepare, rebuild
from tests.benchmarks.console.evaluations import JUDGE, WORDS, FilledRun, rows_of

MODELS = ("model-a", "model-b")
TEAMS = 50
ASKED = 15
"""So many cases has a small run."""
REPETITIONS = 2
GOING = 12
"""So many of the newest runs have not ended."""
AT_ONCE = 20_000
"""So many evaluations are copied in one transaction."""
_BEGIN = datetime(2025, 11, 1, tzinfo=UTC)
_COPY = (
    "COPY failproof.events (originator_id, originator_version, topic, state, run_id, leaf_hash) "
    "FROM STDIN (FORMAT binary)"
)
_TYPES = ("uuid", "int8", "text", "bytea", "uuid", "bytea")
_COUNTS = Counts(planned=0, finished=0, scored=0, abandoned=0)


@dataclass
class Filled:
    """What is in the log, for who asks for it."""

    large: UUID
    base: UUID
    other: UUID
    """Two runs of the same cases."""
    often: UUID
    """The case that most runs asked."""
    going: UUID
    """The newest run that has not ended."""
    evaluations: int
    runs: int


def _cases(topic: str, count: int, suites: int) -> Iterator[Case]:
    """So many cases, in so many suites of eight categories and four severities each."""
    for n in range(count):
        suite = topic if suites == 1 else f"{topic}-{n % suites:02}"
        yield Case(
            dialect="failproof", case_id=f"{topic}-{n:06}", suite_id=suite,
            category=f"{suite}/{n // suites % 8}", severity=f"S{n // 7 % 4}",
            tags=(f"area:{n % 30}", "english"), expectation={"expected_response": f"number {n}"},
            turns=(Turn(role="user", content=f"Question {n} of {topic}: {WORDS}"),),
        )  # fmt: skip


class _Log:
    """Writes runs into a store."""

    def __init__(self, store: Store, administrator: psycopg.Connection[Any]) -> None:
        self.store = store
        self.administrator = administrator
        self.number = 0
        self.chance = Random(18)
        self.evaluations = 0
        self._waiting: list[tuple[Any, ...]] = []
        self._attempts: dict[str, int] = {}

    def cases(
        self, topic: str, count: int, suites: int = 1
    ) -> list[tuple[UUID, str, str, str, str]]:
        """Store cases; of each the stream, its name, and its digests."""
        found = []
        for case in _cases(topic, count, suites):
            digest, asked = case.digest(), question_of(case)
            stream = prompt_id(digest)
            state = encode(
                PromptStored(
                    originator_id=stream, originator_version=1, run_id=None, timestamp=_BEGIN,
                    digest=digest, case=case,
                )
            )  # fmt: skip
            leaf = leaf_hash(stream.bytes, 1, b"PromptStored", state)
            self._waiting.append((stream, 1, "PromptStored", state, None, leaf))
            found.append((stream, case.case_id, digest, asked.sent, asked.graded))
            if len(self._waiting) >= AT_ONCE * 4:
                self.flush()
        return found

    def run(
        self, name: str, cases: Sequence[tuple[UUID, str, str, str, str]], models: tuple[str, ...],
        repetitions: int = 1, ends: type[Event] | None = RunCompleted,
    ) -> UUID:  # fmt: skip
        """A run of these cases with all of its events."""
        self.number += 1
        run = FilledRun(
            uuid4(), [each[:2] for each in cases], models, repetitions,
            _BEGIN + timedelta(minutes=90 * self.number), self.number % 3 == 0, ends, self.chance,
            self.number,
        )  # fmt: skip
        with self.store.connect() as connection:
            connection.execute("SELECT failproof.number_run(%s)", (run.run_id,))
        events = list(self._begin(run, name, cases))
        self._put(events)
        for row in rows_of(run):
            self._waiting.append(row)
            if len(self._waiting) >= AT_ONCE * 4:
                self.flush()
        self._put(self._end(run, len(events)))
        self.evaluations += len(cases) * len(models) * repetitions
        return run.run_id

    def flush(self) -> None:
        """Copy what waits, behind the lock."""
        with self.administrator.transaction(), self.administrator.cursor() as cursor:
            cursor.execute("SELECT failproof.lock_append()")
            with cursor.copy(_COPY) as copy:
                copy.set_types(_TYPES)
                for row in self._waiting:
                    copy.write_row(row)
        self._waiting.clear()

    def reviews(self, share: float) -> None:
        """What people said of some of what was left to them."""
        with self.store.connect() as connection:
            left = connection.execute(
                "SELECT originator_id, run_id FROM failproof.stored_events WHERE "
                "topic = 'EvaluationAbandoned' AND position(%s::bytea IN state) > 0 "
                "ORDER BY notification_id",
                (AWAITING_REVIEW.encode(),),
            ).fetchall()
        for evaluation, run_id in left:
            if self.chance.random() > share:
                continue
            stream = review_id(evaluation)
            for version in range(1, self.chance.choice((1, 1, 2)) + 1):
                event = Reviewed(
                    originator_id=stream, originator_version=version, run_id=None,
                    timestamp=_BEGIN, about=run_id, who="w", where="h", evaluation_id=evaluation,
                    reviewer=f"reviewer {version}", items=(), severity=None, tags=(), notes="",
                    verdict=self.chance.choice(("pass", "fail", "unclear")), blind=True,
                    file_sha256=None, sheet=None, queue=None, seconds=None, adjudicates=False,
                )  # fmt: skip
                state = encode(event)
                leaf = leaf_hash(stream.bytes, version, b"Reviewed", state)
                self._waiting.append((stream, version, "Reviewed", state, None, leaf))
        self.flush()

    def _put(self, events: Sequence[Event]) -> None:
        for each in events:
            state, topic = encode(each), type(each).__name__
            stream, version = each.originator_id, each.originator_version
            leaf = leaf_hash(stream.bytes, version, topic.encode(), state)
            self._waiting.append((stream, version, topic, state, each.run_id, leaf))

    def _begin(
        self, run: FilledRun, name: str, cases: Sequence[tuple[UUID, str, str, str, str]]
    ) -> Iterator[Event]:
        asked = PlannedCases()
        for _, _, digest, sent, graded in cases:
            asked.add_digests(digest, sent, graded)
        models = tuple(ModelSnapshot(key=key, provider="openai", model=key) for key in run.models)
        judges = (ModelSnapshot(key=JUDGE, provider="openai", model=JUDGE),) if run.judged else ()
        configuration = {
            "execution": {"repetitions": run.repetitions},
            "gates": {"min_accuracy": 0.7},
        }
        experiment = asked.experiment(configuration, models, judges)
        attempt = self._attempts[experiment.digest] = self._attempts.get(experiment.digest, 0) + 1
        version = 0

        def head() -> dict[str, Any]:
            nonlocal version
            version += 1
            return {
                "originator_id": run.run_id, "originator_version": version, "run_id": run.run_id,
                "timestamp": run.began,
            }  # fmt: skip

        yield RunStarted(
            **head(), name=name, run_number=run.number, attempt=attempt, experiment=experiment,
            configuration=configuration, configuration_digest=f"{len(cases):064}", models=models,
            judges=judges, suites=(), dialect="failproof", planned_cases=len(cases),
            planned_evaluations=len(cases) * len(run.models) * run.repetitions, code_version="1",
            packages={}, who=f"w{run.number % 7}", where="h",
        )  # fmt: skip
        questions = chunked(asked.questions())
        for chunk, digests in enumerate(chunked(asked.digests())):
            yield CasesPlanned(**head(), chunk=chunk, digests=digests, questions=next(questions))
        rate = (TokenPrices(input=Decimal("0.15"), output=Decimal("0.6")),)
        priced = run.models[: 1 if run.number % 4 == 0 else None]
        yield PricesRecorded(
            **head(),
            models=tuple(ModelPrices(model_key=key, source="s", rates=rate) for key in priced),
        )
        for limit in (8, 4):
            yield LimitChanged(
                **head(), server="http://127.0.0.1", models=(), limit_before=16, limit_after=limit,
                reason="rate_limited", retry_after_s=None, held_until=None,
            )  # fmt: skip

    def _end(self, run: FilledRun, version: int) -> list[Event]:
        kind: Any = run.ends
        if kind is None:
            return []
        scored, abandoned = run.counts["scored"], run.counts["abandoned"]
        planned = len(run.cases) * len(run.models) * run.repetitions
        counts = Counts(
            planned=planned, finished=scored + abandoned, scored=scored, abandoned=abandoned
        )
        told: dict[str, Any] = {"reason": "the server refuses every request"}
        if run.ends is RunCompleted:
            told = {
                "gates": {
                    "min_accuracy": {
                        "limit": 0.7, "measured": 0.75, "of": scored, "met": self.number % 9 != 0
                    }
                }
            }  # fmt: skip
        return [
            kind(
                originator_id=run.run_id, originator_version=version + 1, run_id=run.run_id,
                timestamp=run.began + timedelta(minutes=60), counts=counts, **told,
            )
        ]  # fmt: skip


def fill(
    store: Store, administrator: psycopg.Connection[Any], evaluations: int, runs: int
) -> Filled:
    """Write the log, rebuild the projections from it, sign its tree."""
    log = _Log(store, administrator)
    administrator.execute("SET synchronous_commit = off")
    pool = log.cases("large", evaluations // 4, 20)
    large = log.run("everything", pool, MODELS)
    pair = pool[: evaluations // 10]
    base, other = (log.run("release", pair, MODELS[:1]) for _ in range(2))
    often = log.cases("nightly", ASKED)
    teams = [log.cases(f"team {n}", ASKED) for n in range(TEAMS)]
    going = other
    for n in range(3, runs):
        asked, name = (often, "nightly") if n % 5 < 3 else (teams[n % TEAMS], f"team {n % TEAMS}")
        ends: type[Event] | None = RunCompleted
        if n >= runs - GOING:
            ends = None
        elif n % 20 == 0:
            ends = (RunFailed, RunPaused)[n % 40 // 20]
        run_id = log.run(f"{name} {n}", asked, MODELS, REPETITIONS, ends)
        going = run_id if ends is None else going
    log.flush()
    log.reviews(0.4)
    with store.connect() as connection:
        try_index_runs(connection)
        prepare(connection)
        rebuild(connection)
        key = SigningKey.generate(ledger.origin(connection))
        integrate(connection)
        sign_checkpoint(connection, key, None)
    administrator.execute("RESET synchronous_commit")
    administrator.execute("VACUUM (ANALYZE)")
    administrator.execute("CHECKPOINT")
    return Filled(large, base, other, often[0][0], going, log.evaluations, runs)


def main() -> None:
    """Make a log that is kept."""
    evaluations, runs, home = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    home.mkdir(parents=True)
    home.chmod(0o755)
    server = EmbeddedServer(home)
    with psycopg.connect(server.ensure_running(), autocommit=True) as administrator:
        install(administrator, logins=True)
        with Store(server.url_as(WRITER)) as store:
            print(fill(store, administrator, evaluations, runs))
    print(server.url_as(WRITER))


if __name__ == "__main__":
    main()
