"""The two verifiers come to the same verdict: on whatever a file, a log or a key can hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from failproof_es.ledger.event_line import ProvenEvent
from failproof_es.ledger.note import NoteError, PublicKey, SigningKey
from tests.every import every
from tests.examples import stride
from tests.unit.ledger.bundle.evidence_world import LOG, RUN, WITNESS, World, world
from tests.unit.ledger.bundle.forging import forged, said
from tests.unit.ledger.bundle.forging import sealed_again as seal_again
from tests.unit.ledger.bundle.test_branched_bundle import Branched
from tests.unit.ledger.bundle.test_bundle import (
    GENUINE,
    first_verdict,
    sealed_again,
    second_verdict,
    second_verifier,
    under_digest,
)
from tests.unit.ledger.bundle.test_registered_bundle import Registered
from tests.unit.ledger.bundle.test_reviewed_bundle import Reviewed

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 2, -1, 2.0, 1e400, float("nan"), 10**30, 1 << 63),
    *("", "1", "x", "A" * 2000, "\ud800", "é", "e\u0301", "\0", "\u2028", "\ufeff"),
    *([], {}, [1], {"a": 1}, [[]], [None], [True]),
)


STEP = stride(28)
"""Every how many-th variant is tried."""


def variants(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The value with one thing in it made odd, dropped, or added."""
    for odd in ODD_VALUES:
        yield f"{path} = {odd!r:.30}", odd
    match value:
        case dict():
            for key, inner in value.items():
                yield f"{path}.{key} dropped", {k: v for k, v in value.items() if k != key}
                for name, changed in variants(inner, f"{path}.{key}"):
                    yield name, {**value, key: changed}
            yield f"{path} with one more", {**value, "more": 1}
        case list():
            yield f"{path} doubled", [*value, *value]
            yield f"{path} shortened", value[:-1]
            for at, inner in enumerate(value[:1]):
                for name, changed in variants(inner, f"{path}[{at}]"):
                    yield name, [*value[:at], changed, *value[at + 1 :]]
        case str():
            yield f"{path} in upper case", value.upper()
            yield f"{path} lengthened", value + "0"
            yield f"{path} in braces", "{" + value + "}"
            yield f"{path} in wide digits", value.replace("0", "\uff10")
        case int():
            yield f"{path} + 1", value + 1
            yield f"{path} as text", str(value)
            yield f"{path} as a float", float(value)
            yield f"{path} as truth", bool(value)


def raw_states(state: bytes) -> Iterator[tuple[str, bytes]]:
    """Bytes that one reader of JSON takes and another does not."""
    text = state.decode()
    inside = text[1:-1]
    yield "empty", b""
    yield "not UTF-8", b"\xff" + state
    yield "with a byte order mark", b"\xef\xbb\xbf" + state
    for encoding in ("utf-16", "utf-16-le", "utf-32", "latin-1"):
        yield f"in {encoding}", text.encode(encoding)
    yield "NUL at its end", state + b"\0"
    for space in (" ", "\n", "\t", "\x0b", "\u00a0"):
        yield f"{space!r} around", f"{space}{text}{space}".encode()
    yield "more behind it", state + b"{}"
    yield "an array", b"[" + state + b"]"
    yield "a text", json.dumps(text).encode()
    yield "null", b"null"
    yield "a name twice", f'{{"run_id":"other",{inside}}}'.encode()
    yield "a name twice, deep", f'{{{inside},"x":{{"a":1,"a":2}}}}'.encode()
    yield "a name twice, as an escape", f'{{{inside},"b":1,"\\u0062":2}}'.encode()
    for constant in ("NaN", "Infinity", "-Infinity", "nan", "01", "1.", ".5", "+1", "0x1", "1e9"):
        yield f"with {constant}", f'{{{inside},"x":{constant}}}'.encode()
    for digits in (4300, 4301, 20_000):
        yield f"with {digits} digits", f'{{{inside},"x":{"1" * digits}}}'.encode()
        yield f"with {digits} digits below 0", f'{{{inside},"x":-{"1" * digits}}}'.encode()
        yield f"{digits} digits, a float", f'{{{inside},"x":{"1" * digits}.0}}'.encode()
    for depth in (498, 499, 500, 501, 900, 990, 1000, 5000, 200_000):
        yield f"{depth} deep", f'{{{inside},"x":{"[" * depth}{"]" * depth}}}'.encode()
        deep = '{"a":' * depth + "1" + "}" * depth
        yield f"{depth} objects deep", f'{{{inside},"x":{deep}}}'.encode()
    brackets = "[" * 5000
    yield "brackets in a text", f'{{{inside},"x":"\\"{brackets}\\\\"}}'.encode()
    yield "brackets side by side", f'{{{inside},"x":[{"[]," * 5000}0]}}'.encode()
    yield "brackets unclosed", f'{{{inside},"x":{brackets}'.encode()
    yield "quotes unclosed", f'{{{inside},"x":"{brackets}'.encode()
    yield "a lone surrogate", f'{{{inside},"x":"\\ud800"}}'.encode()
    yield "a control character", f'{{{inside},"x":"\x01"}}'.encode()
    yield "a comment", f"{{{inside}}}//".encode()
    yield "a comma at its end", f"{{{inside},}}".encode()
    yield "single quotes", text.replace('"', "'").encode()


def logs() -> dict[str, World]:
    return {
        "two attempts": world(),
        "branched": Branched(),
        "reviewed": Reviewed().say(),
        "registered": Registered(),
    }


def chosen(log: World) -> list[int]:
    """One event of each kind, and every event of the run's own stream."""
    seen: set[tuple[str, bool]] = set()
    found = []
    for event in log.evidence():
        kind = (event.topic, said(event).get("run_id") == str(RUN))
        if kind not in seen or event.stream_id == RUN:
            seen.add(kind)
            found.append(event.index)
    return found


def with_event(log: World, event: ProvenEvent) -> bytes:
    """The bundle of the log with that event in its place, with a seal and a proof that fit."""
    shown = [each.index for each in log.evidence()]
    of_run = [each.index for each in log.evidence()
              if each.stream_id == RUN or said(each).get("run_id") == str(RUN)]  # fmt: skip
    changed = World([*log.events])
    changed.events[event.index] = event
    last = next(at for at in reversed(of_run) if log.events[at].topic == "RunSealed")
    if event.index != last:
        seal_again(changed, [*(at for at in of_run if at < last), last])
    return forged(changed, [changed.events[at] for at in shown])


def disagreement(data: bytes) -> bool:
    return first_verdict(data) is not second_verdict(data)


@every("name", logs())
def test_both_verifiers_believe_what_was_not_changed(name: str) -> None:
    log = logs()[name]
    data = with_event(log, log.events[chosen(log)[0]])
    assert (first_verdict(data), second_verdict(data)) == (True, True)


@pytest.mark.slow
@pytest.mark.parametrize("name", logs())
@pytest.mark.thinned(whole=1)
def test_both_verifiers_agree_on_whatever_the_events_of_a_signed_log_say(name: str) -> None:
    log = logs()[name]
    changes = [(at, *variant) for at in chosen(log) for variant in variants(said(log.events[at]))]
    assert len(changes) > 2500
    believed, disagreed = set(), []
    for at, what, changed in changes[::STEP]:
        event = log.events[at]
        data = with_event(log, replace(event, state=json.dumps(changed).encode()))
        believed.add(first_verdict(data))
        if disagreement(data):
            disagreed.append(f"{event.topic} {what}")
    assert disagreed == []
    assert believed == {True, False}


@pytest.mark.long
def test_both_verifiers_agree_on_whatever_bytes_a_state_is() -> None:
    log = world()
    disagreed = [
        f"{log.events[at].topic} {what}"
        for at in chosen(log)[::STEP]
        for what, state in raw_states(log.events[at].state)
        if disagreement(with_event(log, replace(log.events[at], state=state)))
    ]
    assert disagreed == []


@every("topic", ["PromptStored", "ResponseReceived", "Scored", "RunPaused"])
@every("state", [b"[]", b"null", b'"text"', b"1", b"", b"{", b"\xff"])
def test_a_state_that_is_no_json_object_is_refused_by_both(topic: str, state: bytes) -> None:
    """Of any event: also of one that nothing is read from."""
    log = world()
    event = next(e for e in reversed(log.evidence()) if e.topic == topic)
    data = with_event(log, replace(event, state=state))
    assert (first_verdict(data), second_verdict(data)) == (False, False)


@every("topic", ["", "x" * 1023, "x" * 1024, "é" * 1023, "RunSealed", "Reviewed"])
@every("version", [0, 1, 2, (1 << 63) - 1])
@pytest.mark.long
def test_both_verifiers_agree_on_whatever_an_event_is_called(topic: str, version: int) -> None:
    log = world()
    for at in chosen(log):
        event = replace(log.events[at], topic=topic, version=version)
        assert not disagreement(with_event(log, event))


def lines_made_odd() -> Iterator[tuple[str, bytes]]:
    lines = [json.loads(each) for each in GENUINE.splitlines()[:-1]]
    for at in range(len(lines))[:8]:
        for what, changed in variants(lines[at]):
            try:
                yield f"line {at}: {what}", sealed_again([*lines[:at], changed, *lines[at + 1 :]])
            except UnicodeEncodeError:
                continue


@pytest.mark.slow
@pytest.mark.long
def test_both_verifiers_agree_on_whatever_a_line_of_the_file_holds() -> None:
    odd = islice(lines_made_odd(), 0, None, stride(3))
    assert [name for name, data in odd if disagreement(data)] == []


def bytes_made_odd() -> Iterator[tuple[str, bytes]]:
    body = GENUINE[: GENUINE[:-1].rindex(b"\n") + 1]
    lines = body.splitlines(keepends=True)
    for name, old, new in (
        ("carriage returns", b"\n", b"\r\n"),
        ("other newlines", b"\n", b"\r"),
        ("white space", b'":', b'": '),
        ("white space at the end", b"}\n", b"} \n"),
        ("upper-case escapes", b"\\u202e", b"\\u202E"),
        ("no escapes", b"\\u202e", "\u202e".encode()),
        ("slashes", b"/", b"\\/"),
        ("a number as a float", b'"version":1}', b'"version":1.0}'),
        ("a number with an exponent", b'"version":1}', b'"version":1e0}'),
        ("NaN", b'"version":1}', b'"version":NaN}'),
        ("a number below zero", b'"index":0', b'"index":-0'),
        ("a name twice", b'{"index":', b'{"index":0,"index":'),
        ("names in another order", b'"format":"failproof-es-evidence","version":1',
         b'"version":1,"format":"failproof-es-evidence"'),
        ("base64 for URLs", b"+", b"-"),
        ("base64 without padding", b'="', b'"'),
        ("base64 with white space", b'="', b'= "'),
        ("base64 with unused bits", b"A==", b"B=="),
        ("a byte order mark", b'{"format"', b'\xef\xbb\xbf{"format"'),
        ("no UTF-8", b'{"format"', b'\xff{"format"'),
    ):  # fmt: skip
        yield name, under_digest(body.replace(old, new))
        yield f"{name}, once", under_digest(body.replace(old, new, 1))
        yield f"{name}, without a new digest", GENUINE.replace(old, new)
    for at in range(len(lines)):
        for extra in (b"\n", b"{}\n", b"null\n", b"[]\n", lines[at]):
            yield f"more at line {at}", under_digest(b"".join([*lines[:at], extra, *lines[at:]]))
    deep = b"[" * 990 + b"]" * 990
    for depth in (400, 900, 960, 975, 985, 990, 994, 997):
        deep = b"[" * depth + b"]" * depth
        nested = b'{"manifest":{"attempt":' + deep + b"}}\n"
        yield f"a manifest {depth} deep", under_digest(b"".join([lines[0], nested, *lines[2:]]))
        nested = b'{"summary":[' + deep + b"]}\n"
        yield f"a summary {depth} deep", under_digest(
            b"".join([*lines[:2], nested, *lines[3:]])
        )  # fmt: skip


def test_both_verifiers_agree_on_however_a_file_is_written() -> None:
    assert [name for name, data in bytes_made_odd() if disagreement(data)] == []


def notes_made_odd() -> Iterator[tuple[str, str]]:
    note = json.loads(GENUINE.splitlines()[3])["checkpoint"]
    text, _, signatures = note.partition("\n\n")
    origin, size, root = text.split("\n")
    log_line, witness_line = signatures.splitlines()
    for name, lines in {
        "an extension": [origin, size, root, "extension"],
        "an empty extension": [origin, size, root, ""],
        "no root": [origin, size],
        "a short root": [origin, size, root[:-4]],
        "a root that is no base64": [origin, size, "x"],
        "a size of 0": [origin, "0", root],
        "a size with a zero": [origin, "0" + size, root],
        "a size of 20 digits": [origin, "1" * 20, root],
        "a size in wide digits": [origin, size.replace("4", "\uff14"), root],
        "another size": [origin, "7", root],
        "a larger size": [origin, "1" * 19, root],
        "a carriage return": [origin, size, root + "\r"],
        "a tab": [origin + "\t", size, root],
        "DEL": [origin + "\x7f", size, root],
        "a line separator": [origin, size, root, "a\u2028b"],
        "another origin": [origin + "x", size, root],
        "no origin": ["", size, root],
    }.items():
        changed = "".join(f"{each}\n" for each in lines)
        signed = [LOG.sign(changed), WITNESS.sign(changed, at=1)]
        yield name, changed + "\n" + "".join(f"{each}\n" for each in signed)
    body = text + "\n\n"
    for name, lines in {
        "no signature": [],
        "the log's alone": [log_line],
        "the witness's alone": [witness_line],
        "twice the same": [log_line, witness_line, log_line],
        "100": [log_line, witness_line, *[log_line] * 98],
        "101": [log_line, witness_line, *[log_line] * 99],
        "a strange one": [log_line, witness_line, "— a AAAAAAA="],
        "a short one": [log_line, witness_line, "— a AAAAAA=="],
        "an empty one": [log_line, witness_line, "— a "],
        "one without a name": [log_line, witness_line, "—  AAAAAAA="],
        "one with another dash": [log_line, witness_line, "- a AAAAAAA="],
        "one with two spaces": [log_line, witness_line, "— a  AAAAAAA="],
        "one with a plus": [log_line, witness_line, "— a+b AAAAAAA="],
        "one with a lone surrogate": [log_line, witness_line, "— a\ud800 AAAAAAA="],
        "one with a wide space": [log_line, witness_line, "— a\u3000b AAAAAAA="],
        "one with a tab": [log_line, witness_line, "— a\tb AAAAAAA="],
        "the log's with another length": [log_line[:-4], witness_line],
        "a bad one of the log beside": [log_line, witness_line, str(
            replace(LOG.sign("x"), payload=bytes(64)))],
        "a long one of the log beside": [log_line, witness_line, str(
            replace(LOG.sign("x"), payload=bytes(72)))],
        "a bad one of the witness beside": [log_line, witness_line, str(
            replace(WITNESS.sign("x", at=1), payload=bytes(72)))],
    }.items():  # fmt: skip
        yield name, body + "".join(f"{each}\n" for each in lines)
    yield "an empty line behind it", note + "\n"
    yield "no newline at its end", note[:-1]
    yield "two empty lines", text + "\n\n\n" + signatures


def test_both_verifiers_agree_on_whatever_a_checkpoint_is() -> None:
    lines = [json.loads(each) for each in GENUINE.splitlines()[:-1]]
    verdicts = []
    for name, note in notes_made_odd():
        data = sealed_again([*lines[:3], {"checkpoint": note}, *lines[4:]])
        verdicts.append((name, first_verdict(data), second_verdict(data)))
    assert [name for name, one, other in verdicts if one != other] == []
    assert {one for _, one, _ in verdicts} == {True, False}


def keys_made_odd() -> Iterator[str]:
    field = 2**255 - 19
    order_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
    for kind in (1, 4):
        for y in (0, 1, 2, field - 1, field, field + 1, 2**255 - 1, order_8, field - order_8):
            for sign in (0, 1):
                public = (y | sign << 255).to_bytes(32, "little")
                yield str(PublicKey("failproof-es/test-log", public, kind))
    good = str(LOG.public)
    name, key_id, material = good.split("+", 2)
    yield from (
        *("", "+", "++", good + "=", good[:-1], good + "A", f" {good}\n", f"{good}\n{good}"),
        *(f"{name}+{key_id.upper()}+{material}", f"{name}+{key_id}+{material.replace('A', 'B')}"),
        *(f"{name} +{key_id}+{material}", f"x{good}", f"{name}+{key_id}0+{material}"),
        *(f"{name}+{key_id}+", f"{name}\ud800+{key_id}+{material}", f"{good}+", f"\ufeff{good}"),
    )
    yield str(WITNESS.public)
    yield str(SigningKey.generate(LOG.name, 0x04).public)
    yield good


def is_key(text: str) -> bool:
    try:
        return PublicKey.parse(text).kind == 1
    except NoteError:
        return False


def test_both_verifiers_agree_on_what_is_a_log_s_key() -> None:
    second = second_verifier()

    def second_says(text: str) -> bool:
        try:
            second.read_key(text, 1)
        except second.NoKey:
            return False
        return True

    said = [(text, is_key(text), second_says(text)) for text in keys_made_odd()]
    assert [text for text, one, other in said if one != other] == []
    assert 0 < sum(one for _, one, _ in said) < len(said)
