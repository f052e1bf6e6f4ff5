"""`otel`: a run as OTLP JSON lines, also sent to a collector if one is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Self

from failproof_es.exports.exporter import (
    Export,
    ExportedFile,
    LeftOut,
    Pieces,
    refuse_settings,
)
from failproof_es.exports.otel.endpoint import Delivery, require_endpoint
from failproof_es.exports.otel.telemetry import (
    CARRIED_OVER,
    STATUS,
    Telemetry,
    TelemetryOf,
    first_part,
)
from failproof_es.problems import InvalidInput, Problem
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.reading.archives import require_attached
from failproof_es.store.reading.reader import find

if TYPE_CHECKING:
    from failproof_es.exports.otel.encoding import Sender

_LOOK_EVERY = 32
"""Number of events between checks for a full batch."""
_TRUTHS = {"yes": True, "true": True, "no": False, "false": False}


@dataclass(frozen=True, slots=True)
class OpenTelemetry:
    """The exporter `otel`: spans of the GenAI conventions and `gen_ai.evaluation.result` events."""

    endpoint: str | None = None
    content: bool = False

    @property
    def name(self) -> str:
        """`otel`, the name for `export --shape`."""
        return "otel"

    @property
    def says(self) -> str:
        """The content of the files, for the help."""
        return "OpenTelemetry GenAI spans and evaluation results, as OTLP JSON lines"

    @property
    def extra(self) -> str:
        """The extra that the exporter needs."""
        return "otel"

    def with_settings(self, settings: Mapping[str, str]) -> Self:
        """The exporter with these settings: `endpoint` and `content`.

        `endpoint` is a collector to send to, in addition to the file; `content=yes` includes
        prompts and answers. Raises `InvalidInput` for an unknown setting, another `content`, or an
        `endpoint` that is no address.
        """
        refuse_settings(self.name, settings, ("endpoint", "content"))
        content = _TRUTHS.get(settings.get("content", "no"))
        if content is None:
            message = f"{settings['content']!r} is neither yes nor no"
            raise InvalidInput([Problem("invalid-option", message, field="--with content")])
        endpoint = settings.get("endpoint")
        if endpoint is not None:
            require_endpoint(endpoint, "--with endpoint")
        return replace(self, endpoint=endpoint, content=content)

    def files(self, runs: Sequence[RecordedRun], export: Export) -> Iterator[ExportedFile]:
        """One file for each run. With an endpoint, a batch is sent before it is written.

        Raises `InvalidInput` if the collector does not accept a batch.
        """
        from failproof_es.exports.otel.encoding import Sender

        sender = None if self.endpoint is None else Sender(self.endpoint)
        for run in runs:
            require_attached(run.connection, run.run_id)
            path = PurePosixPath(f"{export.prefix}_run-{run.started.run_number}.otlp.jsonl")
            pieces = Pieces(partial(self._lines, run, sender, export.left_out))
            yield ExportedFile(path, "spans and events", pieces)
            if not self.content:
                export.left_out.add("prompts, answers and reasons", "ask for them: content=yes")
            if not run.run.ended:
                export.left_out.add("the span of the run", "it has not ended")

    def _lines(
        self, run: RecordedRun, sender: Sender | None, left_out: LeftOut, pieces: Pieces
    ) -> Iterator[bytes]:
        from failproof_es.exports.otel.encoding import json_lines

        for batch in batches(run, self.content):
            if sender is not None and sender.send(batch) is not Delivery.TAKEN:
                raise InvalidInput.because(
                    "delivery-failed",
                    f"the collector at {self.endpoint} did not take everything: {sender.why}",
                    remedy="export again when it takes all: what came twice has the same ids",
                )
            carried = sum(record.attributes.get(STATUS) == CARRIED_OVER for record in batch)
            why = "the run that they come from has them"
            left_out.add("requests and scores of what was carried over", why, carried)
            pieces.rows += len(batch)
            yield from json_lines(batch)
        if sender is not None:
            why = f"the file has them; the collector rejected them: {sender.why}"
            left_out.add("spans and events at the collector", why, sender.rejected)
            sender.rejected = 0


def batches(run: RecordedRun, content: bool) -> Iterator[Sequence[Telemetry]]:
    """All telemetry of a run in the order of the log, one batch in memory.

    A batch fits into one request. `content` includes prompts, answers and reasons.
    """
    maker, held = TelemetryOf(content), list[Telemetry]()
    for number, row in enumerate(find(run.connection, run_id=run.run_id, up_to=run.up_to)):
        held.extend(maker.take(row.event()))
        while number % _LOOK_EVERY == 0 and len(held) > len(part := first_part(held)):
            yield part
            del held[: len(part)]
    while part := first_part(held):
        yield part
        del held[: len(part)]
