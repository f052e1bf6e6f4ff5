"""Live numbers of a run as server-sent events: the id of each is a position of the log.

A run is read at most twice a second and formatted once for all its viewers. It is read when a
follower announces something new, and once a second besides.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from threading import BoundedSemaphore
from typing import Annotated, NamedTuple
from uuid import UUID

from fastapi import FastAPI, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from failproof_es.console.database import ask_again
from failproof_es.console.errors import log_if_ours, response_to
from failproof_es.console.live.numbers import LivePage
from failproof_es.console.live.wakeups import Wakeups
from failproof_es.console.page import PageRequest
from failproof_es.console.pages.run import MOST_MESSAGES, shape_of
from failproof_es.console.paging import Query as NoParameters
from failproof_es.console.person import name_of_person
from failproof_es.console.routes import SnapshotOpener
from failproof_es.console.security.guards import IS_HEAD
from failproof_es.console.sending.ahead import EndedResponse
from failproof_es.store.reading.reader import resolve_run
from failproof_es.support import clock
from failproof_es.support.document import Document
from projections.follower import LONGEST_PAUSE_S

POLL_S = 1.0
LEAST_AGE_S = 0.5
"""Seconds for which a reading is sent again."""
LEFT_TO_FOLLOWER_S = LONGEST_PAUSE_S + 2.0
"""Seconds for which a run's own follower is not disturbed: its pause, and the time of a batch. A
viewer that brings the projections up in between takes time from the run, most of all on a busy
machine."""
KEEP_ALIVE_S = 15.0
MOST_VIEWERS = 64
"""Most viewers. Others are told to come again later; the numbers of their page stand still."""
CHECK_S = 2.0
"""Seconds after which it is looked up again whether a person may see the run."""
RETRY_S = 10
"""Seconds after which the page's script tries again."""
READ_AT_ONCE = 1
"""Runs that are read at a time: connections are for pages."""
CACHED_RUNS = 100
"""Number of runs whose latest numbers are kept."""
_TYPE = "text/event-stream"


class LiveNumbers(Document):
    """The numbers of a run's page that change while it goes, as the page writes them."""

    position: int
    """Position of the last event that they count."""
    lag: int
    shape: str
    """Fingerprint of rows and columns: the page reloads when its own is another one."""
    ended: bool
    texts: dict[str, str]
    """Texts by the key of the element that shows them."""
    paths: dict[str, str]
    """Lines of drawings, by key."""


class _RunReading(NamedTuple):
    """One reading of a run, for all viewers."""

    numbers: LiveNumbers
    event: str
    """The numbers as a server-sent event."""
    begun_at: float
    """Start of the reading (`clock.monotonic_s`): it includes what was committed by then."""
    ended_at: float

    @property
    def age_s(self) -> float:
        """Seconds since the reading ended."""
        return clock.monotonic_s() - self.ended_at


@dataclass(slots=True)
class _LatestReading:
    """The latest reading of a run. `lock` admits one reader at a time."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    read: _RunReading | None = None


class LiveRuns:
    """Reads the live numbers of runs for all viewers. Belongs to one event loop."""

    def __init__(self, reading: SnapshotOpener) -> None:
        self._reading = reading
        self._last: dict[str, _LatestReading] = {}
        self._wakeups = Wakeups(reading.database)
        self._turns = asyncio.Semaphore(READ_AT_ONCE)
        self.seats = BoundedSemaphore(MOST_VIEWERS)

    async def latest(self, run: str) -> _RunReading:
        """A reading of the run that is at most `LEAST_AGE_S` old."""
        last = self._last.setdefault(run, _LatestReading())
        while len(self._last) > CACHED_RUNS:
            self._last.pop(next(iter(self._last)))
        async with last.lock:
            read = last.read
            rest_s = 0.0 if read is None else LEAST_AGE_S - read.age_s
            if read is not None and rest_s > 0:
                if read.begun_at >= self._wakeups.heard_at:
                    return read
                await asyncio.sleep(rest_s)
            async with self._turns:
                last.read = await run_in_threadpool(self._refresh_numbers, run, read)
            return last.read

    async def events(self, run: str, after: int) -> AsyncIterator[str]:
        """An event each time the log has moved on; the last one says that the run has ended.

        If the log ends before `after`, that position is of another log or of this one before it was
        restored: the present numbers are sent. If the database is away, the stream ends without the
        last event, and the viewer connects again.
        """
        came_at = sent_at = clock.monotonic_s()
        while True:
            try:
                read = await self.latest(run)
            except Exception as error:
                log_if_ours(error, f"/runs/{run}/live")
                return
            numbers = read.numbers
            if numbers.position < after and read.begun_at < came_at:
                await asyncio.sleep(LEAST_AGE_S)  # it was read before the viewer's page
                continue
            if numbers.position != after:
                after, sent_at = numbers.position, clock.monotonic_s()
                yield read.event
            if numbers.ended and not numbers.lag:
                yield f"id: {after}\nevent: end\ndata: {numbers.shape}\n\n"
                return
            if clock.monotonic_s() - sent_at >= KEEP_ALIVE_S:
                sent_at = clock.monotonic_s()
                yield ": nothing new\n\n"
            # Counted from the reading, so that all viewers look again at the same moment.
            await self._wakeups.wait(read.begun_at, max(POLL_S - read.age_s, 0.0))

    def close(self) -> None:
        """Close the connection that listens to followers."""
        self._wakeups.close()

    def _refresh_numbers(self, run: str, last: _RunReading | None) -> _RunReading:
        """A new reading, formatted again only if the numbers have changed."""
        begun_at = clock.monotonic_s()
        numbers = ask_again(partial(self._numbers, run, last and last.numbers))
        if last is not None and numbers == last.numbers:
            event = last.event
        else:
            event = f"id: {numbers.position}\ndata: {numbers.model_dump_json()}\n\n"
        return _RunReading(numbers, event, begun_at, clock.monotonic_s())

    def _numbers(self, run: str, last: LiveNumbers | None) -> LiveNumbers:
        """The present numbers. Without new events only the lag is updated."""
        with self._reading.moment(LEFT_TO_FOLLOWER_S) as (connection, reader, as_of):
            from_views = as_of.source == "projections"
            if last is not None and from_views and last.position == as_of.events_up_to:
                return last.model_copy(update={"lag": as_of.lag})
            request = PageRequest(connection, reader, as_of, NoParameters(), {"run": run})
            summary = reader.summary(request.run(), messages=MOST_MESSAGES, reviews=False)
        page = LivePage(summary)
        return LiveNumbers(
            position=as_of.events_up_to,
            lag=as_of.lag,
            shape=shape_of(summary),
            ended=summary.run.ended,
            texts=page.texts | {"events-up-to": f"{as_of.events_up_to:,}"},
            paths=page.paths,
        )


def add_live(app: FastAPI, reading: SnapshotOpener) -> LiveRuns:
    """Register `/runs/{run}/live`. The caller closes the result."""
    runs = LiveRuns(reading)

    async def live(
        request: Request, run: str, after: Annotated[int, Query(ge=0, le=2**63 - 1)] = 0
    ) -> Response:
        if request.scope.get(IS_HEAD):
            return Response(media_type=_TYPE)
        if not runs.seats.acquire(blocking=False):
            busy = {"Retry-After": str(RETRY_S), "Connection": "close"}
            return Response("Too many look at live numbers.\n", 503, headers=busy)
        try:
            person = name_of_person(request)
            if person is not None:
                # `latest` is another run for each person, and readings are for all viewers.
                run = str(await run_in_threadpool(_visible_run, reading, person, run))
            await runs.latest(run)
            begin = _position(request.headers.get("last-event-id", ""), after)
            events = runs.events(run, begin)
            if person is not None:
                events = _while_visible(events, reading, person, run)
            return EndedResponse(events, ended=runs.seats.release, media_type=_TYPE)
        except BaseException as error:
            runs.seats.release()
            if not isinstance(error, Exception):
                raise
            return response_to(request, error)

    app.add_api_route("/runs/{run}/live", live, include_in_schema=False, response_model=None)
    return runs


def _visible_run(reading: SnapshotOpener, person: str, run: str) -> UUID:
    """The id of a run of the person's projects. Raises `InvalidInput` if it is none."""
    with reading.database.snapshot(person) as connection:
        return resolve_run(connection, run)


async def _while_visible(
    events: AsyncIterator[str], reading: SnapshotOpener, person: str, run: str
) -> AsyncIterator[str]:
    """The events until the person may not see the run any more, as looked up every `CHECK_S`."""
    checked_at = clock.monotonic_s()
    async for event in events:
        if clock.monotonic_s() - checked_at >= CHECK_S:
            try:
                await run_in_threadpool(_visible_run, reading, person, run)
            except Exception as error:
                log_if_ours(error, f"/runs/{run}/live")
                return
            checked_at = clock.monotonic_s()
        yield event


def _position(last: str, after: int) -> int:
    """Position where a viewer goes on: that of the last event, if valid, else the page's own."""
    if last.isascii() and last.isdigit() and len(last) < 20:
        return int(last)
    return after
