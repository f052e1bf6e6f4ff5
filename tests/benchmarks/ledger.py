"""The ledger on a large log: what it costs to append, how fast it verifies, what evidence weighs.

`python -m tests.benchmarks.ledger [--events 1000000]`

"Ledger off" stores zeros for leaf hashes and has no integrator beside it; "on" is as the
engine does it, the integrator signing every two seconds (in a run: every ten).
"""

from __future__ import annotations

import argparse
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

from failproof_es.assurance.checking.verification import verify_log
from failproof_es.assurance.export import evidence
from failproof_es.assurance.run_proof import prove_run
from failproof_es.assurance.signing.checkpoint_signer import CheckpointSigner
from failproof_es.assurance.signing.integrator import integrate, sign_checkpoint
from failproof_es.engine.finish.sealing import seal_of
from failproof_es.events import Counts, Event, RunCompleted, RunSealed
from failproof_es.ledger import bundle
from failproof_es.ledger.note import SigningKey
from failproof_es.store import ledger
from failproof_es.store.schema.installation import WRITER
from failproof_es.store.store import Store
from failproof_es.store.writing import recorder
from tests.benchmarks.rebuild import BATCH, begun, history
from tests.benchmarks.servers import benchmark_store

RUN_EVENTS = 100_000
COMPARED_EVENTS = 100_000
SECOND = Path(__file__).parents[2] / "docs" / "reference" / "verify_evidence.py"


def write_run(store: Store, evaluations: int) -> UUID:
    """One sealed run of that many evaluations, of ordinary size."""
    run_id = uuid4()
    head = {"originator_id": run_id, "run_id": run_id, "timestamp": datetime.now(UTC)}
    with store.connect() as connection:
        row = connection.execute("SELECT failproof.number_run(%s)", (run_id,)).fetchone()
    assert row is not None
    events, prompts = begun(evaluations, run_id, row[0])
    _put(store, events)
    for batch in _batches(run_id, prompts):
        store.log.events.put(batch)
    version = sum(event.originator_id == run_id for event in events) + 1
    counts = Counts(planned=evaluations, finished=evaluations, scored=evaluations, abandoned=0)
    completed = RunCompleted(**head, originator_version=version, counts=counts)
    store.log.events.put([completed])
    with store.connect() as connection:
        seal = seal_of(connection, run_id)
    store.log.events.put([RunSealed(**head, originator_version=version + 1, streams=seal.streams,
                                    events=seal.events, root=seal.root.hex())])  # fmt: skip
    return run_id


def _put(store: Store, events: list[Event]) -> None:
    for first in range(0, len(events), BATCH):
        store.log.events.put(events[first : first + BATCH])


def _batches(run_id: UUID, prompts: list[UUID]) -> Iterator[list[Event]]:
    waiting: list[Event] = []
    for prompt in prompts:
        waiting.extend(history(prompt, run_id))
        if len(waiting) >= BATCH:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _appended(store: Store) -> float:
    """Events a second of appending what was made before."""
    batches = [
        [store.log.mapper.to_stored_event(event) for event in batch]
        for batch in _batches(uuid4(), [uuid4() for _ in range(COMPARED_EVENTS // 4)])
    ]
    began = time.perf_counter()
    for batch in batches:
        store.log.recorder.insert_events(batch)
    return COMPARED_EVENTS / (time.perf_counter() - began)


_NO_LEAVES = (
    "SET event_triggers = off; "
    "CREATE OR REPLACE FUNCTION failproof.leaf_of(originator_id uuid, originator_version bigint, "
    "topic text, state bytea) RETURNS bytea LANGUAGE sql STABLE STRICT "
    "BEGIN ATOMIC SELECT decode(repeat('00', 32), 'hex'); END"
)
"""The database, too, computes no leaf."""


def _append_off() -> float:
    with (
        benchmark_store() as url,
        Store.open(url) as store,
        mock.patch.object(recorder, "_leaf_hash", lambda event: bytes(32)),
    ):
        with psycopg.connect(url.replace(f"//{WRITER}@", "//postgres@")) as administrator:
            administrator.execute(_NO_LEAVES)
        return _appended(store)


def _append_on() -> float:
    with benchmark_store() as url, Store.open(url) as store, CheckpointSigner(store, every_s=2.0):
        return _appended(store)


def _compare_appending() -> None:
    """In turn, each as often first as second: who comes second finds a warmer machine."""
    rates: dict[str, list[float]] = {"off": [], "on": []}
    measures = [("off", _append_off), ("on", _append_on)]
    for _ in range(6):
        for name, measure in measures:
            rates[name].append(measure())
        measures.reverse()
    off, on = median(rates["off"]), median(rates["on"])
    for name, measured in rates.items():
        print(f"  ledger {name}: {', '.join(f'{rate:,.0f}' for rate in measured)} events/s")
    print(f"append, ledger on against off: ratio of the medians {on / off:.2f} (wanted >= 0.85)")


def _large_log(events: int) -> None:
    with benchmark_store() as url, Store.open(url) as store, store.connect() as connection:
        began = time.perf_counter()
        runs = [write_run(store, RUN_EVENTS // 5) for _ in range(max(1, events // RUN_EVENTS))]
        print(f"  written and sealed in {time.perf_counter() - began:.0f} s")
        key = SigningKey.generate(ledger.origin(connection))
        began = time.perf_counter()
        size = integrate(connection)
        taken = time.perf_counter() - began
        print(f"  {size:,} events integrated in {taken:.1f} s: {size / taken:,.0f} events/s")
        sign_checkpoint(connection, key, None)
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        assert row is not None
        print(f"  the database weighs {row[0] / 1e9:.2f} GB")
        auditor = url.replace("failproof_writer", "failproof_auditor")
        with psycopg.connect(auditor, autocommit=True) as reading:
            began = time.perf_counter()
            assert verify_log(reading, key.public, url=auditor).genuine
            whole = time.perf_counter() - began
            print(f"verify: {size / whole:,.0f} events/s (wanted >= 250,000)")
            began = time.perf_counter()
            proven = prove_run(reading, runs[len(runs) // 2], key.public)
            taken = time.perf_counter() - began
            share = whole * proven.events / size
            rate = proven.events / taken
            print(f"verify RUN: {rate:,.0f} events/s, {taken / share:.1f} of its share")
            began = time.perf_counter()
            data = b"".join(evidence(reading, runs[len(runs) // 2]))
            taken = time.perf_counter() - began
    print(f"  evidence of one run exported in {taken:.1f} s, {len(data) / 1e6:.0f} MB")
    began = time.perf_counter()
    verdict = bundle.verify(bundle.read(data), key.public)
    taken = time.perf_counter() - began
    print(f"evidence verify: {verdict.contents.seal.events:,} events in {taken:.1f} s (wanted < 5)")
    _verify_elsewhere(data, str(key.public))


def _verify_elsewhere(data: bytes, key: str) -> None:
    """The second verifier, in a process that has nothing of ours on its path."""
    with tempfile.TemporaryDirectory() as folder:
        file, public = Path(folder, "run.evidence"), Path(folder, "log.pub")
        file.write_bytes(data)
        public.write_text(key)
        began = time.perf_counter()
        command = [sys.executable, "-I", str(SECOND), str(file), "--key", str(public)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    print(f"  the second verifier: {time.perf_counter() - began:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["FAILPROOF_ES_HOME"] = home
        _compare_appending()
        _large_log(arguments.events)


if __name__ == "__main__":
    main()
