"""Bundles whose every line fits: what is odd about them is in the events themselves.

The tree, the seal, the manifest and the summary are made to fit by somebody who has the
log's key and does not care what the events say.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from failproof_es.ledger import merkle
from failproof_es.ledger.bundle import ProvenEvent
from failproof_es.ledger.seal import Sealing
from tests.unit.ledger.bundle.evidence_world import LOG, RUN, WITNESS, World


def line(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def said(event: ProvenEvent) -> dict[str, Any]:
    """What an event says, as generously as it can be read."""
    try:
        read = json.loads(event.state)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def forged(log: World, shown: Sequence[ProvenEvent]) -> bytes:
    """The events as a bundle, with whatever proves them."""
    signed = log.signed()
    signed = signed.signed(WITNESS.sign(signed.text, at=1_700_000_000))
    proof = merkle.multiproof(log.subtree, [each.index for each in shown], len(log.events))
    own = [each for each in shown if each.stream_id == RUN]
    started = said(own[0]) if own else {}
    ended = next((e for e in reversed(own) if e.topic in ("RunCompleted", "RunFailed")), None)
    sealed = next((e for e in reversed(own) if e.topic == "RunSealed"), None)
    seal = {} if sealed is None else said(sealed)
    others = [e for e in shown if e.topic == "RunStarted" and e.version == 1]
    manifest = {
        "run_id": str(RUN),
        "run_number": started.get("run_number"),
        "configuration_digest": started.get("configuration_digest"),
        "attempt": started.get("attempt"),
        "attempts": len(others),
        "sealed_streams": seal.get("streams"),
        "sealed_events": seal.get("events"),
        "seal": seal.get("root"),
        "events": len(shown),
        "origin": LOG.name,
        "tree_size": len(log.events),
        "tree_root": merkle.tree_root(log.subtree, len(log.events)).hex(),
    }
    at_end = {} if ended is None else said(ended)
    counts = at_end.get("counts")
    counts = counts if isinstance(counts, dict) else {}
    summary = [
        f"run {manifest['run_number']} ({RUN}), named {json.dumps(started.get('name'))}",
        f"attempt {manifest['attempt']} of {len(others)} of configuration "
        f"{manifest['configuration_digest']}",
        f"started {started.get('timestamp')}; ended {at_end.get('timestamp')} "
        f"by {ended and ended.topic}",
        ", ".join(f"{n} {counts.get(n)}" for n in ("planned", "finished", "scored", "abandoned")),
        f"in the log {LOG.name} of {len(log.events)} events",
    ]
    events = [
        {
            "index": each.index,
            "state": b64encode(each.state).decode(),
            "stream": str(each.stream_id),
            "topic": each.topic,
            "version": each.version,
        }
        for each in shown
    ]
    body = b"".join(
        map(
            line,
            [
                {"format": "failproof-es-evidence", "version": 1},
                {"manifest": manifest},
                {"summary": summary},
                {"checkpoint": str(signed)},
                {"proof": [b64encode(each).decode() for each in proof]},
                *events,
            ],
        )
    )
    return body + line({"sha256": hashlib.sha256(body).hexdigest()})


def sealed_again(log: World, of_run: Sequence[int]) -> None:
    """Make the run's last seal fit the events at these places, where it says anything."""
    sealing = Sealing()
    *held, seal = of_run
    for at in held:
        sealing.add(log.events[at].stream_id.bytes, log.events[at].leaf_hash())
    made = sealing.seal()
    old = log.events[seal]
    state = {
        **said(old), "streams": made.streams, "events": made.events, "root": made.root.hex()
    }  # fmt: skip
    log.events[seal] = ProvenEvent(
        old.index, old.stream_id, old.version, old.topic, json.dumps(state).encode()
    )
