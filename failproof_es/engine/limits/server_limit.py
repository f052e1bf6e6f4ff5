"""The limit of one server: requests at once, waits, whether it is down, how long it refuses. Pure.

Additive increase, multiplicative decrease: a 429 halves the limit, every whole round of
answers raises it by one step. A server that fails several cases in a row without an answer is
down. Times are seconds of one monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self
from uuid import UUID

from failproof_es.models.protocol import ModelError

Reason = Literal["rate_limited", "retry_after", "released", "recovered"]

_OUTAGE_STATUSES = frozenset({502, 503, 521, 522, 523, 530})
"""The HTTP statuses of a server, or of a proxy before it, that cannot be reached."""
_CASES_OF_OUTAGE = 2
"""Number of cases that a server must fail in a row to count as down: one alone may be what
breaks it, in each of its repetitions."""
_STEPS = 20
"""Number of rounds of answers in which the limit grows from nothing to the ceiling."""
_LONGER_S = 1.0
"""A hold that ends later by less than this is still the same one: nothing to record."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit of one server, a value that never changes: each method returns the next one.

    It allows between 1 and `ceiling` requests at once, and none until `held_until`.
    """

    ceiling: int
    allowed: int
    answers: int = 0
    """The answers in the present round."""
    cut_at: float | None = None
    """Time of the last halving of the limit. Answers to earlier requests do not count for it."""
    held_until: float | None = None
    refused_since: float | None = None
    """Time of sending the first request of the present refusals; `None` after any answer."""
    unreached: frozenset[UUID] = frozenset()
    """The first cases, up to `_CASES_OF_OUTAGE`, whose requests did not reach the server since its
    last answer."""

    @classmethod
    def open(cls, ceiling: int) -> Self:
        """The limit of a server that has not complained."""
        return cls(ceiling, ceiling)

    def after_answer(self, sent_at: float) -> Limit:
        """The limit after an answer to a request sent at `sent_at`.

        As many answers as requests are allowed make a round; a full round raises the limit one
        step.
        """
        heard = self
        if self.refused_since is not None or self.unreached:
            heard = replace(self, refused_since=None, unreached=frozenset())
        if self.allowed >= self.ceiling or self._was_sent_before_the_cut(sent_at):
            return heard
        if self.answers + 1 < self.allowed:
            return replace(heard, answers=self.answers + 1)
        step = max(1, self.ceiling // _STEPS)
        return replace(heard, allowed=min(self.ceiling, self.allowed + step), answers=0)

    def after_refusal(self, sent_at: float) -> Limit:
        """The limit after the server refused a request sent at `sent_at`: refusals last from the
        first such request until any answer."""
        return self if self.refused_since is not None else replace(self, refused_since=sent_at)

    def after_outage(self, prompt_id: UUID) -> Limit:
        """The limit after a request of this case did not reach the server."""
        if prompt_id in self.unreached or self.is_down:
            return self
        return replace(self, unreached=self.unreached | {prompt_id})

    @property
    def is_down(self) -> bool:
        """Whether the server has failed several cases in a row, without an answer between."""
        return len(self.unreached) >= _CASES_OF_OUTAGE

    def after_answer_elsewhere(self, at: float) -> Limit:
        """The limit after another process was answered at time `at`: the server does not refuse
        everything, and is not down. Unchanged if the refusals here began later."""
        if self.refused_since is None or at < self.refused_since:
            return self
        return replace(self, refused_since=None, unreached=frozenset())

    def refusing_for_s(self, now: float) -> float:
        """Seconds for which the server has refused everything, including the rest of the wait that
        it asks for. 0 if it does not."""
        if self.refused_since is None:
            return 0.0
        return max(now, self.held_until or now) - self.refused_since

    def after_rate_limit(self, sent_at: float, now: float) -> Limit:
        """The limit after a 429 for a request sent at `sent_at`: half, at least 1.

        Only the first 429 counts for all requests in flight.
        """
        if self._was_sent_before_the_cut(sent_at):
            return self
        return replace(self, allowed=max(1, self.allowed // 2), answers=0, cut_at=now)

    def hold(self, now: float, retry_after_s: float) -> Limit:
        """The limit under which nothing is sent for `retry_after_s` seconds from `now`.

        If it holds already, the later end counts.
        """
        until = now + retry_after_s
        return replace(self, held_until=until if self.held_until is None
                       else max(self.held_until, until))  # fmt: skip

    def holds_longer_than(self, before: Limit) -> bool:
        """Whether the server asks to wait and `before` did not have that wait, or one that ends at
        least `_LONGER_S` seconds earlier."""
        if self.held_until is None:
            return False
        return before.held_until is None or self.held_until - before.held_until >= _LONGER_S

    def after_hold(self, now: float) -> Limit:
        """The limit at time `now`: without `held_until` if that is over, else unchanged."""
        if self.held_until is None or now < self.held_until:
            return self
        return replace(self, held_until=None)

    def _was_sent_before_the_cut(self, sent_at: float) -> bool:
        return self.cut_at is not None and sent_at < self.cut_at


def is_outage(error: ModelError) -> bool:
    """Whether the error says that the server could not be reached, whatever the case: a status
    that says so, or no connection on which the request could be written."""
    not_written = error.kind == "connection" and error.latency_ms is None
    return error.disposition == "transient" and (error.status in _OUTAGE_STATUSES or not_written)
