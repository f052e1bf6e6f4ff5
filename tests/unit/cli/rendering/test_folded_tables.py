"""A table that is too wide keeps its rows: columns that fold go below them."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from failproof_es.cli.rendering import output
from failproof_es.cli.rendering.output import BELOW_ROWS, BelowRows, Column, print_table

COLUMNS = (
    Column("run", "run", right=True),
    Column("name", "name"),
    Column("left out", "left_out", right=True, folds=True),
    Column("cost", "cost", folds=True),
    Column("id", "id", folds=True),
)
ROW = {"run": 12, "name": "smoke", "left_out": 0, "cost": "$0.01", "id": "7c7f9cac-3673"}


def shown(
    monkeypatch: pytest.MonkeyPatch,
    width: int,
    *rows: dict[str, object],
    below: BelowRows = BELOW_ROWS,
) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False)
    monkeypatch.setattr(output, "stdout_console", lambda: console)
    print_table(rows, COLUMNS, title="runs", below=below)
    lines = [line.rstrip() for line in file.getvalue().splitlines()]
    assert sum(not line for line in lines) <= 3, "beside the title and at the end"
    return [line for line in lines if line]


def test_what_fits_is_one_line_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    title, heading, _, row = shown(monkeypatch, 60, ROW)
    assert (title, heading.split()[-1]) == ("runs", "id")
    assert row.split() == ["12", "smoke", "0", "$0.01", "7c7f9cac-3673"]


def test_what_does_not_fit_is_below_its_row_without_what_is_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    title, heading, _, first, below, second = shown(
        monkeypatch, 40, ROW, {**ROW, "run": 3, "cost": None, "id": ""}
    )
    assert (title, heading.split()) == ("runs", ["run", "name"])
    assert first == "   12   smoke" and second == "    3   smoke"
    assert below == "        cost $0.01, id 7c7f9cac-3673"


def test_what_does_not_fit_on_one_line_is_on_one_each(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, 30, ROW)
    assert lines[-2:] == ["        cost $0.01", "        id 7c7f9cac-3673"]
    assert all(len(line) <= 30 for line in lines)


def test_phrases_fill_as_many_lines_as_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    below = BelowRows(most_phrases=1)
    for cost in ("$0.01 " * 10, "東京東京 " * 9):
        *_, row, phrases = shown(monkeypatch, 30, {**ROW, "cost": cost}, below=below)
        assert row.split() == ["12", "smoke"]
        assert cell_len(phrases) <= 30 and phrases.endswith("…")


def test_no_line_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for width in range(20, 60):
        for line in shown(monkeypatch, width, {**ROW, "name": "a longer name " * 3}):
            assert len(line) <= width
