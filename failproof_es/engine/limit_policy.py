"""How many requests a provider gets at once, and until when it gets none. Pure.

Additive increase, multiplicative decrease: a provider that says it is overloaded gets half as
many requests at once; every full round of answers gives some of them back.
"""

from __future__ import annotations

from typing import NamedTuple

SAME_HOLD_S = 1.0
"""By so much may the replies of one burst put a hold off without its being another hold."""


class Limit(NamedTuple):
    """One provider's limit. A tuple, because there is a new one for every answer while it grows.

    A request carries the number of the `burst` under which it was let go. Whatever was in
    flight when the limit was halved was let go under an earlier one: it says nothing about
    the limit of now, neither by being refused nor by being answered.
    """

    ceiling: int
    at_once: int
    burst: int = 0
    answers: int = 0
    """Of this burst, since the limit changed last."""
    held_until: float = 0.0
    """No request before; seconds of the clock that `overloaded` is told the time of."""

    def overloaded(self, burst: int, now: float, retry_after_s: float | None) -> Limit:
        """The limit after a request let go under `burst` met a provider that has too much.

        Halved, but not below 1, and once a burst. Every `Retry-After` counts, whoever meets
        it, and the longest one holds.
        """
        held_until = max(self.held_until, now + (retry_after_s or 0.0))
        if burst != self.burst:
            return self._replace(held_until=held_until)
        return self._replace(
            at_once=max(1, self.at_once // 2),
            burst=self.burst + 1,
            answers=0,
            held_until=held_until,
        )

    def answered(self, burst: int) -> Limit:
        """The limit after a request let go under `burst` was answered.

        As many answers as there may be requests at once are a round: it adds a tenth of the
        ceiling, at least 1.
        """
        if self.at_once >= self.ceiling or burst != self.burst:
            return self
        if self.answers + 1 < self.at_once:
            return self._replace(answers=self.answers + 1)
        grown = min(self.ceiling, self.at_once + max(1, self.ceiling // 10))
        return self._replace(at_once=grown, answers=0)


def is_worth_a_record(before: Limit, after: Limit) -> bool:
    """Whether the limit changed, or a hold began or was put off by more than `SAME_HOLD_S`.

    A burst of refusals puts its one hold off by milliseconds, again and again.
    """
    held_longer = after.held_until - before.held_until
    return after.at_once != before.at_once or held_longer > SAME_HOLD_S
