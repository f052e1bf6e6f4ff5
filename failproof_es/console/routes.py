"""Makes the routes of a page: HTML, JSON and, for a list, all rows as JSON lines and CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from inspect import Parameter, Signature
from itertools import chain, islice
from threading import BoundedSemaphore
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import FastAPI, Path
from fastapi import Query as FromQuery
from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from failproof_es.console.database import ConsoleBusy, ReadOnlyDatabase, ask_again
from failproof_es.console.errors import ErrorPage, response_to
from failproof_es.console.follower import ProjectionUpdater
from failproof_es.console.links import CurrentPage
from failproof_es.console.page import Page, PageRequest
from failproof_es.console.paging import BadParameter, Query
from failproof_es.console.person import name_of_person, person_of
from failproof_es.console.rendering import render, render_in_pieces
from failproof_es.console.security.guards import IS_HEAD
from failproof_es.console.sending.ahead import EndedResponse, ReadAhead
from failproof_es.reading.as_of import AsOf, reader_without_update
from failproof_es.reading.result_reader import ResultReader
from failproof_es.store.reading.reader import Connection
from failproof_es.support.spreadsheet import escaped
from projections.positions import are_moved_by_others

FRESH_WITHIN_S = 0.3
"""Seconds that a page waits for the projections; then it shows how far behind they are."""
MOST_DOWNLOADS = 16
"""Most concurrent downloads. Fewer of them read at a time: see `ReadOnlyDatabase.long`."""
_ERRORS = {
    400: "The URL is odd.",
    404: "There is no such thing.",
    414: "The URL is too long.",
    422: "A parameter is wrong, or there is no such parameter.",
    503: "The database cannot be reached, or is busy.",
    504: "The database took too long.",
}

_ERROR_SCHEMA = {"$ref": f"#/components/schemas/{ErrorPage.__name__}"}
_PATH = r"^[^\x00-\x1f\x7f/\\]+$"
"""Pattern of a path parameter: the guards let nothing else through."""


def _errors_as(kind: str, schema: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    """The responses of all `_ERRORS`, in this content type."""
    return {
        status: {"description": description, "content": {kind: {"schema": schema}}}
        for status, description in _ERRORS.items()
    }


_ERRORS_AS_JSON = _errors_as("application/json", _ERROR_SCHEMA)
_ERRORS_OF_PAGES = _ERRORS_AS_JSON | {400: {"description": _ERRORS[400], "model": ErrorPage}}
"""With the model, whose schema the others refer to, only once: FastAPI analyses it each time."""


class SnapshotOpener:
    """Opens one snapshot of the database for each request."""

    def __init__(self, database: ReadOnlyDatabase, follower: ProjectionUpdater) -> None:
        self.database = database
        self.follower = follower
        self.downloads = BoundedSemaphore(MOST_DOWNLOADS)

    @contextmanager
    def moment(
        self, left_s: float = 0.0, *, long: bool = False, person: str | None = None
    ) -> Iterator[tuple[Connection, ResultReader, AsOf]]:
        """One snapshot, after waiting up to `FRESH_WITHIN_S` for the projections.

        Another follower that moved them within the last `left_s` seconds is not disturbed. `long`
        is for long reads, all of which share a part of the connections. A `person` sees the runs of
        their projects.
        """
        with self.database.snapshot(person) as connection:
            reader, as_of = reader_without_update(connection)
            current = not as_of.lag or (left_s and are_moved_by_others(connection, left_s))
            current = current and as_of.source == "projections"
            if current and not long:
                yield connection, reader, as_of
                return
        if not current:
            self.follower.bring_up(FRESH_WITHIN_S)
        opened = self.database.long if long else self.database.snapshot
        with opened(person) as connection:
            reader, as_of = reader_without_update(connection)
            if as_of.lag and as_of.warning is None:
                as_of = replace(as_of, warning=self.follower.problem)
            yield connection, reader, as_of


def add_page(app: FastAPI, page: Page[Any, Any], reading: SnapshotOpener) -> None:
    """Register every route of the page. Data comes first: a path parameter can contain a dot."""

    def read(
        request: Request,
        query: Query,
        path: dict[str, str],
        how: Callable[[PageRequest[Any]], Any] = page.read,
    ) -> Any:
        with reading.moment(person=name_of_person(request)) as moment:
            return how(PageRequest(*moment, query, path))

    def html(request: Request, query: Query, path: dict[str, str]) -> Response:
        document = read(request, query, path)
        if document.moved_to is not None:
            return RedirectResponse(document.moved_to, 303)
        here = CurrentPage(quote(request.url.path), query)
        context = {
            "page": document,
            "as_of": document.as_of,
            "here": here,
            "person": person_of(request),
        }
        if not page.streamed:
            return HTMLResponse(render(f"{page.name}.html", **context))
        pieces = render_in_pieces(f"{page.name}.html", **context)
        first = next(pieces)  # errors before it become an error page
        return StreamingResponse(chain([first], pieces), media_type="text/html; charset=utf-8")

    def json(request: Request, query: Query, path: dict[str, str]) -> Response:
        return Response(read(request, query, path).model_dump_json(), media_type="application/json")

    def part(request: Request, query: Query, path: dict[str, str]) -> Response:
        assert page.read_text is not None
        attachment = read(request, query, path, page.read_text)
        return Response(
            attachment.body,
            media_type="application/octet-stream",
            headers={"Content-Disposition": f'attachment; filename="{attachment.filename}"'},
        )

    def add(
        below: str, answer: Callable[..., Response], query: type[Query] = page.query, **options: Any
    ) -> None:
        own = {"operation_id": page.name + below.replace(".", "_"), "summary": page.says}
        app.add_api_route(
            page.path + below,
            _endpoint(page.path + below, query, answer),
            methods=["GET"],
            **(own | options),
        )

    if page.rows is not None:
        for extension, write, kind in (
            (".jsonl", _json_lines, "application/jsonl"),
            (".csv", _comma_separated, "text/csv"),
        ):
            add(
                extension,
                _download(page, page.rows, reading, write, extension, kind),
                response_class=_of_type(kind),
                responses=_ERRORS_AS_JSON,
            )
    if page.read_text is not None:
        add(
            "/texts/{part}",
            part,
            query=Query,
            operation_id=f"{page.name}_part",
            summary=f"A text of an {page.name} that its page cuts, whole.",
            responses=_errors_as("text/html", {"type": "string"}),
            response_class=_of_type("application/octet-stream"),
        )
    add(".json", json, response_model=page.model, responses=_ERRORS_OF_PAGES)
    add("", html, response_class=HTMLResponse, include_in_schema=False)


def _endpoint(
    path: str, parameters: type[Query], answer: Callable[..., Response]
) -> Callable[..., Response]:
    """The function that FastAPI calls, with the signature that its OpenAPI document is made of."""

    def endpoint(*, request: Request, query: Query, **path: str) -> Response:
        try:
            names = [name for name, _ in request.query_params.multi_items()]
            once = [name for name in names if name not in parameters.repeatable()]
            if twice := next((name for name in once if once.count(name) > 1), None):
                raise BadParameter(twice, "it stands there twice")
            return ask_again(partial(answer, request, query, path))
        except Exception as error:
            return response_to(request, error)

    only = Parameter.KEYWORD_ONLY
    signature = Signature(
        [
            Parameter("request", only, annotation=Request),
            Parameter("query", only, annotation=Annotated[parameters, FromQuery()]),
            *(
                Parameter(
                    name, only, annotation=Annotated[str, Path(max_length=300, pattern=_PATH)]
                )
                for name in re.findall(r"\{(\w+)\}", path)
            ),
        ],
        return_annotation=Signature.empty,
    )
    endpoint.__signature__ = signature  # type: ignore[attr-defined]
    return endpoint


def _of_type(kind: str) -> type[Response]:
    return type("Download", (Response,), {"media_type": kind})


Write = Callable[[type[Any], Iterator[Any]], Iterator[str]]


def _download(
    page: Page[Any, Any],
    read: Callable[[PageRequest[Any]], Iterator[Any]],
    reading: SnapshotOpener,
    write: Write,
    extension: str,
    kind: str,
) -> Callable[[Request, Query, dict[str, str]], Response]:
    """A handler that sends all rows of a list while it reads them, and holds none."""

    def pieces(
        query: Query, path: dict[str, str], person: str | None
    ) -> Generator[str, None, None]:
        with reading.moment(long=True, person=person) as moment:
            iterator = iter(read(PageRequest(*moment, query, path)))
            begin = list(islice(iterator, 1))  # errors of the first row come before any output
            yield from write(page.row, chain(begin, iterator))

    def answer(request: Request, query: Query, path: dict[str, str]) -> Response:
        name = "-".join(filter(None, page.path.replace("{", "").replace("}", "").split("/")))
        headers = {"Content-Disposition": f'attachment; filename="{name}{extension}"'}
        media_type = f"{kind}; charset=utf-8"
        if not reading.downloads.acquire(blocking=False):
            raise ConsoleBusy
        try:
            chunks = pieces(query, path, name_of_person(request))
            first = next(chunks, "")  # errors before it become an error page
            if request.scope.get(IS_HEAD):
                chunks.close()
                reading.downloads.release()
                return Response(media_type=media_type, headers=headers)
            ahead = ReadAhead(chain([first], chunks), chunks.close)
        except BaseException:
            reading.downloads.release()
            raise

        def ended() -> None:
            ahead.leave()
            reading.downloads.release()

        return EndedResponse(
            ahead.stream_pieces(), ended=ended, media_type=media_type, headers=headers
        )

    return answer


def _json_lines(row: type[Any], rows: Iterator[Any]) -> Iterator[str]:
    adapter = TypeAdapter(row)
    for record in rows:
        yield adapter.dump_json(record).decode() + "\n"


def _comma_separated(row: type[Any], rows: Iterator[Any]) -> Iterator[str]:
    """CSV with a heading. Lists and objects are JSON; cells are escaped against formulas."""
    adapter = TypeAdapter(row)
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    names = list(adapter.json_schema(mode="serialization")["properties"])
    writer.writerow(names)
    yield _drain(buffer)
    for record in rows:
        fields = adapter.dump_python(record, mode="json")
        writer.writerow([_cell(fields[name]) for name in names])
        if buffer.tell() > 16_384:
            yield _drain(buffer)
    yield _drain(buffer)


def _drain(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text


def _cell(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return "" if value is None else value
    if isinstance(value, str):
        return escaped(value)
    return escaped(TypeAdapter(Any).dump_json(value).decode())
