"""A worker that drives one run after the other has no more senders than runs that are not over."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

from failproof_es.exports.otel.beside import TelemetryOfRuns


class Sender:
    """A sender without a process."""

    def __init__(self) -> None:
        self.runs: list[UUID] = []
        self.has_ended = self.is_closed = False

    def follow(self, run_id: UUID) -> None:
        self.runs.append(run_id)

    def close(self) -> None:
        self.is_closed = True


def test_the_sender_of_a_run_that_is_over_is_closed_when_the_next_run_begins() -> None:
    senders: list[Sender] = []

    def make() -> Any:
        senders.append(Sender())
        return senders[-1]

    events: list[Any] = [SimpleNamespace(run_id=uuid4()) for _ in range(3)]
    with TelemetryOfRuns(make) as telemetry:
        for event in events[:2]:
            telemetry.observe(event)
        senders[0].has_ended = True
        for event in events:
            telemetry.observe(event)
        assert [sender.is_closed for sender in senders] == [True, False, False]
    assert all(sender.is_closed for sender in senders)
    assert [sender.runs for sender in senders] == [[event.run_id] for event in events]
