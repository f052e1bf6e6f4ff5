"""Says why requests wait for a share of a server's limits: which workers have the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from failproof_es.core.limits import ProviderKey
from failproof_es.engine.preflight.record import Say
from failproof_es.engine.workers.presence import KEY_DIGITS, ShareRecord, list_shares
from failproof_es.store.reading.reader import Connection
from failproof_es.support import clock
from failproof_es.support.plurals import plural

WAITS_S = 5.0
"""Seconds without a request after which a worker says why."""
AGAIN_S = 60.0
"""Seconds until the worker says so again."""


class LimitWaits:
    """Tells people why one worker waits for its shares of limits.

    It says each reason once a minute.
    """

    def __init__(self, holder: str, say: Say) -> None:
        """`holder` is the name under which the worker itself has shares; `say` gets the
        messages."""
        self._holder = holder
        self._say = say
        self._since: dict[ProviderKey, float] = {}
        self._said: dict[ProviderKey, float] = {}

    def overdue(self, starving: Iterable[ProviderKey]) -> list[ProviderKey]:
        """The starving keys that have waited for `WAITS_S` and were not reported within `AGAIN_S`.
        Call it regularly with all keys that are starving now (`KeyShare.is_starving`)."""
        now = clock.monotonic_s()
        self._since = {key: self._since.get(key, now) for key in starving}
        return [
            key
            for key, since in self._since.items()
            if now - since >= WAITS_S and now - self._said.get(key, -inf) >= AGAIN_S
        ]

    def tell(self, connection: Connection, overdue: Sequence[ProviderKey]) -> None:
        """Say for each overdue key which other workers have shares of its limits.

        Nothing is said if there are none.
        """
        shares = list_shares(connection)
        for key in overdue:
            self._said[key] = clock.monotonic_s()
            digits = key.digest[:KEY_DIGITS]
            other_shares = (
                share for share in shares if share.key == digits and share.holder != self._holder
            )
            if reasons := "; ".join(filter(None, map(_describe_share, other_shares))):
                clear = f"`failproof-es workers --clear {digits}` takes their shares away"
                self._say(f"waits for its share of the limits of {key.server}: {reasons}. {clear}")


def _describe_share(share: ShareRecord) -> str | None:
    """Words for the part of the limits that the share keeps from others; `None` if it keeps
    nothing."""
    if share.holder is None:
        return f"the server is left alone for {share.held_s:.0f} s"
    limits = (share.concurrency, share.requests, share.tokens)
    if all(number is None for number in limits):
        return f"{share.holder} has a share without a limit"
    nouns = (("request at once", "requests at once"), ("request", None), ("token", None))
    has = [plural(number, *noun) for number, noun in zip(limits, nouns, strict=True) if number]
    return f"{share.holder} has {', '.join(has)}" if has else None
