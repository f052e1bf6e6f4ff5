"""A small log with two attempts of one experiment, signed, and the bundle of the second."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from failproof_es.core import experiment
from failproof_es.core.case import Case, Turn, prompt_id
from failproof_es.ledger import bundle, merkle
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.event_line import ProvenEvent
from failproof_es.ledger.note import COSIGNATURE, Note, SigningKey
from failproof_es.ledger.seal import Sealing

LOG = SigningKey.generate("failproof-es/test-log")
WITNESS = SigningKey.generate("witness.example", COSIGNATURE)
FIRST, RUN = UUID(int=1 << 100), UUID(int=2 << 100)
CASES = tuple(
    Case(
        dialect="failproof", case_id=f"c-{n}", suite_id="s",
        turns=(Turn(role="user", content=f"What is {n}?"),),
        expectation={"expected_response": f"{n}", "within": 0.5}, document={"n": n},
    )
    for n in range(3)
)  # fmt: skip
DIGESTS = [case.digest() for case in CASES[:2]]
CONFIGURATION = "c0" * 32
MODEL: dict[str, Any] = {
    "key": "m", "provider": "openai", "model": "m", "version": None,
    "parameters": {"temperature": 0.0, "top_p": 0.25, "seed": 7}, "settings": {},
}  # fmt: skip
SET_OUT: dict[str, Any] = {
    "configuration": {"judge": {"structured_output": True}, "judging": {"rule": "majority"}},
    "models": [MODEL],
    "judges": [{**MODEL, "key": "judge:j", "model": "j"}],
}


def write_bundle(
    run_id: UUID, events: Sequence[ProvenEvent], proof: Sequence[bytes], signed: Note
) -> Iterator[bytes]:
    """The lines of a bundle. `events` ascend by index; `proof` is their multiproof.

    Raises `EvidenceError` if the events are not a whole, sealed run.
    """
    reader = bundle.EventReader(run_id)
    for event in events:
        reader.add(event)
    yield from bundle.lines(reader.contents(events), reader.count, events, proof, signed)


def asked(cases: Sequence[Case], overlapping: Any = 0) -> dict[str, Any]:
    """What a run records of what it asks."""
    documents = [case.model_dump(mode="json") for case in cases]
    graded = map(experiment.graded_digest, documents)
    return {
        "digest": experiment.experiment_digest(experiment.conditions(SET_OUT), graded),
        "questions": experiment.set_digest(map(experiment.question_digest, documents)),
        "overlapping": overlapping,
    }


@dataclass
class World:
    """A log in memory: events in commit order."""

    events: list[ProvenEvent] = field(default_factory=list)

    def append(self, stream: UUID, topic: str, **payload: Any) -> None:
        version = 1 + sum(event.stream_id == stream for event in self.events)
        state = json.dumps({"timestamp": f"t{len(self.events)}", **payload}).encode()
        self.events.append(ProvenEvent(len(self.events), stream, version, topic, state))

    def store(self, cases: Sequence[Case]) -> None:
        for case in cases:
            document = case.model_dump(mode="json")
            prompt = prompt_id(case.digest())
            self.append(prompt, "PromptStored", digest=case.digest(), case=document)

    def start(
        self,
        run: UUID,
        number: int,
        attempt: Any,
        cases: Sequence[Case] = CASES[:2],
        **changes: Any,
    ) -> None:
        """Begin a run; `changes` are of what it says when it begins."""
        said: dict[str, Any] = {
            "name": "smoke \u202e", "run_number": number, "attempt": attempt, "run_id": str(run),
            "configuration_digest": CONFIGURATION, "planned_cases": len(cases),
            "experiment": asked(cases), **SET_OUT, **changes,
        }  # fmt: skip
        self.append(run, "RunStarted", **said)
        documents = [case.model_dump(mode="json") for case in cases]
        self.append(
            run, "CasesPlanned", run_id=str(run), digests=[case.digest() for case in cases],
            questions=[experiment.question_digest(document) for document in documents],
        )  # fmt: skip

    def evaluate(self, run: UUID, digest: str) -> None:
        stream = UUID(int=run.int + int(digest[:8], 16))
        asked = {"run_id": str(run), "prompt_id": str(prompt_id(digest))}
        self.append(stream, "RequestSent", body="what is asked", **asked)
        self.append(stream, "ResponseReceived", text="the answer \u00e9", **asked)
        self.append(stream, "Scored", scores={"accuracy": 1.0}, **asked)

    def end(self, run: UUID, topic: str) -> None:
        counts = {"planned": 2, "finished": 2, "scored": 2, "abandoned": 0}
        self.append(run, topic, counts=counts, run_id=str(run))

    def seal(self, run: UUID) -> None:
        sealing = Sealing()
        for event in self.events:
            if json.loads(event.state).get("run_id") == str(run):
                sealing.add(event.stream_id.bytes, event.leaf_hash())
        seal = sealing.seal()
        self.append(
            run, "RunSealed", streams=seal.streams, events=seal.events, root=seal.root.hex(),
            run_id=str(run),
        )  # fmt: skip

    def subtree(self, level: int, index: int) -> bytes:
        leaves = self.events[index << level : (index + 1) << level]
        return merkle.perfect_root([event.leaf_hash() for event in leaves])

    def signed(self, key: SigningKey = LOG) -> Note:
        size = len(self.events)
        checkpoint = Checkpoint(key.name, size, merkle.tree_root(self.subtree, size))
        return checkpoint.signed(key)

    def cosigned(self) -> Note:
        signed = self.signed()
        return signed.signed(WITNESS.sign(signed.text, at=1_700_000_000))

    def evidence(self) -> list[ProvenEvent]:
        """The second run, the prompts, and the other attempt's own stream."""
        planned = {prompt_id(digest) for digest in DIGESTS}
        return [
            event
            for event in self.events
            if event.stream_id in planned
            or event.stream_id == FIRST
            or json.loads(event.state).get("run_id") == str(RUN)
        ]

    def bundle(self, chosen: Sequence[ProvenEvent] | None = None) -> bytes:
        events = self.evidence() if chosen is None else list(chosen)
        signed = self.cosigned()
        proof = merkle.multiproof(self.subtree, [event.index for event in events], len(self.events))
        return b"".join(write_bundle(RUN, events, proof, signed))


def world(first: Any = 1, second: int = 2) -> World:
    """Two attempts (so numbered), the first of which failed, among other things in the log."""
    log = World()
    log.store(CASES[:2])
    log.start(FIRST, 1, first)
    log.evaluate(FIRST, DIGESTS[0])
    log.end(FIRST, "RunFailed")
    log.seal(FIRST)
    log.append(UUID(int=7), "PromptStored", digest="of another run")
    log.start(RUN, 2, second)
    for digest in DIGESTS:
        log.evaluate(RUN, digest)
    log.append(RUN, "RunPaused", run_id=str(RUN))
    log.end(RUN, "RunCompleted")
    log.seal(RUN)
    log.append(UUID(int=8), "PromptStored", digest="after it")
    return log


def with_state(event: ProvenEvent, **changes: Any) -> ProvenEvent:
    """The event with other content."""
    return replace(event, state=json.dumps({**json.loads(event.state), **changes}).encode())
