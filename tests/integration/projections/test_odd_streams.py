"""Streams that hold what does not belong together: followed in any steps, or rebuilt, the same."""

from __future__ import annotations

from itertools import permutations
from typing import Any
from uuid import UUID, uuid5

import pytest

import projections.batch as batching
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.events import Event
from failproof_es.store.mapper import LogEntry
from failproof_es.store.store import Store
from projections.log_comparison import compare_log
from projections.runner import prepare, rebuild
from tests.integration.projections.shared_rebuilds import in_this_process
from tests.integration.projections.world import record, rows
from tests.unit.event_samples import SAMPLES

_OF = {type(event).__name__: event for event in SAMPLES}
_SPACE = UUID(int=99)
_KINDS = ("PromptStored", "RunPaused", "RequestSent", "RunStarted", "damaged", "Reviewed")
"""Where `damaged` stands is a RunStarted that nobody can read."""


def _stream(kinds: tuple[str, ...]) -> UUID:
    """The evaluation's own where there is one, so that its events are at home there."""
    sample: Any = _OF["RequestSent"]
    run = uuid5(_SPACE, " ".join(kinds))
    if "RequestSent" in kinds:
        key = EvaluationKey(run, sample.prompt_id, sample.model_key, sample.repetition)
        return key.evaluation_id
    return run


def _history(kinds: tuple[str, ...]) -> list[Event | LogEntry]:
    stream, run = _stream(kinds), uuid5(_SPACE, " ".join(kinds))
    found: list[Event | LogEntry] = []
    for version, kind in enumerate(kinds, 1):
        if kind == "damaged":
            found.append(LogEntry(stream, version, "RunStarted", b"{", run_id=run))
            continue
        of_run = run if kind in ("RequestSent", "Reviewed") else stream
        at: dict[str, Any] = {"originator_id": stream, "originator_version": version}
        if _OF[kind].run_id is not None:
            at["run_id"] = of_run
        found.append(_OF[kind].model_copy(update=at))
    return found


@pytest.mark.parametrize("length", [2, 3])
@pytest.mark.slow
@pytest.mark.thinned(whole=1)
def test_rows_do_not_depend_on_where_batches_end(
    store: Store, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kinds in permutations(_KINDS, length):
        for each in _history(kinds):
            if isinstance(each, LogEntry):
                store.log.recorder.insert_events([each])
            else:
                record(store, [each])
    with store.connect() as connection:
        prepare(connection)
        steps = []
        for events in (1, 1_000):
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(batching, "BATCH_EVENTS", events)
                rebuild(connection, processes=1)
            steps.append(rows(connection))
        for found in steps[1:]:
            for table, wanted in steps[0].items():
                assert found[table] == wanted, table
        in_this_process(monkeypatch)
        rebuild(connection, processes=2)
        assert rows(connection) == steps[0]
        assert compare_log(connection, lambda *_: None).changed == []
