"""The entry point of the program `failproof-es`: Ctrl-C ends it with exit code 130 at any moment.

This module imports nothing of the program before the handler is installed, and the handler needs
nothing that could be half imported when it is called.
"""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_Handler = Callable[[int, FrameType | None], object]
INTERRUPTED = 130
"""The exit code of a program that Ctrl-C ended, as shells have it: 128 + signal number."""


def main() -> None:
    """Run the program with the arguments of this process."""
    _MAIN.append(True)
    signal.signal(signal.SIGINT, leave)
    # The interpreter restores the default while it ends: the signal would change the exit code.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    sys.unraisablehook = _interrupt_again
    from failproof_es.cli.app.command_table import main as program

    try:
        program(prog_name="failproof-es")
    except SystemExit:
        if _TO_REPEAT:  # the command was over first
            with suppress(OSError):  # nobody reads
                sys.stdout.flush()
            leave(signal.SIGINT, None)
        raise


def leave(number: int, frame: FrameType | None) -> None:
    """End the process with exit code 130: outside of a command there is nothing to clean up.

    A handler of SIGINT.
    """
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


@contextmanager
def interrupts_raise() -> Iterator[None]:
    """Let Ctrl-C raise `KeyboardInterrupt` in this context, so that a command can clean up.

    Only if `main` runs the program: another program keeps its own handler.
    """
    with _handler_replaced(leave, signal.default_int_handler):
        yield


@contextmanager
def interrupts_leave() -> Iterator[None]:
    """Let Ctrl-C end the process at once in this context, where interrupts raise around it.

    For imports: a native module that is interrupted while it initialises may crash (orjson does).
    Only if `main` runs the program.
    """
    with _handler_replaced(signal.default_int_handler, leave):
        yield


@contextmanager
def _handler_replaced(before: _Handler, handler: _Handler) -> Iterator[None]:
    """Let `handler` handle Ctrl-C in this context if `main` runs and `before` handles it now."""
    if not _MAIN or signal.getsignal(signal.SIGINT) is not before:
        yield
        return
    try:
        signal.signal(signal.SIGINT, handler)
        yield
    finally:
        signal.signal(signal.SIGINT, before)


_MAIN: list[bool] = []
"""Has an entry once `main` runs the program."""
_TO_REPEAT: list[bool] = []
"""Has an entry for each `KeyboardInterrupt` that Python ignored, until it is repeated."""


def _interrupt_again(ignored: sys.UnraisableHookArgs) -> None:
    """Repeat a `KeyboardInterrupt` that Python ignored in a weak reference's callback."""
    if ignored.exc_type is KeyboardInterrupt:
        _TO_REPEAT.append(True)
        _thread.start_new_thread(_interrupt_soon, ())
    else:
        sys.__unraisablehook__(ignored)


def _interrupt_soon() -> None:
    time.sleep(0.02)  # the callback has returned by then; if not, this is repeated
    _thread.interrupt_main()
    _TO_REPEAT.pop()


def is_interrupt(error: Exception) -> bool:
    """Whether the error was caused by a `KeyboardInterrupt`.

    Modules that a running command imports build pydantic's classes. Its core turns any exception
    of that time into a `SchemaError`, whose message alone names the original one.
    """
    return type(error).__name__ == "SchemaError" and "KeyboardInterrupt" in str(error)


def report_interrupt() -> int:
    """Say on stderr that the command was interrupted; return the exit code. Imports nothing."""
    sys.stderr.write("interrupted\n")
    return INTERRUPTED
