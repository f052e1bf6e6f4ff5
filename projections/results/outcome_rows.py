"""The table `evaluations`: a lossless column for every field of an `EvaluationOutcome`.

A field that is added there becomes a column here, with its docstring as the column's comment. A
value that equals the field's default is stored as null, if the column may be null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, LiteralString, NamedTuple, get_args, get_origin
from uuid import UUID

import orjson
from psycopg import sql

from failproof_es.core.costs import Spent, TokenCount
from failproof_es.core.outcome import EvaluationOutcome, FreeText, RequestError
from failproof_es.core.transcript import JudgeVerdict
from failproof_es.support.columns import RelationColumn, columns_of, computed_column
from projections.protocol import exact_text, visible

TOKENS = ("input", "output", "cached_input", "cache_write", "cache_write_1h")
"""The counts of `Spent`, in their order in rows."""
_COMPUTED = ("awaiting_review", "lost", "accuracy")
"""Properties of an outcome that are also columns, because statements use them."""
_PLACED: Mapping[str, tuple[LiteralString, str]] = {
    "counted": ("boolean NOT NULL", "Whether it is in the plan of its run."),
    "first_position": ("bigint NOT NULL", "The position of its first event in the log."),
    "last_position": ("bigint NOT NULL", "The position of its newest event in the log."),
}
"""Columns about the row's place in its run's plan and in the log: type and comment."""

Convert = Callable[[Any], Any]


class _StoredType(NamedTuple):
    """The storage of a type: SQL type and conversions."""

    sql: str
    write: Convert | None = None
    """Converts a value for the database; `None` if it is stored unchanged."""
    read: Convert | None = None
    says: str = ""
    """The form of the value, if its column's type does not tell."""


class _StoredColumn(NamedTuple):
    """A column, and the storage of its values."""

    column: RelationColumn
    stored: _StoredType
    default: Any
    """The value that null stands for."""

    @property
    def definition(self) -> str:
        """The column in the CREATE TABLE statement."""
        needed = self.stored.sql != "json" and not self.column.may_be_missing
        return f"{self.column.name} {self.stored.sql}" + (" NOT NULL" if needed else "")


def json_value(text: str) -> Any:
    """The value in a JSON text from a row."""
    return orjson.loads(text)


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # nested deeper than orjson supports
        return json.dumps(value, ensure_ascii=False)


def spent_list(spent: Spent) -> list[str]:
    """The numbers of a `Spent` as decimal texts, because numbers from a server have no bound.

    In order: answers, unpriced, known US dollars, requests possibly charged, possible US dollars,
    unbounded, then for each of `TOKENS` the sum of tokens and the number of answers that reported
    them.
    """
    tokens = spent.input, spent.output, spent.cached_input, spent.cache_write, spent.cache_write_1h
    numbers = [str(number) for counts in tokens for number in (counts.total, counts.reporting)]
    sums = (
        spent.answers, spent.unpriced, spent.known_usd, spent.possibly_charged, spent.possible_usd,
        spent.unbounded,
    )  # fmt: skip
    return [*map(str, sums), *numbers]


def spent_of(numbers: Sequence[Any]) -> Spent:
    """The `Spent` with these numbers, in the order of `spent_list`."""
    answers, unpriced, known_usd, possibly_charged, possible_usd, unbounded, *rest = numbers
    total = int(answers)
    tokens = {
        name: TokenCount(int(read), int(reported), total - int(reported))
        for name, read, reported in zip(TOKENS, rest[::2], rest[1::2], strict=True)
    }
    return Spent(
        answers=total,
        unpriced=int(unpriced),
        known_usd=Decimal(known_usd),
        possibly_charged=int(possibly_charged),
        possible_usd=Decimal(possible_usd),
        unbounded=int(unbounded),
        **tokens,
    )


_TEXT = _StoredType("text", visible, exact_text)
_LARGE = _StoredType("numeric", read=int)
_JSON = _StoredType("json", _json, json_value)
_BY_TYPE: Mapping[Any, _StoredType] = {
    UUID: _StoredType("uuid"),
    bool: _StoredType("boolean"),
    int: _StoredType("integer"),
    float: _StoredType("double precision"),
    Decimal: _StoredType("numeric"),
    datetime: _StoredType("timestamptz"),
    str: _TEXT,
    FreeText: _JSON._replace(says="A JSON string."),
    tuple[float, ...]: _JSON._replace(read=lambda text: tuple(json_value(text))),
    tuple[RequestError, ...]: _StoredType(
        "json",
        lambda errors: _json([list(error) for error in errors]),
        lambda text: tuple(RequestError(*fields) for fields in json_value(text)),
        "A JSON list of [kind, judge, message].",
    ),
    tuple[JudgeVerdict, ...]: _StoredType(
        "json",
        lambda judges: _json(
            [[verdict.judge, verdict.verdict, verdict.problem] for verdict in judges]
        ),
        lambda text: tuple(JudgeVerdict(*fields) for fields in json_value(text)),
        "A JSON list of [judge, verdict, problem].",
    ),
    Mapping[str, Spent]: _StoredType(
        "json",
        lambda spending: _json({key: spent_list(spent) for key, spent in spending.items()}),
        lambda text: {key: spent_of(numbers) for key, numbers in json_value(text).items()},
        "The value of a key is a JSON list: answers, answers of unknown cost, known US dollars, "
        "requests possibly charged, possible US dollars, those without a bound; then the sum and "
        "the number of answers that reported it, of the tokens read, written, cached, stored, and "
        "stored for an hour.",
    ),
}


def _stored(column: RelationColumn) -> _StoredType:
    """The storage of the column's values. Raises `TypeError` for an unsupported type."""
    hint = column.plain_hint
    if hint is int and column.may_be_missing:
        return _LARGE  # a server's claims have no bound
    if hint in _BY_TYPE:
        return _BY_TYPE[hint]
    if get_origin(hint) is Literal:
        return _TEXT._replace(says=f"One of {', '.join(get_args(hint))}.")
    if get_origin(hint) is Mapping:
        return _JSON
    raise TypeError(f"{column.attribute}: no column of a table holds {hint}")


_OUTCOME = tuple(
    _StoredColumn(column, _stored(column), EvaluationOutcome._field_defaults.get(column.attribute))
    for column in columns_of(EvaluationOutcome)
)
_ALL = (
    *_OUTCOME,
    *(
        _StoredColumn(column, _stored(column), None)
        for name in _COMPUTED
        for column in (computed_column(EvaluationOutcome, name),)
    ),
)
COLUMNS = (*(stored_column.column.name for stored_column in _ALL), *_PLACED)
"""The columns of the table, in order."""
_WRITES = tuple(
    (
        stored_column.stored.write,
        stored_column.default if stored_column.stored.sql == "json" else None,
    )
    for stored_column in _OUTCOME
)
"""For each field, its conversion and the value that null stands for."""
_READS = tuple((stored_column.stored.read, stored_column.default) for stored_column in _OUTCOME)
SELECTED = ", ".join(
    f"e.{stored_column.column.name}::text"
    if stored_column.stored.sql == "json"
    else f"e.{stored_column.column.name}"
    for stored_column in _OUTCOME
)
"""The selected columns for `outcome_of_row`: JSON as text."""


def outcome_row(
    outcome: EvaluationOutcome, *, counted: bool, first_position: int, last_position: int
) -> list[Any]:
    """The row of an outcome, in the order of `COLUMNS`. `counted`: it is in its run's plan.

    The positions are those of its first and of its newest event in the log.
    """
    row = [
        value if write is None else None if value == null else write(value)
        for value, (write, null) in zip(outcome, _WRITES, strict=True)
    ]
    row += [getattr(outcome, name) for name in _COMPUTED]
    row += (counted, first_position, last_position)
    return row


def outcome_of_row(columns: Sequence[Any]) -> EvaluationOutcome:
    """The outcome in a row with the columns `SELECTED`."""
    return EvaluationOutcome._make(
        default if value is None else read(value) if read else value
        for value, (read, default) in zip(columns, _READS, strict=True)
    )


def evaluations_table() -> str:
    """The CREATE TABLE statement of the table `evaluations`."""
    columns = [stored_column.definition for stored_column in _ALL]
    columns += [f"{name} {kind}" for name, (kind, _) in _PLACED.items()]
    return "CREATE TABLE evaluations (\n    " + ",\n    ".join(columns) + "\n);\n"


def comments_on(relation: str) -> str:
    """The COMMENT statements for the columns of this table or view.

    It must have the columns of the table `evaluations`.
    """
    meanings = {
        stored_column.column.name: (
            f"{stored_column.column.description} {stored_column.stored.says}"
        ).strip()
        for stored_column in _ALL
    }
    meanings |= {name: meaning for name, (_, meaning) in _PLACED.items()}
    return "".join(
        sql.SQL("COMMENT ON COLUMN {}.{} IS {};\n")
        .format(
            sql.Identifier(relation),
            sql.Identifier(name),
            sql.Literal(meaning.replace("`None`", "null")),
        )
        .as_string()
        for name, meaning in meanings.items()
    )
