"""The ledger's arithmetic without a database: leaves, trees, and a bundle of 100,000 events."""

from __future__ import annotations

import contextlib
import json
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import UUID

from failproof_es.core.case import prompt_id
from failproof_es.core.experiment import question_digest
from failproof_es.ledger import bundle, merkle
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.event_line import ProvenEvent
from failproof_es.ledger.leaf import leaf_hash
from failproof_es.ledger.note import SigningKey
from failproof_es.ledger.seal import Sealing
from failproof_es.ledger.tlog_policy import Policy
from tests.benchmarks.measured import Benchmark, Measure, Measurement, Row, Sizes, TargetFigure
from tests.unit.ledger.bundle.evidence_world import CASES, SET_OUT, asked, write_bundle

EVENTS_PER_EVALUATION = 5
SECOND = Path(__file__).parents[2] / "docs" / "reference" / "verify_evidence.py"
RUN = UUID(int=1 << 100)
DIGEST = CASES[0].digest()
LOG = SigningKey.generate("failproof-es/benchmark")
_LEAVES = "100,000 leaves, the best of three in each round; no database."
_BUNDLE = "Evidence of one run of 100,000 events, in memory; the best of three in each round."
ROWS = (
    Row(
        "leaf-hashes", "leaf hashes of 400 bytes", "leaves/s", _LEAVES, TargetFigure(">=", 400_000)
    ),
    Row("leaves-appended", "leaves appended to the tree one by one", "leaves/s", _LEAVES),
    Row("leaves-by-tile", "leaves appended by whole tiles", "leaves/s", _LEAVES),
    Row("bundle", "verifying evidence", "s", _BUNDLE, TargetFigure("<=", 5)),
    Row(
        "bundle-second", "verifying evidence, second verifier", "s", _BUNDLE, TargetFigure("<=", 5)
    ),
)


def seconds(work: Callable[[], Any]) -> float:
    """How long `work` takes: the best of three."""
    taken = []
    for _ in range(3):
        begun = perf_counter()
        work()
        taken.append(perf_counter() - begun)
    return min(taken)


def sealed_run(size: int) -> list[ProvenEvent]:
    """A run of one case, asked until there are about so many events."""
    events: list[ProvenEvent] = []
    sealing = Sealing()

    def append(stream: UUID, version: int, topic: str, **payload: Any) -> None:
        state = json.dumps({"timestamp": "now", "run_id": str(RUN), **payload}).encode()
        events.append(ProvenEvent(len(events), stream, version, topic, state))
        if stream != prompt_id(DIGEST):
            sealing.add(stream.bytes, events[-1].leaf_hash())

    of_case = {"prompt_id": str(prompt_id(DIGEST)), "text": "x" * 300}
    case = CASES[0].model_dump(mode="json")
    append(prompt_id(DIGEST), 1, "PromptStored", digest=DIGEST, case=case)
    append(
        RUN, 1, "RunStarted", name="benchmark", run_number=1, attempt=1, **SET_OUT,
        experiment=asked(CASES[:1]), configuration_digest="c0" * 32, planned_cases=1,
    )  # fmt: skip
    append(RUN, 2, "CasesPlanned", digests=[DIGEST], questions=[question_digest(case)])
    for number in range(size // EVENTS_PER_EVALUATION):
        for version in range(1, EVENTS_PER_EVALUATION + 1):
            append(UUID(int=RUN.int + 1 + number), version, "ResponseReceived", **of_case)
    counts = dict.fromkeys(("planned", "finished", "scored", "abandoned"), 1)
    append(RUN, 3, "RunCompleted", counts=counts)
    seal = sealing.seal()
    append(
        RUN, 4, "RunSealed", streams=seal.streams, events=seal.events, root=seal.root.hex()
    )  # fmt: skip
    return events


def exported(events: list[ProvenEvent]) -> bytes:
    """The bundle of a log that holds nothing else, so that its proof is empty."""
    tree = merkle.Frontier()
    tree.extend(event.leaf_hash() for event in events)
    signed = Checkpoint(LOG.name, tree.size, tree.root()).signed(LOG)
    return b"".join(write_bundle(RUN, events, [], signed))


@contextlib.contextmanager
def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
    """A bundle of twice so many events for all rounds."""
    count = sizes.events * 2
    data = exported(sealed_run(count))
    yield lambda: _measure(data, count)


def _measure(data: bytes, count: int) -> Iterator[Measurement]:
    def hashed() -> list[bytes]:
        return [leaf_hash(RUN.bytes, n, b"ResponseReceived", b"x" * 400) for n in range(count)]

    leaves = hashed()
    yield Measurement("leaf-hashes", count / seconds(hashed))
    growing = seconds(lambda: merkle.Frontier().extend(leaves))
    yield Measurement("leaves-appended", count / growing)
    tiles = [leaves[at : at + 256] for at in range(0, count - count % 256, 256)]
    by_tile = seconds(lambda: [merkle.perfect_root(tile) for tile in tiles])
    yield Measurement("leaves-by-tile", len(tiles) * 256 / by_tile)
    second = runpy.run_path(str(SECOND))["verify"]
    told = f"{data.count(b'topic'):,} events, {len(data) / 1e6:.0f} MB"
    engine = seconds(lambda: bundle.verify(bundle.read(data), Policy.of(LOG.public)))
    yield Measurement("bundle", engine, note=told)
    other = seconds(lambda: second(data, str(LOG.public), []))
    yield Measurement("bundle-second", other, note=told)


BENCHMARKS = (Benchmark("ledger-hashing", ROWS, begin, versions=False),)
