"""The options of a worker."""

from __future__ import annotations

from dataclasses import dataclass, field

from failproof_es.core.sharding.decisions import Choice
from failproof_es.engine.finish.shared_checks import SharedChecks
from failproof_es.models.trust.permissions import Permissions
from failproof_es.store.writing.lease import LEASE_S

MOST_SHARDS = 2
"""Limit of shards that a worker holds: two, so that it has requests to send while the last answers
of a shard are awaited."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """The options of a worker."""

    choice: Choice = field(default_factory=Choice)
    most_shards: int = MOST_SHARDS
    """Limit of shards that it holds at once."""
    drain: bool = False
    """Leave when no run is open any more; otherwise it waits for the next one."""
    lease_s: float = LEASE_S
    shared: SharedChecks | None = None
    """The folder where the processes of its command leave their checks."""
    permissions: Permissions = field(default_factory=Permissions)
    """Permissions on this host of the runs that it joins, whoever planned them."""
    announces: bool = True
    """Whether it says for each run which secrets go where, and which classes run."""
