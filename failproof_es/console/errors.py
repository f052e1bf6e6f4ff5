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

from failproof_es.console.database import ConsoleBusy
from failproof_es.console.links import to
from failproof_es.console.page import NoProjections
from failproof_es.console.paging import BadParameter
from failproof_es.console.person import InvalidForm, person_of
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
    code: str
    """The kind of error, such as `unknown-run`; `docs/reference/problems.md` lists them."""
    error: str
    """The problem in one sentence."""
    remedy: str
    """The next step for the reader, in a sentence."""


def error_page(status: HTTPStatus, code: str, message: str, remedy: str) -> ErrorPage:
    """The error with `message` and `remedy` as sentences."""
    message, remedy = (f"{text[:1].upper()}{text[1:].rstrip('.')}." for text in (message, remedy))
    return ErrorPage(status=status, code=code, error=message, remedy=remedy)


def error_response(request: Request, page: ErrorPage) -> Response:
    """The error response: JSON where the path is one of data, else a page."""
    if is_data(request):
        return Response(page.model_dump_json(), page.status, media_type="application/json")
    phrase = HTTPStatus(page.status).phrase
    body = render("error.html", page=page, phrase=phrase, person=person_of(request))
    return HTMLResponse(body, page.status)


def is_data(request: Request) -> bool:
    """Whether the request is a program's: its response is JSON."""
    return request.url.path.endswith(_DATA)


def response_to(request: Request, error: Exception) -> Response:
    """The response to an exception that reading a page raised.

    A page of an archived run redirects to the run's archive page; programs get an error.
    """
    if isinstance(error, RunIsArchived) and _is_page_of_run(request):
        return RedirectResponse(to("runs", error.archive.run_number, "archive"), 303)
    page = _describe_error(error)
    log_if_ours(error, request.url.path)
    response = error_response(request, page)
    if page.status == HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers["Retry-After"] = "5"
    return response


def log_if_ours(error: Exception, path: str) -> None:
    """Log mistakes of this program. Errors that the response explains are not logged."""
    if _describe_error(error).status == HTTPStatus.INTERNAL_SERVER_ERROR:
        _log.error("a page failed: %s", path.encode("ascii", "backslashreplace"), exc_info=error)


def _is_page_of_run(request: Request) -> bool:
    path = request.url.path
    return path.startswith("/runs/") and not path.endswith((*_DATA, "/live", "/archive"))


def _describe_error(error: Exception) -> ErrorPage:
    match error:
        case RequestValidationError() | ValidationError():
            return _invalid_parameters(_parameters(error))
        case BadParameter():
            return _invalid_parameters(str(error))
        case InvalidForm():
            return error_page(
                HTTPStatus.BAD_REQUEST,
                "invalid-form",
                str(error),
                "send the form of a page of this console",
            )
        case NoProjections():
            return _first_problem(error, HTTPStatus.SERVICE_UNAVAILABLE)
        case InvalidInput():
            return _first_problem(error, HTTPStatus.NOT_FOUND)
        case HTTPException() if error.status_code == HTTPStatus.NOT_FOUND:
            return error_page(
                HTTPStatus.NOT_FOUND,
                "unknown-page",
                "there is no such page",
                "begin at /runs, or search above for a run, a case, an event or a digest",
            )
        case HTTPException():
            status = HTTPStatus(error.status_code)
            return error_page(status, "invalid-url", str(error.detail), "begin at /runs")
        case UnreadableState():
            return error_page(
                HTTPStatus.INTERNAL_SERVER_ERROR,
                "log-unreadable",
                "a record in the log cannot be read",
                "`failproof-es verify` says whether it was changed",
            )
    return _failed_database(error) or error_page(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "unexpected-error",
        "the console made a mistake. Nothing was changed: it only reads",
        "the output of the process that serves the console shows the reason. Please report it",
    )


def _failed_database(error: Exception) -> ErrorPage | None:
    """The error if the database is away or busy, or refused to read."""
    match error:
        case psycopg.errors.QueryCanceled():
            return error_page(
                HTTPStatus.GATEWAY_TIMEOUT,
                "database-timeout",
                "the database took too long for this page",
                "narrow the filter. If the projections are not current, bring them up: "
                "`failproof-es projections rebuild`",
            )
        case ConsoleBusy():
            return error_page(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "console-busy",
                "too many pages are being read at this moment",
                "try again in a few seconds",
            )
        case psycopg.Error() if isinstance(error, CONTENTION):
            return error_page(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "database-busy",
                "other sessions of the database held what this page reads",
                "try again in a few seconds",
            )
        case psycopg.OperationalError() if server_answered(error):
            return error_page(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "database-refused",
                f"the database runs, and refused to read this: {error.diag.message_primary}",
                "try again later. `failproof-es db status`",
            )
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return error_page(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "database-unreachable",
                "the database cannot be reached",
                "start it, or wait: the console goes on by itself. `failproof-es db status`",
            )
        case psycopg.errors.InsufficientPrivilege():
            return error_page(
                HTTPStatus.FORBIDDEN,
                "permission-denied",
                "the console's database user may not read this",
                "an administrator grants it failproof_auditor",
            )
    return None


def _first_problem(error: InvalidInput, status: HTTPStatus) -> ErrorPage:
    first = error.problems[0]
    return error_page(status, first.code, first.message, first.remedy or "list the runs at /runs")


def _invalid_parameters(message: str) -> ErrorPage:
    return ErrorPage(
        status=HTTPStatus.UNPROCESSABLE_ENTITY,
        code="invalid-parameter",
        error=f"{message}.",  # it begins with the parameter's name
        remedy="Correct it in the URL.",
    )


def _parameters(error: RequestValidationError | ValidationError) -> str:
    """Each parameter that is wrong, and why."""
    messages = []
    for problem in error.errors():
        name = ".".join(str(part) for part in problem["loc"] if part not in ("query", "path"))
        why = (
            "there is no such parameter" if problem["type"] == "extra_forbidden" else problem["msg"]
        )
        messages.append(f"{name or 'the query'}: {why}")
    return "; ".join(messages)
