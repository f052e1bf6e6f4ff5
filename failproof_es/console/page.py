"""Defines a page: its path, its parameters, the model of its content, and its reader.

Each page is registered once, as a `Page` in a module of `failproof_es/console/pages/`. The same
object is shown as HTML at its path and as JSON at `path.json`; a list also has all of its rows at
`path.jsonl` and `path.csv`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast, get_args, get_type_hints
from uuid import UUID

from failproof_es.console.paging import Query
from failproof_es.core.run import Run
from failproof_es.problems import InvalidInput
from failproof_es.reading.as_of import AsOf
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.remarks import remarks_on
from failproof_es.reading.result_reader import ResultReader
from failproof_es.store.reading.reader import Connection, read_event, resolve_run
from failproof_es.support.document import Document

Q = TypeVar("Q", bound=Query)
M = TypeVar("M", bound="PageModel")


class PageModel(Document):
    """Everything that a page shows, and the snapshot that it was read from."""

    as_of: AsOf

    @property
    def moved_to(self) -> str | None:
        """URL to which readers are redirected; programs get this object instead."""
        return None


class NoProjections(InvalidInput):
    """The page needs projections, and none are usable: not built, or built by another version."""


@dataclass(frozen=True, slots=True)
class PageRequest(Generic[Q]):
    """The parameters of a request, and one snapshot of the database to read the page from."""

    connection: Connection
    reader: ResultReader
    """Reads summaries and outcomes, up to `as_of.events_up_to`."""
    as_of: AsOf
    query: Q
    path: Mapping[str, str]
    """The values of the path's parameters."""

    def run(self) -> Run:
        """The run that the path names. Raises `InvalidInput` as `begun_run` does."""
        return self.begun_run(resolve_run(self.connection, self.path["run"]))

    def begun_run(self, run_id: UUID) -> Run:
        """The run. Raises `InvalidInput` where it began after `as_of.events_up_to`."""
        first = read_event(self.connection, run_id, 1)
        if first is not None and first.position > self.as_of.events_up_to:
            raise InvalidInput.because(
                "not-yet-read",
                f"the run began with event {first.position:,}. The projections, which pages are "
                f"made of, have read {self.as_of.events_up_to:,} so far",
                remedy="load the page again in a moment",
            )
        return self.reader.run(run_id)

    def remarks_on(self, run: Run) -> tuple[str, ...]:
        """Remarks that qualify the numbers of a run."""
        return remarks_on(RecordedRun(self.connection, run, self.reader))

    def need_projections(self, instead: str = "") -> None:
        """Raise `NoProjections` if there are none; `instead` names a command that reads the log."""
        if self.as_of.source == "log":
            raise NoProjections.because(
                "projections-outdated",
                f"this page is read from the projections, and {self.as_of.why_log}",
                remedy=f"build them: `failproof-es projections rebuild`. {instead}".rstrip(),
            )


@dataclass(frozen=True, slots=True)
class Attachment:
    """A recorded text or body: downloaded, never shown by a browser."""

    filename: str
    """Made by this program: ASCII, without text from data."""
    body: bytes


@dataclass(frozen=True, slots=True)
class Page(Generic[Q, M]):
    """A page. Its template is `NAME.html`."""

    name: str
    path: str
    """The path, with parameters as in `/runs/{run}`."""
    says: str
    """The question that it answers, in one sentence, for the OpenAPI document."""
    read: Callable[[PageRequest[Q]], M]
    """Raises `InvalidInput` where there is no such thing, and `BadParameter`. Its annotations are
    the types of the parameters and of the content."""
    word: str | None = None
    """For a page below `/runs/{run}`: the text of the link to it on the run's page."""
    rows: Callable[[PageRequest[Q]], Iterator[Any]] | None = None
    """For a list: reads all rows, regardless of paging."""
    read_text: Callable[[PageRequest[Query]], Attachment] | None = None
    """Reads a text that the page cuts, whole: the one named `part`, below `/texts/`. Raises
    `InvalidInput` where there is no such text."""
    streamed: bool = False
    """Whether the HTML is sent while it is rendered, for pages with charts. Data is read first."""
    warming: Q | None = None
    """Query for warming up, where the page without parameters reads nothing."""

    @property
    def query(self) -> type[Q]:
        """The type of the parameters."""
        return cast(type[Q], get_args(get_type_hints(self.read)["request"])[0])

    @property
    def model(self) -> type[M]:
        """The type of the content."""
        return cast(type[M], get_type_hints(self.read)["return"])

    @property
    def row(self) -> type[Any]:
        """The type of a row, a model or a dataclass: its fields are the columns."""
        return cast(type[Any], get_args(get_type_hints(self.rows)["return"])[0])
