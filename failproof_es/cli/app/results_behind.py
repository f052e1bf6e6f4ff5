"""The results that are behind a page of `results --limit`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from failproof_es.cli.app.chosen_run import left_out_rows
from failproof_es.cli.app.next_page import next_page_command
from failproof_es.cli.rendering.result_pages import PlanPage


def results_behind(page: PlanPage) -> list[dict[str, Any]]:
    """The entry for `left_out` in JSON of the results after the page; empty if there are none.

    If conditions choose the results, the number of others that fit is not known: `None`.
    """
    if page.limit is None:
        return []
    after = page.after + page.limit
    remaining = page.run.started.planned_evaluations - after if page.is_of_plan else None
    if len(page.places) < page.limit if remaining is None else remaining <= 0:
        return []
    if remaining is None and page.order is None:
        after = page.places[-1]
    command = next_page_command(run=page.run.started.run_number, after=after)
    return [{"why": "limit", "results": remaining, "command": command}]


def rows_left_out(page: PlanPage) -> Iterator[dict[str, Any]]:
    """The last object of the answer in JSON, once all others are read."""
    yield from left_out_rows([], results_behind(page))
