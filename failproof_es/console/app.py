"""Makes the console: a web application over one database, without other state."""

from __future__ import annotations

import gc
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from threading import Event, Thread

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp

from failproof_es.assurance.signing.checkpoint_signer import CheckpointSigner
from failproof_es.console import rendering
from failproof_es.console.database import ReadOnlyDatabase
from failproof_es.console.errors import response_to
from failproof_es.console.follower import ProjectionUpdater
from failproof_es.console.health import add_health
from failproof_es.console.labelling import QUEUE_PATH, add_labelling
from failproof_es.console.live.stream import add_live
from failproof_es.console.page import PageRequest
from failproof_es.console.pages import all_pages
from failproof_es.console.person import InvalidForm
from failproof_es.console.rendering import STATIC, static_digest, static_file
from failproof_es.console.routes import SnapshotOpener, add_page
from failproof_es.console.security.guards import (
    Guard,
    HeadAsGet,
    refuse_odd_urls,
    refuse_other_hosts,
    refuse_other_methods,
)
from failproof_es.console.security.headers import SecureHeaders
from failproof_es.console.security.identities import Identities
from failproof_es.console.security.login_pages import add_login
from failproof_es.console.security.people import WRITING_PATHS, PeopleGuard
from failproof_es.console.security.posts import Refused
from failproof_es.console.security.reads import ReadsRecorder
from failproof_es.console.security.token import refuse_without_token
from failproof_es.console.settings import ConsoleSettings
from failproof_es.engine.identity import code_version
from failproof_es.store.store import Store

_log = logging.getLogger("failproof_es.console")
WARMING = "console-warming"
"""Name of the thread that warms a console up."""
_FOR_EVER = "public, max-age=31536000, immutable"


def create_app(settings: ConsoleSettings) -> ASGIApp:
    """The whole application; every request passes each guard first.

    Close it by its lifespan, which closes the connections and ends the projection updater.
    """
    app: ASGIApp
    guards = [refuse_other_methods(), refuse_odd_urls, refuse_other_hosts(settings.hosts)]
    if settings.people is None:
        app = pages_app(settings)
        guards.append(
            refuse_without_token(
                settings.token, secure=not settings.is_loopback, ticket=settings.ticket
            )
        )
    else:
        identities = Identities(settings.people)
        app = pages_app(settings, identities)
        if settings.people.reads is not None:
            app = ReadsRecorder(app, settings.people.reads)
        app = PeopleGuard(app, identities, settings)
        guards[0] = refuse_other_methods((*WRITING_PATHS, QUEUE_PATH))
    for refuse in reversed(guards):
        app = Guard(app, refuse)
    return SecureHeaders(HeadAsGet(app))


def pages_app(settings: ConsoleSettings, identities: Identities | None = None) -> FastAPI:
    """The pages without their guards; with `identities` also those of the login."""
    database = ReadOnlyDatabase(
        settings.database_url,
        connections=settings.connections,
        statement_timeout_s=settings.statement_timeout_s,
    )
    follower = ProjectionUpdater(settings.follower_url)
    url = settings.follower_url
    store = None if identities is None or url is None else Store(url)

    signer = None if store is None else CheckpointSigner(store)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warming = Warming(reading) if settings.warm_up else None
        with signer or nullcontext():
            yield
        if warming is not None:
            await run_in_threadpool(warming.close)
        await run_in_threadpool(live.close)
        follower.close()
        database.close()
        if store is not None:
            await run_in_threadpool(store.close)
        if signer is not None and (problem := signer.changed or signer.trouble) is not None:
            _log.error("the log could not be signed: %s", problem)

    app = FastAPI(
        title="failproof-es console",
        description="Read-only. Every object is what the page of the same path shows.",
        version=code_version(),
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.add_api_route("/", _first_page, include_in_schema=False)
    app.add_api_route("/static/{name}", _static, include_in_schema=False)
    add_health(app, database)
    if identities is not None and identities.has_accounts:
        add_login(app, identities, settings)
    reading = SnapshotOpener(database, follower)
    for page in all_pages():
        add_page(app, page, reading)
    live = add_live(app, reading)
    if store is not None:
        add_labelling(app, reading, store)
    for kind in (HTTPException, RequestValidationError, InvalidForm, Refused, Exception):
        app.add_exception_handler(kind, _on_error)
    return app


class Warming:
    """Warms a console up in a thread: does what the first request of each kind would wait for.

    It loads templates and the drawing library, opens a connection, and reads pages of the newest
    run. It ignores errors: the next request meets and reports them.
    """

    def __init__(self, reading: SnapshotOpener) -> None:
        self._reading = reading
        self._closing = Event()
        self._thread = Thread(target=self._warm, name=WARMING, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop after the page that is being read."""
        self._closing.set()
        self._thread.join(timeout=5)

    def _warm(self) -> None:
        rendering.prepare()
        for page in all_pages():
            path = page.path.replace("{run}", "latest")
            if "{" not in path and not self._closing.is_set():
                with suppress(Exception), self._reading.moment() as moment:
                    query = page.query() if page.warming is None else page.warming
                    page.read(PageRequest(*moment, query, {"run": "latest"}))
        if not self._closing.is_set():
            with suppress(Exception):
                from failproof_es.console import drawing  # lazy: it takes a second or more

                drawing.prepare()
        # Objects that exist now stay: searching them for cycles would delay a page by 0.2 s.
        gc.freeze()


def _first_page() -> Response:
    return RedirectResponse("/runs", 303)


def _static(name: str, v: str = "") -> Response:
    """A static file. Names are looked up in a table, so that no path leads out of a folder."""
    if name not in STATIC:
        raise HTTPException(404)
    cache_control = _FOR_EVER if v == static_digest(name) else "no-cache"
    return Response(
        static_file(name), media_type=STATIC[name], headers={"Cache-Control": cache_control}
    )


async def _on_error(request: Request, error: Exception) -> Response:
    if isinstance(error, Refused):
        return error.response(request)
    return response_to(request, error)
