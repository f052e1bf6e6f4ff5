"""Check and read an evidence bundle of failproof-es without failproof-es.

    python verify_evidence.py FILE --key KEY [--cosigner KEY ...] [--list | --show CASE]

Python's standard library is all it needs; KEY is a public key, or a file that
holds one. It follows evidence-format.md section by section and shares no code with the engine.
--list and --show print only what is proven. Exit code 0: the bundle is genuine and whole; 1: it
is not; 2: wrong usage, no such case, or a key or a file cannot be read.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import os
import re
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from uuid import UUID

# The table is generated: python -m tools.verifier_events
RUN_EVENTS: dict[str, str | None] = {
    "RunStarted": "running",
    "PricesRecorded": None,
    "CasesPlanned": None,
    "CaseSkipped": None,
    "RunPaused": "paused",
    "RunResumed": "running",
    "RunCompleted": "completed",
    "RunFailed": "failed",
    "RunGivenUp": "given_up",
    "RunSealed": None,
    "LimitChanged": None,
    "SpendCeilingChanged": None,
    "RunValidated": None,
    "RunImported": None,
}
"""The events of a run's own stream, and how the run stands after those that decide it."""
ENDINGS = ("RunCompleted", "RunFailed", "RunGivenUp")
"""Those of them after which a run asks nothing any more."""
WITH_COUNTS = ("RunPaused", "RunCompleted", "RunFailed", "RunGivenUp")
"""Those of them that hold the run's counts."""
COUNTED = ("planned", "finished", "scored", "abandoned")
FINAL = ("Scored", "EvaluationAbandoned")
CHECKED = "ConfigurationResolved"
"""The event with which the stream of a registered plan begins."""
KEPT = ("RunStarted", "Reviewed", CHECKED)
"""The first events of the streams of which every event is kept."""
OF_FIRST = ("run_id", "prompt_id", "model_key", "repetition")
"""The fields of an evaluation's first event that are kept."""
OF_SOURCE = ("source_evaluation_id", "source_run_id", "source_events", "source_sha256")
COMPARED = (
    "code_version", "dialect", "judges", "models", "packages", "planned_evaluations", "selection",
)  # fmt: skip
"""The fields in which a run's plan is compared with the registered one."""
MALFORMED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
MOST_BYTES = 1 << 30
MOST_LEVELS = 500
"""How deep a state may be nested."""
MOST_DIGITS = 4300
KEY_NAME = re.compile(r"[^\s+\x00-\x1f\x7f]+")
LOG, COSIGNER = 1, 4
"""The kinds of keys."""


class NotGenuine(Exception):
    """The bundle does not prove what it says; the text gives the reason."""


class NoKey(Exception):
    """A given key cannot be used; the text gives the reason."""


class Event(NamedTuple):
    place: int
    stream: UUID
    version: int
    topic: str
    payload: dict[str, Any]
    leaf: bytes


class Stream:
    """A stream as far as it is needed: 100,000 evaluations fit in memory, their texts do not."""

    __slots__ = (
        "carried", "events", "first", "kept", "last", "leaves", "passed", "stream", "topic",
    )  # fmt: skip

    def __init__(self, event: Event) -> None:
        self.stream = event.stream
        self.topic = event.topic
        self.first = fields_kept(event)
        self.kept: list[Event] | None = [] if event.topic in KEPT else None
        """Every event of a run, of reviews, or about a registered plan."""
        self.events = 0
        self.leaves = bytearray()
        """The hashes of its leaves, in order."""
        self.carried = False
        """Whether it has a `CarriedOver`."""

    def add(self, event: Event) -> None:
        self.events += 1
        if event.version != self.events:
            refuse(f"stream {event.stream}: version {self.events} is missing")
        self.leaves += event.leaf
        self.last = event.topic, event.place
        self.carried |= event.topic == "CarriedOver"
        self.passed = event.payload.get("passed") if event.topic == "Scored" else None
        if self.kept is not None:
            self.kept.append(event)

    def digest(self) -> bytes:
        """SHA-256 of the hashes of its leaves, one after the other."""
        return sha256(self.leaves)


class Run(NamedTuple):
    """A whole run: its own stream, the event that it ended with, its evaluations."""

    own: list[Event]
    ended: Event
    evaluations: list[Stream]
    manifest: dict[str, Any]
    summary: list[str]


class Evidence(NamedTuple):
    """A genuine bundle: its file, its run, and every stream by its id."""

    data: bytes
    run: Run
    streams: dict[UUID, Stream]

    def source(self, evaluation: Stream) -> Stream:
        """The stream that has the events of an evaluation: its own, or the carried-over one."""
        if not evaluation.carried:
            return evaluation
        return self.streams[UUID(evaluation.first["source_evaluation_id"])]


class Key(NamedTuple):
    name: str
    key_id: bytes
    kind: int
    public: bytes


class Tree(NamedTuple):
    origin: str
    size: int
    root: bytes


class RunQuestions(NamedTuple):
    """What a run asked: its experiment, its models, and what is sent for its cases."""

    run_id: str
    number: int
    digest: str
    models: set[bytes]
    sent: set[str]


class Attempts(NamedTuple):
    """What the manifest and the summary say of a run's attempts and of overlapping runs."""

    manifest: dict[str, Any]
    summary: list[str]


def verify(data: bytes, log_key: str, cosigner_keys: Sequence[str] = ()) -> Evidence:
    """The content of a genuine bundle. Every cosigner must have signed.

    Raises `NotGenuine`, and `NoKey` for a text that is no key of its kind.
    """
    log = read_key(log_key, LOG)
    cosigners = [read_key(each, COSIGNER) for each in cosigner_keys]
    lines = read_lines(data)
    manifest = only(read_object(next(lines)), "manifest", dict)
    summary = only(read_object(next(lines)), "summary", list)
    signed = only(read_object(next(lines)), "checkpoint", str)
    proof = [from_base64(each) for each in only(read_object(next(lines)), "proof", list)]
    if any(len(each) != 32 for each in proof):
        refuse("a hash of the proof is not 32 bytes long")
    places, leaves, streams = read_streams(map(read_event, map(read_object, lines)))
    tree = check_checkpoint(signed, log, cosigners)
    check_proof(places, leaves, proof, tree)
    run = check_run(manifest.get("run_id"), len(places), streams, tree)
    if not (plain(manifest) and plain(summary)):
        refuse("the manifest or the summary has a value of a wrong type, or too many levels")
    if canonical(manifest) != canonical(run.manifest):
        refuse("the manifest does not match the events")
    if canonical(summary) != canonical(run.summary):
        refuse("the summary does not match the events")
    return Evidence(data, run, streams)


def refuse(reason: str) -> NoReturn:
    raise NotGenuine(reason)


# -- The file --------------------------------------------------------------------------------


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def plain(value: Any, levels: int = 10) -> bool:
    """Whether it has one canonical form (no fractions), and is not nested too deep."""
    if type(value) in (dict, list):
        inner = value.values() if type(value) is dict else value
        return levels > 0 and all(plain(each, levels - 1) for each in inner)
    return type(value) in (str, int, bool, type(None))


def read_lines(data: bytes) -> Iterator[bytes]:
    """Every line but the first one, and but the last one, which holds the digest of the others."""
    end = data.rfind(b"\n", 0, -1) + 1
    if data.count(b"\n") < 6 or not data.endswith(b"\n"):
        refuse("the file is cut short, or its last line does not end")
    digest = hashlib.sha256(memoryview(data)[:end]).hexdigest()
    if data[end:-1] != canonical({"sha256": digest}):
        refuse("the file's digest does not match its content")
    at = data.index(b"\n") + 1
    if data[: at - 1] != canonical({"format": "failproof-es-evidence", "version": 1}):
        refuse("not an evidence bundle of version 1")
    while at < end:
        begin, at = at, data.index(b"\n", at) + 1
        yield data[begin : at - 1]


def read_object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
        if isinstance(value, dict) and canonical(value) == line:
            return value
    except (ValueError, RecursionError):
        pass
    refuse(f"a line is not an object in canonical form: {line[:40]!r}")


def only(document: dict[str, Any], key: str, kind: type) -> Any:
    if set(document) != {key} or type(document[key]) is not kind:
        refuse(f"the line of the {key} does not hold it alone")
    return document[key]


def from_base64(text: Any) -> bytes:
    try:
        decoded = base64.b64decode(text, validate=True)
    except (ValueError, TypeError):
        refuse("base64 is damaged")
    if base64.b64encode(decoded).decode("ascii") != text:
        refuse("base64 is not in its canonical form")
    return decoded


def read_event(line: dict[str, Any]) -> Event:
    if set(line) != {"index", "state", "stream", "topic", "version"}:
        refuse("an event has a key too many or too few")
    index, version, topic = line["index"], line["version"], line["topic"]
    if type(index) is not int or not 0 <= index < 2**63:
        refuse("an event's index is out of bounds")
    if type(version) is not int or not 1 <= version < 2**63:
        refuse(f"event {index}: its version is out of bounds")
    if type(topic) is not str or len(topic) > 1023:
        refuse(f"event {index}: its topic is out of bounds")
    try:
        stream, named = UUID(line["stream"]), topic.encode()
    except (ValueError, TypeError, AttributeError):
        refuse(f"event {index}: its stream is no UUID, or its topic is not Unicode")
    if str(stream) != line["stream"]:
        refuse(f"event {index}: its stream is not written in lower case with hyphens")
    state = from_base64(line["state"])
    payload = read_state(index, state)
    leaf = sha256(
        b"\x00failproof-es/event/1\n",
        stream.bytes + version.to_bytes(8, "big"),
        len(named).to_bytes(2, "big") + named,
        len(state).to_bytes(8, "big") + sha256(state),
    )
    return Event(index, stream, version, topic, payload, leaf)


def read_state(index: int, state: bytes) -> dict[str, Any]:
    """The state as a JSON object (RFC 8259). No name may appear twice in one object."""
    try:
        text = state.decode("utf-8")
        if depth_of(text) <= MOST_LEVELS:
            value = STATES.decode(text)
            if isinstance(value, dict):
                return value
    except ValueError as why:
        refuse(f"event {index}: its state is not a JSON object: {why}")
    refuse(f"event {index}: its state is not a JSON object, or nested deeper than {MOST_LEVELS}")


def depth_of(text: str) -> int:
    """How deep JSON is nested; 0 where it cannot be too deep."""
    if text.count("[") + text.count("{") <= MOST_LEVELS:
        return 0
    depth = deepest = 0
    quoted = False
    for sign in re.findall(r'\\.|["\[\]{}]', text, re.DOTALL):
        quoted ^= sign == '"'
        if not quoted and sign in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif not quoted and sign in "]}":
            depth -= 1
    return deepest


def each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name appears twice in one object")
    return found


def whole_number(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number of more than {MOST_DIGITS} digits")
    return int(digits)


def no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


STATES = json.JSONDecoder(
    object_pairs_hook=each_name_once, parse_int=whole_number, parse_constant=no_number
)


# -- The tree --------------------------------------------------------------------------------


def sha256(*parts: bytes | bytearray) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def left_leaves(count: int) -> int:
    """The largest power of two below `count`, which is at least 2."""
    return 1 << ((count - 1).bit_length() - 1)


def check_proof(places: array[int], leaves: bytearray, proof: list[bytes], tree: Tree) -> None:
    """Check the events' places in the tree, and the hashes of their leaves, against its root."""
    if any(place >= following for place, following in pairwise(places)):
        refuse("the events do not ascend by index")
    if not places or places[-1] >= tree.size:
        refuse("there are no events, or one lies beyond the tree")
    hashes = iter(proof)

    def node(begin: int, end: int, first: int, last: int) -> bytes:
        """The node over leaves begin..end, in which the events first..last lie."""
        if first == last:
            found = next(hashes, None)
            return refuse("the proof is too short") if found is None else found
        if end - begin == 1:
            return bytes(leaves[32 * first : 32 * last])
        middle = begin + left_leaves(end - begin)
        cut = bisect_left(places, middle, first, last)
        left = node(begin, middle, first, cut)
        return sha256(b"\x01", left, node(middle, end, cut, last))

    if node(0, tree.size, 0, len(places)) != tree.root:
        refuse("these events are not in the tree that the checkpoint signs")
    if next(hashes, None) is not None:
        refuse("the proof is too long")


def tree_root(leaves: list[bytes]) -> bytes:
    """The root over at least one leaf hash, level by level: an odd last node moves up as it is."""
    while len(leaves) > 1:
        pairs = [sha256(b"\x01", *leaves[at : at + 2]) for at in range(0, len(leaves) - 1, 2)]
        leaves = pairs + leaves[2 * len(pairs) :]
    return leaves[0]


# -- The checkpoint --------------------------------------------------------------------------


def read_key(text: str, kind: int) -> Key:
    """A public key of that kind. Raises `NoKey`."""
    name, plus, rest = text.strip().partition("+")
    key_id, plus, encoded = rest.partition("+")
    try:
        material = base64.b64decode(encoded, validate=True)
        hashed = sha256(name.encode(), b"\n", material)
    except ValueError:
        material = hashed = b""
    if not plus or not KEY_NAME.fullmatch(name) or len(material) != 33:
        raise NoKey("a public key is written name+id+base64")
    if f"{key_id}+{encoded}" != f"{hashed[:4].hex()}+{base64.b64encode(material).decode()}":
        raise NoKey(f"the key {name!r} has another id, or is damaged")
    if material[0] != kind:
        wanted = {LOG: "a log's", COSIGNER: "a cosigner's"}[kind]
        raise NoKey(f"the key {name!r} is not {wanted}: its kind is {material[0]}")
    y = int.from_bytes(material[1:], "little") & (1 << 255) - 1
    if y >= FIELD or y in SMALL_ORDER:
        raise NoKey(f"the key {name!r} is not a valid point for a key")
    return Key(name, hashed[:4], kind, material[1:])


def check_checkpoint(signed: str, log: Key, cosigners: list[Key]) -> Tree:
    text, signatures = read_note(signed)
    for key in (log, *cosigners):
        check_signatures(text, signatures, key)
    lines = text[:-1].split("\n")
    if len(lines) < 3 or not all(lines):
        refuse("the checkpoint needs an origin, a size and a root, and no empty line")
    if not re.fullmatch(r"0|[1-9][0-9]{0,18}", lines[1]):
        refuse("the checkpoint's size is not a number")
    tree = Tree(lines[0], int(lines[1]), from_base64(lines[2]))
    if tree.origin != log.name:
        refuse("the log's key is not named after the checkpoint's origin")
    return tree


def read_note(signed: str) -> tuple[str, list[tuple[str, bytes]]]:
    """The text, and of each signature line its key's name and what base64 holds."""
    text, empty, below = signed.rpartition("\n\n")
    text += "\n"
    if not empty or not below.endswith("\n"):
        refuse("the note does not end in signature lines")
    try:
        signed.encode()
    except UnicodeEncodeError:
        refuse("the note is not Unicode")
    if any(character < " " and character != "\n" for character in text):
        refuse("the note holds a control character")
    signatures = []
    for line in below[:-1].split("\n"):
        mark, _, rest = line.partition(" ")
        name, _, encoded = rest.partition(" ")
        payload = from_base64(encoded)
        if mark != "\u2014" or not KEY_NAME.fullmatch(name) or len(payload) <= 4:
            refuse("not a signature line")
        signatures.append((name, payload))
    if len(signatures) > 100:
        refuse("more than 100 signatures")
    return text, signatures


def check_signatures(text: str, signatures: list[tuple[str, bytes]], key: Key) -> None:
    own = [each[4:] for name, each in signatures if (name, each[:4]) == (key.name, key.key_id)]
    if not own:
        refuse(f"the checkpoint is not signed by {key.name}")
    for payload in own:
        message, stamp = text, payload[:-64]
        if len(payload) != (72 if key.kind == COSIGNER else 64):
            refuse(f"a signature of {key.name} has the wrong length")
        if key.kind == COSIGNER:
            message = f"cosignature/v1\ntime {int.from_bytes(stamp, 'big')}\n{text}"
        if not holds(key.public, payload[-64:], message.encode()):
            refuse(f"a signature of {key.name} is not valid")


# -- Ed25519 (RFC 8032, section 5.1) -------------------------------------------------------------
#
# This only verifies. No secret is used, so the time it takes may depend on the input.

FIELD = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, FIELD) % FIELD
ROOT_OF_MINUS_ONE = pow(2, (FIELD - 1) // 4, FIELD)
ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
SMALL_ORDER = {0, 1, FIELD - 1, ORDER_8, FIELD - ORDER_8}
"""y of the eight points of an order below 9, which are not valid public keys."""

Point = tuple[int, int, int, int]
"""X, Y, Z and T: the point (X/Z, Y/Z), and T = XY/Z."""


def holds(public: bytes, signature: bytes, message: bytes) -> bool:
    """Whether the key made this signature of this message. OpenSSL decides in the same way.

    S is below the group's order, R is compared as it is written, and there is no cofactor.
    """
    key = decompressed(public)
    s = int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or key is None or s >= ORDER:
        return False
    digest = hashlib.sha512(signature[:32] + public + message).digest()
    k = int.from_bytes(digest, "little") % ORDER
    x, y, z, t = key
    difference = add(multiplied(s, BASE), multiplied(k, (-x % FIELD, y, z, -t % FIELD)))
    return compressed(difference) == signature[:32]


def decompressed(encoded: bytes) -> Point | None:
    """The point (section 5.1.3), or None where there is none."""
    number = int.from_bytes(encoded, "little")
    y = (number & (1 << 255) - 1) % FIELD
    u, v = (y * y - 1) % FIELD, (D * y * y + 1) % FIELD
    x = u * pow(v, 3, FIELD) * pow(u * pow(v, 7, FIELD), (FIELD - 5) // 8, FIELD) % FIELD
    if v * x * x % FIELD != u:
        x = x * ROOT_OF_MINUS_ONE % FIELD
    if len(encoded) != 32 or v * x * x % FIELD != u:
        return None
    if x % 2 != number >> 255:
        x = -x % FIELD
    return x, y, 1, x * y % FIELD


def compressed(point: Point) -> bytes:
    """Section 5.1.2."""
    inverse = pow(point[2], -1, FIELD)
    x, y = point[0] * inverse % FIELD, point[1] * inverse % FIELD
    return (y | (x % 2) << 255).to_bytes(32, "little")


def add(one: Point, other: Point) -> Point:
    """The sum (section 5.1.4); it is right for doubling, too."""
    a = (one[1] - one[0]) * (other[1] - other[0]) % FIELD
    b = (one[1] + one[0]) * (other[1] + other[0]) % FIELD
    c = 2 * one[3] * other[3] * D % FIELD
    d = 2 * one[2] * other[2] % FIELD
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % FIELD, g * h % FIELD, f * g % FIELD, e * h % FIELD


def multiplied(times: int, point: Point) -> Point:
    total = (0, 1, 1, 0)
    while times:
        if times % 2:
            total = add(total, point)
        point = add(point, point)
        times //= 2
    return total


def base_point() -> Point:
    """The point whose y is 4/5 and whose x is even."""
    found = decompressed((4 * pow(5, -1, FIELD) % FIELD).to_bytes(32, "little"))
    assert found is not None
    return found


BASE = base_point()


# -- The run is whole ------------------------------------------------------------------------


def read_streams(
    events: Iterable[Event],
) -> tuple[array[int], bytearray, dict[UUID, Stream]]:
    """The places and the leaves of the events, and their streams in the order of their begin."""
    places, leaves = array("q"), bytearray()
    streams: dict[UUID, Stream] = {}
    for event in events:
        stream = streams.get(event.stream)
        if stream is None:
            stream = streams[event.stream] = Stream(event)
        stream.add(event)
        places.append(event.place)
        leaves += event.leaf
    return places, leaves, streams


def fields_kept(event: Event) -> dict[str, Any]:
    """The fields of a stream's first event that are needed; of a prompt the digests of its case."""
    payload = event.payload
    if event.topic == "PromptStored":
        try:
            return digests_of(payload["case"])
        except MALFORMED:
            return {}
    names = OF_FIRST + OF_SOURCE if event.topic == "CarriedOver" else OF_FIRST
    kept = {name: payload[name] for name in names if name in payload}
    return {name: sys.intern(each) if type(each) is str else each for name, each in kept.items()}


def check_run(run_id: Any, events: int, streams: dict[UUID, Stream], tree: Tree) -> Run:
    """The run with the manifest and the summary that the events give."""
    runs = {
        str(each.stream): each.kept or [] for each in streams.values() if each.topic == "RunStarted"
    }
    prompts = {str(each.stream) for each in streams.values() if each.topic == "PromptStored"}
    reviews = [each.kept or [] for each in streams.values() if each.topic == "Reviewed"]
    plans = {each.stream: each.kept or [] for each in streams.values() if each.topic == CHECKED}
    known = (*KEPT, "PromptStored")
    evaluations = [each for each in streams.values() if each.topic not in known]
    if type(run_id) is not str or run_id not in runs:
        refuse("the stream of the run is missing")
    own = runs[run_id]
    check_plan(own, prompts)
    attempts = check_attempts(run_id, runs, streams)
    others = [runs[run["run_id"]][0].place for run in attempts.manifest["other_attempts"]]
    plan = check_registration(own, plans, others)
    attempts = Attempts(
        {**attempts.manifest, "registration": plan},
        [*attempts.summary, *([] if plan is None else [registration_told(plan)])],
    )
    here, elsewhere = (
        [each for each in evaluations if (each.first.get("run_id") == run_id) is of_this_run]
        for of_this_run in (True, False)
    )
    for evaluation in here:
        asked = evaluation.first.get("prompt_id")
        if type(asked) is not str or asked not in prompts:
            refuse(f"stream {evaluation.stream}: its prompt was not planned")
    check_carried_over(own[0], here, elsewhere)
    check_reviews(run_id, here, reviews)
    ended, sealed = check_seal(own, here)
    derived = derive(own[0].payload, attempts, ended, sealed, events, run_id, tree)
    return Run(own, ended, here, *derived)


def check_attempts(
    run_id: str, runs: dict[str, list[Event]], streams: dict[UUID, Stream]
) -> Attempts:
    for name, run in runs.items():
        if any(event.topic not in RUN_EVENTS for event in run):
            refuse(f"run {name}: its stream holds a foreign event")
        if run[0].payload.get("run_id") != name:
            refuse(f"run {name}: its first event names another run")
    try:
        return by_experiment(run_id, runs, streams)
    except MALFORMED as error:
        refuse(f"the experiment of a run cannot be read: {error}")


def check_registration(
    own: list[Event], plans: dict[UUID, list[Event]], attempts: list[int]
) -> dict[str, Any] | None:
    """The registered plan that the run names; `attempts` are the places of the other attempts."""
    started = own[0]
    named = started.payload.get("registration")
    if named is None:
        if plans:
            refuse("a registered plan is here, and the run names none")
        return None
    try:
        name = UUID(named["registration_id"])
        if str(name) != named["registration_id"]:
            raise ValueError("not in its one form")
    except MALFORMED:
        refuse("the run names something that is no registration")
    stream = UUID(uuid_of(hashlib.sha256(f"operations\n{name}".encode()).digest()))
    if list(plans) != [stream]:
        refuse("the registered plan is missing, or another one is here")
    registered = [event for event in plans[stream] if event.topic == "PlanRegistered"]
    if len(registered) != 1 or registered[0].place > started.place:
        refuse("there is not one plan that was registered before the run began")
    if started.payload.get("branched_from") is not None:
        refuse("a run that carries answers over follows no plan")
    payload = registered[0].payload
    planned = {
        digest
        for event in own
        if event.topic == "CasesPlanned"
        for digest in event.payload["digests"]
    }
    cases = digest_of(sorted(planned))
    try:
        before, after = parts_of(payload), parts_of({**started.payload, "cases": cases})
        names = sorted({**before, **after})
        changed = [
            part for part in names if plain_json(before.get(part)) != plain_json(after.get(part))
        ]
    except MALFORMED as error:
        refuse(f"the registered plan cannot be read: {error}")
    here = {
        "registration_id": payload.get("about"),
        "registered_at": payload.get("timestamp"),
        "runs": payload.get("runs"),
        "changed": changed,
    }
    if plain_json(here) != plain_json(named):
        refuse("the run recorded another registration than is here")
    if type(here["registered_at"]) is not str or type(here["runs"]) is not int or here["runs"] < 1:
        refuse("the registered plan has a time or a number of runs that is none")
    return {**here, "attempts_before": sum(place < registered[0].place for place in attempts)}


def parts_of(payload: dict[str, Any]) -> dict[str, Any]:
    """The parts of a plan that are compared."""
    configuration, experiment = (
        as_object(payload["configuration"]),
        as_object(payload["experiment"]),
    )
    return {
        **{name: payload.get(name) for name in ("cases", *COMPARED)},
        "experiment": [experiment.get("digest"), experiment.get("questions")],
        **{f"configuration.{name}": value for name, value in configuration.items()},
    }


def registration_told(plan: dict[str, Any]) -> str:
    since = f"changed since: {', '.join(plan['changed'])}" if plan["changed"] else "unchanged since"
    runs = f"{plan['runs']:,} run{'' if plan['runs'] == 1 else 's'}"
    return (
        f"registered at {plan['registered_at']} by the log's clock ({plan['registration_id']}) for "
        f"{runs}; {since}; "
        f"attempts before it: {plan['attempts_before']}"
    )


def check_plan(own: list[Event], prompts: set[str]) -> None:
    planned: list[str] = []
    for event in own:
        if event.topic == "CasesPlanned":
            digests = event.payload.get("digests")
            if not isinstance(digests, list):
                refuse("a plan has no digests")
            planned.extend(prompt_of(digest) for digest in digests)
    if len(planned) != number(own[0].payload, "planned_cases"):
        refuse("the plan holds more or fewer cases than the run was started with")
    if set(planned) != prompts:
        refuse("the prompts are not exactly those planned")


def prompt_of(digest: Any) -> str:
    if type(digest) is not str or not re.fullmatch(r"[0-9a-f]{64}", digest):
        refuse("a plan holds something that is not a digest")
    return uuid_of(bytes.fromhex(digest))


def uuid_of(digest: bytes) -> str:
    first = bytearray(digest[:16])
    first[6] = first[6] & 0x0F | 0x80
    first[8] = first[8] & 0x3F | 0x80
    return str(UUID(bytes=bytes(first)))


def check_carried_over(started: Event, here: list[Stream], elsewhere: list[Stream]) -> None:
    sources = {str(each.stream): each for each in elsewhere}
    for evaluation in here:
        if not evaluation.carried:
            continue
        reference = evaluation.first
        if evaluation.events != 1 or started.payload.get("branched_from") is None:
            refuse(f"stream {evaluation.stream} cannot have been carried over")
        source = sources.pop(text_of(reference, "source_evaluation_id"), None)
        if source is None:
            refuse(f"stream {evaluation.stream}: what it carries over is missing")
        name, (topic, place) = source.stream, source.last
        if topic not in FINAL or place > started.place:
            refuse(f"stream {name} had not ended when the run began")
        if source.carried:
            refuse(f"stream {name} was carried over itself")
        if text_of(reference, "source_run_id") != text_of(source.first, "run_id"):
            refuse(f"stream {name} is not of the run that it is carried over from")
        of_case = [
            (text_of(told, "prompt_id"), text_of(told, "model_key"), number(told, "repetition"))
            for told in (reference, source.first)
        ]
        if of_case[0] != of_case[1]:
            refuse(f"stream {name} is not the evaluation that is carried over")
        if number(reference, "source_events") != source.events:
            refuse(f"stream {name} has more or fewer events than were carried over")
        if text_of(reference, "source_sha256") != source.digest().hex():
            refuse(f"stream {name} has other events than were carried over")
    if sources:
        refuse(f"streams of other runs that nothing carries over: {', '.join(sources)}")


def check_reviews(run_id: str, here: list[Stream], reviews: list[list[Event]]) -> None:
    ends = {str(evaluation.stream): evaluation.last[1] for evaluation in here}
    for event in (each for review in reviews for each in review):
        reviewed = text_of(event.payload, "evaluation_id")
        if event.topic != "Reviewed" or event.payload.get("about") != run_id:
            refuse(f"stream {event.stream} holds something that is not a review of this run")
        if reviewed not in ends or ends[reviewed] > event.place:
            refuse(f"event {event.place} reviews an evaluation that had not ended")
        if str(event.stream) != uuid_of(sha256(f"review\n{reviewed}".encode())):
            refuse(f"event {event.place} is not on the stream of its evaluation's reviews")


def check_seal(own: list[Event], evaluations: list[Stream]) -> tuple[Event, dict[str, Any]]:
    """How the run ended, and its seal, which is checked against the events."""
    seals = [at for at, event in enumerate(own) if event.topic == "RunSealed"]
    if not seals:
        refuse("the run is not sealed")
    ends = [event for event in own[: seals[-1]] if event.topic in ENDINGS]
    if not ends:
        refuse("the run is sealed but did not end")
    of_run = sha256(*(event.leaf for event in own[: seals[-1]]))
    streams = sorted(
        [
            (own[0].stream.bytes, seals[-1], of_run),
            *((each.stream.bytes, each.events, each.digest()) for each in evaluations),
        ]
    )
    leaves = [
        sha256(b"\x00failproof-es/stream/1\n", stream + events.to_bytes(8, "big"), digest)
        for stream, events, digest in streams
    ]
    sealed = {
        "streams": len(streams),
        "events": sum(events for _, events, _ in streams),
        "root": tree_root(leaves).hex(),
    }
    said = own[seals[-1]].payload
    if any(type(said.get(key)) is not type(is_) or said[key] != is_ for key, is_ in sealed.items()):
        refuse("the seal does not match these events: the run is incomplete")
    return ends[-1], sealed


# -- The runs that asked the same ------------------------------------------------------------


def by_experiment(
    run_id: str, runs: dict[str, list[Event]], streams: dict[UUID, Stream]
) -> Attempts:
    asked = sorted(map(read_questions, runs.values()), key=lambda run: run.number)
    if len({run.number for run in asked}) < len(asked):
        refuse("two runs have the same number")
    own = next(run for run in asked if run.run_id == run_id)
    check_own_questions(own, runs[run_id], streams)
    attempts, overlapping = [], []
    for run in asked:
        if run.digest == own.digest:
            attempts.append(run)
            continue
        shared, smaller = len(own.sent & run.sent), min(len(own.sent), len(run.sent))
        if not own.models & run.models or not shared or 2 * shared < smaller:
            refuse(f"run {run.run_id} is no attempt of this experiment and does not overlap")
        overlapping.append({"shared_cases": shared, **outcome(run, runs[run.run_id])})
    started = runs[run_id][0].payload
    before = started["experiment"]["overlapping"]
    here = sum(run["run_number"] < own.number for run in overlapping)
    if type(before) is not int or before != here:
        refuse(
            "an overlapping run is missing or was added: "
            f"the run recorded {before} before it, and {here} are here"
        )
    others = []
    for place, run in enumerate(attempts, 1):
        said = runs[run.run_id][0].payload.get("attempt")
        if type(said) is not int or said != place:
            refuse(f"a run of this experiment is missing: attempt {said} is number {place} here")
        if run is not own:
            others.append({"attempt": place, **outcome(run, runs[run.run_id])})
    configuration = text_of(started, "configuration_digest")
    return Attempts(
        {
            "attempts": len(attempts),
            "experiment_digest": own.digest,
            "other_attempts": others,
            "overlapping_runs": overlapping,
        },
        [
            f"attempt {started['attempt']} of {len(attempts)} of experiment {own.digest}, "
            f"configuration {configuration}",
            *(f"attempt {run['attempt']} was {outcome_told(run)}" for run in others),
            *(
                f"overlapping, with {run['shared_cases']} of the same cases: {outcome_told(run)}"
                for run in overlapping
            ),
        ],
    )


def read_questions(run: list[Event]) -> RunQuestions:
    """What a run asked, as its own stream says. Raises the errors of malformed JSON."""
    started = run[0].payload
    recorded = as_object(started.get("experiment"))
    digest, questions = recorded.get("digest"), recorded.get("questions")
    if type(digest) is not str or type(questions) is not str:
        raise ValueError("its experiment is not two digests")
    if type(started.get("run_number")) is not int:
        raise ValueError("its number is none")
    sent = planned_questions(run)
    if questions != digest_of(sorted(sent)):
        refuse(f"run {run[0].stream} planned other questions than it recorded")
    models = as_objects(started.get("models"))
    return RunQuestions(
        str(run[0].stream),
        started["run_number"],
        digest,
        {plain_json([model.get("provider"), name_of(model)]) for model in models},
        sent,
    )


def check_own_questions(own: RunQuestions, run: list[Event], streams: dict[UUID, Stream]) -> None:
    """Compute the digests of the experiment again from the cases, and compare them."""
    graded = set()
    for event in run:
        if event.topic != "CasesPlanned":
            continue
        sent = []
        for digest in event.payload["digests"]:
            case = streams[UUID(prompt_of(digest))].first
            sent.append(case["question"])
            graded.add(case["graded"])
        if event.payload.get("questions") != sent:
            refuse("the recorded questions are not those of the cases")
    asked = {"format": "failproof-es/experiment/1", "cases": sorted(graded)}
    if own.digest != digest_of({**asked, **json.loads(conditions(run[0].payload))}):
        refuse("the recorded experiment is not that of the cases and models")


def digests_of(case: Any) -> dict[str, Any]:
    """The question digest and the graded digest of a case."""
    what = {"dialect": case["dialect"], "turns": case["turns"]}
    what["expectation"] = case.get("expectation", {})
    return {
        "question": digest_of({"turns": case["turns"]}),
        "graded": digest_of({**what, "category": case.get("category")}),
    }


def conditions(started: dict[str, Any]) -> bytes:
    """The models under test and the judges, in canonical form."""
    judges = as_objects(started.get("judges", []))
    configuration = as_object(started.get("configuration"))
    written = configuration.get("judges") or [configuration.get("judge") or {}]
    if type(written) is not list:
        raise ValueError("its judges are no list")
    judged = []
    for place, judge in enumerate(judges):
        form = written[place] if place < len(written) else None
        held = isinstance(form, dict) and form.get("structured_output") is True
        judged.append({**model_of(judge), "structured_output": held})
    rule = as_object(configuration.get("judging") or {}).get("rule", "majority")
    models = {plain_json(model_of(model)) for model in as_objects(started.get("models"))}
    return plain_json(
        {
            "models": [json.loads(model) for model in sorted(models)],
            "judges": sorted(judged, key=plain_json),
            "rule": rule if len(judges) > 1 else None,
        }
    )


def model_of(snapshot: dict[str, Any]) -> dict[str, Any]:
    parameters = as_object(snapshot.get("parameters") or {})
    return {
        "provider": snapshot.get("provider"),
        "model": name_of(snapshot),
        "version": snapshot.get("version"),
        "parameters": {name: value for name, value in parameters.items() if name != "seed"},
    }


def name_of(snapshot: dict[str, Any]) -> Any:
    settings = as_object(snapshot.get("settings") or {})
    older = {"local": "weights_sha256", "python": "class"}
    key = older.get(str(snapshot.get("provider")), "identity")
    return settings.get(key) or snapshot.get("model")


def planned_questions(run: list[Event]) -> set[str]:
    digests: set[str] = set()
    for event in run:
        if event.topic == "CasesPlanned":
            listed = event.payload.get("questions")
            if type(listed) is not list or any(type(digest) is not str for digest in listed):
                raise ValueError("its plan is not a list of digests")
            digests.update(listed)
    return digests


def as_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def as_objects(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise ValueError("not a list")
    return [as_object(each) for each in value]


def plain_json(value: Any) -> bytes:
    """Canonical JSON in which every number has one form: 1.0 becomes 1, infinity becomes null."""

    def one_form(text: str) -> int | float:
        number = float(text)
        return int(number) if number.is_integer() else number

    text = json.dumps(value)
    return canonical(json.loads(text, parse_float=one_form, parse_constant=lambda _: None))


def digest_of(value: Any) -> str:
    return sha256(plain_json(value)).hex()


def outcome(asked: RunQuestions, run: list[Event]) -> dict[str, Any]:
    """The status, counts and gates of a run, as far as its events are here."""
    status, counts, met = "running", None, None
    for event in run:
        status = RUN_EVENTS.get(event.topic) or status
        if event.topic in WITH_COUNTS:
            counts = {name: event.payload["counts"][name] for name in COUNTED}
            if any(type(count) is not int for count in counts.values()):
                raise ValueError("its counts are not numbers")
        if event.topic == "RunCompleted":
            gates = event.payload.get("gates", {}).values()
            met = all(gate["met"] is True for gate in gates) if gates else None
    told = {"run_id": asked.run_id, "run_number": asked.number, "status": status}
    return {**told, "counts": counts, "gates_met": met}


def outcome_told(run: dict[str, Any]) -> str:
    counts = run["counts"]
    said = counts and ", ".join(f"{name} {counts[name]}" for name in COUNTED)
    gates = {True: "gates met", False: "gates not met", None: "no gates judged"}[run["gates_met"]]
    whose = f"run {run['run_number']} ({run['run_id']})"
    return f"{whose}: {run['status']}, {said or 'no counts'}, {gates}"


# -- What is derived -------------------------------------------------------------------------


def number(payload: Any, name: str) -> int:
    if not isinstance(payload, dict) or type(payload.get(name)) is not int:
        refuse(f"{name} is not a number")
    return int(payload[name])


def text_of(payload: dict[str, Any], name: str) -> str:
    if type(payload.get(name)) is not str:
        refuse(f"{name} is not text")
    return str(payload[name])


def derive(
    started: dict[str, Any],
    attempts: Attempts,
    ended: Event,
    sealed: dict[str, Any],
    events: int,
    run_id: str,
    tree: Tree,
) -> tuple[dict[str, Any], list[str]]:
    manifest = {
        "run_id": run_id,
        "run_number": number(started, "run_number"),
        "configuration_digest": text_of(started, "configuration_digest"),
        "attempt": started.get("attempt"),
        **attempts.manifest,
        "sealed_streams": sealed["streams"],
        "sealed_events": sealed["events"],
        "seal": sealed["root"],
        "events": events,
        "origin": tree.origin,
        "tree_size": tree.size,
        "tree_root": tree.root.hex(),
    }
    counts = [f"{name} {number(ended.payload.get('counts'), name)}" for name in COUNTED]
    return manifest, [
        f"run {manifest['run_number']} ({run_id}), named {json.dumps(text_of(started, 'name'))}",
        *attempts.summary,
        f"started {text_of(started, 'timestamp')}; ended {text_of(ended.payload, 'timestamp')} "
        f"by {ended.topic}",
        ", ".join(counts),
        f"in the log {tree.origin} of {tree.size} events",
    ]


def key_text(given: str) -> str:
    """The key that was given, or the content of the file that was given."""
    if "+" in given and not os.path.isfile(given):  # noqa: PTH113 - it never raises
        return given
    try:
        return Path(given).expanduser().read_text("utf-8")
    except (OSError, ValueError, RuntimeError) as why:
        raise NoKey(f"neither a key nor a file that holds one: {why}") from None


# -- What a genuine bundle holds -------------------------------------------------------------


def result_lines(evidence: Evidence) -> Iterator[str]:
    """Who ran it, what each model passed, the gates, and the seal."""
    run, started = evidence.run, evidence.run.own[0].payload
    counts: dict[str, list[int]] = {}
    for evaluation in run.evaluations:
        source = evidence.source(evaluation)
        count = counts.setdefault(told(evaluation.first.get("model_key")), [0, 0, 0])
        count[0] += source.passed is True
        count[1] += isinstance(source.passed, bool)
        count[2] += source.last[0] == "Scored"
    models = {told(model.get("key")): model for model in started["models"]}
    planned, rest = divmod(number(run.ended.payload["counts"], "planned"), len(models) or 1)
    yield f"by {told(started.get('who'))} on {told(started.get('where'))}"
    for key in {**models, **counts}:
        passed, decided, scored = counts.get(key, (0, 0, 0))
        of = "" if rest or key not in models else f" of {planned} planned"
        asked = f"; {described(models[key])}" if key in models else ""
        yield f"model {key}: passed {passed} of {decided}, scored {scored}{of}{asked}"
    for judge in started.get("judges", []):
        yield f"judge {told(judge.get('key')).removeprefix('judge:')}: {described(judge)}"
    yield from gate_lines(run.ended)
    sealed = run.manifest
    yield (
        f"seal {sealed['seal']} of {sealed['sealed_events']} events "
        f"in {sealed['sealed_streams']} streams"
    )


def gate_lines(ended: Event) -> Iterator[str]:
    gates = ended.payload.get("gates") if ended.topic == "RunCompleted" else None
    if type(gates) is not dict or not gates:
        yield "no gates judged"
        return
    for name, gate in gates.items():
        try:
            yield f"gate {gate_told(name, gate)}, {'met' if gate['met'] else 'NOT MET'}"
        except MALFORMED:
            yield f"gate {name}: {told(gate)}"


def gate_told(name: str, gate: dict[str, Any]) -> str:
    measured, of, interval = gate.get("measured"), gate.get("of"), gate.get("interval")
    text = f"{name} {amount(gate['limit'])}: "
    text += "nothing measured" if measured is None else f"measured {amount(measured)}"
    if measured is not None and of is not None:
        text += f" {'of' if isinstance(measured, int) else 'over'} {of:,}"
    if interval:
        text += f", interval {amount(interval[0])} to {amount(interval[1])}"
    return f"{text} ({gate['why']})" if gate.get("why") else text


def amount(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def described(model: dict[str, Any]) -> str:
    settings, parameters = (model.get(key) or {} for key in ("settings", "parameters"))
    place = settings.get("base_url") or settings.get("class") or model.get("provider")
    version = "" if model.get("version") is None else f", version {model['version']}"
    if version and settings.get("version_check") == "name":
        version += " (not checked: version_check: name)"
    given = ", ".join(f"{name} {value}" for name, value in parameters.items())
    return f"{told(model.get('model'))}{version} at {told(place)}" + (given and f": {given}")


def told(value: Any) -> str:
    return value if type(value) is str else json.dumps(value, ensure_ascii=False)


def events_of(data: bytes, streams: Iterable[UUID], topics: Iterable[str] = ()) -> Iterator[Event]:
    """The events of these streams in the order of the file, of these topics (none: of all)."""
    lines = read_lines(data)
    for _ in range(4):
        next(lines)
    wanted, of_topic = {str(stream) for stream in streams}, set(topics)
    for line in lines:
        document = json.loads(line)
        if document["stream"] in wanted and (not of_topic or document["topic"] in of_topic):
            yield read_event(document)


def cases(evidence: Evidence) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each planned case, and the id of its prompt."""
    prompts = [each.stream for each in evidence.streams.values() if each.topic == "PromptStored"]
    for event in events_of(evidence.data, prompts, ("PromptStored",)):
        if event.version == 1:
            yield str(event.stream), event.payload["case"]


def name_of_case(case: dict[str, Any]) -> str:
    return f"{told(case.get('suite_id'))}/{told(case.get('case_id'))}"


def list_lines(evidence: Evidence) -> Iterator[str]:
    """A line for each evaluation, in the order in which they ended; only names are held."""
    names = {prompt: name_of_case(case) for prompt, case in cases(evidence)}
    sources = {evidence.source(each).stream: each for each in evidence.run.evaluations}
    classes: dict[UUID, str] = {}
    for event in events_of(evidence.data, list(sources), ("Classified", *FINAL)):
        if event.topic == "Classified":
            classes[event.stream] = told(event.payload.get("primary"))
        elif evidence.streams[event.stream].last == (event.topic, event.place):
            class_ = classes.pop(event.stream, "-")
            yield listed(sources.pop(event.stream), names, class_, *result_of(event))
    for evaluation in sources.values():
        yield listed(evaluation, names, "-", "unfinished")


def result_of(event: Event) -> tuple[str, str]:
    """(result, reason) of the event that ended an evaluation."""
    says = event.payload
    if event.topic == "EvaluationAbandoned":
        return "no score", f"  {told(says.get('kind'))}: {told(says.get('reason'))}"
    if says.get("passed") is False:
        return "failed", f"  {told(says.get('reason'))}"
    return "passed" if says.get("passed") is True else "scored", ""


def listed(
    evaluation: Stream, names: dict[str, str], class_: str, result: str, why: str = ""
) -> str:
    first = evaluation.first
    asked = f"{told(first.get('model_key'))} {told(first.get('repetition'))}"
    carried = "  carried over" if evaluation.carried else ""
    name = names[first["prompt_id"]]
    return f"{result:<10}  {class_:<12}  {asked}  {name}{carried}{why}"


SHOWN = {
    "RequestSent": ("judge", "turn", "attempt", "model", "endpoint"),
    "ResponseReceived": ("judge", "model", "finish_reason", "text", "tool_calls", "refusal"),
    "ErrorRecorded": ("judge", "kind", "message", "status"),
    "AttemptOrphaned": ("judge", "reason"),
    "Classified": ("primary", "details", "classifier", "classifier_version"),
    "Judged": ("judge", "verdict", "problem", "grader", "grader_version"),
    "Scored": ("passed", "scores", "reason", "scorer", "scorer_version", "graders"),
    "EvaluationAbandoned": ("kind", "reason"),
    "CarriedOver": ("source_run_id", "source_evaluation_id"),
    "Reviewed": (
        "reviewer", "who", "where", "blind", "verdict", "items", "severity", "tags", "notes",
    ),
}  # fmt: skip
"""The fields of each event that are shown; of any other event all."""


def case_lines(evidence: Evidence, wanted: str) -> Iterator[str]:
    """All about one case, named `CASE` or `SUITE/CASE`: what was asked, answered and decided."""
    for prompt, case in cases(evidence):
        names = (told(case.get("case_id")), name_of_case(case))
        if wanted in (*names, *map(safe, names)):
            yield from prompt_lines(case)
            yield from evaluations_lines(evidence, prompt, names[1])


def prompt_lines(case: dict[str, Any]) -> Iterator[str]:
    yield f"case {name_of_case(case)}"
    turns = case["turns"] if type(case["turns"]) is list else [case["turns"]]
    for turn in turns:
        asked = turn if type(turn) is dict else {"content": turn}
        yield from field(told(asked.get("role")), asked.get("content"))
    for name, value in case.items():
        if name not in ("suite_id", "case_id", "turns"):
            parts = value.items() if name == "expectation" and type(value) is dict else ()
            for part, content in parts:
                yield from field(f"expectation.{part}", content)
            if not parts:
                yield from field(name, value)


def evaluations_lines(evidence: Evidence, prompt: str, name: str) -> Iterator[str]:
    evaluations = [
        each for each in evidence.run.evaluations if each.first.get("prompt_id") == prompt
    ]
    events: dict[UUID, list[Event]] = {}
    sources = [evidence.source(each).stream for each in evaluations]
    for event in events_of(evidence.data, {*sources, *(each.stream for each in evaluations)}):
        events.setdefault(event.stream, []).append(event)
    for evaluation, source in zip(evaluations, sources, strict=True):
        first = evaluation.first
        yield ""
        yield f"{name}: {told(first.get('model_key'))}, repetition {told(first.get('repetition'))}"
        bodies: dict[Any, bytes] = {}
        for event in [*events[source], *(events[evaluation.stream] if evaluation.carried else ())]:
            yield from event_lines(event, bodies)
        reviews = evidence.streams.get(
            UUID(uuid_of(sha256(f"review\n{evaluation.stream}".encode())))
        )
        for event in (reviews and reviews.kept) or ():
            yield from event_lines(event, bodies)


def event_lines(event: Event, bodies: dict[Any, bytes]) -> Iterator[str]:
    says = event.payload
    yield f"  {told(says.get('timestamp'))} {event.topic}"
    for name in SHOWN.get(event.topic, says):
        yield from field(name, says.get(name))
    if event.topic == "RequestSent":
        yield from body_lines(says, bodies)


def body_lines(request: dict[str, Any], bodies: dict[Any, bytes]) -> Iterator[str]:
    """The body of a request, whole: of one that continues another, both parts."""
    purpose = str(request.get("purpose"))
    body = bodies[purpose] = whole_body(request, bodies.get(purpose, b""))
    if sha256(body).hex() != request.get("body_sha256"):
        yield "    (the body below is not the one whose SHA-256 is on record)"
    try:
        asked = json.loads(body)
        messages = [(told(each["role"]), each["content"]) for each in asked.pop("messages")]
    except MALFORMED:
        yield from field("body", body.decode("utf-8", "replace"))
        return
    for role, content in messages:
        yield from field(role, content)
    yield from field("beside the messages", asked)


def whole_body(request: dict[str, Any], before: bytes) -> bytes:
    body = told(request.get("body")).encode("utf-8", "surrogatepass")
    continues = request.get("continues")
    if type(continues) is not dict:
        return body
    prefix, suffix = continues.get("prefix"), continues.get("suffix")
    if type(prefix) is not int or type(suffix) is not int or min(prefix, suffix) < 0:
        return body
    if prefix + suffix > len(before):
        return body
    return before[:prefix] + body + before[len(before) - suffix :]


def field(name: str, value: Any) -> Iterator[str]:
    """A field in one line, or a text of several lines in a block that nothing in it can leave."""
    if value is None or value in ("", [], {}):
        return
    text = told(value)
    if "\n" not in text:
        yield f"    {name}: {text}"
        return
    yield f"    {name}:"
    for line in text.split("\n"):
        yield f"      | {line}"


UNSEEN = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
"""Characters that are printable and show nothing."""


def safe(text: str) -> str:
    """The text, with an escape for each character that a terminal obeys or nobody sees."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if (c.isprintable() and c not in UNSEEN) or c in "\xa0\u3000" else escaped(c)
        for c in text
    )


def escaped(character: str) -> str:
    if character in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[character]
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def say(text: str, **where: Any) -> None:
    print(safe(text), **where)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Check and read an evidence bundle of failproof-es without failproof-es.",
        epilog="Exit code 0: the bundle is genuine and whole; 1: it is not; 2: wrong usage, no "
        "such case, or a key or a file cannot be read.",
    )
    parser.add_argument("file", help="the bundle")
    parser.add_argument("--key", required=True, help="the log's public key, or a file with it")
    parser.add_argument(
        "--cosigner", action="append", default=[], metavar="KEY",
        help="a cosigner's public key, or a file with it: its signature must be there; can be "
        "given again",
    )  # fmt: skip
    reading = parser.add_mutually_exclusive_group()
    reading.add_argument("--list", action="store_true", help="list the evaluations")
    reading.add_argument(
        "--show", metavar="CASE", help="print all about one case: CASE, or SUITE/CASE"
    )
    given = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        if (size := Path(given.file).stat().st_size) > MOST_BYTES:
            raise ValueError(f"{given.file}: {size:,} bytes, more than {MOST_BYTES:,}")
        data = Path(given.file).read_bytes()
        log_key, *cosigner_keys = map(key_text, [given.key, *given.cosigner])
        evidence = verify(data, log_key, cosigner_keys)
    except NotGenuine as reason:
        say(f"NOT genuine: {reason}")
        return 1
    except (NoKey, OSError, ValueError) as why:
        say(f"error: {why}", file=sys.stderr)
        return 2
    try:
        return report(evidence, given, cosigner_keys)
    except BrokenPipeError:  # nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def report(evidence: Evidence, given: argparse.Namespace, cosigner_keys: list[str]) -> int:
    if given.show is None and not given.list:
        say("genuine and whole")
        for text in cosigner_keys:
            say(f"cosigned by {text.strip()}")
        for line in (*evidence.run.summary, *result_lines(evidence)):
            say(line)
        return 0
    lines = list_lines(evidence) if given.list else case_lines(evidence, given.show)
    printed = False
    for line in lines:
        say(line)
        printed = True
    if not printed and given.show is not None:
        say(f"error: no case {given.show!r} here: --list prints every case", file=sys.stderr)
        return 2
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
