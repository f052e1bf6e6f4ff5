"""Error responses: what is wrong, what to do, and no stack trace."""

from __future__ import annotations

import logging
from http import HTTPStatus

import psycopg
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from failproof_es.console.database import ConnectionFailed, ConsoleBusy
from failproof_es.console.links import to
from failproof_es.console.page import NoProjections, NotFound
from failproof_es.console.paging import BadParameter
from failproof_es.console.rendering import render
from failproof_es.problems import InvalidInput
from failproof_es.store.errors import UnreadableState
from failproof_es.store.outage import CONTENTION, server_answered
from failproof_es.store.reading.archives import RunIsArchived

_DATA = (".json", ".jsonl", ".csv")
_log = logging.getLogger("failproof_es.console")


class ErrorPage(BaseModel):
    """An error, as a page shows it and as programs get it in JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: int
    error: str
    """What is wrong."""
    remedy: str
    """What to do."""


def error_response(request: Request, status: HTTPStatus, what: str, remedy: str) -> Response:
    """The error response: JSON where the path is one of data, else a page."""
    page = ErrorPage(status=status, error=what, remedy=remedy)
    if request.url.path.endswith(_DATA):
        return Response(page.model_dump_json(), status, media_type="application/json")
    return HTMLResponse(render("error.html", page=page, phrase=status.phrase), status)


def response_to(request: Request, error: Exception) -> Response:
    """The response to an exception that reading a page raised.

    A page of an archived run redirects to the run's archive page; programs get an error.
    """
    if isinstance(error, RunIsArchived) and _is_page_of_run(request):
        return RedirectResponse(to("runs", error.archive.run_number, "archive"), 303)
    status, what, remedy = _describe_error(error)
    log_if_ours(error, request.url.path)
    response = error_response(request, status, what, remedy)
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers["Retry-After"] = "5"
    return response


def log_if_ours(error: Exception, path: str) -> None:
    """Log mistakes of this program. Errors that the response explains are not logged."""
    if _describe_error(error)[0] is HTTPStatus.INTERNAL_SERVER_ERROR:
        _log.error("a page failed: %s", path.encode("ascii", "backslashreplace"), exc_info=error)


def _is_page_of_run(request: Request) -> bool:
    path = request.url.path
    return path.startswith("/runs/") and not path.endswith((*_DATA, "/live", "/archive"))


def _describe_error(error: Exception) -> tuple[HTTPStatus, str, str]:
    match error:
        case RequestValidationError() | ValidationError():
            return HTTPStatus.UNPROCESSABLE_ENTITY, _parameters(error), "Correct it in the URL."
        case BadParameter():
            return HTTPStatus.UNPROCESSABLE_ENTITY, f"{error}.", "Correct it in the URL."
        case NoProjections():
            return HTTPStatus.SERVICE_UNAVAILABLE, str(error), error.remedy
        case NotFound():
            return HTTPStatus.NOT_FOUND, str(error), error.remedy
        case ConnectionFailed():
            return HTTPStatus.SERVICE_UNAVAILABLE, *_problem(error)
        case InvalidInput():
            return HTTPStatus.NOT_FOUND, *_problem(error)
        case psycopg.errors.QueryCanceled():
            return (
                HTTPStatus.GATEWAY_TIMEOUT,
                "The database took too long for this page.",
                "Narrow the filter. If the projections are not current, bring them up: "
                "`failproof-es projections rebuild`.",
            )
        case ConsoleBusy():
            return (
                HTTPStatus.SERVICE_UNAVAILABLE,
                "Too many pages are being read at this moment.",
                "Try again in a few seconds.",
            )
        case psycopg.Error() if isinstance(error, CONTENTION):
            return (
                HTTPStatus.SERVICE_UNAVAILABLE,
                "Other sessions of the database held what this page reads.",
                "Try again in a few seconds.",
            )
        case psycopg.OperationalError() if server_answered(error):
            return (
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"The database runs, and refused to read this: {error.diag.message_primary}.",
                "Try again later. `failproof-es db status`.",
            )
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return (
                HTTPStatus.SERVICE_UNAVAILABLE,
                "The database cannot be reached.",
                "Start it, or wait: the console goes on by itself. `failproof-es db status`.",
            )
        case psycopg.errors.InsufficientPrivilege():
            return (
                HTTPStatus.FORBIDDEN,
                "The console's database user may not read this.",
                "An administrator grants it failproof_auditor.",
            )
        case UnreadableState():
            return (
                HTTPStatus.INTERNAL_SERVER_ERROR,
                "A record in the log cannot be read.",
                "`failproof-es verify` says whether it was changed.",
            )
        case HTTPException() if error.status_code == HTTPStatus.NOT_FOUND:
            return (
                HTTPStatus.NOT_FOUND,
                "There is no such page.",
                "Begin at /runs, or search above for a run, a case, an event or a digest.",
            )
        case HTTPException():
            return HTTPStatus(error.status_code), str(error.detail), "Begin at /runs."
        case _:
            return (
                HTTPStatus.INTERNAL_SERVER_ERROR,
                "The console made a mistake. Nothing was changed: it only reads.",
                "The reason stands where the console was started. Please report it.",
            )


def _problem(error: InvalidInput) -> tuple[str, str]:
    first = error.problems[0]
    message = first.message[:1].upper() + first.message[1:].rstrip(".") + "."
    remedy = (first.remedy or "list the runs at /runs").rstrip(".")
    return message, remedy[:1].upper() + remedy[1:] + "."


def _parameters(error: RequestValidationError | ValidationError) -> str:
    """Each parameter that is wrong, and why."""
    messages = []
    for problem in error.errors():
        name = ".".join(str(part) for part in problem["loc"] if part not in ("query", "path"))
        why = (
            "there is no such parameter" if problem["type"] == "extra_forbidden" else problem["msg"]
        )
        messages.append(f"{name or 'the query'}: {why}")
    return "; ".join(messages) + "."
