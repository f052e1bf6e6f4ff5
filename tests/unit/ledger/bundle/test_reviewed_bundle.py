"""A bundle carries what people said of the run; both verifiers hold it to being of this run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from failproof_es.core.case import review_id
from failproof_es.ledger import contents
from failproof_es.ledger.contents import EvidenceError
from failproof_es.ledger.event_line import ProvenEvent
from tests.unit.ledger.bundle.evidence_world import DIGESTS, FIRST, RUN, World, world
from tests.unit.ledger.bundle.test_bundle import Genuine, each_verifier


def evaluation_of(run: UUID, digest: str = DIGESTS[0]) -> UUID:
    return UUID(int=run.int + int(digest[:8], 16))


EVALUATION = evaluation_of(RUN)
REVIEWS = review_id(EVALUATION)


class Reviewed(World):
    """The usual log, and reviews after it."""

    def __init__(self) -> None:
        super().__init__(world().events)

    def say(
        self, topic: str = "Reviewed", stream: UUID = REVIEWS, about: Any = str(RUN), **said: Any
    ) -> Reviewed:
        given = {"evaluation_id": str(EVALUATION), "verdict": "fail", **said}
        self.append(stream, topic, about=about, run_id=None, **given)
        return self

    def evidence(self) -> list[ProvenEvent]:
        told = {event.index: event for event in self.events if b'"about"' in event.state}
        held = {event.index: event for event in super().evidence()}
        return [event for _, event in sorted({**held, **told}.items())]


def early() -> Reviewed:
    """A review that stands before the evaluation's end."""
    log = Reviewed()
    last = next(
        n for n, event in enumerate(log.events)
        if event.stream_id == EVALUATION and event.topic == "Scored"
    )  # fmt: skip
    kept, log.events = log.events[last:], log.events[:last]
    log.say()
    for event in kept:
        log.events.append(
            ProvenEvent(len(log.events), event.stream_id, event.version, event.topic, event.state)
        )
    return log


@each_verifier
def test_what_people_said_is_in_it_and_is_believed(genuine: Genuine) -> None:
    assert genuine(Reviewed().say().say(verdict="pass").bundle())


@each_verifier
def test_the_last_word_can_be_left_out_and_no_word_in_between(
    genuine: Genuine, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Reviewed().say().say().say()
    *held, first, second, third = log.evidence()
    assert genuine(log.bundle([*held, first, second]))
    with pytest.raises(EvidenceError, match="version 2"):
        log.bundle([*held, first, third])


BAD: dict[str, Callable[[], Reviewed]] = {
    "another run's": lambda: Reviewed().say(about=str(FIRST)),
    "nobody's": lambda: Reviewed().say(about=None),
    "an evaluation of another run": lambda: Reviewed().say(
        stream=review_id(evaluation_of(FIRST)), evaluation_id=str(evaluation_of(FIRST))
    ),
    "no evaluation": lambda: Reviewed().say(evaluation_id=None),
    "another evaluation's stream": lambda: Reviewed().say(
        stream=review_id(evaluation_of(RUN, DIGESTS[1]))
    ),
    "something else among them": lambda: Reviewed().say().say("Scored"),
    "before there was anything to review": early,
}


@each_verifier
@pytest.mark.parametrize("what", BAD)
def test_it_never_proves_a_review_of(
    what: str, genuine: Genuine, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = BAD[what]()
    with monkeypatch.context() as careless:
        careless.setattr(contents, "_check_reviews", lambda *_: None)
        written = log.bundle()
    assert not genuine(written)
    with pytest.raises(EvidenceError):
        log.bundle()
