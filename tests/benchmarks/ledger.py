"""The ledger on a large log: what it costs to append, how fast it verifies, what evidence weighs.

"Ledger off" stores zeros for leaf hashes and has no integrator beside it; "on" is as the
engine does it, the integrator signing every two seconds (in a run: every ten).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from unittest import mock
from uuid import UUID, uuid4

import psycopg

from failproof_es.assurance.run_evidence import evidence_lines
from failproof_es.assurance.signing.checkpoint_signer import CheckpointSigner
from failproof_es.assurance.signing.integrator import integrate, sign_checkpoint
from failproof_es.core.case import Case, Turn, prompt_id
from failproof_es.core.run import chunked
from failproof_es.engine.finish.sealing import seal_of
from failproof_es.engine.planning.asked_cases import PlannedCases
from failproof_es.events import (
    CasesPlanned,
    Counts,
    Event,
    PromptStored,
    RunCompleted,
    RunSealed,
    RunStarted,
)
from failproof_es.ledger import bundle
from failproof_es.ledger.note import SigningKey
from failproof_es.ledger.tlog_policy import Policy
from failproof_es.store import ledger
from failproof_es.store.schema.installation import WRITER
from failproof_es.store.store import Store
from failproof_es.store.writing import recorder
from tests.benchmarks.measured import Benchmark, Measure, Measurement, Row, Sizes, TargetFigure
from tests.benchmarks.rebuild import BATCH, history
from tests.benchmarks.servers import benchmark_store

RUN_EVENTS = 100_000
SECOND = Path(__file__).parents[2] / "docs" / "reference" / "verify_evidence.py"
CASE = Case(
    dialect="failproof", case_id="c", suite_id="s", turns=(Turn(role="user", content="What?"),)
)

_RUN = "Of one run of 100,000 events."
ROWS = (
    Row(
        "ledger-append", "appending in batches with the ledger on, against off", "of off",
        "50,000 events in batches of 4,000; in turn, twice each in a round. Off, no leaf is "
        "hashed and nobody integrates.",
        TargetFigure(">=", 0.85),
    ),
    Row(
        "integrate", "putting events into the tree", "events/s",
        "200,000 events, at once. Processor time is that of this process alone.",
    ),
    Row("evidence-export", "exporting the evidence of a stored run", "s", _RUN),
    Row(
        "evidence-verify",
        "verifying the evidence of a stored run",
        "s",
        _RUN,
        TargetFigure("<=", 5),
    ),
    Row("evidence-second", "verifying it without this program", "s", _RUN, TargetFigure("<=", 5)),
)  # fmt: skip


def _prompt() -> PromptStored:
    return PromptStored(
        originator_id=prompt_id(CASE.digest()), originator_version=1, run_id=None,
        timestamp=datetime.now(UTC), digest=CASE.digest(), case=CASE,
    )  # fmt: skip


def _write_run(store: Store, evaluations: int) -> UUID:
    """One sealed run of that many evaluations, of ordinary size."""
    run_id = uuid4()
    head = {"originator_id": run_id, "run_id": run_id, "timestamp": datetime.now(UTC)}

    asked = PlannedCases()
    asked.add(CASE.digest(), CASE)
    (questions,) = chunked(asked.questions())
    draft = RunStarted(
        **head, originator_version=1, name="benchmark", run_number=0, attempt=1,
        experiment=asked.experiment({}, (), ()),
        configuration={}, configuration_digest="c0", models=(), suites=(), dialect="failproof",
        planned_cases=1, planned_evaluations=evaluations, code_version="0", packages={}, who="w",
        where="h",
    )  # fmt: skip
    digests = (CASE.digest(),)
    plan = CasesPlanned(**head, originator_version=2, chunk=0, digests=digests, questions=questions)
    store.begin_run(draft, [plan], lambda: frozenset(questions))
    for batch in _batches(run_id, evaluations):
        store.log.events.put(batch)
    counts = Counts(planned=evaluations, finished=evaluations, scored=evaluations, abandoned=0)
    store.log.events.put([RunCompleted(**head, originator_version=3, counts=counts)])
    with store.connect() as connection:
        seal = seal_of(connection, run_id)
    store.log.events.put([RunSealed(**head, originator_version=4, streams=seal.streams,
                                    events=seal.events, root=seal.root.hex())])  # fmt: skip
    return run_id


def _batches(run_id: UUID, evaluations: int) -> Iterator[list[Event]]:
    waiting: list[Event] = []
    for number in range(evaluations):
        waiting.extend(history(prompt_id(CASE.digest()), run_id, number + 1))
        if len(waiting) >= BATCH:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _appended(store: Store, events: int) -> float:
    """Events a second of appending what was made before."""
    batches = [
        [store.log.mapper.to_stored_event(event) for event in batch]
        for batch in _batches(uuid4(), events // 4)
    ]
    began = time.perf_counter()
    for batch in batches:
        store.log.recorder.insert_events(batch)
    return events / (time.perf_counter() - began)


_NO_LEAVES = (
    "SET event_triggers = off; "
    "CREATE OR REPLACE FUNCTION failproof.leaf_of(originator_id uuid, originator_version bigint, "
    "topic text, state bytea) RETURNS bytea LANGUAGE sql STABLE STRICT "
    "BEGIN ATOMIC SELECT decode(repeat('00', 32), 'hex'); END"
)
"""The database, too, computes no leaf."""


def _append_off(events: int) -> float:
    with (
        benchmark_store() as url,
        Store.open(url) as store,
        mock.patch.object(recorder, "_leaf_hash", lambda event: bytes(32)),
    ):
        with psycopg.connect(url.replace(f"//{WRITER}@", "//postgres@")) as administrator:
            administrator.execute(_NO_LEAVES)
        return _appended(store, events)


def _append_on(events: int) -> float:
    with benchmark_store() as url, Store.open(url) as store, CheckpointSigner(store, every_s=2.0):
        return _appended(store, events)


@contextlib.contextmanager
def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
    """A home of its own, where the keys are."""
    before = os.environ.get("FAILPROOF_ES_HOME")
    with tempfile.TemporaryDirectory() as home:
        os.environ["FAILPROOF_ES_HOME"] = home
        try:
            yield lambda: _measure(sizes.events)
        finally:
            os.environ.pop("FAILPROOF_ES_HOME")
            if before is not None:
                os.environ["FAILPROOF_ES_HOME"] = before


def _measure(events: int) -> Iterator[Measurement]:
    yield _compared(events)
    yield from _large_log(events * 4)


def _compared(events: int) -> Measurement:
    """In turn, each as often first as second: who comes second finds a warmer machine."""
    rates: dict[str, list[float]] = {"off": [], "on": []}
    measures = [("off", _append_off), ("on", _append_on)]
    for _ in range(2):
        for name, measure in measures:
            rates[name].append(measure(events))
        measures.reverse()
    off, on = median(rates["off"]), median(rates["on"])
    return Measurement(
        "ledger-append", on / off, note=f"{on:,.0f} events/s with, {off:,.0f} without"
    )


def _large_log(events: int) -> Iterator[Measurement]:
    with benchmark_store() as url, Store.open(url) as store, store.connect() as connection:
        store.log.events.put([_prompt()])
        run_events = min(RUN_EVENTS, events)
        runs = [_write_run(store, run_events // 4) for _ in range(events // run_events)]
        key = SigningKey.generate(ledger.origin(connection))
        began, used = time.perf_counter(), time.process_time()
        size = integrate(connection)
        taken = time.perf_counter() - began
        yield Measurement("integrate", size / taken, taken, time.process_time() - used)
        sign_checkpoint(connection, key, None)
        auditor = url.replace("failproof_writer", "failproof_auditor")
        with psycopg.connect(auditor, autocommit=True) as reading:
            began = time.perf_counter()
            data = b"".join(evidence_lines(reading, runs[len(runs) // 2]))
            taken = time.perf_counter() - began
    told = f"{run_events:,} events, {len(data) / 1e6:.0f} MB"
    yield Measurement("evidence-export", taken, note=told)
    began = time.perf_counter()
    bundle.verify(bundle.read(data), Policy.of(key.public))
    yield Measurement("evidence-verify", time.perf_counter() - began, note=told)
    yield Measurement("evidence-second", _verify_elsewhere(data, str(key.public)), note=told)


def _verify_elsewhere(data: bytes, key: str) -> float:
    """Seconds of the second verifier, in a process that has nothing of ours on its path."""
    with tempfile.TemporaryDirectory() as folder:
        file, public = Path(folder, "run.evidence"), Path(folder, "log.pub")
        file.write_bytes(data)
        public.write_text(key)
        began = time.perf_counter()
        command = [sys.executable, "-I", str(SECOND), str(file), "--key", str(public)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began


BENCHMARKS = (Benchmark("ledger", ROWS, begin, versions=False),)
