"""The checkpoint signer: integrates new events, signs and keeps a checkpoint, during a run.

It works in a thread of its own, every few seconds and once more at the end. It never disturbs
the run: events that it could not sign now it signs later, and `trouble` gives the reason.
A changed log is not signed, and `changed` says so when the run has ended.
"""

from __future__ import annotations

import threading
from contextlib import nullcontext
from types import TracebackType
from typing import Self

from failproof_es.assurance.signing.integrator import LedgerBroken, sign_checkpoint
from failproof_es.assurance.signing.kept_checkpoints import Forked, check_and_keep, default_place
from failproof_es.assurance.signing.signing_key import has_key, key_path, log_key
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.note import SigningKey
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection
from failproof_es.store.store import Store

CHECKPOINT_EVERY_S = 10.0


class CheckpointSigner:
    """Signs the log of a store for as long as the context lasts."""

    def __init__(
        self, store: Store, every_s: float = CHECKPOINT_EVERY_S, *, only_with_key: bool = False
    ) -> None:
        """`only_with_key`: on a host that has no key of the log sign nothing, and make no key."""
        self._store = store
        self._every_s = every_s
        self._only_with_key = only_with_key
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="ledger", daemon=True)
        self.trouble: Exception | None = None
        """Why the last attempt to sign or to keep failed; `None` when it succeeded."""
        self.changed: LedgerBroken | Forked | None = None
        """The first sign that the log was changed or replaced; `None` when there is none."""

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
                    if not self._only_with_key or has_own_key(connection):
                        sign_and_keep_checkpoint(connection)
                self.trouble = None
            except Exception as error:  # the run goes on whatever it is, and reports it
                self.trouble = error
                if isinstance(error, LedgerBroken | Forked):
                    self.changed = self.changed or error


def sign_and_keep_checkpoint(connection: Connection) -> Checkpoint:
    """Compare the log with this user's kept checkpoint, sign its present state, and keep that.

    Raises `LedgerBroken`, `Forked`, `NoteError` or `InvalidInput`; then nothing was signed,
    unless it is the keeping that failed.
    """
    first = ledger.newest_checkpoint(connection) is None
    with connection.transaction() if first else nullcontext():
        if first:  # of two hosts that would make a key at once, one does
            ledger.lock(connection)
        key = own_key(connection)
        place = str(default_place(key.name))
        sign_checkpoint(connection, key, place)
    newest, _ = check_and_keep(connection, place, key.public)
    return newest


def own_key(connection: Connection) -> SigningKey:
    """This user's key of the log; made if the log was never signed. Raises `InvalidInput`."""
    origin = ledger.origin(connection)
    unsigned = ledger.newest_checkpoint(connection) is None
    return log_key(origin, create=unsigned and not default_place(origin).exists())


def has_own_key(connection: Connection) -> bool:
    """Whether this user has a key of the log on this host. Raises `InvalidInput`."""
    return has_key(key_path(ledger.origin(connection)))
