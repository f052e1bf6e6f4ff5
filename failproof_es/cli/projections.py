"""`projections`: the read models beside the log."""

from __future__ import annotations

from dataclasses import asdict

import click
from projections.runner import rebuild as rebuild_projection
from projections.runner import status as status_of

from failproof_es.cli.output import Column, Format, format_option, print_rows, say
from failproof_es.cli.program import Group, session
from failproof_es.problems import InvalidInput
from projections import PROJECTIONS

_COLUMNS = (
    Column("projection", "name"),
    Column("version", "version", right=True),
    Column("position", "position", right=True),
    Column("behind", "behind", right=True),
)


@click.group(cls=Group)
def projections() -> None:
    """Look at the read models beside the log, or build them anew from it."""


@projections.command()
@format_option()
def status(output_format: Format) -> None:
    """Show how far each projection has followed the log."""
    with session().open_store() as store:
        print_rows(map(asdict, status_of(store.url)), _COLUMNS, output_format)


@projections.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
def rebuild(names: tuple[str, ...]) -> None:
    """Build projections anew from the log: those named, or all.

    Each is built beside the live one and takes its place in one transaction, so a reader
    never sees a hole.
    """
    chosen = _named(names)
    with session().open_store() as store:
        for name in chosen:
            events = rebuild_projection(store.url, name)
            say(f"{name}: rebuilt from {events:,} events")


def _named(names: tuple[str, ...]) -> list[str]:
    """The projections meant. Raises `InvalidInput` for a name that is none."""
    known = [projection.name for projection in PROJECTIONS]
    if unknown := [name for name in names if name not in known]:
        raise InvalidInput.because(
            f"there is no projection {', '.join(map(repr, unknown))}",
            remedy=f"use one of: {', '.join(known)}",
        )
    return list(names) or known
