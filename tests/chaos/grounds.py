"""Where storms take place: one database server and one model server, which they share."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Self, TypeVar

import psutil
import psycopg

from failproof_es.problems import InvalidInput
from failproof_es.store.outage import Outage
from tests.acceptance.commands import asked, mock_server
from tests.chaos.server import NoSmallDisk, ServerOfOurOwn, filled, small_disk

_DISK_MB = 300
_LATENCY_MS = 250
_LOOK_EVERY_S = 0.2

T = TypeVar("T")


class Grounds:
    """Both servers, and who looks after the database server. `with` it."""

    def __init__(self) -> None:
        self.model_url = ""
        self.no_small_disk: str | None = None
        """Why the disk of the database server cannot be filled here, where it cannot."""
        self._ending = ExitStack()
        self._over = threading.Event()
        self._disk: Path | None = None
        self._turns = threading.Condition()
        self._calm = 0
        self._striking = False

    def __enter__(self) -> Self:
        with ExitStack() as begun:
            try:
                self._disk = begun.enter_context(small_disk(_DISK_MB))
            except NoSmallDisk as why:
                self.no_small_disk = str(why)
            self.server = begun.enter_context(ServerOfOurOwn(self._disk))
            self.model_url = begun.enter_context(mock_server(_LATENCY_MS))
            keeping = threading.Thread(target=self._keep_running)
            keeping.start()
            begun.callback(keeping.join)
            begun.callback(self._over.set)
            self._ending = begun.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.close()

    def asked(self) -> Counter[str]:
        """How often the model server was asked each prompt."""
        return Counter(asked(self.model_url))

    def retry(self, call: Callable[[], T]) -> T:
        """What `call` returns, once the database server answers."""
        return Outage(longest_s=90).retry(call, (psycopg.OperationalError, InvalidInput))

    # -- strikes that hit every storm --------------------------------------------------------

    @contextmanager
    def calm(self) -> Iterator[None]:
        """Nothing strikes the database server meanwhile."""
        with self._turns:
            self._turns.wait_for(lambda: not self._striking)
            self._calm += 1
        try:
            self.retry(lambda: psycopg.connect(self.server.url).close())
            yield
        finally:
            with self._turns:
                self._calm -= 1
                self._turns.notify_all()

    @contextmanager
    def _strike(self) -> Iterator[None]:
        with self._turns:
            self._turns.wait_for(lambda: not self._calm and not self._striking)
            self._striking = True
        try:
            yield
        finally:
            with self._turns:
                self._striking = False
                self._turns.notify_all()

    def kill_database(self, away_s: float) -> None:
        """`kill -9` of the server; it is started again after so many seconds."""
        with self._strike():
            pid = self.server.status().pid
            if pid is not None:
                with suppress(psutil.Error):
                    psutil.Process(pid).kill()
            time.sleep(away_s)

    def fill_disk(self, full_s: float) -> None:
        """No room for the server for so many seconds."""
        if self._disk is not None:
            with self._strike(), filled(self._disk):
                time.sleep(full_s)

    def _keep_running(self) -> None:
        """Start the server again whenever it is down, as the machine's own service manager does."""
        while not self._over.wait(_LOOK_EVERY_S):
            with self._turns:
                held = self._striking and self._disk is None
            if not held and self.server.status().pid is None:
                with suppress(InvalidInput):
                    self.server.ensure_running()
