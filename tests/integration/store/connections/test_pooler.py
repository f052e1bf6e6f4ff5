"""Which answers of a pooler show that it shares its sessions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from failproof_es.problems import InvalidInput
from failproof_es.store import pooler

MADE_UP = 1 << 30


class Answers:
    """A connection whose statements are answered by these sessions, in turn; by the last then."""

    def __init__(self, *sessions: int) -> None:
        self.info = SimpleNamespace(backend_pid=MADE_UP)
        self._sessions = list(sessions)

    def execute(self, statement: str, *, prepare: bool) -> Any:
        session = self._sessions.pop(0) if len(self._sessions) > 1 else self._sessions[0]
        return SimpleNamespace(fetchone=lambda: (session,))


def check(monkeypatch: pytest.MonkeyPatch, ours: Answers, theirs: Answers) -> None:
    @contextmanager
    def connect(url: str) -> Iterator[Answers]:
        yield theirs

    monkeypatch.setattr(pooler, "connect", connect)
    pooler.require_sessions(ours, "a URL")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [((1,), (1,)), ((1, 2), (3,)), ((1,), (2, 3)), ((1, 1, 1, 1, 2), (3,)), ((1,), (3, 3, 3, 4))],
    ids=["the same", "moved", "the other moved", "moved late", "the other moved late"],
)
def test_a_session_that_is_shared_is_refused(
    monkeypatch: pytest.MonkeyPatch, ours: tuple[int, ...], theirs: tuple[int, ...]
) -> None:
    with pytest.raises(InvalidInput, match=r"\[unsupported-pooler\]"):
        check(monkeypatch, Answers(*ours), Answers(*theirs))


def test_sessions_that_stay_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    check(monkeypatch, Answers(1), Answers(2))


def test_a_connection_to_the_server_itself_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    check(monkeypatch, Answers(MADE_UP), Answers(MADE_UP))
