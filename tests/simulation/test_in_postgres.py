"""Each n-th history once more, in a real database: its projections, its tree, its replay.

The logs of these histories are appended to one database as they grew, in pieces and in turns, and
are followed and signed meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from random import Random
from typing import cast
from uuid import UUID

import pytest
from psycopg import sql

from failproof_es.assurance.checking.verification import verify_log
from failproof_es.assurance.signing.checkpoint_signer import own_key, sign_and_keep_checkpoint
from failproof_es.dialects import dialect_named, registry
from failproof_es.engine.replays import replay
from failproof_es.store.mapper import LogEntry
from failproof_es.store.reading.reader import Connection
from failproof_es.store.store import Store
from failproof_es.store.writing.recorder import EventRecorder
from projections import PROJECTIONS
from projections.runner import catch_up, prepare, rebuild
from tests.integration.projections.world import follow_to_the_end
from tests.simulation.invariants import violations
from tests.simulation.many import FAST, HISTORIES, history_of
from tests.simulation.world.conversation import NAME, Conversation

_SEEDS = [range(0, FAST, 29), pytest.param(range(0, HISTORIES, 81), marks=pytest.mark.slow)]
"""Steps that are no multiple of the number of kinds, so that all kinds of histories come."""


@pytest.mark.parametrize("seeds", _SEEDS, ids=str)
def test_projections_tree_and_replay_agree(
    store: Store, monkeypatch: pytest.MonkeyPatch, seeds: range
) -> None:
    monkeypatch.setitem(registry._made, NAME, Conversation())
    monkeypatch.setattr(replay, "require_grading", lambda run: dialect_named(run.dialect))
    random = Random(1)
    logs = [_log_of(seed, number) for number, seed in enumerate(seeds, 1)]
    runs = _appended(store, random, logs)
    with store.connect() as connection:
        follow_to_the_end(connection)
        followed = _values(connection)
        assert len(followed["runs"]) == len(logs)
        rebuild(connection)
        rebuilt = _values(connection)
        for relation, found in followed.items():
            assert rebuilt[relation] ^ found == set(), relation
        sign_and_keep_checkpoint(connection)
        verified = verify_log(connection, own_key(connection).public)
    assert verified.findings == []
    for run_id in runs:
        report = replay.replay(store, run_id)
        assert (report.differences, report.not_finished) == ([], 0)


def _values(connection: Connection) -> dict[str, set[str]]:
    """What stands in the tables of every projection. 2 and 2.0 are one value: which of them stands
    there depends on how the events came in batches."""
    return {
        relation.name: {
            repr([each.normalize() if isinstance(each, Decimal) else each for each in row])
            for row in connection.execute(
                sql.SQL("SELECT * FROM projections.{}").format(sql.Identifier(relation.name))
            )
        }
        for projection in PROJECTIONS
        for relation in projection.relations
    }


def _log_of(seed: int, number: int) -> list[LogEntry]:
    """The events of this history, as the run of this number, in commit order."""
    history = history_of(seed)
    history.run_number = number
    history.run()
    assert violations(history) == []
    return [row.entry for row in history.database.rows]


def _appended(store: Store, random: Random, logs: Sequence[list[LogEntry]]) -> list[UUID]:
    """Append what these logs hold, and follow and sign it now and then. Returns their runs."""
    recorder = cast("EventRecorder", store.log.recorder)
    prompts: set[object] = set()
    open_: list[list[LogEntry]] = []
    waiting, runs = list(logs), []
    with store.connect() as connection:
        prepare(connection)
        while waiting or open_:
            if waiting and (len(open_) < 4 or random.random() < 0.1):
                log = waiting.pop(0)
                [run_id] = {entry.run_id for entry in log if entry.run_id is not None}
                connection.execute("SELECT failproof.number_run(%s)", (run_id,))
                runs.append(run_id)
                open_.append(log)
            log = random.choice(open_)
            piece, log[:] = log[:12], log[12:]
            new = [entry for entry in piece if entry.originator_id not in prompts]
            prompts |= {each.originator_id for each in new if each.topic == "PromptStored"}
            recorder.insert_events(new)
            if not log:
                open_.remove(log)
            if random.random() < 0.3:
                catch_up(connection)
            if random.random() < 0.1:
                sign_and_keep_checkpoint(connection)
    return runs
