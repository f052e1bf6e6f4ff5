"""The subscribers to each subject, and each subject's final notice."""

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
    """Calls callbacks in order: a `dispatcher.Dispatcher`, or one of a test."""

    def put(self, call: Callable[[], None]) -> None:
        """Queue a call after all earlier calls."""


class UnknownToken(LookupError):
    """The error for a token that no subscription ever had."""


class UnknownSubmission(LookupError):
    """The error for an id that no submission ever had."""


@dataclass(frozen=True, slots=True)
class _Listener:
    """A callback, its event and the dispatcher that calls it."""

    event: BenchmarkEvent
    callback: Callback
    calls: CallbackDispatcher


@dataclass(slots=True)
class _Subject:
    """A submission or a run: its listeners by token, and its final notice."""

    listeners: dict[int, _Listener] = field(default_factory=dict)
    final: Notice | None = None


class Subscriptions:
    """Passes notices about subjects to their subscribers, in order.

    A subject is a number: a submission's id, or 0 for the runs of a session. Its final notice
    (COMPLETED or ERROR) is its last one; a later subscriber to that event gets it at once. All
    methods may be called from any thread, also from a callback.
    """

    def __init__(self, dispatcher: CallbackDispatcher) -> None:
        self._dispatcher = dispatcher
        self._lock = threading.RLock()  # a test may call callbacks while it is held
        self._subjects: dict[int, _Subject] = {}
        self._subjects_by_token: dict[int, int] = {}
        """The subject of every token ever issued."""

    def open(self, subject: int) -> None:
        """Begin a subject, or reopen it: its listeners stay, its final notice is cleared."""
        with self._lock:
            self._subjects.setdefault(subject, _Subject()).final = None

    def subscribe(
        self,
        subject: int,
        event: BenchmarkEvent,
        callback: Callback,
        calls: CallbackDispatcher | None = None,
    ) -> int:
        """Register a callback for an event of a subject; returns its token.

        `calls` is the dispatcher that calls it; `None` means the shared one. Raises
        `UnknownSubmission` for a subject that was never opened.
        """
        with self._lock:
            if subject not in self._subjects:
                raise UnknownSubmission(f"there is no submission {subject}")
            token = len(self._subjects_by_token) + 1
            self._subjects_by_token[token] = subject
            place = self._subjects[subject]
            place.listeners[token] = _Listener(event, callback, calls or self._dispatcher)
            if place.final is not None and place.final.event is event:
                self._queue_call(token, place, place.final)
        return token

    def unsubscribe(self, token: int) -> None:
        """Remove a callback, also from calls that are queued; idempotent.

        Raises `UnknownToken` for a token that was never issued.
        """
        with self._lock:
            if token not in self._subjects_by_token:
                raise UnknownToken(f"there is no subscription {token}")
            self._subjects[self._subjects_by_token[token]].listeners.pop(token, None)

    def publish(self, subject: int, notice: Notice) -> None:
        """Pass a notice to the subject's subscribers to its event; ignored after the final
        notice."""
        with self._lock:
            place = self._subjects[subject]
            if place.final is not None:
                return
            if notice.event in FINAL:
                place.final = notice
            for token, listener in list(place.listeners.items()):
                if listener.event is notice.event:
                    self._queue_call(token, place, notice)

    def _queue_call(self, token: int, place: _Subject, notice: Notice) -> None:
        place.listeners[token].calls.put(partial(self._call_if_subscribed, token, place, notice))

    def _call_if_subscribed(self, token: int, place: _Subject, notice: Notice) -> None:
        with self._lock:
            listener = place.listeners.get(token)
        if listener is not None:
            listener.callback(notice)
