"""Calls a user's own code in daemon threads: a call that never returns does not block the exit."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable
from typing import Any

from failproof_es.models.protocol import LONGEST_TEXT_BYTES, OnText


class UserCodeError(Exception):
    """The exception that the user's code raised, as opposed to one of this program."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


async def in_a_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of `function(*arguments)`, called in a new thread.

    Raises `UserCodeError` if the function raises. Cancellation does not stop the thread: it runs
    until the function returns.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if done.done():
            return  # cancelled meanwhile
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(UserCodeError(error))

    def call() -> None:
        result, raised = None, None
        try:
            result = function(*arguments)
        except BaseException as error:
            raised = error
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, result, raised)

    threading.Thread(target=call, name="model-client", daemon=True).start()
    return await done


class TextPieces:
    """Collects the pieces of text that a user's code yields.

    `text` holds the pieces so far, also after an error. No more pieces are taken after
    cancellation, or beyond `LONGEST_TEXT_BYTES` characters.
    """

    def __init__(self, on_piece: OnText) -> None:
        """`on_piece` is called in the event loop with each piece, in order."""
        self._on_piece = on_piece
        self._given_up = threading.Event()
        self.text: list[str] = []

    async def take(self, function: Callable[..., Iterable[str]], *arguments: Any) -> None:
        """Call the function in a thread, and take all pieces that it yields.

        Raises `UserCodeError` if the function raises or yields anything but text.
        """
        loop = asyncio.get_running_loop()

        def call() -> None:
            length = 0
            for piece in function(*arguments):
                if self._given_up.is_set() or length > LONGEST_TEXT_BYTES:
                    return
                if not isinstance(piece, str):
                    raise TypeError(f"stream_completion gave {type(piece).__name__}")
                length += len(piece)
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(self._add_piece, piece)

        try:
            await in_a_thread(call)
        finally:
            self._given_up.set()

    def _add_piece(self, piece: str) -> None:
        if not self._given_up.is_set():
            self.text.append(piece)
            self._on_piece(piece)
