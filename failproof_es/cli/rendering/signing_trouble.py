"""Reports why the log could not be signed, for the commands that sign while they work."""

from __future__ import annotations

from failproof_es.assurance.signing.checkpoint_signer import CheckpointSigner
from failproof_es.cli.rendering.output import say


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
