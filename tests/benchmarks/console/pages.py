"""Every page of the console over a large log: its first byte, and the same question in SQL.

`python -m tests.benchmarks.console.pages URL [WORD]` measures the pages over a log that was kept,
those with the word in their name.
"""

from __future__ import annotations

import contextlib
import http.client
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psycopg

from failproof_es.console.app import WARMING
from failproof_es.store.reading.reader import Connection
from failproof_es.store.schema.installation import WRITER
from failproof_es.store.store import Store
from tests.benchmarks.console import log
from tests.benchmarks.console.addresses import Address, addresses
from tests.benchmarks.measured import Benchmark, Measure, Measurement, Row, Sizes, TargetFigure
from tests.benchmarks.servers import benchmark_server
from tests.benchmarks.watch import sessions_s
from tests.console import console, settings_for

REQUESTS = 3
"""After the first one, of each page; and so many times more than once, its statements."""
LONGEST_S = 10.0
LEAST_SQL_MS = 10.0
"""Of the processor: where SQL takes less, a ratio to it says nothing."""


@dataclass(frozen=True)
class Took:
    """Milliseconds: the first request's first byte, that of others, and processor time of one."""

    first: float
    median: float
    worst: float
    processor: float
    """Of this process and of the database's sessions, on the mean of those after the first."""
    sql: float | None
    """The median of the statements on the clock, together, after the first time."""
    sql_processor: float | None
    status: int
    size: int
    is_whole: bool
    """Whether the answer was taken to its end; of a list that is downloaded only the beginning."""

    @property
    def ratio(self) -> float | None:
        """The processor time of the page to that of its SQL."""
        return self.processor / self.sql_processor if self.sql_processor else None


def took(base: str, connection: Connection, address: Address, database: Servers) -> Took:
    """Ask for the page some times, and for the same in SQL.

    The first time of each is apart: what it finds in memory is by chance, and whoever comes second
    finds what the first one left there.
    """
    at = urlsplit(base)
    client = http.client.HTTPConnection(at.hostname or "", at.port, timeout=60)
    clock: list[float] = []
    status, size = 0, 0
    live = address.path.endswith("/live")
    before = 0.0
    while len(clock) <= REQUESTS and sum(clock) < LONGEST_S * 1000:
        if len(clock) == 1:
            before = time.process_time() * 1000 + database.ms()
        began = time.perf_counter()
        client.request("GET", address.path)
        response = client.getresponse()
        clock.append((time.perf_counter() - began) * 1000)
        status = response.status
        if live:
            size = len(response.fp.readline() if response.fp else b"")
            client.close()
        elif is_download(address.path):
            size = len(response.read(1000))
            client.close()
        else:
            size = len(response.read())
    spent = time.process_time() * 1000 + database.ms() - before
    client.close()
    first, *others = clock
    sql, sql_processor = in_sql(connection, address, database)
    return Took(
        first, statistics.median(others or clock), max(others or clock),
        spent / max(len(others), 1), sql, sql_processor, status, size,
        not is_download(address.path),
    )  # fmt: skip


def is_download(path: str) -> bool:
    """Whether all rows of a list are sent there."""
    return path.split("?")[0].endswith((".jsonl", ".csv"))


def in_sql(
    connection: Connection, address: Address, database: Servers
) -> tuple[float | None, float | None]:
    """The statements' time, rows fetched, after the first time: on the clock, of the processor."""
    clock: list[float] = []
    before = 0.0
    while address.sql and len(clock) <= REQUESTS and sum(clock) < LONGEST_S * 1000:
        if len(clock) == 1:
            before = time.process_time() * 1000 + database.ms()
        began = time.perf_counter()
        for each in address.sql:
            connection.execute(each.encode(), address.values).fetchall()
        clock.append((time.perf_counter() - began) * 1000)
    if len(clock) < 2:
        return None, None
    spent = time.process_time() * 1000 + database.ms() - before
    return statistics.median(clock[1:]), spent / (len(clock) - 1)


@dataclass(frozen=True)
class Servers:
    """The processor time of a database server's sessions."""

    pid: int

    def ms(self) -> float:
        """Milliseconds until now."""
        return sessions_s(self.pid) * 1000


_HOW = (
    "Over a log of 1,000,000 evaluations and 5,000 runs (20,000 and 100 without `--large`), one of "
    "which has half of them. The median of the first byte on the clock, of the slowest of the "
    "page's addresses: first, middle and last page, its filters, and the same as data. The note "
    "has the first request's, which finds less in memory, and the same question in SQL. It also "
    "has the processor time until the end of the answer, of the console, its reader and the "
    "database. On a busy machine compare that."
)
PAGES = (
    "runs", "run", "cost", "charts", "live numbers", "results", "evaluation", "stream", "event",
    "ledger", "compare", "suites", "cases", "case", "review", "search",
)  # fmt: skip
ROWS = (
    *(
        Row(
            f"console-{name.replace(' ', '-')}",
            f"console: {name}",
            "ms",
            _HOW,
            TargetFigure("<=", 300),
        )
        for name in PAGES
    ),
    Row(
        "console-ratio",
        "console: a page's processor time to that of its SQL",
        "times",
        "The largest ratio of all addresses of the rows above whose SQL takes 10 ms of the "
        "processor or more. The page's time is that of console, reader and database, after the "
        "first request of each; so is that of the SQL, with the fetching of its rows. Lists that "
        "are downloaded are not among them: they are read ahead while the first rows are taken.",
        TargetFigure("<=", 5),
    ),
    Row(
        "console-short",
        "console: the processor time of a page whose SQL takes less",
        "ms",
        "The same of all other addresses, whose SQL takes less than 10 ms: a ratio would tell how "
        "small that is. What a page takes by itself is in it: its template, what protects the log.",
        TargetFigure("<=", 5 * LEAST_SQL_MS),
    ),
)


@contextlib.contextmanager
def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
    """A log for all rounds."""
    evaluations = 1_000_000 if sizes.large else sizes.log_cases
    with benchmark_server() as server:
        url = server.url_as(WRITER)
        with (
            psycopg.connect(server.url, autocommit=True) as administrator,
            Store(url) as store,
        ):
            log.fill(store, administrator, max(evaluations, 800), max(evaluations // 200, 60))
        yield lambda: measured(url, comparable=sizes.large)


def measured(url: str, word: str = "", *, comparable: bool = True) -> Iterator[Measurement]:
    """A measurement of each page: of its slowest address."""
    slowest: dict[str, tuple[str, Took]] = {}
    every: list[tuple[str, Took]] = []
    for name, found in every_page(url, word):
        every.append((name, found))
        page = name.partition(",")[0].partition(".")[0].partition(" of ")[0]
        if page not in slowest or found.median > slowest[page][1].median:
            slowest[page] = name, found
    for page, (name, found) in slowest.items():
        sql = ""
        if found.ratio is not None:
            sql = (
                f"; in SQL {found.sql_processor:.1f} ms ({found.sql:.1f} ms on the clock), "
                f"ratio {found.ratio:.1f}"
            )
        said = f"{name}: {found.first:.1f} ms at first, {found.processor:.1f} ms of the processor"
        yield Measurement(
            f"console-{page.replace(' ', '-')}", found.median, found.median / 1000,
            found.processor / 1000, said + sql, comparable,
        )  # fmt: skip
    yield from beside_sql(every, comparable)


def beside_sql(every: Sequence[tuple[str, Took]], comparable: bool) -> Iterator[Measurement]:
    """The ratio to SQL where that takes long enough for one; the page's time where it does not."""
    beside: list[tuple[float, str, Took]] = []
    alone: list[tuple[float, str, Took]] = []
    for name, found in every:
        if found.is_whole and found.ratio is not None and found.sql_processor is not None:
            if found.sql_processor >= LEAST_SQL_MS:
                beside.append((found.ratio, name, found))
            else:
                alone.append((found.processor, name, found))
    for row, rest in (("console-ratio", beside), ("console-short", alone)):
        if not rest:
            yield Measurement(row, None, note="no page whose SQL takes so long", comparable=False)
            continue
        value, name, found = max(rest, key=lambda each: each[0])
        note = (
            f"{name}: {found.processor:.1f} ms of the processor, {found.sql_processor:.1f} ms in "
            f"SQL; the largest of {len(rest)} addresses"
        )
        yield Measurement(row, value, found.median / 1000, found.processor / 1000, note, comparable)


def every_page(url: str, word: str = "") -> Iterator[tuple[str, Took]]:
    """Every address over this log, with the word in its name. Raises where one is no page."""
    folder = dict(each.split("=") for each in urlsplit(url).query.split("&"))["host"]
    database = Servers(int(Path(unquote(folder), "postmaster.pid").read_text().split()[0]))
    with (
        console(**settings_for(url), warm_up=True) as base,
        psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection,
    ):
        for thread in threading.enumerate():
            if thread.name == WARMING:
                thread.join()
        for each in addresses(connection):
            if word in each.name:
                found = took(base, connection, each, database)
                if found.status not in (200, 303):
                    raise RuntimeError(f"{each.path} answered {found.status}")
                yield each.name, found


BENCHMARKS = (Benchmark("console", ROWS, begin, versions=False),)


def main() -> None:
    """Measure over a log that was kept."""
    print(f"{'':28} {'first':>9} {'median':>9} {'worst':>9} {'cpu':>9} {'sql':>9} {'sqlcpu':>9}")
    for name, found in every_page(sys.argv[1], " ".join(sys.argv[2:])):
        print(
            f"{name:28} {found.first:9.1f} {found.median:9.1f} {found.worst:9.1f} "
            f"{found.processor:9.1f} {found.sql or 0:9.1f} {found.sql_processor or 0:9.1f} "
            f"{found.ratio or 0:5.1f} {found.status} {found.size:,}", flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
