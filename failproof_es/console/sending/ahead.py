"""Buffers a response, so that no reader of the database waits for a slow client.

Pieces that the client has not taken yet are kept here: a few megabytes in memory, more of them in
an unnamed temporary file.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from tempfile import SpooledTemporaryFile
from threading import Condition, Thread

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

PIECE = 2**20
"""Most bytes that are taken at a time."""
IN_MEMORY = 4
"""Number of such pieces in memory; further bytes go to a temporary file."""


class ReadAhead:
    """Reads pieces as fast as they come, in a thread, and returns them in order."""

    def __init__(self, pieces: Iterator[str], close: Callable[[], None]) -> None:
        """`close` is called at the end in any case, to release what `pieces` holds."""
        self._pieces = pieces
        self._close = close
        self._changed = Condition()
        self._kept: SpooledTemporaryFile[bytes] | None = None
        self._taken = self._size = 0
        self._over = self._left = False
        self._error: Exception | None = None
        Thread(target=self._read_pieces, name="console-download", daemon=True).start()

    def take(self) -> bytes:
        """The next bytes, at most `PIECE`; waits for them. Empty at the end.

        Raises the exception of `pieces`, after all bytes that came before it.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._kept or self._over)
            if self._kept is None:
                if self._error is not None:
                    raise self._error
                return b""
            self._kept.seek(self._taken)
            piece = self._kept.read(PIECE)
            self._taken += len(piece)
            if self._taken == self._size:
                self._discard()
            return piece

    async def stream_pieces(self) -> AsyncIterator[bytes]:
        """All remaining bytes, piece by piece."""
        while piece := await run_in_threadpool(self.take):
            yield piece

    def leave(self) -> None:
        """Discard what is kept; the reader stops after its present piece."""
        with self._changed:
            self._left = True
            self._discard()

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
            if not self._left:
                if self._kept is None:
                    self._kept = SpooledTemporaryFile(IN_MEMORY * PIECE)  # noqa: SIM115
                self._kept.seek(self._size)
                self._size += self._kept.write(piece)
                self._changed.notify_all()
            return not self._left

    def _discard(self) -> None:
        if self._kept is not None:
            self._kept.close()
        self._kept, self._taken, self._size = None, 0, 0


class EndedResponse(StreamingResponse):
    """A streaming response that calls `ended` once, whether it was sent or failed."""

    def __init__(
        self,
        content: Iterator[str] | AsyncIterator[str] | AsyncIterator[bytes],
        *,
        ended: Callable[[], None],
        media_type: str,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(content, media_type=media_type, headers=headers)
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the class."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ended()
