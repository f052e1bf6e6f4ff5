"""The subscribers, and the latest notice on each subject."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from failproof_es.abstraction.enums import BenchmarkEvent
from failproof_es.abstraction.notices import FINAL, Notice

Callback = Callable[[Any], None]


class CallbackDispatcher(Protocol):
    """What calls callbacks: `dispatcher.Dispatcher`, or a test's own."""

    def put(self, call: Callable[[], None]) -> None:
        """Have it called, after all that was put before."""


class UnknownToken(LookupError):
    """No subscription ever had this token."""


class UnknownSubmission(LookupError):
    """Nothing was ever submitted under this id."""


@dataclass(frozen=True, slots=True)
class _Listener:
    """Who wants to hear of which event, and what calls it."""

    event: BenchmarkEvent
    callback: Callback
    calls: CallbackDispatcher


@dataclass(slots=True)
class _Subject:
    """One submission, or one run, that callbacks listen to."""

    listeners: dict[int, _Listener] = field(default_factory=dict)
    final: Notice | None = None


class Subscriptions:
    """Hands notices on to whoever subscribed, in order, by way of the dispatcher unless said.

    After a final notice nothing more is said of its subject. Who subscribes to it later is
    told at once. All methods may be called from any thread, from a callback as well.
    """

    def __init__(self, dispatcher: CallbackDispatcher) -> None:
        self._dispatcher = dispatcher
        self._lock = threading.RLock()  # a test may call callbacks while it is held
        self._subjects: dict[int, _Subject] = {}
        self._places: dict[int, int] = {}
        """The subject of every token that was ever given."""

    def open(self, subject: int) -> None:
        """Begin a subject, or begin it again: its listeners stay, its final notice goes."""
        with self._lock:
            self._subjects.setdefault(subject, _Subject()).final = None

    def subscribe(
        self,
        subject: int,
        event: BenchmarkEvent,
        callback: Callback,
        calls: CallbackDispatcher | None = None,
    ) -> int:
        """Register a callback, called by `calls` in place of the dispatcher; returns its token.

        Raises `UnknownSubmission`.
        """
        with self._lock:
            if subject not in self._subjects:
                raise UnknownSubmission(f"there is no submission {subject}")
            token = len(self._places) + 1
            self._places[token] = subject
            place = self._subjects[subject]
            place.listeners[token] = _Listener(event, callback, calls or self._dispatcher)
            if place.final is not None and place.final.event is event:
                self._hand_on(token, place, place.final)
        return token

    def unsubscribe(self, token: int) -> None:
        """Remove a callback: it is not called any more. Twice is once.

        Raises `UnknownToken` for a token that was never given.
        """
        with self._lock:
            if token not in self._places:
                raise UnknownToken(f"there is no subscription {token}")
            self._subjects[self._places[token]].listeners.pop(token, None)

    def publish(self, subject: int, notice: Notice) -> None:
        """Tell everyone who subscribed to it, unless the subject has had its last word."""
        with self._lock:
            place = self._subjects[subject]
            if place.final is not None:
                return
            if notice.event in FINAL:
                place.final = notice
            for token, listener in list(place.listeners.items()):
                if listener.event is notice.event:
                    self._hand_on(token, place, notice)

    def _hand_on(self, token: int, place: _Subject, notice: Notice) -> None:
        place.listeners[token].calls.put(partial(self._call, token, place, notice))

    def _call(self, token: int, place: _Subject, notice: Notice) -> None:
        with self._lock:
            listener = place.listeners.get(token)
        if listener is not None:
            listener.callback(notice)
