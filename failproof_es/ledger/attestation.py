"""The result of a run as an in-toto attestation: a `test-result` in a Sigstore bundle, signed by
the log's key (in-toto Statement 1, test-result 0.1, DSSE 1, Sigstore bundle 0.3)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from failproof_es.ledger.note import SigningKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
_STATEMENT = "https://in-toto.io/Statement/v1"
_PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
_BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"

Result = Literal["PASSED", "FAILED"]


def statement(
    subjects: Mapping[str, str], configuration: Mapping[str, str], tests: Mapping[str, bool]
) -> dict[str, Any]:
    """The statement: SHA-256 digests in hexadecimal by the names of what was tested and of what
    said how, and whether each test passed. The result is `PASSED` if every test did."""
    result: Result = "PASSED" if all(tests.values()) else "FAILED"
    return {
        "_type": _STATEMENT,
        "subject": _resources(subjects),
        "predicateType": _PREDICATE,
        "predicate": {
            "result": result,
            "configuration": _resources(configuration),
            "passedTests": [name for name, passed in tests.items() if passed],
            "warnedTests": [],
            "failedTests": [name for name, passed in tests.items() if not passed],
        },
    }


def _resources(digests: Mapping[str, str]) -> Sequence[dict[str, Any]]:
    return [{"name": name, "digest": {"sha256": digest}} for name, digest in digests.items()]


def bundle_of(document: dict[str, Any], key: SigningKey) -> bytes:
    """The Sigstore bundle of the statement, signed by this key."""
    payload = json.dumps(document, sort_keys=True, ensure_ascii=False).encode()
    signature = key.secret.sign(_pre_authentication(payload))
    envelope = {
        "payload": _encode(payload),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{"sig": _encode(signature), "keyid": key.public.key_id.hex()}],
    }
    material = {"publicKey": {"hint": str(key.public)}, "tlogEntries": []}
    bundle = {"mediaType": _BUNDLE, "verificationMaterial": material, "dsseEnvelope": envelope}
    return json.dumps(bundle, indent=2).encode() + b"\n"


def _pre_authentication(payload: bytes) -> bytes:
    """What DSSE signs: both texts with their lengths, so that none can be read as the other."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def _encode(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
