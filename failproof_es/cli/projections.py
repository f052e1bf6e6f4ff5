"""`projections`: the read models beside the log."""

from __future__ import annotations

from dataclasses import asdict

import click

from failproof_es.cli.output import Column, Format, format_option, print_rows, say
from failproof_es.cli.program import Group, session
from failproof_es.counting import counted
from failproof_es.problems import InvalidInput
from projections.installed import installed
from projections.runner import names_known
from projections.runner import rebuild as rebuild_projections
from projections.runner import status as status_of

_COLUMNS = (
    Column("projection", "name"),
    Column("version", "version", right=True),
    Column("position", "position", right=True),
    Column("behind", "behind", right=True),
    Column("updated (UTC)", "updated_at"),
)


@click.group(cls=Group)
def projections() -> None:
    """Look at the read models beside the log, or build them anew from it."""


@projections.command()
@format_option()
def status(output_format: Format) -> None:
    """Show how far each projection has followed the log.

    `behind` counts positions. A run that is going keeps its projections current; they can
    be queried with SQL at any time (`failproof-es db shell`).
    """
    with session().open_store() as store, store.connect() as connection:
        print_rows(map(asdict, status_of(connection, installed())), _COLUMNS, output_format)


@projections.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
def rebuild(names: tuple[str, ...]) -> None:
    """Build projections anew from the log: those named, or all.

    Each is built beside the live one and takes its place in one transaction, so a reader
    never sees a hole.
    """
    known = [projection.name for projection in installed()]
    if unknown := [name for name in names if name not in names_known(installed())]:
        raise InvalidInput.because(
            f"there is no projection {', '.join(map(repr, unknown))}",
            remedy=f"use one of: {', '.join(known)}",
        )
    with session().open_store() as store, store.connect() as connection:
        position = rebuild_projections(
            connection, names, progress=_say_progress, projections=installed()
        )
    say(f"rebuilt {', '.join(names or known)} up to position {position:,}")


def _say_progress(position: int, newest: int) -> None:
    say(f"read {position:,} of {counted(newest, 'event')}")
