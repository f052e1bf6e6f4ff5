"""`Case` and `Turn`: the unit that the engine runs, whatever file it came from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Literal
from uuid import UUID

import orjson
from pydantic import BaseModel, ConfigDict

from failproof_es.core.clusters import family_of

Role = Literal["system", "user", "assistant"]


HEADINGS = ("title", "description")
"""Fields of a case's document that describe it to people."""
FAMILY = "paraphrase:"
"""Prefix of the tag that names a case's family: cases that are paraphrases of each other."""
PARTLY_IMPORTED = "partly-imported"
"""The tag of a case of which an expectation was not imported: the case passes more easily."""


def family_tag_of(tags: Iterable[str]) -> str | None:
    """The first tag that names a family; `None` without one."""
    return next((tag for tag in tags if tag.startswith(FAMILY)), None)


class Turn(BaseModel):
    """One message of a scripted conversation, exactly as it is sent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Role
    content: str


class Case(BaseModel):
    """One test case, complete: what is asked, and what a good answer is.

    `turns` hold the text that is sent (variables already filled in). `expectation` is
    what the dialect needs to grade a reply. `document` is the case as it stood in its
    file, unknown keys included.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    dialect: str
    case_id: str
    suite_id: str
    turns: tuple[Turn, ...]
    expectation: dict[str, Any] = {}
    category: str | None = None
    label: str | None = None
    source: str | None = None
    tags: tuple[str, ...] = ()
    severity: str | None = None
    document: dict[str, Any] = {}

    @property
    def names(self) -> tuple[str, str]:
        """The names that choose the case."""
        return names_of_case(self.suite_id, self.case_id)

    @property
    def questions(self) -> tuple[str, ...]:
        """The texts of the user's turns."""
        return tuple(turn.content for turn in self.turns if turn.role == "user")

    @property
    def headings(self) -> tuple[str, ...]:
        """The title and the description that the case's file gives it, if any."""
        values = (self.document.get(name) for name in HEADINGS)
        return tuple(value for value in values if isinstance(value, str))

    @property
    def family(self) -> tuple[str, str]:
        """The case's cluster for statistics, as `family_of` says."""
        return family_of(self)

    @property
    def family_tag(self) -> str | None:
        """The tag that names the case's family; `None` without a family."""
        return family_tag_of(self.tags)

    @property
    def is_partly_imported(self) -> bool:
        """Whether an expectation of the case's source is missing here."""
        return PARTLY_IMPORTED in self.tags

    def digest(self) -> str:
        """SHA-256, in hexadecimal, of the case as canonical JSON (sorted keys, no spaces)."""
        return digest_of(self.model_dump(mode="json"))


def names_of_case(suite: str, case: str) -> tuple[str, str]:
    """The names that a user may give to a case: `CASE`, which several suites may have, and
    `SUITE/CASE`."""
    return case, f"{suite}/{case}"


def digest_of(document: dict[str, Any]) -> str:
    """The `Case.digest` of a case that is given as its JSON document."""
    return hashlib.sha256(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest()


def prompt_id(digest: str) -> UUID:
    """Stream id of a stored prompt: the `digest_uuid` of its digest in hexadecimal.

    Raises `ValueError` for text that is not hexadecimal.
    """
    return digest_uuid(bytes.fromhex(digest))


def run_id(name: str) -> UUID:
    """Stream id of the run with this name: the name itself if it is a UUID, else derived from it.

    Deterministic on every machine. Accepts any text, also lone surrogates, which name no run.
    """
    try:
        return UUID(name)
    except ValueError:
        content = f"run\n{name}".encode("utf-8", "surrogatepass")
        return digest_uuid(hashlib.sha256(content).digest())


def collection_id(name: str) -> UUID:
    """Stream id of a collection of prompts, derived from its name alone."""
    return digest_uuid(hashlib.sha256(f"collection\n{name}".encode()).digest())


def import_id(digest: bytes) -> UUID:
    """Id of an import, which its operations are about: derived from the digest of its input."""
    return digest_uuid(hashlib.sha256(b"import\n" + digest).digest())


def operations_id(run_id: UUID) -> UUID:
    """Stream id of the operations on a run."""
    return digest_uuid(hashlib.sha256(f"operations\n{run_id}".encode()).digest())


def review_id(evaluation_id: UUID) -> UUID:
    """Stream id of the reviews by people of the evaluation with this stream id."""
    return digest_uuid(hashlib.sha256(f"review\n{evaluation_id}".encode()).digest())


def ledger_id() -> UUID:
    """Stream id of the operations on the log's ledger, the same in every log."""
    return digest_uuid(hashlib.sha256(b"ledger\n").digest())


def access_id() -> UUID:
    """Stream id of the events of access, the same in every log."""
    return digest_uuid(hashlib.sha256(b"access\n").digest())


_FREE_BITS = (1 << 128) - 1 & ~(0xF << 76) & ~(0x3 << 62)
_VERSION_8 = (0x8 << 76) | (0x2 << 62)


def digest_uuid(digest: bytes) -> UUID:
    """A version 8 UUID (RFC 9562 § 5.8): the first 128 bits of `digest`, of which 122 are kept."""
    return UUID(int=digest_number(digest))


def digest_number(digest: bytes) -> int:
    """The integer of `digest_uuid(digest)`, without making a `UUID`."""
    return int.from_bytes(digest[:16], "big") & _FREE_BITS | _VERSION_8


_VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdefABCDEF"}


def digest_uuid_text(digest: str) -> str:
    """`digest_uuid` of a digest in hexadecimal, as text."""
    return (
        f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-"
        f"{_VARIANT[digest[16]]}{digest[17:20]}-{digest[20:32]}"
    )
