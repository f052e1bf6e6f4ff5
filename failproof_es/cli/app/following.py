"""Keeps the projections current and signs the log while a command works; says if that fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from failproof_es.assurance.signing.checkpoint_signer import CheckpointSigner, is_signer
from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.rendering.output import say
from failproof_es.store.store import Store
from projections.follower import Follower

_NO_KEY = (
    "this host has no key of the log, so it signs nothing: `failproof-es ledger sign` does on the "
    "host that has it, which is where `failproof-es db init` was run"
)


@contextmanager
def following(store: Store) -> Iterator[None]:
    """Keep the projections current within this context.

    At its end they are brought to the end of the log. Warns on stderr if that failed.
    """
    with Follower(store.projections_url) as follower:
        yield
    if not follower.kept_up:
        say(
            "warning: the projections stopped following. The log is whole: "
            "`failproof-es projections rebuild` rebuilds them."
        )


@contextmanager
def signed_and_followed(store: Store) -> Iterator[CheckpointSigner]:
    """Sign the events that are appended in this context, and keep the projections current.

    At its end, also after an error, says on stderr why the log could not be signed.
    """
    signer = CheckpointSigner(store)
    try:
        with signer, following(store):
            yield signer
    finally:
        report_signing_error(signer)


def exit_if_changed(signer: CheckpointSigner) -> None:
    """Exit with 1 if the signer found that the log was changed."""
    if signer.changed is not None:
        click.get_current_context().exit(ExitCode.FAILED)


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
