"""Reports why the log could not be signed, for the commands that sign while they work."""

from __future__ import annotations

from failproof_es.assurance.signing.checkpoint_signer import CheckpointSigner, has_own_key
from failproof_es.cli.rendering.output import say
from failproof_es.store.store import Store

_NO_KEY = (
    "this host has no key of the log, so it signs nothing: `failproof-es ledger sign` does on the "
    "host that has it, which is where `failproof-es db init` was run"
)


def report_signing_error(keeper: CheckpointSigner) -> None:
    """Report an error, if there was one. A changed log is an error, all else a warning."""
    if keeper.changed is not None:
        say(
            f"error: the log was changed: {keeper.changed}. Nothing was signed. What was "
            "recorded now stays on record. `failproof-es verify` says what was changed."
        )
    elif keeper.trouble is not None:
        trouble = str(keeper.trouble) or type(keeper.trouble).__name__
        say(f"warning: the log could not be signed: {trouble}")
    elif not keeper.has_key:
        say(_NO_KEY)


def report_missing_key(store: Store) -> None:
    """Tell who works on a log for a while that this host does not sign it, if it does not."""
    with store.connect() as connection:
        if not has_own_key(connection):
            say(_NO_KEY)
