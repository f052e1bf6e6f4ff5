"""A page of results reads as much wherever it begins, and begins where it should."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast
from uuid import UUID

import psycopg
import pytest

from failproof_es.reading.chosen_results import ResultFilter, ResultKey, page_of_results, places_of
from failproof_es.reading.result_conditions import PLACE
from failproof_es.store.reading.reader import Connection
from failproof_es.store.store import Store
from tests.benchmarks.console import log

LIMIT = 20
UP_TO = 2**62
DEEP = 7
"""The blocks of an index that lead to a page, and those that its rows stand in."""
STATUSES = (None, "passed", "failed", "abandoned")
"""All; of one place; of several."""


class Noting:
    """A connection that notes what it is asked."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.asked: list[tuple[Any, Any]] = []

    def execute(self, statement: Any, values: Any) -> psycopg.Cursor[Any]:
        self.asked.append((statement, values))
        return self.connection.execute(statement, values)

    def entered(self) -> int:
        """How many blocks the scan of the order's index reads beside one for each of its rows."""
        [(statement, values)] = self.asked
        explained = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}"
        row = self.connection.execute(explained.encode(), values).fetchone()
        assert row is not None
        [scan] = [
            node
            for node in nodes(row[0][0]["Plan"])
            if node.get("Index Name") == "evaluations_order_idx"
        ]
        blocks: int = scan["Shared Hit Blocks"] + scan["Shared Read Blocks"]
        return blocks - int(scan["Actual Rows"])


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A plan's nodes."""
    yield plan
    for each in plan.get("Plans", ()):
        yield from nodes(each)


@pytest.mark.slow
@pytest.mark.wide
def test_a_deep_page_of_results_reads_as_much_as_the_first(
    store: Store, administrator: psycopg.Connection[Any]
) -> None:
    filled = log.fill(store, administrator, 6_000, 60)
    with store.connect() as connection:
        for status in STATUSES:
            keys = [
                ResultKey(*row)
                for row in connection.execute(
                    f"SELECT {PLACE}, e.last_position, e.evaluation_id "
                    f"FROM projections.evaluations AS e WHERE e.run_id = %s "
                    f"AND {PLACE} = ANY (%s) ORDER BY 1, 2, 3",
                    (filled.large, places_of(status)),
                )
            ]
            assert len(keys) > 3 * LIMIT
            places = range(0, len(keys), max(len(keys) // 12, 1))
            for backwards in (False, True):
                most = 0
                for n in places:
                    after = keys[n]
                    noting = Noting(connection)
                    page = page_of_results(
                        cast(Connection, noting), filled.large, ResultFilter(status=status),
                        up_to=UP_TO, after=after, limit=LIMIT, backwards=backwards,
                    )  # fmt: skip
                    follow = keys[:n][::-1] if backwards else keys[n + 1 :]
                    assert [row.key for row in page.rows] == follow[:LIMIT]
                    most = max(most, noting.entered())
                assert most < DEEP, f"{status}: {most} blocks beside the rows of a page"
        keys_of_other_statuses_begin_where_they_would_stand(connection, filled.large)


def keys_of_other_statuses_begin_where_they_would_stand(
    connection: Connection, run_id: UUID
) -> None:
    """Such a URL is one that somebody wrote."""

    def page(after: ResultKey | None, backwards: bool) -> list[ResultKey]:
        found = page_of_results(
            connection, run_id, ResultFilter(status="abandoned"),
            up_to=UP_TO, after=after, limit=LIMIT, backwards=backwards,
        )  # fmt: skip
        return [row.key for row in found.rows]

    before, behind = ResultKey(0, 5, run_id), ResultKey(5, 5, run_id)
    for backwards, beyond, there in ((False, before, behind), (True, behind, before)):
        whole = page(None, backwards)
        assert len(whole) == LIMIT
        assert page(beyond, backwards) == whole
        assert page(there, backwards) == []
