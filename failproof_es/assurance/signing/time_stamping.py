"""Time stamps of checkpoints by others (RFC 3161): requested over HTTP, and verified."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from failproof_es.ledger import checkpoint, note
from failproof_es.ledger.note import Note, NoteError, PublicKey, Signature
from failproof_es.ledger.time_stamp import time_stamp_line, time_stamps
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection
from failproof_es.support.untrusted_text import one_line, shortened

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

TIMEOUT_S = 20.0
MOST_BYTES = 64 << 10
"""Of a response."""
_LONGEST_REASON = 200
_GRANTED = 0
_MOST_APART = timedelta(days=1)
"""Between the time of a stamp and that of this host."""
_QUERY = {"content-type": "application/timestamp-query"}


class NotStamped(Exception):
    """There is no time stamp of this text."""


@dataclass(frozen=True, slots=True)
class TimeStamp:
    """A verified time stamp: the time, and the subject of the authority's certificate."""

    at: datetime
    by: str

    def describe(self) -> str:
        """The time stamp in one line."""
        return f"time-stamped at {self.at.isoformat()} by {self.by}"


def request_time_stamp(url: str, text: str) -> Signature:
    """The line with the time stamp of the authority at `url` for the text of a note.

    The authority gets a digest. Raises `NotStamped` if it does not grant one, or one of another
    text. The certificates are for a verifier to check.
    """
    from rfc3161_client import HashAlgorithm, TimestampRequestBuilder

    request = (
        TimestampRequestBuilder()
        .data(text.encode())
        .hash_algorithm(HashAlgorithm.SHA256)
        .nonce(nonce=True)
        .cert_request(cert_request=True)
        .build()
    )
    body = _post(url, request.as_bytes())
    response = _decoded(body)
    if response.status != _GRANTED:
        reasons = one_line(shortened("; ".join(response.status_string), _LONGEST_REASON))
        raise NotStamped(f"it refuses, with status {response.status} {reasons}".rstrip())
    try:
        stamped = response.tst_info
        digest, nonce, at = stamped.message_imprint.message, stamped.nonce, stamped.gen_time
    except ValueError as error:
        raise NotStamped(f"its token cannot be read: {error}") from None
    if nonce != request.nonce:
        raise NotStamped("it answers another request")
    if digest != hashlib.sha256(text.encode()).digest():
        raise NotStamped("it is of another text")
    if abs(at - datetime.now(UTC)) > _MOST_APART:
        raise NotStamped(f"its time, {at.isoformat()}, is more than a day from that of this host")
    return time_stamp_line(authority_name(url), body)


def authority_name(url: str) -> str:
    """The name of the authority at `url` in a note: its host, port and path, no secret of it."""
    try:
        parts = urlsplit(url)
        port = "" if parts.port is None else f":{parts.port}"
        name = f"{parts.hostname or ''}{port}{parts.path}"
    except ValueError:
        name = ""
    return re.sub(r"[^!-*,-~]", lambda match: quote(match[0]), name) or "?"


def verify_time_stamps(signed: Note, roots: Sequence[Certificate]) -> list[TimeStamp]:
    """The time stamps of the note, the earliest first, whose certificates lead to one of `roots`.

    Raises `NotStamped` if there is none, with the reasons.
    """
    stamps, reasons = [], []
    for line in time_stamps(signed):
        try:
            stamps.append(_verified(line.payload, signed.text, roots))
        except NotStamped as error:
            reasons.append(f"{line.name}: {error}")
    if not stamps:
        raise NotStamped("; ".join(reasons) or "the checkpoint has no time stamp")
    return sorted(stamps, key=lambda stamp: stamp.at)


def newest_time_stamp(
    connection: Connection, key: PublicKey, roots: Sequence[Certificate]
) -> tuple[int, TimeStamp] | None:
    """The size of the largest tree of a checkpoint by `key` that has a time stamp under `roots`,
    and the earliest of its time stamps; `None` if there is no such checkpoint."""
    newest: tuple[int, TimeStamp] | None = None
    for stored in ledger.checkpoints(connection):
        try:
            signed = note.parse(stored.note)
            size = checkpoint.opened(signed, key).size
            stamp = verify_time_stamps(signed, roots)[0]
        except (NoteError, NotStamped):
            continue
        if newest is None or size > newest[0]:
            newest = size, stamp
    return newest


def read_roots(data: bytes, file: str) -> list[Certificate]:
    """The certificates in a PEM file. Raises `InvalidInput`."""
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificates(data)
    except ValueError as error:
        raise InvalidInput.because(
            "invalid-certificate",
            f"{file} holds no certificate: {error}",
            remedy="give the root certificate of the time-stamping authority, as PEM",
        ) from None


def _verified(response: bytes, text: str, roots: Sequence[Certificate]) -> TimeStamp:
    from cryptography import x509
    from rfc3161_client import VerificationError, VerifierBuilder

    decoded = _decoded(response)
    try:
        VerifierBuilder(roots=list(roots)).build().verify_message(decoded, text.encode())
        [signer] = decoded.signed_data.signer_infos
        subjects = [
            certificate.subject.rfc4514_string()
            for certificate in map(x509.load_der_x509_certificate, decoded.signed_data.certificates)
            if (certificate.issuer, certificate.serial_number)
            == (signer.issuer, signer.serial_number)
        ]
        at = decoded.tst_info.gen_time
        if at - datetime.now(UTC) > _MOST_APART:
            raise NotStamped(f"its time, {at.isoformat()}, has not come yet")
        return TimeStamp(at, subjects[0])
    except (VerificationError, ValueError, IndexError) as error:
        raise NotStamped(str(error)) from None


def _decoded(response: bytes) -> Any:
    from rfc3161_client import decode_timestamp_response

    try:
        return decode_timestamp_response(response)
    except ValueError as error:
        raise NotStamped(f"it is no response of RFC 3161: {error}") from None


def _post(url: str, request: bytes) -> bytes:
    from failproof_es.web.client import UNUSABLE, fetch, open_client  # few logs are time-stamped

    async def post() -> tuple[int, bytes]:
        async with open_client(TIMEOUT_S) as client:
            reply = await fetch(
                client, "POST", url, limit=MOST_BYTES, timeout_s=TIMEOUT_S, content=request,
                headers=_QUERY,
            )  # fmt: skip
            return reply.status, reply.body

    try:
        status, body = asyncio.run(post())
    except TimeoutError:
        raise NotStamped(f"no answer within {TIMEOUT_S:g} s") from None
    except UNUSABLE as error:
        raise NotStamped(f"no answer: {error}") from None
    if status != 200:
        text = one_line(shortened(body.decode(errors="replace").strip(), _LONGEST_REASON))
        raise NotStamped(f"HTTP {status}: {text}")
    return body
