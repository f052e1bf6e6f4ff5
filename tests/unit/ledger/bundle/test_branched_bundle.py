"""The bundle of a branched run holds what it carried over; both verifiers hold it to that."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from failproof_es.core.case import prompt_id
from failproof_es.ledger import bundle, contents
from failproof_es.ledger.contents import Contents, EvidenceError
from failproof_es.ledger.event_line import ProvenEvent
from tests.unit.ledger.bundle.evidence_world import CASES, DIGESTS, FIRST, RUN, World
from tests.unit.ledger.bundle.test_bundle import Genuine, each_verifier

PROMPT = str(prompt_id(DIGESTS[0]))
SOURCE, REFERENCE = UUID(int=FIRST.int + 1), UUID(int=RUN.int + 1)
OF_CASE = {"prompt_id": PROMPT, "model_key": "m", "repetition": 1}


class Branched(World):
    """A run that failed, and one branched from it that carried one of its evaluations over.

    What the reference, the branch or the carried evaluation says can be made otherwise.
    """

    def __init__(
        self,
        reference: dict[str, Any] | None = None,
        branched_from: Any = "the first",
        told: tuple[str, ...] = ("RequestSent", "ResponseReceived", "Scored"),
        references: int = 1,
        after: str | None = None,
        late: str | None = None,
    ) -> None:
        super().__init__()
        self.store(CASES[:2])
        self.start(FIRST, 1, 1)
        for topic in told:
            self.append(SOURCE, topic, run_id=str(FIRST), **OF_CASE)
        self.start(RUN, 2, 2)
        begun = self.events[-2]
        state = {**json.loads(begun.state), "branched_from": branched_from}
        self.events[-2] = replace(begun, state=json.dumps(state).encode())
        if late is not None:
            self.append(SOURCE, late, run_id=str(FIRST), **OF_CASE)
        for number in range(references):
            self._refer(UUID(int=REFERENCE.int + number), reference or {})
        if after is not None:
            self.append(REFERENCE, after, run_id=str(RUN), **OF_CASE)
        self.evaluate(RUN, DIGESTS[1])
        self.end(RUN, "RunCompleted")
        self.seal(RUN)

    def _refer(self, stream: UUID, changes: dict[str, Any]) -> None:
        told = [event for event in self.events if event.stream_id == SOURCE]
        leaves = b"".join(event.leaf_hash() for event in told)
        said = {
            **OF_CASE,
            "source_run_id": str(FIRST),
            "source_evaluation_id": str(SOURCE),
            "source_events": len(told),
            "source_sha256": hashlib.sha256(leaves).hexdigest(),
        }
        self.append(stream, "CarriedOver", run_id=str(RUN), **{**said, **changes})

    def evidence(self) -> list[ProvenEvent]:
        """What a run's evidence holds, with the evaluation that was carried over."""
        held = {event.index: event for event in super().evidence()}
        told = {event.index: event for event in self.events if event.stream_id == SOURCE}
        return [event for _, event in sorted({**held, **told}.items())]


def unchecked(log: Branched, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The bundle that a writer who checks nothing would write."""
    with monkeypatch.context() as patched:
        patched.setattr(contents, "_check_carried_over", lambda *_: None)
        return log.bundle()


@each_verifier
def test_what_was_carried_over_is_in_it_and_is_believed(genuine: Genuine) -> None:
    log = Branched()
    assert genuine(log.bundle())
    told: Contents = contents.read_contents(RUN, log.evidence())
    assert (told.seal.streams, told.seal.events) == (3, 7)


BAD: dict[str, Callable[[], Branched]] = {
    "another digest": lambda: Branched({"source_sha256": "00" * 32}),
    "another count": lambda: Branched({"source_events": 2}),
    "a count that is no number": lambda: Branched({"source_events": True}),
    "another run": lambda: Branched({"source_run_id": str(RUN)}),
    "another stream": lambda: Branched({"source_evaluation_id": str(UUID(int=5))}),
    "no stream": lambda: Branched({"source_evaluation_id": None}),
    "another case": lambda: Branched({"prompt_id": str(prompt_id(DIGESTS[1]))}),
    "another model": lambda: Branched({"model_key": "n"}),
    "another repetition": lambda: Branched({"repetition": 2}),
    "a repetition that is no number": lambda: Branched({"repetition": True}),
    "a run that was not branched": lambda: Branched(branched_from=None),
    "what had not ended": lambda: Branched(told=("RequestSent", "ResponseReceived")),
    "what ended later": lambda: Branched(told=("RequestSent",), late="Scored"),
    "what was carried over itself": lambda: Branched(told=("CarriedOver", "Scored")),
    "one evaluation twice": lambda: Branched(references=2),
    "what nothing refers to": lambda: Branched(references=0),
    "what then went on": lambda: Branched(after="Scored"),
}


@each_verifier
@pytest.mark.parametrize("what", BAD)
def test_it_never_proves_to_have_carried_over(
    what: str, genuine: Genuine, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = BAD[what]()
    assert not genuine(unchecked(log, monkeypatch))
    with pytest.raises(EvidenceError):
        log.bundle()


@each_verifier
def test_what_it_carried_over_cannot_be_left_out(
    genuine: Genuine, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Branched()
    monkeypatch.setattr(contents, "_check_carried_over", lambda *_: None)
    without = log.bundle([event for event in log.evidence() if event.stream_id != SOURCE])
    monkeypatch.undo()
    assert not genuine(without)
    assert bundle.read(without).manifest["run_id"] == str(RUN)
