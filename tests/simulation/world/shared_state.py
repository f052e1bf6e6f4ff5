"""What workers share beside the log, on the simulated server: limits of a provider key, budgets.

The functions of the database are their pure models here, and a test does the same to both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg

from failproof_es.core.limits import KeyLimits, KeyState, LateClaim, ShareClaim, share
from failproof_es.core.limits.shared import MINUTE_S
from failproof_es.core.spend import SpendReport, SpendState
from failproof_es.core.spend.slices import reserve
from failproof_es.engine.workers.presence import KEY_DIGITS
from failproof_es.store.errors import LateStatement
from failproof_es.store.writing.recorder import LeaseLost
from tests.simulation.world.loop import PROCESS

if TYPE_CHECKING:
    from tests.simulation.world.database import SimulatedDatabase

_NO_REPORT = (0, 0, Decimal(0))
_WANTED_S = 2.0
"""As in `reserve_spending.sql`."""


@dataclass(slots=True)
class SharedTables:
    """What the server keeps of them."""

    ceilings: dict[UUID, Decimal] = field(default_factory=dict)
    """In US dollars, of the runs that workers drive below one."""
    changes: dict[UUID, tuple[int, int]] = field(default_factory=dict)
    """Of a ceiling: the epoch and the number of the newest."""
    spending: dict[UUID, dict[int, SpendState]] = field(default_factory=dict)
    """By run and shard."""
    reports: dict[tuple[UUID, int], tuple[int, int, Decimal]] = field(default_factory=dict)
    """By run and shard: the epoch and the number of the newest report, and what it got."""
    wanted_until: dict[UUID, float] = field(default_factory=dict)
    keys: dict[str, KeyState] = field(default_factory=dict)
    servers: dict[str, str] = field(default_factory=dict)
    """By provider key."""
    holders: dict[UUID, str] = field(default_factory=dict)
    """By share, of those that were ever claimed."""
    heartbeats: dict[UUID, tuple[str, float]] = field(default_factory=dict)
    """By worker: its holder, and when it told of itself last."""
    holds: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    """By server: when it was told that one wants nothing, and until when."""

    def is_alive(self, holder: str, now_s: float) -> bool:
        """Whether a worker of this name told of itself within a minute."""
        return any(
            name == holder and now_s - heartbeat_s <= MINUTE_S
            for name, heartbeat_s in self.heartbeats.values()
        )

    def list_limits(self, now_s: float) -> list[tuple[Any, ...]]:
        """The rows of `list_limits.sql`."""
        rows: list[tuple[Any, ...]] = []
        for server, key in sorted((self.servers[key], key) for key in self.keys):
            state = self.keys[key]
            held_s = max(0.0, state.held_until - now_s)
            live = [
                (self.holders[share_id], share_id, share)
                for share_id, share in state.shares.items()
                if share.ends_at > now_s
            ]
            shown = server, key[:KEY_DIGITS]
            rows += [
                (
                    *shown, holder, held.concurrency, held.wanted_concurrency, held.requests,
                    held.tokens, held.waits, held_s,
                )
                for holder, _, held in sorted(live, key=lambda row: row[:2])
            ]  # fmt: skip
            if not live and held_s:
                rows.append((*shown, None, None, None, None, None, False, held_s))
        return rows


class SimulatedState:
    """The engine's `SharedState`, for one simulated process."""

    def __init__(self, database: SimulatedDatabase) -> None:
        self._database = database
        self._process = PROCESS.get()

    def execute(self, name: str, parameters: Mapping[str, Any]) -> list[Any]:
        """See `SharedState.execute`. The call, or its answer, may be lost on the way, or it is made
        again at once; or the call arrives beside the one that was made again."""
        database = self._database
        database.require_living_client()
        database.require_reachable(self._process)
        fault = database.fault()
        if fault == "late":
            database.arrives_late(partial(self._late, name, dict(parameters)))
            if database.again():
                fault = None
        if fault in ("refused", "late"):
            raise psycopg.OperationalError("the connection was cut before the commit")
        found = _STATEMENTS[name](database, parameters)
        if fault == "lost" and database.again():
            return _STATEMENTS[name](database, parameters)
        if fault == "lost":
            raise psycopg.OperationalError("the connection was cut after the commit")
        return found

    def _late(self, name: str, parameters: Mapping[str, Any]) -> None:
        """The statement arrives after its client gave up. Nobody hears its answer."""
        with suppress(LeaseLost, LateStatement, psycopg.OperationalError):
            _STATEMENTS[name](self._database, parameters)

    def close(self) -> None:
        """See `SharedState.close`."""


def _ceiling(database: SimulatedDatabase, given: Mapping[str, Any]) -> list[Any]:
    ceiling = database.shared.ceilings.get(given["run_id"])
    return [] if ceiling is None else [(ceiling,)]


def _begin(database: SimulatedDatabase, given: Mapping[str, Any]) -> list[Any]:
    run_id, said = given["run_id"], (given["epoch"], given["number"])
    if not database.leases.is_alone(run_id, given["epoch"]):
        raise LeaseLost(f"{run_id} is lost")
    if database.shared.changes.get(run_id, (0, 0)) > said:
        raise LateStatement(f"change {said} is late")
    database.shared.changes[run_id] = said
    database.shared.ceilings[run_id] = given["ceiling"]
    database.shared.wanted_until.pop(run_id, None)
    return [(None,)]


def _count(database: SimulatedDatabase, given: Mapping[str, Any]) -> list[Any]:
    _lock(database, given)
    rows = database.shared.spending.setdefault(given["run_id"], {})
    for shard, known, unknown, requests in zip(
        given["shards"], given["known"], given["unknown"], given["requests"], strict=True
    ):
        epoch, newest, _ = database.shared.reports.get((given["run_id"], shard), _NO_REPORT)
        if given["shard"] >= 0 and epoch == given["epoch"] and newest:
            continue  # late
        rows[shard] = SpendState(known, unknown, requests)
        counted_at = given["epoch"] if given["shard"] >= 0 else 0
        database.shared.reports[given["run_id"], shard] = counted_at, 0, Decimal(0)
    return [(None,)]


def _reserve(database: SimulatedDatabase, given: Mapping[str, Any]) -> list[Any]:
    _lock(database, given)
    shared, run_id = database.shared, given["run_id"]
    spent = SpendState(given["known"], given["unknown"], given["requests"])
    report = SpendReport(spent, given["keeps"], given["needs"], given["wants"])
    place, said = (run_id, given["shard"]), (given["epoch"], given["number"])
    *newest, got = shared.reports.get(place, _NO_REPORT)
    if tuple(newest) > said:
        raise LateStatement(f"report {said} comes after {newest}")
    if tuple(newest) == said:
        report = report._replace(keeps=report.keeps + got, needs=Decimal(0), wants=Decimal(0))
    rows, grant = reserve(
        shared.ceilings[run_id], shared.spending[run_id], given["shard"], report,
        is_wanted=shared.wanted_until.get(run_id, 0.0) > database.now_s,
    )  # fmt: skip
    shared.spending[run_id] = dict(rows)
    if tuple(newest) == said:
        grant = grant._replace(more=got)
    shared.reports[place] = (*said, grant.more)
    if grant.is_wanted:
        shared.wanted_until[run_id] = database.now_s + _WANTED_S
    total = grant.total
    wanted = shared.wanted_until.get(run_id, 0.0) > database.now_s
    return [
        (
            grant.more, grant.ceiling, total.known_usd, total.unknown, total.unknown_requests,
            total.reserved, wanted,
        )
    ]  # fmt: skip


def _reserved_shards(database: SimulatedDatabase, given: Mapping[str, Any]) -> list[Any]:
    rows = database.shared.spending.get(given["run_id"], {})
    return [(shard,) for shard, row in sorted(rows.items()) if row.reserved > 0]


def _share(database: SimulatedDatabase, given: Mapping[str, Any]) -> list[Any]:
    keys = database.shared.keys
    limits = KeyLimits(given["own_concurrency"], given["own_requests"], given["own_tokens"])
    claim = ShareClaim(**{name: given[name] for name in ShareClaim._fields})
    before = keys.get(given["key"], KeyState())
    try:
        after, answer = share(
            before, limits, given["own"], claim, now=database.now_s, seconds=given["seconds"]
        )
    except LateClaim as late:
        raise LateStatement(str(late)) from late
    is_new = given["own"] in after.shares and given["own"] not in before.shares
    is_alive = database.shared.is_alive(given["holder"], database.now_s)
    if is_new and given["seconds"] > 0 and not is_alive:
        raise psycopg.OperationalError(f"{given['holder']} did not tell of itself within a minute")
    keys[given["key"]] = after
    database.shared.servers[given["key"]] = given["server"]
    database.shared.holders[given["own"]] = given["holder"]
    if (held_until := keys[given["key"]].held_until) > before.held_until:
        told = database.shared.holds.setdefault(given["server"], [])
        told.append((database.now_s, held_until))
    return [tuple(answer)]


def _lock(database: SimulatedDatabase, given: Mapping[str, Any]) -> None:
    named = given["run_id"], given["shard"], given["epoch"]
    if not database.leases.may_append([named]):
        raise LeaseLost(f"{named} is lost")


_STATEMENTS: Mapping[str, Callable[[SimulatedDatabase, Mapping[str, Any]], list[Any]]] = {
    "run_budget": _ceiling,
    "begin_budget": _begin,
    "count_spending": _count,
    "reserve_spending": _reserve,
    "reserved_shards": _reserved_shards,
    "share_limits": _share,
}
