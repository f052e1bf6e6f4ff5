"""The ledger's arithmetic without a database: leaves, trees, and a bundle of 100,000 events.

`python -m tests.benchmarks.ledger_hashing`
"""

from __future__ import annotations

import hashlib
import json
import runpy
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import UUID

from failproof_es.core.case import prompt_id
from failproof_es.ledger import bundle, merkle
from failproof_es.ledger.bundle import ProvenEvent
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.leaf import leaf_hash
from failproof_es.ledger.note import SigningKey
from failproof_es.ledger.seal import Sealing

EVENTS = 100_000
EVENTS_PER_EVALUATION = 5
SECOND = Path(__file__).parents[2] / "docs" / "reference" / "verify_evidence.py"
RUN = UUID(int=1 << 100)
DIGEST = hashlib.sha256(b"the case").hexdigest()
LOG = SigningKey.generate("failproof-es/benchmark")


def seconds(work: Callable[[], Any]) -> float:
    """How long `work` takes: the best of three."""
    taken = []
    for _ in range(3):
        begun = perf_counter()
        work()
        taken.append(perf_counter() - begun)
    return min(taken)


def sealed_run() -> list[ProvenEvent]:
    """A run of one case, asked until there are about 100,000 events."""
    events: list[ProvenEvent] = []
    sealing = Sealing()

    def append(stream: UUID, version: int, topic: str, **payload: Any) -> None:
        state = json.dumps({"timestamp": "now", "run_id": str(RUN), **payload}).encode()
        events.append(ProvenEvent(len(events), stream, version, topic, state))
        if stream != prompt_id(DIGEST):
            sealing.add(stream.bytes, events[-1].leaf_hash())

    asked = {"prompt_id": str(prompt_id(DIGEST)), "text": "x" * 300}
    append(prompt_id(DIGEST), 1, "PromptStored", digest=DIGEST)
    append(
        RUN, 1, "RunStarted", name="benchmark", run_number=1, attempt=1,
        configuration_digest="c0" * 32, planned_cases=1,
    )  # fmt: skip
    append(RUN, 2, "CasesPlanned", digests=[DIGEST])
    for number in range(EVENTS // EVENTS_PER_EVALUATION):
        for version in range(1, EVENTS_PER_EVALUATION + 1):
            append(UUID(int=RUN.int + 1 + number), version, "ResponseReceived", **asked)
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
    return b"".join(bundle.write(RUN, events, [], signed))


def main() -> None:
    state = b"x" * 400
    leaves = [leaf_hash(RUN.bytes, n, b"ResponseReceived", state) for n in range(EVENTS)]
    hashing = seconds(
        lambda: [leaf_hash(RUN.bytes, n, b"ResponseReceived", state) for n in range(EVENTS)]
    )
    print(f"  leaf hashes of 400-byte states: {EVENTS / hashing:,.0f}/s (wanted >= 400,000)")
    growing = seconds(lambda: merkle.Frontier().extend(leaves))
    print(f"  leaves appended one by one: {EVENTS / growing:,.0f}/s")
    tiles = [leaves[at : at + 256] for at in range(0, EVENTS - EVENTS % 256, 256)]
    by_tile = seconds(lambda: [merkle.perfect_root(tile) for tile in tiles])
    print(f"  leaves appended by whole tiles: {len(tiles) * 256 / by_tile:,.0f}/s")
    data = exported(sealed_run())
    second = runpy.run_path(str(SECOND))["verify"]
    engine = seconds(lambda: bundle.verify(bundle.read(data), LOG.public))
    other = seconds(lambda: second(data, str(LOG.public), []))
    print(
        f"ledger hashing: a bundle of {data.count(b'topic'):,} events, {len(data) / 1e6:.0f} MB, "
        f"verified in {engine:.1f} s, by the second verifier in {other:.1f} s (wanted < 5 s)"
    )


if __name__ == "__main__":
    main()
