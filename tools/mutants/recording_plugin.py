"""The plugin of the run with probes: which test file runs in which process, and for how long.

`copies` puts it into the environment of the copy as `failproof_mutants_recording`; its record is
the folder beside it. Session fixtures count as a place of their own, `<fixture NAME>`: what they
execute is of every test file that uses them.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

RECORD = Path(__file__).parent / "failproof_mutants_record"
FIXTURE = "<fixture {}>"
_WIDTH = 300

current = ""
"""What runs in this process: a test file, from the root, or a fixture; none while it collects."""


class _File:
    def __init__(self, path: str) -> None:
        self.path = path
        self.began_at = time.time()
        self.seconds = 0.0
        self.tests = 0
        self.failed: list[str] = []
        self.fixtures: set[str] = set()

    def write(self) -> None:
        """One line; none of a file that was interrupted."""
        if self.tests < _collected[self.path]:
            return
        line = {**vars(self), "fixtures": sorted(self.fixtures), "ended_at": time.time()}
        files = os.open(RECORD / "files.jsonl", os.O_WRONLY | os.O_APPEND)
        os.write(files, (json.dumps(line) + "\n").encode())
        os.close(files)


_collected: Counter[str] = Counter()
"""By file the number of its tests."""
_file: _File | None = None
_in_session_fixtures_s = 0.0


def pytest_configure(config: pytest.Config) -> None:
    """From now on this process is known to its children."""
    _switch("")


def _switch(place: str) -> None:
    global current
    current = place
    written = os.open(RECORD / "current" / str(os.getpid()), os.O_WRONLY | os.O_CREAT, 0o644)
    os.pwrite(written, place.ljust(_WIDTH).encode(), 0)
    os.close(written)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Count the tests of each file."""
    _collected.update(item.nodeid.partition("::")[0] for item in session.items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Measure the test, without the set-up of what the session shares."""
    global _file, _in_session_fixtures_s
    path = item.nodeid.partition("::")[0]
    if _file is None or _file.path != path:
        if _file is not None:
            _file.write()
        _file = _File(path)
        _switch(path)
    _file.fixtures.update(getattr(item, "fixturenames", ()))
    began, _in_session_fixtures_s = time.perf_counter(), 0.0
    try:
        return (yield)
    finally:
        _file.seconds += time.perf_counter() - began - _in_session_fixtures_s
        _file.tests += 1


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
    """Name the session fixture that is set up, if it is one."""
    global _in_session_fixtures_s
    if fixturedef.scope not in ("session", "package"):
        return (yield)
    before, began = current, time.perf_counter()
    is_outermost = not before.startswith("<")
    _switch(FIXTURE.format(fixturedef.argname))
    try:
        return (yield)
    finally:
        _switch(before)
        if is_outermost:
            _in_session_fixtures_s += time.perf_counter() - began


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a failure, in the process in which the test ran."""
    if _file is not None and report.failed and report.nodeid.startswith(f"{_file.path}::"):
        _file.failed.append(report.nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    """The last file is complete."""
    if _file is not None:
        _file.write()
