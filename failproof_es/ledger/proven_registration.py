"""Proves that a run followed a registered plan, from the events in an evidence bundle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from failproof_es.core.case import operations_id
from failproof_es.core.experiment import canonical
from failproof_es.core.registration import changed_parts, describe
from failproof_es.ledger.run_reader import REGISTERED, EvidenceError, ProvenRunEvent


@dataclass(frozen=True, slots=True)
class ProvenRegistration:
    """A plan that was registered before the run, and the attempts of the run's experiment."""

    registration_id: str
    registered_at: str
    runs: int
    """The number of runs that may follow the plan."""
    changed: tuple[str, ...]
    """The parts in which the run's plan differs."""
    attempts_before: int
    """The number of other attempts that began before the registration."""

    def document(self) -> dict[str, Any]:
        """The registration in the manifest."""
        return {**asdict(self), "changed": list(self.changed)}

    def describe(self) -> str:
        """The registration in the summary."""
        phrase = describe(self.registration_id, self.registered_at, self.runs, self.changed)
        return f"{phrase}; attempts before it: {self.attempts_before}"


def read_registration(
    started: ProvenRunEvent,
    streams: Mapping[UUID, Sequence[ProvenRunEvent]],
    attempts: Iterable[int],
    cases: str,
) -> ProvenRegistration | None:
    """The registered plan that a run names in its `RunStarted`; `None` if it names none.

    `streams` are the streams of registered plans, `attempts` the places of the first events of the
    other attempts, `cases` is the `set_digest` of the planned digests. Raises `EvidenceError`
    unless the plan that the run names, and no other, is here, before the run, and says what the run
    recorded of it.
    """
    recorded = started.payload.get("registration")
    if recorded is None:
        if streams:
            raise EvidenceError(f"stream {min(streams)}: the run follows no registered plan")
        return None
    if not isinstance(recorded, dict):
        raise EvidenceError("the run names something that is no registration")
    registered = _registered(recorded, streams)
    if registered.place > started.place:
        raise EvidenceError("the plan was registered after the run began")
    payload = registered.payload
    if started.payload.get("branched_from") is not None:
        raise EvidenceError("a run that carries answers over follows no plan")
    try:
        changed = changed_parts(payload, started.payload, cases)
    except (ValueError, RecursionError) as error:
        raise EvidenceError(f"the registered plan cannot be read: {error}") from None
    derived = {
        "registration_id": payload.get("about"),
        "registered_at": payload.get("timestamp"),
        "runs": payload.get("runs"),
        "changed": list(changed),
    }
    if canonical(derived) != canonical(recorded):
        raise EvidenceError("the run recorded another registration than is here")
    if type(derived["registered_at"]) is not str or type(derived["runs"]) is not int:
        raise EvidenceError("the registered plan has a time or a number of runs that is none")
    if derived["runs"] < 1:
        raise EvidenceError("the plan was registered for no run")
    return ProvenRegistration(
        str(derived["registration_id"]),
        derived["registered_at"],
        derived["runs"],
        changed,
        sum(place < registered.place for place in attempts),
    )


def _registered(
    recorded: Mapping[str, Any], streams: Mapping[UUID, Sequence[ProvenRunEvent]]
) -> ProvenRunEvent:
    """The only `PlanRegistered` of the only stream, which is that of the named registration."""
    try:
        registration_id = UUID(recorded["registration_id"])
        if str(registration_id) != recorded["registration_id"]:
            raise ValueError("not in its one form")
        stream_id = operations_id(registration_id)
    except (KeyError, ValueError, TypeError, AttributeError):
        raise EvidenceError("the run names something that is no registration") from None
    if list(streams) != [stream_id]:
        raise EvidenceError(f"stream {stream_id} of the registered plan must be here alone")
    events = [event for event in streams[stream_id] if event.topic == REGISTERED]
    if len(events) != 1:
        raise EvidenceError(f"stream {stream_id} registers {len(events)} plans")
    return events[0]
