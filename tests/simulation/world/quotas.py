"""What workers send to the simulated servers, held against their limits and the holds.

It is counted where a request is sent, whatever becomes of it. Tokens count as the server states
them; those that it hides from whoever asks are no part of the promise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from failproof_es.core.limits.local_share import UNUSED_PART
from failproof_es.core.limits.shared import MINUTE_S
from failproof_es.engine.limits.key_share import SHARE_S
from tests.simulation.plan import Shape
from tests.simulation.world.network import SentRequest

_KNOWN_AFTER_S = SHARE_S * (1 - 1 / UNUSED_PART)
"""Who has not heard of a hold that stood in the database for so long has no share any more."""
Hold = tuple[float, float]
"""When it was told to the database, and when it ends."""


@dataclass(slots=True)
class _CountedRequest:
    """One request that a worker sent."""

    sent_s: float
    body_bytes: int
    server: str
    sent: SentRequest
    tokens: int = 0


class Quotas:
    """The requests of workers in one history. `holds`: by server, as the database was told."""

    def __init__(
        self, shape: Shape, holds: Mapping[str, Sequence[Hold]], calm_s: float, wrong: list[str]
    ) -> None:
        self.shape = shape
        self._holds = holds
        self._calm_s = calm_s
        self._wrong = wrong
        self._sent: dict[str, list[_CountedRequest]] = {}
        self._by_number: dict[int, _CountedRequest] = {}

    def send(self, sent: SentRequest, now_s: float, *, was_stopped: bool) -> None:
        """A worker sends this now. One that was stopped may have been stopped just before."""
        number = int(orjson.loads(sent.body)["model"].rpartition("-")[2]) % self.shape.servers
        server = f"http://server-{number}.test"
        counted = _CountedRequest(now_s, len(sent.body), server, sent)
        self._by_number[sent.number] = counted
        self._sent.setdefault(server, []).append(counted)
        most = self.shape.at_once
        if most is not None and self._in_flight(server) > most:
            self._wrong.append(f"{server} got more than {most} requests at once")
        most = self.shape.per_minute
        if most is not None and len(self._minute(server, now_s)) > most:
            self._wrong.append(f"{server} got more than {most} requests in a minute")
        if not was_stopped and self._is_limited and self._is_held(server, now_s):
            self._wrong.append(f"request {sent.number} was sent though {server} wants nothing")

    def charge(self, number: int, input_tokens: int, output_tokens: int) -> None:
        """The server counts these tokens of the request of this number, which may be nobody's."""
        counted, most = self._by_number.get(number), self.shape.tokens_per_minute
        if counted is None or most is None:
            return
        counted.tokens = min(input_tokens, counted.body_bytes) + output_tokens
        for last in self._sent[counted.server]:
            minute = self._minute(counted.server, last.sent_s)
            if sum(each.tokens for each in minute) > most:
                self._wrong.append(f"{counted.server} got more than {most} tokens in a minute")
                return

    @property
    def _is_limited(self) -> bool:
        shape = self.shape
        return (shape.at_once, shape.per_minute, shape.tokens_per_minute) != (None, None, None)

    def _in_flight(self, server: str) -> int:
        """The requests that somebody waits for. One that was killed or stopped waits for none: its
        share has ended when another worker has it."""
        return sum(
            not (each.sent.answer.done() or each.sent.process.dead or each.sent.process.stopped)
            for each in self._sent[server]
        )

    def _minute(self, server: str, end_s: float) -> list[_CountedRequest]:
        sent = self._sent[server]
        return [each for each in sent if end_s - MINUTE_S < each.sent_s <= end_s]

    def _is_held(self, server: str, now_s: float) -> bool:
        """A hold that ends later by less than half a renewal counts as the same one."""
        return any(
            told_s <= now_s - _KNOWN_AFTER_S and now_s < end_s - self._calm_s / 2
            for told_s, end_s in self._holds.get(server, ())
        )
