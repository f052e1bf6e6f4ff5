"""Leases on the simulated server: the engine's own `ShardLeases` and `Lease`, by the protocol of
`failproof_es.core.sharding.leases`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg

from failproof_es.core.sharding import leases as rules
from failproof_es.core.sharding.leases import Leases
from failproof_es.store.writing.lease import Lease, RunBusy, ShardLeases
from failproof_es.store.writing.recorder import LeaseKey, query
from tests.simulation.world.loop import PROCESS, Process, SimulatedLoop

if TYPE_CHECKING:
    from tests.simulation.world.database import SimulatedDatabase


class LeaseTable:
    """Who may write, and which sessions the server has."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self.of_run: dict[UUID, Leases] = {}
        self.finished: set[tuple[UUID, int]] = set()
        """The shards whose last holder found nothing left: a hint."""
        self.holders: dict[tuple[UUID, int], str] = {}
        self.sessions: dict[int, Process] = {}
        self.wrong: list[str] = []
        """What the functions let happen that they must not, seen without asking them."""
        self._granted: dict[tuple[UUID, int], tuple[int, int, bool]] = {}
        """Of each lease the epoch that was given last, as which grant of all, whether alone."""
        self._grants = 0
        self._loop = loop
        self._last_session = 0

    def begin_session(self, process: Process) -> int:
        """A session of this process, as others see it by its advisory lock."""
        self._last_session += 1
        self.sessions[self._last_session] = process
        return self._last_session

    def end_sessions(self, process: Process) -> None:
        """The server notices that the process is gone, or cannot be reached."""
        for session in [s for s, owner in self.sessions.items() if owner is process]:
            del self.sessions[session]

    def execute(self, statement: str, given: Mapping[str, Any]) -> list[Any]:
        """What the functions of the log do, at one moment of the server's clock."""
        return _STATEMENTS[statement](self, given)

    def look_at_append(self, named: Sequence[LeaseKey]) -> None:
        """Whoever appends must be the last who was given the lease, and nobody had all since."""
        for run_id, shard, epoch in named:
            last, grant, alone = self._granted.get((run_id, shard), (0, 0, False))
            later = [
                other
                for (run, number), (_, other, others_alone) in self._granted.items()
                if run == run_id and number != shard and (alone or others_alone)
            ]
            if epoch != last or any(other > grant for other in later):
                self.wrong.append(f"shard {shard} was written under epoch {epoch}, which is over")

    def may_append(self, named: list[LeaseKey]) -> bool:
        """Whether each of these is the present epoch."""
        return all(
            rules.may_append(self.of_run.get(run_id, {}), [(shard, epoch)])
            for run_id, shard, epoch in named
        )

    def is_alone(self, run_id: UUID, epoch: int) -> bool:
        """Whether this is the present epoch of the run with all its shards."""
        row = self.of_run.get(run_id, {}).get(rules.RUN_ITSELF)
        return row is not None and row.alone and row.epoch == epoch

    def claim(self, given: Mapping[str, Any]) -> list[Any]:
        """See `claim_lease.sql`."""
        run_id, shard = given["run_id"], given["shard"]
        claimed, epoch = rules.claim(
            self.of_run.get(run_id, {}),
            shard,
            now=self._loop.now_s,
            seconds=given["seconds"],
            session=given["session"],
            alone=given["alone"],
            after_epoch=given["after_epoch"],
            is_gone=lambda session: session not in self.sessions,
        )
        self.of_run[run_id] = claimed
        if epoch is not None:
            self.holders[run_id, shard] = given["holder"]
            self._grants += 1
            self._granted[run_id, shard] = epoch, self._grants, given["alone"]
        return [(epoch,)]

    def renew(self, given: Mapping[str, Any]) -> list[Any]:
        """See `renew_leases.sql`."""
        renewed = []
        for run_id, shard, epoch in zip(
            given["run_ids"], given["shards"], given["epochs"], strict=True
        ):
            row = self.of_run.get(run_id, {}).get(shard)
            ended = row is None or row.ends_at <= self._loop.now_s
            self.of_run[run_id], done = rules.renew(
                self.of_run.get(run_id, {}),
                shard,
                epoch,
                now=self._loop.now_s,
                seconds=given["seconds"],
                session=given["session"],
            )
            if done:
                renewed.append((run_id, shard))
            if done and ended:
                self.wrong.append(f"the lease of shard {shard} was renewed after its end")
        return renewed

    def release(self, given: Mapping[str, Any]) -> list[Any]:
        """See `release_lease.sql`."""
        run_id = given["run_id"]
        self.of_run[run_id], held = rules.release(
            self.of_run.get(run_id, {}), given["shard"], given["epoch"], now=self._loop.now_s
        )
        if held and given["finished"]:
            self.finished.add((run_id, given["shard"]))
        return [(held,)]

    def holder(self, given: Mapping[str, Any]) -> list[Any]:
        """Who has a lease of the run, or had one last."""
        run_id = given["run_id"]
        return [
            (self.holders[run_id, shard], max(0.0, row.ends_at - self._loop.now_s))
            for shard, row in self.of_run.get(run_id, {}).items()
            if (run_id, shard) in self.holders
        ][:1]


_STATEMENTS: Mapping[str, Callable[[LeaseTable, Mapping[str, Any]], list[Any]]] = {
    query("claim_lease"): LeaseTable.claim,
    query("renew_leases"): LeaseTable.renew,
    query("release_lease"): LeaseTable.release,
    query("lease_holder"): LeaseTable.holder,
}


class LeaseConnection:
    """The connection of a process that holds leases. Its session shows that the process lives."""

    def __init__(self, database: SimulatedDatabase, process: Process) -> None:
        database.require_reachable(process)
        self.session = database.leases.begin_session(process)
        self._database = database
        self._process = process
        self._found: list[Any] = []

    def execute(self, statement: str, given: Mapping[str, Any] | None = None) -> LeaseConnection:
        """Raises `psycopg.OperationalError` where the session was cut."""
        if given is None:
            return self
        table = self._database.leases
        self._database.require_reachable(self._process)
        if self.session not in table.sessions:
            raise psycopg.OperationalError("the session was cut")
        fault = self._database.fault()
        if fault in ("refused", "late"):
            raise psycopg.OperationalError("the connection was cut before the commit")
        self._found = table.execute(statement, given)
        if fault == "lost":
            raise psycopg.OperationalError("the connection was cut after the commit")
        return self

    def fetchall(self) -> list[Any]:
        """The rows of the last statement."""
        return self._found

    def close(self) -> None:
        """End the session."""
        self._database.leases.sessions.pop(self.session, None)


class SimulatedShardLeases(ShardLeases):
    """The leases of one simulated process."""

    def __init__(self, database: SimulatedDatabase, process: Process, loop: SimulatedLoop) -> None:
        super().__init__("", process.name, clock=loop.time)
        self._database = database
        self._process = process

    def _connected(self) -> Any:
        connection = LeaseConnection(self._database, self._process)
        self._connection, self._session = connection, connection.session  # type: ignore[assignment]
        return connection


class SimulatedLease(Lease):
    """The lease of a process that drives a run alone. What renews it needs no thread."""

    def __init__(self, database: SimulatedDatabase, loop: SimulatedLoop, run_id: UUID) -> None:
        process = PROCESS.get()
        assert process is not None
        super().__init__("", run_id, process.name)
        self._leases = SimulatedShardLeases(database, process, loop)
        self._process = process
        self._loop = loop

    def acquire_now(self) -> bool:
        """Take it, if nobody has it. Raises `psycopg.OperationalError`."""
        self._held = self._leases.claim(self.run_id, alone=True)
        if self._held is None:
            return False
        self._loop.outside(self._pause_s, self._keep_once)
        return True

    def _keep_once(self) -> None:
        if self._process.dead or self._released.is_set():
            return
        if not self._process.stopped:
            try:
                self.keep()
            except RunBusy:
                return
            except psycopg.Error:
                pass  # the server is away; the epoch still guards every append
        self._loop.outside(self._pause_s, self._keep_once)
