"""A log whose runs recorded what they asked: four attempts and a run that overlaps with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from failproof_es.core import experiment
from failproof_es.core.case import Case, Turn, prompt_id
from failproof_es.ledger import bundle, merkle
from failproof_es.ledger.bundle import ProvenEvent
from tests.unit.ledger.bundle.evidence_world import CONFIGURATION, World

OLDER, FAILED, FEWER, RUN, LATER, STRANGE = (UUID(int=n << 100) for n in range(1, 7))
CASES = tuple(
    Case(
        dialect="failproof", case_id=f"c-{n}", suite_id="s",
        turns=(Turn(role="user", content=f"What is {n}?"),),
        expectation={"expected_response": f"{n}", "within": 0.5}, document={"n": n},
    )
    for n in range(3)
)  # fmt: skip
MODEL: dict[str, Any] = {
    "key": "m", "provider": "openai", "model": "m", "version": None,
    "parameters": {"temperature": 0.0, "top_p": 0.25, "seed": 7}, "settings": {},
}  # fmt: skip
SET_OUT: dict[str, Any] = {
    "configuration": {"judge": {"structured_output": True}, "judging": {"rule": "majority"}},
    "models": [MODEL],
    "judges": [{**MODEL, "key": "judge:j", "model": "j"}],
}


def asked(cases: Sequence[Case], overlapping: Any = 0) -> dict[str, Any]:
    """What a run records of what it asks."""
    documents = [case.model_dump(mode="json") for case in cases]
    graded = map(experiment.graded_digest, documents)
    return {
        "digest": experiment.experiment_digest(experiment.conditions(SET_OUT), graded),
        "questions": experiment.set_digest(map(experiment.question_digest, documents)),
        "overlapping": overlapping,
    }


class AskedWorld(World):
    """The events of the log, and the bundle of `RUN`."""

    def ask(
        self, run: UUID, number: int, attempt: Any, cases: Sequence[Case], **changes: Any
    ) -> None:
        """Begin a run. `experiment=None` makes it one of an older version."""
        said: dict[str, Any] = {
            "name": "smoke", "run_number": number, "attempt": attempt, "run_id": str(run),
            "configuration_digest": CONFIGURATION, "planned_cases": len(cases),
            "experiment": asked(cases), **SET_OUT, **changes,
        }  # fmt: skip
        self.append(run, "RunStarted", **said)
        plan: dict[str, Any] = {"digests": [case.digest() for case in cases]}
        if said["experiment"] is not None:
            documents = [case.model_dump(mode="json") for case in cases]
            plan["questions"] = [experiment.question_digest(document) for document in documents]
        self.append(run, "CasesPlanned", run_id=str(run), **plan)

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
        shown = planned | {OLDER, FAILED, FEWER, RUN, LATER} - set(without)
        mine = b'"run_id": "%b"' % str(RUN).encode()
        return [e for e in self.events if e.stream_id in shown or mine in e.state]

    def bundle(self, chosen: Sequence[ProvenEvent] | None = None) -> bytes:
        events = self.of_run() if chosen is None else list(chosen)
        proof = merkle.multiproof(self.subtree, [each.index for each in events], len(self.events))
        return b"".join(bundle.write(RUN, events, proof, self.cosigned()))


def asked_world(attempt: Any = 3, overlapping: Any = 1, **changes: Any) -> AskedWorld:
    """The log; `changes` are of what `RUN` says when it begins."""
    log = AskedWorld()
    for case in CASES:
        document = case.model_dump(mode="json")
        log.append(prompt_id(case.digest()), "PromptStored", digest=case.digest(), case=document)
    both, fewer = CASES[:2], CASES[1:]
    log.ask(OLDER, 1, 1, both, experiment=None)
    log.ask(FAILED, 2, 2, both)
    log.finish(FAILED, "RunCompleted", both, met=False)
    log.ask(FEWER, 3, 1, fewer)
    log.ask(RUN, 4, attempt, both, **{"experiment": asked(both, overlapping), **changes})
    log.finish(RUN, "RunCompleted", both, met=True)
    log.ask(LATER, 5, 4, both)
    counts = {"planned": 2, "finished": 1, "scored": 1, "abandoned": 0}
    log.append(LATER, "RunPaused", counts=counts, run_id=str(LATER))
    log.ask(STRANGE, 6, 1, CASES[2:])
    return log
