"""What a bundle says of the runs that asked the same: by both verifiers."""

from __future__ import annotations

import json
from base64 import b64encode
from itertools import islice
from typing import Any
from uuid import UUID

import pytest

from failproof_es.ledger import bundle, contents, merkle
from failproof_es.ledger.contents import EvidenceError
from failproof_es.ledger.event_line import ProvenEvent
from failproof_es.ledger.tlog_policy import Policy
from tests.examples import stride
from tests.unit.ledger.bundle.asked_world import (
    FAILED,
    FEWER,
    FIRST,
    LATER,
    STRANGE,
    AskedWorld,
    asked_world,
)
from tests.unit.ledger.bundle.evidence_world import CASES, LOG, MODEL, WITNESS, asked
from tests.unit.ledger.bundle.test_bundle import (
    Genuine,
    each_verifier,
    forgeries,
    sealed_again,
)

GENUINE = asked_world().bundle()


@each_verifier
def test_a_bundle_that_counts_by_experiment_is_believed(genuine: Genuine) -> None:
    assert genuine(GENUINE)


def test_the_attempts_and_what_overlaps_are_told_with_their_outcomes() -> None:
    read = bundle.read(GENUINE)
    verdict = bundle.verify(read, Policy.of(LOG.public, [WITNESS.public]))
    assert (verdict.contents.attempt, verdict.contents.attempts) == (3, 4)
    told = [
        (run["attempt"], run["run_number"], run["status"], run["gates_met"])
        for run in read.manifest["other_attempts"]
    ]
    assert told == [(1, 1, "running", None), (2, 2, "completed", False), (4, 5, "paused", None)]
    (overlapping,) = read.manifest["overlapping_runs"]
    assert (overlapping["run_id"], overlapping["shared_cases"]) == (str(FEWER), 1)
    assert any(line.startswith("attempt 2 was run 2") for line in read.summary)
    assert any("gates not met" in line for line in read.summary)
    assert any(line.startswith("overlapping, with 1 of the same cases") for line in read.summary)


@each_verifier
@pytest.mark.long
def test_every_field_changed_of_what_says_the_attempts_is_noticed(genuine: Genuine) -> None:
    forged_bundles = islice(forgeries(GENUINE), 0, None, stride())
    assert [name for name, data in forged_bundles if data != GENUINE and genuine(data)] == []


def forged(log: AskedWorld, shown: list[ProvenEvent], monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A bundle as somebody writes it whose program finds nothing wrong with the attempts."""
    believed = bundle.verify(bundle.read(GENUINE), Policy.of(LOG.public)).contents.related
    with monkeypatch.context() as patch:
        patch.setattr(contents, "read_attempts", lambda *_: believed)
        return log.bundle(shown)


@each_verifier
@pytest.mark.parametrize("gone", [FIRST, FAILED, FEWER], ids=["first", "failed", "overlapping"])
def test_no_run_before_it_can_be_left_out(
    genuine: Genuine, gone: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = asked_world()
    with pytest.raises(EvidenceError, match="missing"):
        log.bundle(log.of_run(gone))
    assert not genuine(forged(log, log.of_run(gone), monkeypatch))


def test_window_the_last_attempt_after_it_can_be_left_out() -> None:
    """As the page says: there were at least so many."""
    log = asked_world()
    read = bundle.read(log.bundle(log.of_run(LATER)))
    assert bundle.verify(read, Policy.of(LOG.public)).contents.attempts == 3


@each_verifier
def test_a_run_that_asked_something_else_does_not_belong_into_it(
    genuine: Genuine, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = asked_world()
    shown = [e for e in log.events if e in log.of_run() or e.stream_id == STRANGE]
    with pytest.raises(EvidenceError, match="no attempt of this experiment and does not overlap"):
        log.bundle(shown)
    assert not genuine(forged(log, shown, monkeypatch))


OTHER_MODEL = [{**MODEL, "parameters": {"temperature": 1.0}}]
LIES: dict[str, tuple[dict[str, Any], str]] = {
    "the attempt": ({"attempt": 1}, "missing"),
    "the attempt as text": ({"attempt": "3"}, "missing"),
    "what is sent": ({"experiment": {**asked(CASES[:2]), "questions": "0" * 64}}, "planned other"),
    "the experiment": (
        {"experiment": {**asked(CASES[:2]), "digest": "0" * 64}}, "recorded experiment"
    ),
    "the models": ({"models": OTHER_MODEL}, "recorded experiment"),
    "its number": ({"run_number": 2}, "the same number"),
    "a digest that is none": ({"experiment": {"digest": 1, "questions": 2}}, "cannot be read"),
    "no experiment": ({"experiment": None}, "cannot be read"),
    "an empty experiment": ({"experiment": {}}, "cannot be read"),
    "fewer overlapping runs": ({"experiment": asked(CASES[:2])}, "overlapping run is missing"),
    "more overlapping runs": ({"experiment": asked(CASES[:2], 2)}, "overlapping run is missing"),
    "overlapping runs as truth": ({"experiment": asked(CASES[:2], True)}, "overlapping run is"),
}  # fmt: skip


@each_verifier
@pytest.mark.parametrize(("changes", "why"), LIES.values(), ids=LIES)
def test_a_run_that_says_otherwise_what_it_asked_is_not_believed(
    genuine: Genuine, changes: dict[str, Any], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = asked_world(**changes)
    with pytest.raises(EvidenceError, match=why):
        log.bundle()
    assert not genuine(forged(log, log.of_run(), monkeypatch))


def test_a_forger_who_recounts_the_lines_is_noticed() -> None:
    lines = [json.loads(line) for line in GENUINE.splitlines()[:-1]]
    log = asked_world()
    shown = log.of_run(FAILED)
    indices = [event.index for event in shown]
    proof = merkle.multiproof(log.subtree, indices, len(log.events))
    kept = [line for line in lines[5:] if line["index"] in set(indices)]
    data = sealed_again([*lines[:4], {"proof": [b64encode(e).decode() for e in proof]}, *kept])
    with pytest.raises(EvidenceError, match="missing"):
        bundle.verify(bundle.read(data), Policy.of(LOG.public))
