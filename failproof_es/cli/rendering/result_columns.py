"""The columns of results that `--columns` and `--sort` name: those of the relation of results.

`failproof_es.catalogue.result` defines them; here they have shorter names and cells for people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from failproof_es.catalogue.result import RecordedResult
from failproof_es.cli.rendering.output import Column
from failproof_es.core.people import describe_outcome
from failproof_es.problems import InvalidInput
from failproof_es.reading.sorted_results import SortKey
from failproof_es.support.class_words import class_word
from failproof_es.support.columns import RelationColumn, columns_of

_SHORT = {
    "suite_id": "suite", "case_id": "case", "model_key": "model", "reason": "why",
    "questions": "question",
}  # fmt: skip
_TEXTS = frozenset({"why", "answer", "expected", "got", "question", "error_message", "scores"})
_ADDED = Column("added by scorers", "added")
COLUMNS: Mapping[str, RelationColumn] = {
    _SHORT.get(column.name, column.name): column for column in columns_of(RecordedResult)
}
"""Every column by the name that a user writes."""


@dataclass(frozen=True, slots=True)
class ResultOrder:
    """The column to sort results by; with `is_descending` the greatest value first."""

    name: str
    is_descending: bool = False

    def key_of(self, result: RecordedResult) -> SortKey:
        """The result's place in the order; results without a value come last."""
        value = getattr(result, COLUMNS[self.name].attribute)
        if isinstance(value, tuple):
            value = "; ".join(value) or None
        return SortKey(value, self.is_descending)


WORST_FIRST = ResultOrder("worst")
"""The order of `reading.sorted_results.worst_first`, which is no column."""


def named_columns(text: str) -> tuple[str, ...]:
    """The names in a list such as `case,why`. Raises `InvalidInput` for a name of no column."""
    names = tuple(dict.fromkeys(_short_name(name.strip()) for name in text.split(",")))
    for name in names:
        _require_column(name, "--columns")
    return names


def named_order(text: str) -> ResultOrder:
    """The order that `COLUMN`, `-COLUMN` or `worst` names.

    Raises `InvalidInput` for a name of no column.
    """
    if text == WORST_FIRST.name:
        return WORST_FIRST
    name = _short_name(text.removeprefix("-"))
    _require_column(name, "--sort")
    if COLUMNS[name].kind == "numbers":
        message = f"results cannot be sorted by {name!r}, which is several numbers"
        remedy = "sort by `accuracy`"
        raise InvalidInput.because("invalid-option", message, field="--sort", remedy=remedy)
    return ResultOrder(name, text.startswith("-"))


def table_columns(names: Sequence[str]) -> tuple[Column, ...]:
    """The columns of a table; long texts go below their row where they do not fit."""
    return tuple(
        Column(name, name, COLUMNS[name].kind in ("integer", "number"), is_text=name in _TEXTS)
        for name in names
    )


def usual_columns(names: Sequence[str], *, has_scorers: bool) -> list[Column]:
    """The columns of a table that nobody chose; numbers of scorers stand beside the accuracy."""
    columns = [
        replace(column, is_spare=column.key == "question") for column in table_columns(names)
    ]
    if has_scorers:
        columns.insert(names.index("accuracy") + 1, _ADDED)
    return columns


def cells_of(result: RecordedResult, names: Sequence[str]) -> dict[str, Any]:
    """The cells of a table by column; people's decision instead of `passed` where there is one."""
    cells = {name: _cell(getattr(result, COLUMNS[name].attribute)) for name in names}
    if cells.get("class") is not None:
        cells["class"] = class_word(cells["class"], result.passed)
    if "passed" in cells and result.by_people is not None:
        cells["passed"] = describe_outcome(result.by_people)
    return cells


def json_of(result: RecordedResult, names: Sequence[str]) -> dict[str, Any]:
    """The values for JSON by column, whole."""
    return {name: _json(getattr(result, COLUMNS[name].attribute)) for name in names}


def _short_name(name: str) -> str:
    """The name here of a column that a CSV file names: `suite_id` is `suite`."""
    return _SHORT.get(name, name)


def _require_column(name: str, option: str) -> None:
    if name not in COLUMNS:
        message, remedy = f"results have no column {name!r}", f"name some of: {', '.join(COLUMNS)}"
        raise InvalidInput.because("unknown-column", message, field=option, remedy=remedy)


def _cell(value: Any) -> Any:
    match value:
        case tuple():
            return "; ".join(value) or None
        case Mapping():
            return ", ".join(f"{name} {number:.4g}" for name, number in value.items()) or None
        case Decimal():
            return float(value)
        case "":
            return None
        case _:
            return value


def _json(value: Any) -> Any:
    match value:
        case Mapping():
            return dict(value)
        case Decimal():
            return float(value)
        case _:
            return value
