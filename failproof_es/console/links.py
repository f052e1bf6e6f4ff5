"""Makes links: the URL is the whole state of a page, and a link names only its changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote, urlencode

from pydantic import BaseModel

CURSOR = "after"
"""Parameter with a list's cursor. Links that change a filter drop it."""
_ERRORS = "surrogatepass"
"""Text of a model can hold lone surrogates, which come back unchanged from a URL."""


def to(*path: object, **parameters: object) -> str:
    """The URL of another page: `to("runs", run_id)`. Every part is quoted; `None` is left out."""
    return _url(
        "/" + "/".join(map(quoted, path)),
        parameters.items(),
    )


def quoted(part: object) -> str:
    """A part of a path, or a value, percent-encoded for a URL."""
    return quote(str(part), safe="", errors=_ERRORS)


@dataclass(frozen=True, slots=True)
class CurrentPage:
    """The page that is shown; makes links to it with other parameters."""

    path: str
    """Percent-encoded, as in the URL."""
    query: BaseModel
    """The page's parameters. URLs leave out those with their default."""

    def with_(self, **changes: object) -> str:
        """The URL of this page with other parameters; `None` takes one away."""
        parameters = self._dump_query()
        parameters.pop(CURSOR, None)
        return _url(self.path, (parameters | changes).items())

    def without(self, *names: str) -> str:
        """The URL of this page without these parameters."""
        return self.with_(**dict.fromkeys(names))

    def at(self, **changes: object) -> CurrentPage:
        """The same page with these parameters in each of its links."""
        return CurrentPage(self.path, self.query.model_copy(update=changes))

    def get_parameter(self, name: str) -> object:
        """The value of a parameter by its name in the URL; `None` where it has its default."""
        return self._dump_query().get(name)

    def twin(self, extension: str) -> str:
        """The URL of the page as data: `json`, and for lists `jsonl` and `csv` with all rows."""
        parameters = self._dump_query()
        if extension != "json":
            for name in (CURSOR, "limit"):
                parameters.pop(name, None)
        return _url(f"{self.path}.{extension}", parameters.items())

    def _dump_query(self) -> dict[str, object]:
        return self.query.model_dump(mode="json", exclude_defaults=True)


def _url(path: str, parameters: Iterable[tuple[str, object]]) -> str:
    """A value that is a list stands there once for each of its items."""
    pairs = [
        (name, str(item))
        for name, value in parameters
        for item in (value if isinstance(value, list | tuple) else (value,))
        if item is not None
    ]
    return f"{path}?{urlencode(pairs, errors=_ERRORS)}" if pairs else path


def live_key(*names: str) -> str:
    """Key of the HTML element that shows a live number of the thing with these names."""
    encoded_names = repr(names).encode("utf-8", "backslashreplace")
    return f"{names[0]}-{sha256(encoded_names).hexdigest()[:16]}"


class NavigationEntry(NamedTuple):
    """A link of the main navigation, which is on every page."""

    word: str
    path: str
    of: tuple[str, ...]
    """Prefixes of the paths that belong to it."""


NAVIGATION = (
    NavigationEntry("Runs", "/runs", ("/runs", "/evaluations/", "/events/", "/streams/")),
    NavigationEntry("Compare", "/compare", ("/compare",)),
    NavigationEntry("Suites", "/suites", ("/suites", "/cases")),
    NavigationEntry("Review", "/review", ("/review",)),
    NavigationEntry("Ledger", "/ledger", ("/ledger",)),
)
"""The links of the main navigation, in order: pages with a top-level path of their own."""
