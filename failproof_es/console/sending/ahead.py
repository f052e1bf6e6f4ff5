"""Sends what is made while it is read, however slowly it is taken.

A reader of the database never waits for a client: what the client has not taken yet is kept here,
a few megabytes of it in memory and the rest in a temporary file, which has no name.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from threading import Condition, Thread
from typing import IO

from starlette.concurrency import run_in_threadpool

PIECE = 2**20
"""Bytes that are kept, and sent, together at most, but for a piece that is larger."""
IN_MEMORY = 4
"""So many of them at most are kept in memory; what follows goes to a temporary file."""


class ReadAhead:
    """Takes pieces as fast as they come, in a thread of its own, and gives them out in order."""

    def __init__(self, pieces: Iterator[str], close: Callable[[], None]) -> None:
        """`close` is called in the end, whatever comes: it gives back what the pieces hold."""
        self._pieces = pieces
        self._close = close
        self._changed = Condition()
        self._kept: deque[bytes] = deque()
        self._filed = _SpillFile()  # what follows what is kept
        self._begun: list[bytes] = []  # what follows what is filed
        self._size = 0
        self._over = self._left = False
        self._error: Exception | None = None
        Thread(target=self._read_pieces, name="console-download", daemon=True).start()

    def take(self) -> bytes:
        """What follows, of any length; waits for it. Empty at the end.

        Raises what the pieces raised, after all that came before it.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._kept or self._filed.size or self._begun or self._over
            )
            if self._kept:
                return self._kept.popleft()
            if self._filed.size:
                return self._filed.take(PIECE)
            if not self._begun and self._error is not None:
                raise self._error
            return self._together()

    async def stream_pieces(self) -> AsyncIterator[bytes]:
        """All that follows."""
        while piece := await run_in_threadpool(self.take):
            yield piece

    def leave(self) -> None:
        """Nobody takes more: the reader stops after the piece that it is at."""
        with self._changed:
            self._left = True
            self._kept.clear()
            self._filed.close()
            self._together()

    def _read_pieces(self) -> None:
        try:
            for piece in self._pieces:
                if not self._put(piece.encode()):
                    break
        except Exception as error:
            self._error = error
        finally:
            try:
                self._close()
            finally:
                with self._changed:
                    self._over = True
                    self._changed.notify_all()

    def _put(self, piece: bytes) -> bool:
        """Keep a piece; whether anybody still wants more."""
        with self._changed:
            if self._left:
                return False
            self._begun.append(piece)
            self._size += len(piece)
            if self._size >= PIECE:
                if len(self._kept) < IN_MEMORY and not self._filed.size:
                    self._kept.append(self._together())
                else:
                    self._filed.put(self._together())
            self._changed.notify_all()
            return True

    def _together(self) -> bytes:
        piece = b"".join(self._begun)
        self._begun, self._size = [], 0
        return piece


class _SpillFile:
    """Bytes in a temporary file, which is made for the first of them and goes with the last."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._from = self._to = 0

    @property
    def size(self) -> int:
        return self._to - self._from

    def put(self, piece: bytes) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - see `close`
        self._file.seek(self._to)
        self._file.write(piece)
        self._to += len(piece)

    def take(self, most: int) -> bytes:
        assert self._file is not None
        self._file.seek(self._from)
        piece = self._file.read(min(most, self.size))
        self._from += len(piece)
        if not self.size:
            self.close()
        return piece

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file, self._from, self._to = None, 0, 0
