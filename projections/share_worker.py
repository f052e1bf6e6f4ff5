"""A worker process of a rebuild: applies shares of the log until its standard input ends.

`python -m projections.share_worker` reads from its first line of standard input, as JSON, the
database, the names of the projections, and the id of the tables being built. Each further line is a
share, as JSON. After applying a share it writes its number of events. Any error ends the process:
the process that began the rebuild then does all of it.
"""

from __future__ import annotations

import gc
import os
import queue
import sys
import threading
from typing import Any
from uuid import UUID

import orjson

from failproof_es.store.connecting import connect
from projections import PROJECTIONS
from projections.batch import Share
from projections.runner import COLLECT_SELDOM
from projections.shares import take_share


def main() -> None:
    """Apply the shares that come in from standard input, until it ends."""
    gc.set_threshold(*COLLECT_SELDOM)
    lines: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_read_lines, args=(lines,), name="parent", daemon=True).start()
    setup: dict[str, Any] = orjson.loads(lines.get())
    # Projections with counters come last: counter rows are locked until the batch is committed.
    projections = [
        projection for projection in PROJECTIONS if projection.name in setup["projections"]
    ][::-1]
    with connect(setup["database"]) as connection:
        while True:
            share = orjson.loads(lines.get())
            events = take_share(
                connection, projections, _share(share), setup["building"], _ignore_progress
            )
            sys.stdout.write(f"{events}\n")
            sys.stdout.flush()


def _read_lines(lines: queue.Queue[bytes]) -> None:
    for line in sys.stdin.buffer:
        lines.put(line)
    os._exit(0)  # the parent is done, or gone: an uncommitted batch is rolled back


def _ignore_progress(_: int) -> None:
    """Does nothing: the parent process reports the progress."""


def _share(message: dict[str, Any]) -> Share:
    return Share(
        tuple(message["kinds"]),
        message["among"],
        UUID(message["first"]),
        UUID(message["last"]),
        message["up_to"],
    )


if __name__ == "__main__":
    main()
