"""Signs the log and lets the projections follow it while a program records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from failproof_es.assurance.signing.checkpoint_signer import CheckpointSigner
from failproof_es.store.store import Store
from projections.follower import Follower


@contextmanager
def sign_and_follow(store: Store, warn: Callable[[str], object]) -> Iterator[None]:
    """Within the context, sign the log and let the projections follow it.

    On leaving, raises the error by which the log was found to be changed; `warn` gets all other
    trouble, in words.
    """
    with CheckpointSigner(store) as signer, Follower(store.projections_url) as follower:
        yield
    if not follower.kept_up:
        warn("the projections stopped following: `failproof-es projections rebuild`")
    if signer.changed is not None:
        raise signer.changed
    if signer.trouble is not None:
        warn(f"the log could not be signed: {signer.trouble}")
    if not signer.is_signer:
        warn("nothing was signed: this host has no key of the log")
