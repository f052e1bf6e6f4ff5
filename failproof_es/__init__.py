"""FailProof-ES: an event-sourced, audit-first evaluation engine for language models."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

    from failproof_es.library.opened_run import OpenedRun


def open(run: int | str | UUID = "latest", *, database_url: str | None = None) -> OpenedRun:
    """Open a recorded run by its number, its id, or `latest`. Close it, or use `with`.

    Reads `database_url`, else the database of the command line. Raises `InvalidInput` if there
    is no such run, or the database cannot be used.
    """
    from failproof_es.library.opened_run import OpenedRun

    return OpenedRun.open(str(run), database_url=database_url)
