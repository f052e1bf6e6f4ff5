"""Asks SQL over the log, and the console beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psycopg
from psycopg.rows import dict_row

from failproof_es.console.page import Page
from failproof_es.console.pages import all_pages
from tests.conftest import as_administrator
from tests.integration.console.numbers.comparing import Numbers

TABLES = (Path(__file__).parent / "log_tables.sql").read_text("utf-8")
Ask = Callable[..., list[dict[str, Any]]]
COST = "CASE WHEN count(*) = count(cost_usd) THEN sum(cost_usd) END::float8"
BY_MODEL = "SELECT * FROM counts WHERE model IS NOT NULL"
TREND = (
    "SELECT number AS run_number, attempt, passed, failed, "
    "passed / (passed + failed)::float8 AS rate FROM counts JOIN run USING (number) "
    "WHERE model IS NOT NULL AND number < 3 ORDER BY model, number"
)


class AskingLog:
    """A connection with the tables of `log_tables.sql`; yields a function that asks it.

    They hold the log as it stood on entry: views would read all events for each question.
    """

    def __init__(self, url: str, *more: str) -> None:
        self._tables = ";".join((TABLES, *more))
        self._connection = psycopg.connect(
            as_administrator(url), autocommit=True, row_factory=dict_row
        )

    def __enter__(self) -> Ask:
        self._connection.execute(self._tables.encode())
        return lambda query, *values: self._connection.execute(query.encode(), values).fetchall()

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def page_of(name: str) -> Page[Any, Any]:
    [found] = [page for page in all_pages() if page.name == name]
    return found


def look(name: str, url: str, ask: Ask) -> Numbers:
    """The page's document, with what every page has compared."""
    numbers = Numbers(page_of(name).model)
    again(numbers, url, ask)
    return numbers


def again(numbers: Numbers, url: str, ask: Ask) -> None:
    path, _, query = url.partition("?")
    answer = httpx.get(f"{path}.json" + (f"?{query}" if query else ""), timeout=60)
    assert answer.status_code == 200, answer.text
    numbers.document = document = answer.json()
    [head] = ask("SELECT max(position) AS head FROM log")
    numbers.same("as_of", {"events_up_to": head["head"], "head": head["head"], "lag": 0})
    numbers.one("as_of.projection_versions{}", document["as_of"]["projection_versions"])  # no event
    if "paging" in document:
        numbers.one("paging.shown", len(document["rows"]))
        numbers.one("paging.limit", 200 if "limit=200" in query else document["paging"]["limit"])


def paged(numbers: Numbers, matching: int, total: int | None = None) -> None:
    """None of these logs has more rows than are counted."""
    total = matching if total is None else total
    numbers.same(
        "paging",
        {"matching": matching, "total": total, "more_than": None, "total_more_than": None},
    )


def rate(row: dict[str, Any], name: str = "passed.") -> dict[str, Any]:
    """What is shown of a rate, of `passed`, `failed` and those that were `abandoned`."""
    passed, total = row["passed"], row["passed"] + row["failed"]
    whole = total + (unscored := row.get("abandoned", 0))
    bounds = [passed / whole, (passed + unscored) / whole] if unscored else None
    return {
        f"{name}bounds": bounds,
        f"{name}passed": passed,
        f"{name}total": total,
        f"{name}rate": passed / total if total else None,
    }
