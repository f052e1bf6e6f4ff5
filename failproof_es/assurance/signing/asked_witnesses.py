"""Has the witnesses of a policy cosign a checkpoint over HTTP (C2SP tlog-witness)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from failproof_es.assurance.signing.witness import MOST_BYTES, CosignRequest
from failproof_es.assurance.tree import stored_tree
from failproof_es.ledger import checkpoint, note
from failproof_es.ledger.merkle import consistency_proof
from failproof_es.ledger.note import Note, NoteError, PublicKey
from failproof_es.ledger.tlog_policy import Policy
from failproof_es.problems import InvalidInput
from failproof_es.store.ledger import Connection
from failproof_es.support.untrusted_text import one_line, shortened

if TYPE_CHECKING:
    from failproof_es.web.client import WholeReply

TIMEOUT_S = 10.0
_MOST_TRIES = 3
"""Of one witness: it says what it saw last, and may see more meanwhile."""
_LONGEST_REASON = 200


class NotCosigned(Exception):
    """A witness did not cosign."""


def cosigning_request(connection: Connection, signed: Note, since: int) -> CosignRequest:
    """The checkpoint, with the proof that it continues the tree of `since` events.

    Raises `InvalidInput` if it is of fewer events.
    """
    size = checkpoint.parse(signed.text).size
    if since > size:
        raise InvalidInput.because(
            "log-changed",
            f"the log has {size:,} events, and the witness saw {since:,}",
            remedy="find out why events are missing: the log was replaced or cut off",
        )
    proof = consistency_proof(stored_tree(connection).subtree, since, size) if since else []
    return CosignRequest(since, tuple(proof) if since < size else (), signed)


def ask_witnesses(
    connection: Connection, signed: Note, policy: Policy
) -> tuple[Note, Mapping[str, str]]:
    """The checkpoint with the cosignatures of all witnesses of the policy that have a URL.

    Also returns why a witness did not cosign, by its name.
    """
    problems: dict[str, str] = {}
    for name, url in policy.urls.items():
        try:
            cosigned = _ask(connection, signed, url, policy.witnesses[name])
            note.require_storable(cosigned)
            signed = cosigned
        except (NotCosigned, NoteError) as error:
            problems[name] = str(error)
    return signed, problems


def _ask(connection: Connection, signed: Note, url: str, key: PublicKey) -> Note:
    since, size = 0, checkpoint.parse(signed.text).size
    for _ in range(_MOST_TRIES):
        reply = _post(url, cosigning_request(connection, signed, since))
        if reply.status == 200:
            return _with_cosignature(signed, reply.body, key)
        if reply.status != 409:
            break
        since = _size_seen(reply.body)
        if since > size:
            raise NotCosigned(
                f"it says that it cosigned {since:,} events of this log already, which has "
                f"{size:,} here: unless it was asked for more meanwhile, the log was cut off"
            )
    text = one_line(shortened(reply.body.decode(errors="replace").strip(), _LONGEST_REASON))
    raise NotCosigned(f"HTTP {reply.status}: {text}")


def _post(url: str, request: CosignRequest) -> WholeReply:
    from failproof_es.web.client import UNUSABLE, fetch, open_client  # few logs have witnesses

    async def post() -> WholeReply:
        async with open_client(TIMEOUT_S) as client:
            return await fetch(
                client, "POST", f"{url.rstrip('/')}/add-checkpoint", limit=MOST_BYTES,
                timeout_s=TIMEOUT_S, content=str(request).encode(),
            )  # fmt: skip

    try:
        return asyncio.run(post())
    except TimeoutError:
        raise NotCosigned(f"no answer within {TIMEOUT_S:g} s") from None
    except UNUSABLE as error:
        raise NotCosigned(f"no answer: {error}") from None


def _size_seen(body: bytes) -> int:
    text = body.decode(errors="replace").removesuffix("\n")
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise NotCosigned("it does not say how many events it saw")
    return int(text)


def _with_cosignature(signed: Note, lines: bytes, key: PublicKey) -> Note:
    """The note with the cosignature of the key in a reply; lines of other keys are left out."""
    identity = key.name, key.key_id
    try:
        answered = note.parse(f"{signed.text}\n{lines.decode()}")
        if answered.text != signed.text:
            raise NoteError("it answers with another text")
        for line in answered.signatures:
            if (line.name, line.key_id) == identity:
                cosigned = signed.signed(line)
                cosigned.verify(key)
                return cosigned
    except (NoteError, UnicodeDecodeError) as error:
        raise NotCosigned(f"it answers with no cosignature of its key: {error}") from None
    raise NotCosigned("it answers with no cosignature of its key")
