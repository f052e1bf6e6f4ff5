"""Opens a store, and makes and announces the key that signs a new log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from failproof_es.problems import InvalidInput
from failproof_es.store.store import Store


def open_store(database_url: str | None, say: Callable[[str], None]) -> Store:
    """Open the store; also make the key of a new log, unless another host signs the log.

    `say` gets the messages for the user.
    """
    store = Store.open(database_url)
    if store.is_new:
        try:
            for line in make_key_aloud(store):
                say(line)
        except InvalidInput as error:
            say(f"warning: the log stays unsigned: {error}")
    return store


def make_key_aloud(store: Store) -> list[str]:
    """Make the log's key if nobody has signed the log and there is none; return lines to print.

    Raises `InvalidInput` where its file cannot be made.
    """
    from failproof_es.assurance.signing.checkpoint_signer import make_key

    with store.lend() as connection:
        path: Path | None = make_key(connection)
    if path is None:
        return []
    return [
        f"made the key that signs this log: {path}",
        "keep a copy of it elsewhere; whoever has it can sign for this log",
    ]
