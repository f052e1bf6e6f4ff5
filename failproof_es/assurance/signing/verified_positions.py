"""The position up to which this user verified each log, kept outside the database."""

from __future__ import annotations

from datetime import UTC, datetime

import orjson
from pydantic import TypeAdapter, ValidationError

from failproof_es.assurance.checking.findings import VerifiedPrefix
from failproof_es.assurance.signing.signing_key import own_file
from failproof_es.problems import InvalidInput
from failproof_es.support.atomic_file import atomic_write, describe_write_error
from failproof_es.support.regular_file import read_regular

_FORM = TypeAdapter(VerifiedPrefix)
_MOST_BYTES = 1 << 20


def read_verified(origin: str) -> VerifiedPrefix | None:
    """The extent of the last verification of the log; `None` without one. Raises `InvalidInput`."""
    path = own_file(origin, "verified")
    try:
        document = orjson.loads(read_regular(path, _MOST_BYTES))
        document["roots"] = [bytes.fromhex(root) for root in document["roots"]]
        return _FORM.validate_python(document)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, ValidationError) as error:
        raise InvalidInput.because(
            "file-unreadable",
            f"{path}, which says how far this log was verified, cannot be used: {error}",
            remedy="verify without --incremental once: that writes it anew",
        ) from None


def verified_at(origin: str) -> datetime | None:
    """The time of the last verification that was kept; `None` without one."""
    try:
        return datetime.fromtimestamp(own_file(origin, "verified").stat().st_mtime, UTC)
    except OSError:
        return None


def keep_verified(verified: VerifiedPrefix) -> None:
    """Keep how far the log was verified. Raises `InvalidInput` when it cannot be written."""
    path = own_file(verified.origin, "verified")
    document = {
        "origin": verified.origin,
        "size": verified.size,
        "roots": [root.hex() for root in verified.roots],
        "position": verified.position,
        "recorded_at_us": verified.recorded_at_us,
    }
    try:
        atomic_write(path, [orjson.dumps(document)])
    except OSError as error:
        raise InvalidInput.because(
            "file-unwritable",
            f"{path} cannot be written: {describe_write_error(path, error)}",
            remedy="make room there, or correct the folder's permissions",
        ) from None
