"""Keeps the tree current while a run goes: integrates, signs and keeps a checkpoint.

In a thread of its own, every few seconds and once more at the end. It never disturbs the
run: what it could not sign now it signs later, and `trouble` says what stood in the way.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from failproof_es.assurance.integrator import sign_checkpoint
from failproof_es.assurance.signing_key import log_key
from failproof_es.assurance.trusted import check_continues, default_place, keep, read_kept
from failproof_es.ledger import checkpoint
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection
from failproof_es.store.store import Store

CHECKPOINT_EVERY_S = 10.0


class Keeper:
    """Signs the log of a store for as long as the context lasts."""

    def __init__(self, store: Store, every_s: float = CHECKPOINT_EVERY_S) -> None:
        self._store = store
        self._every_s = every_s
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="ledger", daemon=True)
        self.trouble: Exception | None = None
        """Why the last attempt signed or kept nothing; `None` when it did."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ending.set()
        self._thread.join()

    def _keep(self) -> None:
        ended = False
        while not ended:
            ended = self._ending.wait(self._every_s)
            try:
                with self._store.connect() as connection:
                    checkpoint_and_keep(connection)
                self.trouble = None
            except Exception as error:  # whatever it is, the thread goes on and says it
                self.trouble = error


def checkpoint_and_keep(connection: Connection) -> Checkpoint:
    """Sign the log as it stands, hold it to the checkpoint kept by this user, and keep it.

    Raises `LedgerBroken`, `Forked`, `NoteError` or `InvalidInput`.
    """
    origin = ledger.origin(connection)
    key = log_key(origin, create=ledger.newest_checkpoint(connection) is None)
    place = str(default_place(origin))
    kept = read_kept(place, key.public)
    signed = sign_checkpoint(connection, key)
    newest = checkpoint.opened(signed, key.public)
    if kept is not None:
        check_continues(connection, kept, newest)
    keep(place, signed, newest.size)
    return newest
