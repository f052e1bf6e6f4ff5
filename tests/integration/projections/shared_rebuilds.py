"""Rebuilds in shares, so that a test knows whether there was one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
import pytest

from projections import parallel_rebuild, runner
from projections.batch import Share
from projections.protocol import Projection
from projections.shares import take_share


class HereAndNow:
    """A worker that takes in its shares in this process, at once."""

    def __init__(
        self, connection: psycopg.Connection[Any], projections: Sequence[Projection], building: int
    ) -> None:
        self._connection, self._projections = connection, projections[::-1]
        self._building = building
        self._events = 0

    def begin(self, share: Share) -> None:
        self._events = take_share(
            self._connection, self._projections, share, self._building, lambda _: None
        )

    def events(self) -> int:
        return self._events

    def require_alive(self) -> None:
        pass

    def end(self) -> None:
        pass


def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers be no processes."""
    monkeypatch.setattr(parallel_rebuild, "_RebuildWorker", HereAndNow)


def noted(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """Up to where each rebuild from now on came in shares; `None` where that failed."""
    found: list[int | None] = []
    build = parallel_rebuild.build_in_shares

    def build_and_note(*arguments: Any) -> int | None:
        found.append(build(*arguments))
        return found[-1]

    monkeypatch.setattr(runner, "build_in_shares", build_and_note)
    return found
