"""The evidence bundle: one run as one file that anyone can verify offline.

`docs/reference/evidence-format.md` specifies the file; an independent program written from that
page alone (`docs/reference/verify_evidence.py`) reaches the same verdict. Every line is canonical
JSON. Every statement of the manifest and of the summary is derived from the events, and every
event is proven to be in the tree that the checkpoint signs. So any change to the file is detected.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from types import NoneType
from typing import Any
from uuid import UUID

from failproof_es.ledger import attempts, checkpoint, note
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.contents import (
    BundledEvent,
    Contents,
    EvidenceError,
    contents_of,
    read_contents,
)
from failproof_es.ledger.errors import NotSigned
from failproof_es.ledger.event_line import (
    ProvenEvent,
    canonical,
    decode_base64,
    encode_base64,
    event_document,
    parse_event,
    parse_line,
    require_bounds,
)
from failproof_es.ledger.merkle import InvalidProof, root_from_multiproof
from failproof_es.ledger.note import Note, NoteError, PublicKey
from failproof_es.ledger.run_reader import RunReader
from failproof_es.ledger.tlog_policy import Policy

_VERSION = 1
"""Version of the format."""

MOST_BYTES = 1 << 30
"""Maximum size of a bundle that is read: it is held in memory as a whole."""
_MOST_LEVELS = 10
"""Maximum nesting of lists and objects in the manifest or the summary."""
_SECTIONS = ("header", "manifest", "summary", "checkpoint", "proof")
_HASH_BYTES = 32
_NOT_IN_TREE = "proof: these events are not in the tree that the checkpoint signs"


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was parsed but not verified; see `verify`."""

    manifest: dict[str, Any]
    summary: tuple[str, ...]
    note: Note
    proof: tuple[bytes, ...]
    events: tuple[ProvenEvent, ...]


@dataclass(frozen=True, slots=True)
class BundleProof:
    """The proven facts of a verified bundle.

    `cosigned` maps each cosigner's name to the time of its signature, in seconds since 1970.
    """

    contents: Contents
    checkpoint: Checkpoint
    cosigned: dict[str, int | None]


@dataclass(frozen=True, slots=True)
class LogProof:
    """The proven facts of a run whose events were read from the log itself."""

    contents: Contents
    checkpoint: Checkpoint
    summary: tuple[str, ...]
    """The lines of the summary, as in a bundle."""
    events: int


class EventReader:
    """Reads the events of a run, ascending by index, into `Contents`. Keeps no states."""

    def __init__(self, run_id: UUID) -> None:
        self._run_id = run_id
        self._read = RunReader(run_id)
        self._unbounded: EvidenceError | None = None
        self.count = 0

    def add(self, event: BundledEvent) -> None:
        """Read the next event."""
        self.count += 1
        if self._unbounded is None:
            try:
                self._read.add(require_bounds(event))
            except EvidenceError as error:
                self._unbounded = error

    def contents(self, again: Iterable[BundledEvent]) -> Contents:
        """The run that the events form; `again` iterates them once more.

        Raises `EvidenceError` with the first reason if they are not a whole, sealed run.
        """
        if self._unbounded is not None:
            raise self._unbounded
        return contents_of(self._run_id, self._read, again)


def lines(
    contents: Contents,
    count: int,
    events: Iterable[BundledEvent],
    proof: Iterable[bytes],
    signed: Note,
) -> Iterator[bytes]:
    """The lines of the bundle of a run that was read already; `count` is its number of events."""
    of_tree = checkpoint.parse(signed.text)
    digest = hashlib.sha256()
    documents: tuple[dict[str, Any], ...] = (
        _header(),
        {"manifest": _manifest(contents, of_tree, count)},
        {"summary": _summary(contents, of_tree)},
        {"checkpoint": str(signed)},
        {"proof": [encode_base64(node) for node in proof]},
    )
    for document in chain(documents, map(event_document, events)):
        line = canonical(document)
        digest.update(line)
        yield line
    yield canonical({"sha256": digest.hexdigest()})


def read(data: bytes) -> Bundle:
    """Parse a bundle. Raises `EvidenceError` unless it follows the format exactly."""
    lines = data.split(b"\n")
    if lines.pop() != b"" or len(lines) < len(_SECTIONS) + 1:
        raise EvidenceError("the file is cut short, or does not end where its last line does")
    last = lines.pop()
    expected = canonical({"sha256": hashlib.sha256(data[: -len(last) - 1]).hexdigest()})
    if last + b"\n" != expected:
        raise EvidenceError("the file's digest does not match its content: it was changed")
    header, manifest, summary, signed, proof = (
        parse_line(line, name) for line, name in zip(lines, _SECTIONS, strict=False)
    )
    if not _has_same_text(header, _header()):
        raise EvidenceError(f"not an evidence bundle of version {_VERSION}")
    try:
        parsed = note.parse(_single_value(signed, "checkpoint", str))
    except NoteError as error:
        raise EvidenceError(f"checkpoint: {error}") from None
    manifest_fields = _single_value(manifest, "manifest", dict)
    summary_lines = _single_value(summary, "summary", list)
    if not (_is_plain(manifest_fields) and _is_plain(summary_lines)):
        raise EvidenceError(
            "the manifest or the summary has a value of a wrong type, or too many levels"
        )
    return Bundle(
        manifest_fields,
        tuple(summary_lines),
        parsed,
        tuple(_parse_hash(text) for text in _single_value(proof, "proof", list)),
        tuple(
            parse_event(line, n)
            for n, line in enumerate(lines[len(_SECTIONS) :], len(_SECTIONS) + 1)
        ),
    )


def _is_plain(value: Any, levels: int = _MOST_LEVELS) -> bool:
    """Whether the value has one canonical form (no fractions), and is not nested too deep."""
    if type(value) in (dict, list):
        inner = value.values() if type(value) is dict else value
        return levels > 0 and all(_is_plain(child, levels - 1) for child in inner)
    return type(value) in (str, int, bool, NoneType)


def verify(bundle: Bundle, policy: Policy) -> BundleProof:
    """Verify that the bundle proves its statements. Raises `EvidenceError` with the first reason.

    A log of the policy must have signed the checkpoint, and its quorum must have cosigned it.
    """
    try:
        of_tree, cosigned = policy.open(bundle.note)
    except NotSigned as error:
        raise EvidenceError(f"checkpoint: {error}") from None
    indices = [event.index for event in bundle.events]
    leaves = [event.leaf_hash() for event in bundle.events]
    try:
        root = root_from_multiproof(indices, leaves, of_tree.size, bundle.proof)
    except InvalidProof as error:
        raise EvidenceError(f"proof: {error}") from None
    if root != of_tree.root:
        raise EvidenceError(_NOT_IN_TREE)
    contents = read_contents(_run_id(bundle.manifest), bundle.events)
    if not _has_same_text(bundle.manifest, _manifest(contents, of_tree, len(bundle.events))):
        raise EvidenceError("the manifest does not match the events")
    if list(bundle.summary) != _summary(contents, of_tree):
        raise EvidenceError("the summary does not match the events")
    return BundleProof(contents, of_tree, cosigned)


def judge(
    contents: Contents, events: int, root: bytes | None, signed: Note, key: PublicKey
) -> LogProof:
    """Verify a run whose events were read from the log itself, as `verify` does with a bundle.

    `events` is their number. `root` is the root that they give a tree of the checkpoint's size;
    `None` if that tree does not hold them. `signed` is the checkpoint, `key` its signer's key.
    Raises `EvidenceError` if the signature is invalid or the signed root is another.
    """
    try:
        of_tree = checkpoint.opened(signed, key)
    except NoteError as error:
        raise EvidenceError(f"checkpoint: {error}") from None
    if root != of_tree.root:
        raise EvidenceError(_NOT_IN_TREE)
    return LogProof(contents, of_tree, tuple(_summary(contents, of_tree)), events)


# -- derived statements --------------------------------------------------------------------------


def _header() -> dict[str, Any]:
    return {"format": "failproof-es-evidence", "version": _VERSION}


def _manifest(contents: Contents, of_tree: Checkpoint, events: int) -> dict[str, Any]:
    related, registration = contents.related, contents.registration
    return {
        "experiment_digest": related.experiment,
        "other_attempts": list(related.other_attempts),
        "overlapping_runs": list(related.overlapping),
        "registration": None if registration is None else registration.document(),
        "run_id": str(contents.run_id),
        "run_number": contents.run_number,
        "configuration_digest": contents.configuration_digest,
        "attempt": contents.attempt,
        "attempts": contents.attempts,
        "sealed_streams": contents.seal.streams,
        "sealed_events": contents.seal.events,
        "seal": contents.seal.root.hex(),
        "events": events,
        "origin": of_tree.origin,
        "tree_size": of_tree.size,
        "tree_root": of_tree.root.hex(),
    }


def _summary(contents: Contents, of_tree: Checkpoint) -> list[str]:
    counts = contents.counts
    return [
        f"run {contents.run_number} ({contents.run_id}), named {json.dumps(contents.name)}",
        *attempts.lines(contents.related, contents.configuration_digest),
        *([] if contents.registration is None else [contents.registration.describe()]),
        f"started {contents.started_at}; ended {contents.ended_at} by {contents.ended_by}",
        f"planned {counts['planned']}, finished {counts['finished']}, scored {counts['scored']}, "
        f"abandoned {counts['abandoned']}",
        f"in the log {of_tree.origin} of {of_tree.size} events",
    ]


# -- lines ---------------------------------------------------------------------------------------


def _has_same_text(recorded: dict[str, Any], derived: dict[str, Any]) -> bool:
    """Whether two documents have the same text. `==` would not do: to Python, 1 equals True."""
    return canonical(recorded) == canonical(derived)


def _single_value(document: dict[str, Any], key: str, kind: type) -> Any:
    if list(document) != [key] or type(document[key]) is not kind:
        raise EvidenceError(f"{key}: its line does not hold it alone")
    return document[key]


def _run_id(manifest: dict[str, Any]) -> UUID:
    try:
        return UUID(manifest["run_id"])
    except (KeyError, ValueError, AttributeError, TypeError):
        raise EvidenceError("the manifest names no run") from None


def _parse_hash(text: Any) -> bytes:
    decoded = decode_base64(text)
    if len(decoded) != _HASH_BYTES:
        raise EvidenceError("proof: a hash is not 32 bytes long")
    return decoded
