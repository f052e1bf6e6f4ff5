"""Keyset paging: a page begins after the last row of the one before, however deep it is."""

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
"""The rows of a page at most."""
_BETWEEN = "~"


class BadParameter(ValueError):
    """A parameter of the URL that is no such thing: which one, and why."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")


class Query(BaseModel):
    """The parameters of a page. An optional one that is empty, as forms send it, is none.

    Its published type has to allow that: a pattern, or a list of values, has the empty text, too.
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


CURSOR_SAYS = "Where the page begins: `next` of the page before."


class PagedQuery(Query):
    """The parameters of a list. Each list says the form of its cursor by a pattern of `after`."""

    limit: Annotated[int, Field(ge=1, le=MOST, description="Rows of a page.")] = 50
    after: Annotated[str | None, Field(max_length=500, description=CURSOR_SAYS)] = None


class Paging(Document):
    """Which rows a page has, and how many it has not. `None` where nobody counted.

    Where counting stopped, `more_than` and `total_more_than` tell how many there are at least.
    """

    limit: int
    shown: int
    matching: int | None
    """The rows that the filter leaves."""
    total: int | None
    """All rows, whatever the filter."""
    first: bool
    """Whether it is the first page."""
    next: str | None
    """The cursor of the next page; `None` on the last one."""
    more_than: int | None = None
    """The filter leaves more rows than this, and nobody counted on; else `None`."""
    total_more_than: int | None = None
    """There are more rows than this, whatever the filter, and nobody counted on; else `None`."""

    @property
    def hidden(self) -> int | None:
        """How many rows the filter hides."""
        if self.total is None or self.matching is None:
            return None
        return self.total - self.matching

    @property
    def hidden_more_than(self) -> int | None:
        """The filter hides more rows than this; `None` where that is counted, or not known."""
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
    """The first `limit` rows, and the cursor of what follows. Takes one row more from `rows`."""
    first_rows = list(islice(rows, limit + 1))
    if len(first_rows) <= limit:
        return tuple(first_rows), None
    page = tuple(first_rows[:limit])
    return page, cursor(*key(page[-1]))
