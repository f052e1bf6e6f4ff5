"""Keeps the projections current and signs the log while a command works."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from failproof_es.assurance.signing.checkpoint_signer import CheckpointSigner
from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.rendering.output import say
from failproof_es.cli.rendering.signing_trouble import report_signing_error
from failproof_es.store.store import Store
from projections.follower import Follower


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
