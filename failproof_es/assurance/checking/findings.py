"""The findings of a verification, and its result."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

_MOST_LISTED = 20
"""Most findings of one kind that are listed; the rest are counted."""

ROW_CHANGED = "row changed"
ROW_MISSING = "row missing or hidden"
ROW_ADDED = "row added behind the tree's back"
ROW_IMPOSSIBLE = "row is no event"
ROW_MISLABELLED = "run id of the row changed"
CLOCK = "clock went back"
TAIL_CUT = "tail cut"
TREE_CHANGED = "tree changed"
TREE_GOES_BACK = "tree goes back"
TREE_REBUILT = "tree rebuilt"
HISTORY_FORKED = "history forked"
SIGNATURE = "signature"
ROWS_HIDDEN = "rows hidden by a policy"
IN_BETWEEN = "something stands between the log and its readers"
RUN_RENUMBERED = "number of a run changed"
REPLACED_TREE = "replaced tree"
CHECKPOINT_REMOVED = "checkpoint removed"
ARCHIVE_CHANGED = "archived events changed"
ARCHIVE_MISSING = "file of archived events missing"


@dataclass(frozen=True, slots=True)
class VerificationFinding:
    """A difference between the log and what was recorded or signed. `index` counts from 0."""

    kind: str
    message: str
    index: int | None = None
    position: int | None = None
    stream_id: UUID | None = None
    version: int | None = None
    topic: str | None = None


@dataclass(frozen=True, slots=True)
class VerifiedPrefix:
    """The extent of a verification, so that a later one can continue from there."""

    origin: str
    size: int
    """A whole number of tiles."""
    roots: tuple[bytes, ...]
    """The maximal perfect subtrees of the tree of that size."""
    position: int
    recorded_at_us: int


@dataclass(frozen=True, slots=True)
class SupersededTree:
    """A tree that a recorded repair replaced, and how much of it is still proven."""

    origin: str
    new_origin: str
    repaired_at: datetime
    who: str
    where: str
    reason: str
    events: int
    """Leaves that the old tree holds."""
    signed_size: int
    """The largest size at which a checkpoint signs the old tree."""
    anchored_size: int
    """Like `signed_size`, by checkpoints that are kept outside the database."""
    vouched_for: bool
    """Whether the old key signed for the new one."""
    intact: bool
    """Whether every event signed under the old tree is in the log, unchanged."""
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArchivedEvents:
    """A run whose evaluations are in a file, according to the log."""

    run_id: UUID
    run_number: int
    file: str
    sha256: str
    events: int
    taken_out: bool
    """Whether the rows have left the log; not after an interrupted `archive`."""
    checked: bool = False
    """Whether the file was given, and holds every archived event."""


class Signatures(StrEnum):
    """The result of checking the signatures under the log's checkpoints."""

    CHECKED = "checked"
    NONE_GOOD = "none is good"
    NO_KEY = "no public key"
    NO_CHECKPOINT = "no checkpoint"
    NEITHER = "no public key and no checkpoint"


class VerificationResult(StrEnum):
    """The result of a verification."""

    GENUINE = "genuine"
    UNSIGNED = "unsigned"
    """Nothing was found, but no signature proves it: a forged log could look the same."""
    CHANGED = "changed"


@dataclass(slots=True)
class Verification:
    """The extent and the findings of a verification."""

    origin: str
    events: int = 0
    """Rows that were read and hashed."""
    archived: int = 0
    """Leaves whose events are archived: the database keeps their hashes, a file the events."""
    archived_runs: list[ArchivedEvents] = field(default_factory=list)
    """Every run that is archived now."""
    tree_size: int = 0
    root: bytes = b""
    signed_size: int = 0
    """Events under a checkpoint in the database whose signature is valid."""
    anchored_size: int = 0
    """Events under a checkpoint that is kept outside the database."""
    checkpoints: int = 0
    """Number of checkpoints in the database, valid or not."""
    good_signatures: int = 0
    """Number of these checkpoints that the log's key signed."""
    has_key: bool = False
    """Whether the log's public key was given or found, to check signatures with."""
    findings: list[VerificationFinding] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """Remarks that may have an innocent reason, such as a wrong clock. They decide nothing."""
    replaced: list[SupersededTree] = field(default_factory=list)
    """The earlier trees of the log."""
    verified: VerifiedPrefix | None = None
    """State to continue the next verification from; `None` if there are findings or no signature.
    """
    more: dict[str, int] = field(default_factory=dict)
    """Number of further findings by kind, beyond those listed."""

    @property
    def signatures(self) -> Signatures:
        """The result of checking the signatures."""
        if self.good_signatures:
            return Signatures.CHECKED
        if self.has_key:
            return Signatures.NONE_GOOD if self.checkpoints else Signatures.NO_CHECKPOINT
        return Signatures.NO_KEY if self.checkpoints else Signatures.NEITHER

    @property
    def verdict(self) -> VerificationResult:
        """The verdict. A finding outranks a missing signature."""
        if self.findings:
            return VerificationResult.CHANGED
        return VerificationResult.GENUINE if self.good_signatures else VerificationResult.UNSIGNED

    @property
    def genuine(self) -> bool:
        """Whether there are no findings, and a signature of the log's key proves it."""
        return self.verdict is VerificationResult.GENUINE

    def add(self, finding: VerificationFinding) -> None:
        """Keep a finding; only count it if many of its kind are kept already."""
        same = sum(recorded_finding.kind == finding.kind for recorded_finding in self.findings)
        if same < _MOST_LISTED:
            self.findings.append(finding)
        else:
            self.more[finding.kind] = self.more.get(finding.kind, 0) + 1
