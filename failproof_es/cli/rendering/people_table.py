"""Renders the figures by people: their decisions on evaluations that were left to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from failproof_es.cli.rendering.output import Column, columns_of_keys, print_table
from failproof_es.reading.people_figures import PeopleFigure
from failproof_es.support.percentages import percent, percent_range

_TITLE = "by people, of the evaluations that were left to them"


def print_people(figures: Sequence[PeopleFigure]) -> None:
    """Print a table with a row for each figure; nothing if no evaluation was left to people."""
    if not figures:
        return
    several = len({figure.model for figure in figures}) > 1
    columns = [
        *columns_of_keys(*(["model"] if several else [])),
        Column("by", "dimension"),
        Column("group", "name"),
        *columns_of_keys("passed", right=True),
        Column("of", "decided", right=True),
        Column("rate", "rate", right=True),
        Column("95 % interval", "interval", right=True),
        *columns_of_keys("disputed", "unclear", "awaiting_review", right=True, folds=True),
    ]
    print_table(_rows(figures), columns, title=_TITLE)


def _rows(figures: Sequence[PeopleFigure]) -> Iterator[dict[str, Any]]:
    for figure in figures:
        interval = figure.interval
        yield asdict(figure) | {
            "dimension": "" if figure.dimension == "overall" else figure.dimension,
            "decided": figure.decided,
            "rate": None if figure.rate is None else percent(figure.rate),
            "interval": None if interval is None else percent_range(interval),
        }
