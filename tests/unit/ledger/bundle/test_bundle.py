"""What a bundle proves, and that nothing in it can be changed: by both verifiers."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from failproof_es.ledger import bundle, contents, merkle
from failproof_es.ledger.contents import EvidenceError, read_contents
from failproof_es.ledger.event_line import ProvenEvent
from failproof_es.ledger.note import SigningKey
from failproof_es.ledger.seal import Seal, Sealing
from failproof_es.ledger.tlog_policy import Policy
from tests.examples import stride
from tests.unit.ledger.bundle.evidence_world import FIRST, LOG, RUN, WITNESS, with_state, world

SECOND = Path(__file__).parents[4] / "docs" / "reference" / "verify_evidence.py"
GENUINE = world().bundle()
KEY = LOG.public


def first_verdict(data: bytes) -> bool:
    try:
        bundle.verify(bundle.read(data), Policy.of(KEY, [WITNESS.public]))
    except EvidenceError:
        return False
    return True


@cache
def second_verifier() -> Any:
    """The other verifier, which is no part of any package."""
    specification = importlib.util.spec_from_file_location("verify_evidence", SECOND)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    # It is slow, and asked the same over and over here.
    setattr(module, "holds", cache(module.holds))  # noqa: B010 - this module has no type
    return module


def second_verdict(data: bytes) -> bool:
    second = second_verifier()
    try:
        second.verify(data, str(KEY), [str(WITNESS.public)])
    except second.NotGenuine:
        return False
    return True


VERIFIERS = [first_verdict, second_verdict]
each_verifier = pytest.mark.parametrize("genuine", VERIFIERS, ids=["engine", "second"])
Genuine = Callable[[bytes], bool]


@each_verifier
def test_a_genuine_bundle_is_believed(genuine: Genuine) -> None:
    assert genuine(GENUINE)


def test_the_bundle_tells_which_attempt_of_how_many_it_shows() -> None:
    verdict = bundle.verify(bundle.read(GENUINE), Policy.of(KEY, [WITNESS.public]))
    assert (verdict.contents.attempt, verdict.contents.attempts) == (2, 2)
    assert verdict.cosigned == {"witness.example": 1_700_000_000}
    assert "\u202e" not in "".join(bundle.read(GENUINE).summary)


@each_verifier
@pytest.mark.long
def test_every_flipped_byte_is_noticed(genuine: Genuine) -> None:
    believed = [
        at
        for at in range(len(GENUINE))
        if genuine(GENUINE[:at] + bytes([GENUINE[at] ^ 1]) + GENUINE[at + 1 :])
    ]
    assert believed == []


@pytest.mark.slow
@each_verifier
@pytest.mark.thinned(whole=1)
def test_every_flipped_byte_is_noticed_under_a_digest_that_fits(genuine: Genuine) -> None:
    body = GENUINE[: GENUINE[:-1].rindex(b"\n") + 1]
    believed = [
        at
        for at in range(0, len(body), stride(3))
        if genuine(under_digest(body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]))
    ]
    assert believed == []


@each_verifier
def test_a_topic_that_is_not_unicode_is_refused(genuine: Genuine) -> None:
    lines = [json.loads(line) for line in GENUINE.splitlines()[:-1]]
    lines[5]["topic"] = "\ud800"
    assert not genuine(sealed_again(lines))


@each_verifier
def test_every_cut_and_everything_appended_is_noticed(genuine: Genuine) -> None:
    assert not any(genuine(GENUINE[:at]) for at in range(0, len(GENUINE), 7))
    assert not any(genuine(GENUINE + tail) for tail in (b"\n", b"x", b"{}\n", b"\0", GENUINE))
    assert not any(genuine(head + GENUINE) for head in (b"\n", b" ", b"\xef\xbb\xbf"))


def sealed_again(lines: list[Any]) -> bytes:
    """The lines as a forger writes them: in canonical form, under a digest that fits."""
    body = b"".join(
        json.dumps(line, sort_keys=True, separators=(",", ":")).encode() + b"\n" for line in lines
    )
    return under_digest(body)


def under_digest(body: bytes) -> bytes:
    """All lines but the last, and the last one that fits."""
    digest = json.dumps({"sha256": hashlib.sha256(body).hexdigest()}, separators=(",", ":"))
    return body + digest.encode() + b"\n"


def forgeries(genuine: bytes) -> Iterator[tuple[str, bytes]]:
    """Every line and every field dropped, doubled, swapped, truncated or changed."""
    lines = [json.loads(line) for line in genuine.splitlines()[:-1]]
    for at in range(len(lines)):
        yield f"line {at} dropped", sealed_again(lines[:at] + lines[at + 1 :])
        yield f"line {at} doubled", sealed_again([*lines[: at + 1], *lines[at:]])
        if at + 1 < len(lines):
            swapped = [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]]
            yield f"lines {at} and {at + 1} swapped", sealed_again(swapped)
        for path, changed in changes(lines[at]):
            yield f"line {at}: {path}", sealed_again([*lines[:at], changed, *lines[at + 1 :]])


def changes(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every way in which one thing inside a JSON value can be otherwise."""
    match value:
        case dict():
            for key, inner in value.items():
                rest = {k: v for k, v in value.items() if k != key}
                yield f"{path}.{key} dropped", rest
                yield f"{path}.{key} renamed", {**rest, f"{key}x": inner}
                for name, changed in changes(inner, f"{path}.{key}"):
                    yield name, {**value, key: changed}
            yield f"{path} with one more key", {**value, "more": 1}
        case list():
            yield f"{path} shortened", value[:-1]
            yield f"{path} lengthened", [*value, *value[-1:]]
            if len(value) > 1:
                yield f"{path} reversed", value[::-1]
            for at, inner in enumerate(value):
                for name, changed in changes(inner, f"{path}[{at}]"):
                    yield name, [*value[:at], changed, *value[at + 1 :]]
        case str():
            yield f"{path} truncated", value[:-1]
            yield f"{path} emptied", ""
            yield f"{path} lengthened", value + "A"
            yield f"{path} changed", ("B" if value[:1] != "B" else "C") + value[1:]
            yield f"{path} null", None
        case int():
            yield f"{path} + 1", value + 1
            yield f"{path} as text", str(value)
            yield f"{path} as truth", True
            yield f"{path} as a float", float(value)
            yield f"{path} huge", 10**30


@each_verifier
def test_every_field_dropped_swapped_or_changed_is_noticed_under_a_digest_that_fits(
    genuine: Genuine,
) -> None:
    tried = list(forgeries(GENUINE))
    assert len(tried) > 400
    sample = tried[:: stride()]
    assert [name for name, data in sample if data != GENUINE and genuine(data)] == []


def hidden() -> dict[str, list[ProvenEvent]]:
    """Genuine events of the run, with something left out."""
    shown = world().evidence()
    one = next(e for e in shown if e.topic == "RequestSent" and e.index > 10).stream_id
    of_run = [e for e in shown if e.stream_id == RUN]
    return {
        "an evaluation": [e for e in shown if e.stream_id != one],
        "the end of an evaluation": [e for e in shown if e.stream_id != one or e.topic != "Scored"],
        "a prompt": [e for e in shown if e.index != 0],
        "the attempt that failed": [e for e in shown if e.stream_id != FIRST],
        **{f"the run's {gone.topic}": [e for e in shown if e is not gone] for gone in of_run},
    }


@each_verifier
@pytest.mark.parametrize("what", hidden())
def test_a_run_that_is_not_whole_is_noticed_though_all_that_is_shown_is_genuine(
    genuine: Genuine, what: str
) -> None:
    log, shown = world(), hidden()[what]
    with pytest.raises(EvidenceError):
        log.bundle(shown)
    indices = [event.index for event in shown]
    proof = merkle.multiproof(log.subtree, indices, len(log.events))
    lines = [json.loads(line) for line in GENUINE.splitlines()[:-1]]
    kept = [line for line in lines[5:] if line["index"] in set(indices)]
    proven = {"proof": [b64encode(each).decode() for each in proof]}
    assert not genuine(sealed_again([*lines[:4], proven, *kept]))


@each_verifier
@pytest.mark.parametrize("attempt", ["1", 1.0, True, 2, 3])
def test_an_attempt_that_is_no_number_or_leaves_a_gap_is_noticed(
    genuine: Genuine, attempt: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = world(attempt, 2)
    with pytest.raises(EvidenceError, match="attempt"):
        log.bundle()
    believed = read_contents(RUN, world().evidence())
    monkeypatch.setattr(bundle, "contents_of", lambda _run, _read, _events: believed)
    forged = log.bundle()
    monkeypatch.undo()
    assert not genuine(forged)


@each_verifier
@pytest.mark.parametrize("what", ["an evaluation", "the end of an evaluation"])
def test_a_manifest_and_summary_that_fit_do_not_hide_what_the_seal_counts(
    genuine: Genuine, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = hidden()[what]
    sealed = next(n for n, e in enumerate(shown) if (e.stream_id, e.topic) == (RUN, "RunSealed"))

    def unchecked(*_: Any) -> Seal:
        sealing = Sealing()
        for event in shown[:sealed]:
            if json.loads(event.state).get("run_id") == str(RUN):
                sealing.add(event.stream_id.bytes, event.leaf_hash())
        return sealing.seal()

    monkeypatch.setattr(contents, "_checked_seal", unchecked)
    forged = world().bundle(shown)
    monkeypatch.undo()
    assert forged.splitlines()[1] != GENUINE.splitlines()[1]
    assert not genuine(forged)


def test_an_answer_changed_before_export_is_noticed() -> None:
    log = world()
    at = next(e.index for e in log.events if e.topic == "ResponseReceived" and e.index > 10)
    log.events[at] = with_state(log.events[at], text="what it should have said")
    with pytest.raises(EvidenceError, match="seal"):
        log.bundle()


def test_a_bundle_of_another_log_or_without_a_cosigner_is_not_believed() -> None:
    other = SigningKey.generate(LOG.name)
    stranger = SigningKey.generate("nobody.example", WITNESS.kind)
    with pytest.raises(EvidenceError, match="not signed by"):
        bundle.verify(bundle.read(GENUINE), Policy.of(other.public))
    with pytest.raises(EvidenceError, match="not signed by nobody"):
        bundle.verify(bundle.read(GENUINE), Policy.of(KEY, [stranger.public]))
