"""What holds a shard below the ceiling of its run: never nothing where the log knows of one."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import pytest

from failproof_es.core.run import Run
from failproof_es.core.sharding.shards import PlanPart
from failproof_es.engine.workers.shared_budget import RunBudgets
from failproof_es.problems import InvalidInput
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import ShardLease, ShardLeases
from failproof_es.store.writing.shared_state import SharedState


class NoBudget:
    """A database that knows no ceiling of any run."""

    def execute(self, name: str, parameters: dict[str, Any]) -> list[Any]:
        assert name == "run_budget"
        return []


def slice_of(configuration: dict[str, Any]) -> object:
    """What a shard gets of a run with this configuration."""
    run = SimpleNamespace(
        spend_ceiling=None, started=SimpleNamespace(configuration=configuration, run_number=7)
    )
    nothing: Any = None
    budgets = RunBudgets(
        cast("Store", nothing), cast("ShardLeases", nothing), cast("SharedState", NoBudget())
    )
    lease = ShardLease(uuid4(), 0, 1)
    return asyncio.run(budgets.slice_of(cast("Run", run), lease, PlanPart(range(1), 1), 1))


def test_a_run_whose_ceiling_the_database_does_not_know_is_not_driven() -> None:
    with pytest.raises(InvalidInput, match=r"\[spend-ceiling-not-shared\]"):
        slice_of({"execution": {"max_spend_usd": 1.0}})


def test_a_run_without_a_ceiling_has_no_slice() -> None:
    assert slice_of({"execution": {}}) is None
