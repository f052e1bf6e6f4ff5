"""A log whose runs recorded what they asked: four attempts and a run that overlaps with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from failproof_es.core.case import Case, prompt_id
from failproof_es.ledger import merkle
from failproof_es.ledger.event_line import ProvenEvent
from tests.unit.ledger.bundle.evidence_world import CASES, World, asked, write_bundle

FIRST, FAILED, FEWER, RUN, LATER, STRANGE = (UUID(int=n << 100) for n in range(1, 7))


class AskedWorld(World):
    """The events of the log, and the bundle of `RUN`."""

    def finish(self, run: UUID, topic: str, cases: Sequence[Case], *, met: bool) -> None:
        for case in cases:
            self.evaluate(run, case.digest())
        n = len(cases)
        counts = {"planned": n, "finished": n, "scored": n, "abandoned": 0}
        gates = {"gates": {"min_accuracy": {"met": met}}} if topic == "RunCompleted" else {}
        self.append(run, topic, counts=counts, run_id=str(run), **gates)
        self.seal(run)

    def of_run(self, *without: UUID) -> list[ProvenEvent]:
        """What proves `RUN`."""
        planned = {prompt_id(case.digest()) for case in CASES[:2]}
        shown = planned | {FIRST, FAILED, FEWER, RUN, LATER} - set(without)
        mine = b'"run_id": "%b"' % str(RUN).encode()
        return [e for e in self.events if e.stream_id in shown or mine in e.state]

    def bundle(self, chosen: Sequence[ProvenEvent] | None = None) -> bytes:
        events = self.of_run() if chosen is None else list(chosen)
        proof = merkle.multiproof(self.subtree, [each.index for each in events], len(self.events))
        return b"".join(write_bundle(RUN, events, proof, self.cosigned()))


def asked_world(attempt: Any = 3, overlapping: Any = 1, **changes: Any) -> AskedWorld:
    """The log; `changes` are of what `RUN` says when it begins."""
    log = AskedWorld()
    log.store(CASES)
    both, fewer = CASES[:2], CASES[1:]
    log.start(FIRST, 1, 1, both)
    log.start(FAILED, 2, 2, both)
    log.finish(FAILED, "RunCompleted", both, met=False)
    log.start(FEWER, 3, 1, fewer)
    log.start(RUN, 4, attempt, both, **{"experiment": asked(both, overlapping), **changes})
    log.finish(RUN, "RunCompleted", both, met=True)
    log.start(LATER, 5, 4, both)
    counts = {"planned": 2, "finished": 1, "scored": 1, "abandoned": 0}
    log.append(LATER, "RunPaused", counts=counts, run_id=str(LATER))
    log.start(STRANGE, 6, 1, CASES[2:])
    return log
