"""The result of a run's gates as an in-toto attestation, from events that its evidence proves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

import orjson

from failproof_es.ledger.attestation import bundle_of, statement
from failproof_es.ledger.event_line import parse_event
from failproof_es.ledger.note import SigningKey
from failproof_es.problems import InvalidInput


def attest_gates(run_id: UUID, evidence: Iterable[bytes], key: SigningKey) -> bytes:
    """The `test-result` of the run in these lines of its evidence file, signed by the log's key.

    Each gate that was judged when the run ended is a test, which passed if the gate was met. The
    subjects are the run, by its seal, and the files of its cases; the configuration is the run's.
    Raises `InvalidInput` for a run that did not complete, has no gates, or whose gates people
    decide, and as the iteration of `evidence` does.
    """
    started: dict[str, Any] = {}
    completed: dict[str, Any] | None = None
    sealed: dict[str, Any] | None = None
    seal = ""
    for topic, payload in _own_events(run_id, evidence):
        if topic == "RunStarted":
            started = payload
        elif topic == "RunCompleted":
            completed = payload
        elif topic == "RunSealed":
            seal, sealed = payload["root"], completed
    by = started["configuration"].get("gates", {}).get("by")
    if sealed is None or not sealed["gates"] or by == "people":
        raise InvalidInput.because(
            "no-result",
            "the run did not complete, has no gates, or people decide them later",
            remedy="only gates that were judged when the run ended are proven by its events",
        )
    branch = started.get("branched_from")
    carrying = f", with answers carried over from run {branch['run_id']}" if branch else ""
    subjects = {f"run {run_id}{carrying}": seal}
    subjects |= {_describe_suite(suite): suite["sha256"] for suite in started["suites"]}
    configuration = {f"configuration of {started['name']}": started["configuration_digest"]}
    tests = {name: bool(gate["met"]) for name, gate in sealed["gates"].items()}
    return bundle_of(statement(subjects, configuration, tests), key)


def _own_events(run_id: UUID, evidence: Iterable[bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Topic and payload of each event on the run's own stream. Reads every line."""
    own = f'"stream":"{run_id}"'.encode()
    for number, line in enumerate(evidence, 1):
        if own in line:
            event = parse_event(line.removesuffix(b"\n"), number)
            if event.stream_id == run_id:
                yield event.topic, orjson.loads(event.state)


def _describe_suite(suite: dict[str, Any]) -> str:
    """The file of cases, and how many of them were asked, unless all were."""
    asked, of_cases = suite["cases"], suite.get("of_cases")
    return f"cases {suite['path']}" + (
        "" if of_cases in (None, asked) else f": {asked} of {of_cases}"
    )
