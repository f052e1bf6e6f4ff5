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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psutil
import psycopg

from failproof_es.console.app import WARMING
from failproof_es.store.reading.reader import Connection
from failproof_es.store.schema.installation import WRITER
from failproof_es.store.store import Store
from tests.benchmarks.console import log
from tests.benchmarks.console.addresses import Address, addresses
from tests.benchmarks.measured import Benchmark, Measure, Row, Sizes, Taken, Wanted
from tests.benchmarks.servers import benchmark_server
from tests.benchmarks.watch import exact_processor_s
from tests.console import console, settings_for

REQUESTS = 3
"""After the first one, of each page; and so many times more than once, its statements."""
LONGEST_S = 10.0


@dataclass(frozen=True)
class Took:
    """Milliseconds: the first request's first byte, that of others, and processor time of one."""

    first: float
    median: float
    worst: float
    processor: float
    """Of this process and of the database's sessions."""
    sql: float | None
    """The median of the statements on the clock, together."""
    sql_processor: float | None
    status: int
    size: int


def took(base: str, connection: Connection, address: Address, database: Servers) -> Took:
    """Ask for the page some times, and for the same in SQL."""
    at = urlsplit(base)
    client = http.client.HTTPConnection(at.hostname or "", at.port, timeout=60)
    clock: list[float] = []
    status, size = 0, 0
    live = address.path.endswith("/live")
    before = time.process_time() * 1000 + database.ms()
    while len(clock) <= REQUESTS and sum(clock) < LONGEST_S * 1000:
        began = time.perf_counter()
        client.request("GET", address.path)
        response = client.getresponse()
        clock.append((time.perf_counter() - began) * 1000)
        status = response.status
        if live:
            size = len(response.fp.readline() if response.fp else b"")
            client.close()
        elif address.path.split("?")[0].endswith((".jsonl", ".csv")):
            size = len(response.read(1000))
            client.close()
        else:
            size = len(response.read())
    processor = (time.process_time() * 1000 + database.ms() - before) / len(clock)
    client.close()
    first, *others = clock
    others = others or [first]
    before = time.process_time() * 1000 + database.ms()
    asked = in_sql(connection, address)
    sql = statistics.median(asked[1:] or asked) if asked else None
    spent = (time.process_time() * 1000 + database.ms() - before) / max(len(asked), 1)
    return Took(
        first, statistics.median(others), max(others), processor,
        sql, spent if asked else None, status, size,
    )  # fmt: skip


def in_sql(connection: Connection, address: Address) -> list[float]:
    """The statements' time on the clock, rows fetched, some times."""
    clock: list[float] = []
    while address.sql and len(clock) <= REQUESTS and sum(clock) < LONGEST_S * 1000:
        began = time.perf_counter()
        for each in address.sql:
            connection.execute(each.encode(), address.values).fetchall()
        clock.append((time.perf_counter() - began) * 1000)
    return clock


@dataclass(frozen=True)
class Servers:
    """The processor time of a database server's sessions."""

    pid: int

    def ms(self) -> float:
        """Milliseconds until now."""
        main = psutil.Process(self.pid)
        times = main.cpu_times()
        spent = (times.children_user + times.children_system) * 1000
        for each in main.children():
            with contextlib.suppress(psutil.Error, OSError):
                if "[local]" in " ".join(each.cmdline()):
                    spent += exact_processor_s(each.pid) * 1000
        return spent


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
ROWS = tuple(
    Row(f"console-{name.replace(' ', '-')}", f"console: {name}", "ms", _HOW, Wanted("<=", 300))
    for name in PAGES
)


@contextlib.contextmanager
def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
    """A log for all rounds."""
    evaluations, runs = (1_000_000, 5_000) if sizes.large else (sizes.log_cases, 100)
    with benchmark_server() as server:
        url = server.url_as(WRITER)
        with (
            psycopg.connect(server.url, autocommit=True) as administrator,
            Store(url) as store,
        ):
            log.fill(store, administrator, max(evaluations, 2_000), max(runs, 60))
        yield lambda: measured(url, comparable=sizes.large)


def measured(url: str, word: str = "", *, comparable: bool = True) -> Iterator[Taken]:
    """A measurement of each page: of its slowest address."""
    slowest: dict[str, tuple[str, Took]] = {}
    for name, found in every_page(url, word):
        page = name.partition(",")[0].partition(".")[0].partition(" of ")[0]
        if page not in slowest or found.median > slowest[page][1].median:
            slowest[page] = name, found
    for page, (name, found) in slowest.items():
        sql = ""
        if found.sql_processor:
            ratio = found.processor / found.sql_processor
            sql = (
                f"; in SQL {found.sql_processor:.1f} ms ({found.sql:.1f} ms on the clock), "
                f"ratio {ratio:.1f}"
            )
        said = f"{name}: {found.first:.1f} ms at first, {found.processor:.1f} ms of the processor"
        yield Taken(
            f"console-{page.replace(' ', '-')}", found.median, found.median / 1000,
            found.processor / 1000, said + sql, comparable,
        )  # fmt: skip


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
        ratio = found.processor / (found.sql_processor or 1)
        print(
            f"{name:28} {found.first:9.1f} {found.median:9.1f} {found.worst:9.1f} "
            f"{found.processor:9.1f} {found.sql or 0:9.1f} {found.sql_processor or 0:9.1f} "
            f"{ratio:5.1f} {found.status} {found.size:,}", flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
