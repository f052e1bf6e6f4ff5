"""Reports why the log could not be signed, for the commands that sign while they work."""

from __future__ import annotations

from failproof_es.assurance.signing.checkpoint_signer import CheckpointSigner, is_signer
from failproof_es.cli.rendering.output import say
from failproof_es.store.store import Store

_NO_KEY = (
    "this host has no key of the log, so it signs nothing: `failproof-es ledger sign` does on the "
    "host that has it, which is where `failproof-es db init` was run"
)


def report_signing_error(keeper: CheckpointSigner, *, knows_missing: bool = False) -> None:
    """Say on stderr why nothing was signed; nothing if the log was signed.

    A changed log is an error, everything else a warning. With `knows_missing` the user knows
    already that this host has no key.
    """
    if keeper.changed is not None:
        say(
            f"error: the log was changed: {keeper.changed}. Nothing was signed. What was "
            "recorded now stays on record. `failproof-es verify` says what was changed."
        )
    elif keeper.trouble is not None:
        trouble = str(keeper.trouble) or type(keeper.trouble).__name__
        say(f"warning: the log could not be signed: {trouble}")
    elif not keeper.is_signer and not knows_missing:
        say(_NO_KEY)


def report_missing_key(store: Store) -> bool:
    """Whether this host lacks the log's key; if so, say it on stderr.

    To be called before a long command begins.
    """
    with store.lend() as connection:
        is_missing = not is_signer(connection)
    if is_missing:
        say(_NO_KEY)
    return is_missing
