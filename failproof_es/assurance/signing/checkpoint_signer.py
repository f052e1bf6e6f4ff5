"""The checkpoint signer: integrates new events, signs and keeps a checkpoint, during a run.

It works in a thread, every few seconds and once at the end. Its errors never disturb the run:
unsigned events are signed at the next attempt, and `trouble` has the error. A changed log is not
signed; `changed` has the first sign of the change. A host without a key of the log signs nothing,
and makes no key: `make_key` does that once, for `failproof-es db init`. A host whose key is empty
or cannot be read has `trouble`.
"""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from failproof_es.assurance.signing.integrator import LedgerBroken, sign_checkpoint
from failproof_es.assurance.signing.kept_checkpoints import (
    Forked,
    check_and_keep,
    check_continues,
    default_place,
    newest_signed,
    read_kept,
)
from failproof_es.assurance.signing.signing_key import (
    has_key,
    key_path,
    log_key,
    own_public_key,
    signs_here,
)
from failproof_es.ledger import checkpoint
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.note import NoteError, SigningKey
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection
from failproof_es.store.store import Store

CHECKPOINT_EVERY_S = 10.0


class CheckpointSigner:
    """Signs the log of a store for as long as the context lasts.

    With `must_sign` a missing key is `trouble`, too: for a service that does nothing else.
    """

    def __init__(
        self, store: Store, every_s: float = CHECKPOINT_EVERY_S, *, must_sign: bool = False
    ) -> None:
        self._store = store
        self._every_s = every_s
        self._must_sign = must_sign
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="ledger", daemon=True)
        self.trouble: Exception | None = None
        """Why the last attempt to sign or to keep failed; `None` when it succeeded."""
        self.changed: LedgerBroken | Forked | None = None
        """The first sign that the log was changed or replaced; `None` when there is none."""
        self.is_signer = True
        """Whether this host is to sign the log, as the last attempt saw it."""

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
                with self._store.lend() as connection:
                    self.is_signer = self._must_sign or is_signer(connection)
                    if self.is_signer:
                        sign_and_keep_checkpoint(connection)
                self.trouble = None
            except Exception as error:  # no error may stop the run, which reports it
                self.trouble = error
                if isinstance(error, LedgerBroken | Forked):
                    self.changed = self.changed or error


def sign_and_keep_checkpoint(connection: Connection) -> Checkpoint:
    """Compare the log with this user's kept checkpoint, sign it, and keep the new checkpoint.

    Raises `LedgerBroken`, `Forked`, `NoteError` or `InvalidInput`. Nothing was signed then, unless
    only keeping failed.
    """
    key = own_key(connection)
    place = str(default_place(key.name))
    sign_checkpoint(connection, key, place)
    newest, _ = check_and_keep(connection, place, key.public)
    return newest


def require_continued_log(store: Store) -> None:
    """Raise `Forked` if the log does not continue the checkpoint that this user keeps.

    Does nothing where none is kept, or where key, file or checkpoint cannot be read: the signer has
    that as `trouble`.
    """
    with store.lend() as connection, contextlib.suppress(InvalidInput, NoteError):
        origin = ledger.origin(connection)
        key = own_public_key(origin)
        if key is None or (before := read_kept(str(default_place(origin)), key)) is None:
            return
        signed = newest_signed(connection, key)
        if signed is None:
            raise Forked(
                f"the checkpoint kept signs {before.size} events, and this log has none: its "
                "checkpoints were deleted, or an older backup restored"
            )
        check_continues(connection, before, checkpoint.opened(signed, key))


def own_key(connection: Connection) -> SigningKey:
    """This user's key of the log. Raises `InvalidInput` where there is none on this host."""
    origin = ledger.origin(connection)
    if ledger.newest_checkpoint(connection) is None and not has_key(key_path(origin)):
        raise InvalidInput.because(
            "no-signing-key",
            f"there is no key for {origin} in {key_path(origin)}, and nobody has signed it yet",
            remedy="`failproof-es db init` makes one, on the host that shall sign the log",
        )
    return log_key(origin)


def make_key(connection: Connection) -> Path | None:
    """Make the key of a log that nobody has signed; return the key's file.

    Returns `None` where this host has the key, or somebody has signed the log. Raises
    `InvalidInput` where the file cannot be made.
    """
    with connection.transaction():
        ledger.lock(connection)  # two processes must not both make a key
        origin = ledger.origin(connection)
        signed = ledger.newest_checkpoint(connection) is not None
        if signed or default_place(origin).exists() or has_key(key_path(origin)):
            return None
        log_key(origin, create=True)
    return key_path(origin)


def is_signer(connection: Connection) -> bool:
    """Whether this host is to sign the log."""
    return signs_here(ledger.origin(connection))
