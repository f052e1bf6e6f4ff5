"""A run as the log has it, or had it up to a position: what the printing commands read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from failproof_es.case import prompt_id
from failproof_es.engine.recorded import (
    RecordedEvaluation,
    read_chunk,
    recorded_evaluations,
    stored_case,
    with_prices,
)
from failproof_es.events import RunStarted
from failproof_es.problems import InvalidInput
from failproof_es.run import Run, fold_run
from failproof_es.store.reader import Connection, RecordedEvent, find, portions, read_streams


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run and the connection to read more of it from."""

    connection: Connection
    run: Run
    up_to: int | None = None

    @classmethod
    def read(cls, connection: Connection, run_id: UUID, up_to: int | None = None) -> RecordedRun:
        """The run up to a position. Raises `InvalidInput` when it had not begun by then."""
        run = fold_run(row.event() for row in find(connection, stream_id=run_id, up_to=up_to))
        if run.manifest is None:
            raise InvalidInput.because(
                f"run {run_id} had not begun by position {up_to}",
                remedy="`failproof-es log RUN --limit 1` shows where it begins",
            )
        return cls(connection, with_prices(connection, run), up_to)

    @property
    def started(self) -> RunStarted:
        """What the run set out with."""
        return self.run.started

    @property
    def run_id(self) -> UUID:
        """The run's id."""
        return self.started.originator_id

    def events(self) -> Iterator[RecordedEvent]:
        """Every event of the run and of its evaluations, in commit order."""
        return find(self.connection, run_id=self.run_id, up_to=self.up_to)

    def evaluations(self) -> Iterator[RecordedEvaluation]:
        """Every planned evaluation in plan order, begun or not, a window at a time."""
        return recorded_evaluations(self.connection, self.run, up_to=self.up_to)

    def suites_by_prompt(self) -> dict[UUID, str]:
        """Which suite each planned prompt belongs to."""
        suites: dict[UUID, str] = {}
        for chunk in range(self.run.chunks):
            digests = read_chunk(self.connection, self.run_id, chunk)
            for prompts in portions(self.connection, [prompt_id(digest) for digest in digests]):
                streams = read_streams(self.connection, prompts)
                suites |= {each: stored_case(streams, each).suite_id for each in prompts}
        return suites

    def places_by_prompt(self) -> dict[UUID, int]:
        """How many cases stand before each planned prompt in the plan."""
        digests = (
            digest
            for chunk in range(self.run.chunks)
            for digest in read_chunk(self.connection, self.run_id, chunk)
        )
        return {prompt_id(digest): place for place, digest in enumerate(digests)}
