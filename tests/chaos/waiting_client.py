"""`python -m tests.chaos.waiting_client URL`: waits for an answer on every kind of connection.

It says `asked` once each has asked, and the name of each that hears that the server is gone.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import cast

import psycopg
from eventsourcing.persistence import OperationalError

from failproof_es.store.connecting import connect
from failproof_es.store.writing.application import EventLog
from failproof_es.store.writing.recorder import EventRecorder

_SLOWLY = "SELECT pg_catalog.pg_sleep(4)"


def _reader(url: str, asking: Callable[[], object]) -> None:
    with connect(url) as connection:
        asking()
        connection.execute(_SLOWLY)


def _log(url: str, asking: Callable[[], object]) -> None:
    log = EventLog(url)
    with cast("EventRecorder", log.recorder).datastore.get_connection() as connection:
        asking()
        connection.execute(_SLOWLY)


KINDS = {"reader": _reader, "log": _log}


def main() -> None:
    everybody = threading.Barrier(len(KINDS) + 1)

    def wait(name: str) -> None:
        try:
            KINDS[name](sys.argv[1], everybody.wait)
        except (psycopg.OperationalError, OperationalError):
            print(name, flush=True)

    for name in KINDS:
        threading.Thread(target=wait, args=(name,)).start()
    everybody.wait()
    print("asked", flush=True)


if __name__ == "__main__":
    main()
