"""Live progress on a real terminal: what is on the screen while a run goes, and after it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pyte

from failproof_es.store.store import Store
from tests.acceptance.commands import (
    PROGRAM,
    environment,
    mock_server,
    write_configuration,
    write_suite,
)

ROWS = 40
CASES = 400
WORKERS = 4


class Terminal:
    """A process on a terminal of its own, and what that terminal shows."""

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int, columns: int) -> None:
        self.process = process
        self._descriptor = descriptor
        self._screen = pyte.Screen(columns, ROWS)
        self._stream = pyte.ByteStream(self._screen)

    def resize(self, columns: int) -> None:
        """Make the window narrower or wider; lines too long for it go on in the next one.

        Nothing is written meanwhile, as lines of the old width would be.
        """
        self.process.send_signal(signal.SIGSTOP)
        self.lines()
        before = self._screen.display[: self._screen.cursor.y + 1]
        self._screen = pyte.Screen(columns, ROWS)
        self._stream = pyte.ByteStream(self._screen)
        self._stream.feed("\r\n".join(line.rstrip() for line in before).encode())
        set_size(self._descriptor, columns)
        self.process.send_signal(signal.SIGCONT)

    def lines(self) -> list[str]:
        """What is on the screen now, line by line."""
        while select.select([self._descriptor], [], [], 0.05)[0]:
            try:
                self._stream.feed(os.read(self._descriptor, 65_536))
            except OSError:  # nobody writes to it any more
                break
        return [line.rstrip() for line in self._screen.display if line.strip()]

    def wait_for(self, what: Callable[[list[str]], bool]) -> list[str]:
        """The screen once this holds of it."""
        deadline = time.monotonic() + 60
        while not what(lines := self.lines()):
            assert time.monotonic() < deadline, "\n".join(lines)
        return lines


def set_size(descriptor: int, columns: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))


@contextmanager
def terminal(store: Store, *arguments: str, cwd: Path, columns: int) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    set_size(theirs, columns)
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        env=environment(store.url, TERM="xterm-256color"),
        cwd=cwd,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours, columns)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def headings(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("run 1 acceptance: ")]


def painted_since(before: str, lines: list[str]) -> bool:
    """Whether the heading says something new, and the bars below it are painted, too."""
    return bool(headings(lines)) and headings(lines)[-1] != before and "━" in " ".join(lines)


def test_a_window_that_shrinks_keeps_no_stray_line_and_the_end_state_stays(
    store: Store, tmp_path: Path
) -> None:
    write_suite(tmp_path, CASES)
    with mock_server(latency_ms=100) as url:
        write_configuration(tmp_path, url, execution={"parallel_workers": WORKERS})
        with terminal(store, "start", "run.yaml", cwd=tmp_path, columns=140) as shown:
            shown.wait_for(lambda lines: any("mock" in line and "━" in line for line in lines))
            for columns in (60, 139, 61):
                (before,) = headings(shown.lines())
                shown.resize(columns)
                lines = shown.wait_for(partial(painted_since, before))
                assert all(len(line) <= columns for line in lines)
                assert len(headings(lines)) == 1, lines
                assert sum("━" in line for line in lines) == 1, lines
            shown.process.send_signal(signal.SIGINT)
            lines = shown.wait_for(
                lambda lines: any(line.startswith("resume it") for line in lines)
            )
    (paused, *_) = headings(lines)
    assert paused.startswith("run 1 acceptance: paused, ")
    assert f" of {CASES} (" in paused and "100 %" not in paused
    assert sum("━" in line for line in lines) == 1, lines
    finished = int(paused.split(", ")[1].split(" ")[0])
    assert 0 < finished < CASES
    assert any(f"{finished} of {CASES} evaluations finished" in " ".join(lines) for _ in lines)
