"""The functions of the database do what the pure protocol says, whatever is called in what order.

`tests/simulation/protocol/test_leases.py` explores that protocol whole.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from random import Random

import psycopg
import pytest

from failproof_es.core.sharding import leases as rules
from failproof_es.core.sharding.leases import RUN_ITSELF, Leases
from failproof_es.store.store import Store
from tests.integration.store.leases.test_functions import RUN, Connection, append, claim, release

_LIVING, _GONE = 101, 102
_SHARDS = (RUN_ITSELF, 0, 1)
_SECONDS = 600


class Both:
    """The protocol and the database, asked the same. A lease ends when the test lets it end."""

    def __init__(
        self, store: Store, connection: Connection, administrator: Connection, random: Random
    ) -> None:
        self.leases: Leases = {}
        self._store = store
        self._connection = connection
        self._administrator = administrator
        self._random = random

    def claim(self) -> tuple[object, object]:
        shard = self._random.choice(_SHARDS)
        alone = shard == RUN_ITSELF and self._random.random() < 0.5
        session = self._random.choice((None, _LIVING, _GONE))
        after = self._random.choice((None, None, self._epoch(shard)))
        self.leases, epoch = rules.claim(
            self.leases, shard, now=0, seconds=_SECONDS, session=session, alone=alone,
            after_epoch=after, is_gone=lambda each: each == _GONE,
        )  # fmt: skip
        return epoch, claim(
            self._connection, shard, seconds=_SECONDS, session=session, alone=alone, after=after
        )

    def renew(self) -> tuple[object, object]:
        shard, session = self._random.choice(_SHARDS), self._random.choice((None, _LIVING, _GONE))
        epoch = self._epoch(shard)
        self.leases, renewed = rules.renew(
            self.leases, shard, epoch, now=0, seconds=_SECONDS, session=session
        )
        rows = self._connection.execute(
            "SELECT renewed_shard FROM failproof.renew_leases(%s, %s, %s, %s, %s)",
            ([RUN], [shard], [epoch], _SECONDS, session),
        ).fetchall()
        return renewed, rows == [(shard,)]

    def release(self) -> tuple[object, object]:
        shard = self._random.choice(_SHARDS)
        epoch = self._epoch(shard)
        self.leases, held = rules.release(self.leases, shard, epoch, now=0)
        return held, release(self._connection, shard, epoch)

    def append(self) -> tuple[object, object]:
        shards = self._random.sample(_SHARDS, self._random.randint(1, 2))
        named = [(shard, self._epoch(shard)) for shard in shards]
        try:
            append(self._store, self._connection, *((RUN, shard, epoch) for shard, epoch in named))
        except psycopg.DatabaseError as error:
            assert error.sqlstate == "FP001"
            return rules.may_append(self.leases, named), False
        return rules.may_append(self.leases, named), True

    def end(self) -> tuple[object, object]:
        shard = self._random.choice(_SHARDS)
        row = self.leases.get(shard)
        if row is not None and row.ends_at > 0:
            self.leases = {**self.leases, shard: row._replace(ends_at=0)}
            self._administrator.execute(
                "UPDATE failproof.leases SET expires_at = clock_timestamp() "
                "WHERE run_id = %s AND shard = %s",
                (RUN, shard),
            )
        return None, None

    def rows(self) -> tuple[object, object]:
        """Of each lease its epoch, whether it lasts, whether anybody ever held this epoch."""
        said = [
            (shard, row.epoch, row.ends_at > 0, row.ends_at == -inf, row.alone, row.session)
            for shard, row in sorted(self.leases.items())
        ]
        found = self._administrator.execute(
            "SELECT shard, epoch, expires_at > clock_timestamp(), expires_at = '-infinity', alone, "
            "session FROM failproof.leases WHERE run_id = %s ORDER BY shard",
            (RUN,),
        ).fetchall()
        return said, found

    def _epoch(self, shard: int) -> int:
        """Mostly the present one."""
        row = self.leases.get(shard)
        present = 1 if row is None else row.epoch
        return max(1, present + self._random.choice((0, 0, 0, -1, 1)))


@pytest.mark.parametrize("seed", range(6))
def test_the_database_does_what_the_protocol_says(
    store: Store, administrator: Connection, seed: int
) -> None:
    random = Random(seed)
    with store.connect() as holder, store.connect() as connection:
        holder.execute("SELECT pg_advisory_lock(%s)", (_LIVING,))
        both = Both(store, connection, administrator, random)
        actions: list[Callable[[], tuple[object, object]]] = [
            both.claim, both.claim, both.claim, both.renew, both.release, both.append, both.end,
        ]  # fmt: skip
        for step in range(60):
            action = random.choice(actions)
            said, did = action()
            assert said == did, f"step {step}: {action.__name__}"
            said, did = both.rows()
            assert said == did, f"step {step}: after {action.__name__}"
