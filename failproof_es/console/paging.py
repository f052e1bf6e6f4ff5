"""Keyset paging: a page begins after the last row of the page before, at any depth."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field, model_validator

from failproof_es.console.links import quoted
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


CURSOR_SAYS = "Where the page begins: `next` of the page before."


class PagedQuery(Query):
    """The parameters of a list. A list can give the form of its cursor as a pattern of `after`."""

    limit: Annotated[int, Field(ge=1, le=MOST, description="Rows of a page.")] = 50
    after: Annotated[str | None, Field(max_length=500, description=CURSOR_SAYS)] = None


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


def one_page(
    rows: Iterable[T], limit: int, key: Callable[[T], tuple[object, ...]]
) -> tuple[tuple[T, ...], str | None]:
    """The first `limit` rows, and the cursor of the next page. Takes one row more from `rows`."""
    first_rows = list(islice(rows, limit + 1))
    if len(first_rows) <= limit:
        return tuple(first_rows), None
    page = tuple(first_rows[:limit])
    return page, cursor(*key(page[-1]))
