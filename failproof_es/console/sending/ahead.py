"""Buffers a response, so that no reader of the database waits for a slow client.

Pieces that the client has not taken yet are kept here: a few megabytes in memory and the rest in an
unnamed temporary file.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from threading import Condition, Thread
from typing import IO

from starlette.concurrency import run_in_threadpool

PIECE = 2**20
"""Bytes from which on pieces are joined to one block."""
IN_MEMORY = 4
"""Most blocks in memory; further ones go to a temporary file."""


class ReadAhead:
    """Reads pieces as fast as they come, in a thread, and returns them in order."""

    def __init__(self, pieces: Iterator[str], close: Callable[[], None]) -> None:
        """`close` is called at the end in any case, to release what `pieces` holds."""
        self._pieces = pieces
        self._close = close
        self._changed = Condition()
        self._kept: deque[bytes] = deque()
        self._filed = _SpillFile()  # continues `_kept`
        self._begun: list[bytes] = []  # continues `_filed`
        self._size = 0
        self._over = self._left = False
        self._error: Exception | None = None
        Thread(target=self._read_pieces, name="console-download", daemon=True).start()

    def take(self) -> bytes:
        """The next bytes, any number of them; waits for them. Empty at the end.

        Raises the exception of `pieces`, after all bytes that came before it.
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
            return self._join_begun()

    async def stream_pieces(self) -> AsyncIterator[bytes]:
        """All remaining bytes, piece by piece."""
        while piece := await run_in_threadpool(self.take):
            yield piece

    def leave(self) -> None:
        """Discard what is kept; the reader stops after its present piece."""
        with self._changed:
            self._left = True
            self._kept.clear()
            self._filed.close()
            self._join_begun()

    def _read_pieces(self) -> None:
        try:
            for piece in self._pieces:
                if not self._keep_piece(piece.encode()):
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

    def _keep_piece(self, piece: bytes) -> bool:
        """Keep a piece; return whether more are wanted."""
        with self._changed:
            if self._left:
                return False
            self._begun.append(piece)
            self._size += len(piece)
            if self._size >= PIECE:
                if len(self._kept) < IN_MEMORY and not self._filed.size:
                    self._kept.append(self._join_begun())
                else:
                    self._filed.put(self._join_begun())
            self._changed.notify_all()
            return True

    def _join_begun(self) -> bytes:
        piece = b"".join(self._begun)
        self._begun, self._size = [], 0
        return piece


class _SpillFile:
    """A queue of bytes in a temporary file, which exists while the queue is not empty."""

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
