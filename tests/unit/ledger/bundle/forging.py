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
from failproof_es.ledger.event_line import ProvenEvent
from failproof_es.ledger.seal import Sealing
from tests.unit.ledger.bundle.evidence_world import LOG, RUN, WITNESS, World

COUNTED = ("planned", "finished", "scored", "abandoned")
STATUS = {
    "RunStarted": "running", "RunResumed": "running", "RunPaused": "paused",
    "RunCompleted": "completed", "RunFailed": "failed", "RunGivenUp": "given_up",
}  # fmt: skip


def line(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def said(event: ProvenEvent) -> dict[str, Any]:
    """What an event says, as generously as it can be read."""
    try:
        read = json.loads(event.state)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def asked_by(started: dict[str, Any]) -> Any:
    """The digest of the experiment that a run says it is."""
    experiment = started.get("experiment")
    return experiment.get("digest") if isinstance(experiment, dict) else None


def attempts_shown(shown: Sequence[ProvenEvent], asked: Any) -> list[dict[str, Any]]:
    """The runs of the experiment, in the order of their numbers, as a manifest has the others."""
    found = []
    for first in shown:
        started = said(first)
        if first.topic != "RunStarted" or first.version != 1 or asked_by(started) != asked:
            continue
        status, counts, met = "running", None, None
        for each in sorted(shown, key=lambda each: each.version):
            if each.stream_id != first.stream_id:
                continue
            status = STATUS.get(each.topic, status)
            if each.topic in ("RunPaused", "RunCompleted", "RunFailed"):
                counted = said(each).get("counts")
                counted = counted if isinstance(counted, dict) else {}
                counts = {name: counted.get(name) for name in COUNTED}
        found.append(
            {
                "attempt": 0, "run_id": str(first.stream_id), "counts": counts, "status": status,
                "run_number": started.get("run_number"), "gates_met": met,
            }
        )  # fmt: skip
    found.sort(key=lambda each: str(each["run_number"]))
    return [{**each, "attempt": place} for place, each in enumerate(found, 1)]


def told(run: dict[str, Any]) -> str:
    """A run in a line of the summary."""
    counts = run["counts"]
    counted = ", ".join(f"{n} {counts[n]}" for n in COUNTED) if counts else "no counts"
    where = f"run {run['run_number']} ({run['run_id']})"
    return f"{where}: {run['status']}, {counted}, no gates judged"


def plan_shown(
    shown: Sequence[ProvenEvent], started: dict[str, Any], attempts: set[str]
) -> dict[str, Any] | None:
    """The registered plan, as the run recorded it, in a manifest."""
    named = started.get("registration")
    if named is None:
        return None
    place = next((each.index for each in shown if each.topic == "PlanRegistered"), 0)
    firsts = [each for each in shown if each.version == 1 and str(each.stream_id) in attempts]
    recorded = named if isinstance(named, dict) else {}
    return {**recorded, "attempts_before": sum(each.index < place for each in firsts)}


def plan_told(plan: dict[str, Any]) -> str:
    """A registered plan in a line of the summary."""
    changed, runs = plan.get("changed"), plan.get("runs")
    names = ", ".join(map(str, changed)) if isinstance(changed, list) else changed
    since = f"changed since: {names}" if changed else "unchanged since"
    count = f"{runs:,} run" if isinstance(runs, int) else str(runs)
    return (
        f"registered at {plan.get('registered_at')} by the log's clock "
        f"({plan.get('registration_id')}) for {count}{'' if runs == 1 else 's'}; {since}; "
        f"attempts before it: {plan['attempts_before']}"
    )


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
    asked = asked_by(started)
    attempts = attempts_shown(shown, asked)
    others = [each for each in attempts if each["run_id"] != str(RUN)]
    plan = plan_shown(shown, started, {each["run_id"] for each in others})
    manifest = {
        "experiment_digest": asked,
        "registration": plan,
        "other_attempts": others,
        "overlapping_runs": [],
        "run_id": str(RUN),
        "run_number": started.get("run_number"),
        "configuration_digest": started.get("configuration_digest"),
        "attempt": started.get("attempt"),
        "attempts": len(attempts),
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
        f"attempt {manifest['attempt']} of {len(attempts)} of experiment {asked}, "
        f"configuration {manifest['configuration_digest']}",
        *(f"attempt {each['attempt']} was {told(each)}" for each in others),
        *([] if plan is None else [plan_told(plan)]),
        f"started {started.get('timestamp')}; ended {at_end.get('timestamp')} "
        f"by {ended and ended.topic}",
        ", ".join(f"{n} {counts.get(n)}" for n in COUNTED),
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
