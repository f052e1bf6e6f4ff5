"""Keyset paging: a page begins after the last row of the page before, at any depth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field, model_validator

from failproof_es.console.links import quoted
from failproof_es.reading.overviews.asked_cases import RowCount
from failproof_es.support.document import KEYS, Document, json_name

T = TypeVar("T")
MOST = 200
"""Most rows of a page."""
_BETWEEN = "~"


class BadParameter(ValueError):
    """A parameter of the URL is invalid: which one, and why."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")


class Query(BaseModel):
    """The parameters of a page. Empty optional parameters, as forms send them, are left out.

    The published type has to allow the empty text: in a pattern, or in a list of values.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", **KEYS)

    @model_validator(mode="before")
    @classmethod
    def _leave_out_empty_ones(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        fields = cls.model_fields.items()
        optional = {json_name(name) for name, field in fields if field.default is None}
        return {name: value for name, value in given.items() if value != "" or name not in optional}

    @classmethod
    def repeatable(cls) -> frozenset[str]:
        """The parameters that can stand in a URL more than once: those that are lists."""
        fields = cls.model_fields.items()
        return frozenset(name for name, field in fields if isinstance(field.default, tuple))


class Paging(Document):
    """Numbers of the rows of a page and of all rows; `None` where they are not counted.

    Where counting stopped, `more_than` and `total_more_than` are lower bounds.
    """

    limit: int
    shown: int
    matching: int | None
    """Number of rows that match the filter."""
    total: int | None
    """Number of all rows, regardless of the filter."""
    first: bool
    """Whether it is the first page."""
    next: str | None
    """The cursor of the next page; `None` on the last one."""
    more_than: int | None = None
    """More rows than this match the filter, and counting stopped; else `None`."""
    total_more_than: int | None = None
    """There are more rows than this in all, and counting stopped; else `None`."""

    @property
    def hidden(self) -> int | None:
        """Number of rows that the filter hides; `None` where a count is missing."""
        if self.total is None or self.matching is None:
            return None
        return self.total - self.matching

    @property
    def hidden_more_than(self) -> int | None:
        """The filter hides more rows than this; `None` where `hidden` is exact, or nothing is
        known."""
        if self.total_more_than is None or self.matching is None:
            return None
        return max(self.total_more_than - self.matching, 0)


CURSOR_SAYS = "Where the page begins: `next` of the page before."
Key = tuple[object, ...]
"""The place of a row in the order of its list."""
Count = RowCount | int | None
"""A number of rows; `None` where they are not counted."""


class PagedQuery(Query):
    """The parameters of a list. A list can give the form of its cursor as a pattern of `after`."""

    limit: int = Field(50, ge=1, le=MOST, description="Rows of a page.")
    after: str | None = Field(None, max_length=500, description=CURSOR_SAYS)

    def begin(self, *kinds: Callable[[str], Any]) -> tuple[Any, ...] | None:
        """The key after which the page begins, as `read_cursor`; `None` for the first page."""
        return None if self.after is None else read_cursor(self.after, *kinds)

    def paging(
        self, rows: Sequence[object], following: Key | None, *, matching: Count, total: Count
    ) -> Paging:
        """The numbers of a page with these rows; `following` is the last key, if there are more."""
        return Paging(
            limit=self.limit,
            shown=len(rows),
            matching=_exact(matching),
            total=_exact(total),
            first=self.after is None,
            next=None if following is None else cursor(*following),
            more_than=_exceeded(matching),
            total_more_than=_exceeded(total),
        )


def _exact(count: Count) -> int | None:
    if isinstance(count, RowCount):
        return None if count.more else count.rows
    return count


def _exceeded(count: Count) -> int | None:
    return count.rows if isinstance(count, RowCount) and count.more else None


def cursor(*parts: object) -> str:
    """The cursor after a row with this key: readable, and safe in a URL."""
    return _BETWEEN.join(quoted(part).replace(_BETWEEN, "%7E") for part in parts)


def read_cursor(text: str, *kinds: Callable[[str], Any]) -> tuple[Any, ...]:
    """The key in a cursor, each part by its kind: `int`, `str`, `UUID`. Raises `BadParameter`."""
    parts = text.split(_BETWEEN)
    try:
        if len(parts) == len(kinds):
            return tuple(kind(unquote(part)) for kind, part in zip(kinds, parts, strict=True))
    except ValueError:
        pass
    raise BadParameter("after", "it is no cursor of this list; take `next` of the page before")


def integer(text: str) -> int:
    """A cursor's part for a position or a number. Raises `ValueError` out of its range."""
    number = int(text)
    if not 0 <= number < 2**63:
        raise ValueError
    return number


def word(text: str) -> str:
    """A cursor's part for a text column. Raises `ValueError` for NUL and lone surrogates."""
    if "\x00" in text or (not text.isprintable() and any("\ud800" <= c <= "\udfff" for c in text)):
        raise ValueError
    return text


def one_page(
    rows: Iterable[T], limit: int, key: Callable[[T], Key]
) -> tuple[tuple[T, ...], Key | None]:
    """The first `limit` rows, and the last one's key if there are more. Takes one row more."""
    first_rows = tuple(islice(rows, limit + 1))
    page = first_rows[:limit]
    return page, key(page[-1]) if len(first_rows) > limit else None
