"""What the simulated servers charge, held against the run's spend ceiling.

It is counted where a request arrives, in whole millionths of a dollar, whatever becomes of the
reply: an engine that keeps to its ceiling keeps to it then, too.
"""

from __future__ import annotations

from decimal import Decimal
from random import Random

import orjson

from failproof_es.store.mapper import LogEntry
from tests.simulation.plan import RATE

_MILLION = 1_000_000


class Bill:
    """The charges of one history, and the ceiling that is in force. Without one `ceiling` is 0."""

    def __init__(self, ceiling: int, wrong: list[str]) -> None:
        self.ceiling = ceiling
        self.charged = 0
        self._reached = False
        self._wrong = wrong

    @property
    def ceiling_usd(self) -> Decimal:
        """The ceiling in US dollars."""
        return Decimal(self.ceiling) / _MILLION

    def charge(self, number: int, input_tokens: int, output_tokens: int) -> None:
        """A server charges this for a request that arrived."""
        self.charged += input_tokens * int(RATE.input or 0) + output_tokens * int(RATE.output or 0)
        if self.ceiling and self.charged > self.ceiling:
            self._wrong.append(
                f"with request {number} the servers have charged {self.charged} millionths of a "
                f"dollar; the spend ceiling is {self.ceiling}"
            )

    def committed(self, entry: LogEntry) -> None:
        """Note what the run's own stream says of its ceiling."""
        if entry.topic == "SpendCeilingChanged":
            said = Decimal(orjson.loads(entry.state)["max_spend_usd"])
            self.ceiling, self._reached = int(said * _MILLION), False
        elif entry.topic == "RunPaused":
            self._reached = self._reached or "spend ceiling" in orjson.loads(entry.state)["reason"]

    def raised_usd(self, random: Random, *, surely: bool) -> Decimal | None:
        """The ceiling with which a person resumes a run that was paused by it: perhaps a higher
        one."""
        if not self._reached or not (surely or random.random() < 0.5):
            return None
        return Decimal(2 * self.ceiling) / _MILLION
