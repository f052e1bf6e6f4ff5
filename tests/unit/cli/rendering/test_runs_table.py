"""The table of `runs`: the lowest pass rates of a run, and who drives the runs."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from failproof_es.catalogue.wording import usd_at_least
from failproof_es.cli.commands import runs as command
from failproof_es.cli.commands.runs import TABLE_COLUMNS, describe_passed
from failproof_es.cli.rendering.output import BelowRows, print_table


def _row(model: str, passed: int, failed: int) -> dict[str, Any]:
    scored = passed + failed
    rate = passed / scored if scored else None
    return {"model": model, "passed": passed, "failed": failed, "rate": rate, "bounds": None}


GOOD, BAD, WORST, UNKNOWN = _row("g", 4, 0), _row("b", 2, 2), _row("w", 0, 4), _row("u", 0, 0)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((GOOD, BAD), "g 4/4 (100.0 %), b 2/4 (50.0 %)"),
        ((GOOD, UNKNOWN, BAD, WORST), "w 0/4 (0.0 %), b 2/4 (50.0 %) and 2 more models"),
    ],
)
def test_the_lowest_rates_are_shown_where_not_all_fit(
    rows: tuple[dict[str, Any], ...], expected: str
) -> None:
    assert describe_passed(rows, ()) == expected


@pytest.mark.parametrize(
    ("cost", "possibly_charged", "expected"),
    [(0.0074, 0, "$0.0074"), (0.0074, 2, "at least $0.0074"), (None, 2, "unknown")],
)
def test_a_request_without_an_answer_may_have_cost_more(
    cost: float | None, possibly_charged: int, expected: str
) -> None:
    assert usd_at_least(cost, possibly_charged) == expected


def test_one_query_finds_which_of_all_listed_runs_nobody_drives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queries: list[list[UUID]] = []

    def undriven_runs(connection: Any, run_ids: list[UUID]) -> dict[UUID, str]:
        queries.append(run_ids)
        return {run_ids[0]: "gone"}

    monkeypatch.setattr(command, "undriven_runs", undriven_runs)
    ids = [UUID(int=number) for number in range(4)]
    statuses = ("running", "running", "completed", "running")
    rows = [
        {"run_id": str(run_id), "status": status}
        for run_id, status in zip(ids, statuses, strict=True)
    ]
    connection: Any = None
    driven = list(command._with_drivers(connection, rows, {str(ids[0]): ["w"]}))
    assert queries == [[ids[1], ids[3]]]
    assert [(row["workers"], row["undriven"]) for row in driven] == [
        (["w"], None), ([], "gone"), ([], None), ([], None),
    ]  # fmt: skip


def test_a_narrow_terminal_shows_the_whole_remark_below_its_row(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("failproof_es.cli.rendering.output.PIPE_WIDTH", 80)
    remark = "12 of 1,432 cases: only failed:2; chosen by their scores, so no measurement"
    row = {column.key: "a value" for column in TABLE_COLUMNS}
    rates = "gpt-4o-mini 118/200 (59.0 %), claude-haiku 3/200 (1.5 %) and 2 more models"
    row |= {"remark_shown": remark, "passed_shown": rates}
    print_table([row], TABLE_COLUMNS, below=BelowRows(most_phrases=2))
    assert remark in " ".join(capsys.readouterr().out.split())
