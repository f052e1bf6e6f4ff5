"""Keeps the projections current while a command works."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from failproof_es.cli.rendering.output import say
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
