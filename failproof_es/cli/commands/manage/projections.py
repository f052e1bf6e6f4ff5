"""`projections`: the read models made from the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click
import psycopg

from failproof_es.cli.app.program import CliGroup, session
from failproof_es.cli.rendering.output import Column, Format, format_option, print_rows, say
from failproof_es.problems import InvalidInput, Problem
from failproof_es.store.reading.archives import RunIsArchived, archived_runs
from failproof_es.store.reading.reader import Connection
from failproof_es.support.plugins import instance
from failproof_es.support.plurals import plural
from projections.installed import OFFERED, load_foreign_projections, ours
from projections.protocol import Projection
from projections.runner import rebuild as rebuild_projections
from projections.runner import status as status_of

_COLUMNS = (
    Column("projection", "name"),
    Column("version", "version", right=True),
    Column("position", "position", right=True),
    Column("behind", "behind", right=True),
    Column("updated (UTC)", "updated_at"),
)


@click.group(cls=CliGroup)
def projections() -> None:
    """Show the status of the projections, or rebuild them from the log."""


@projections.command()
@format_option()
def status(output_format: Format) -> None:
    """Show how far each projection has followed the log.

    `behind` counts positions. A run keeps its projections current while it goes. You can query
    them with SQL at any time (`failproof-es db shell`).
    """
    with session().open_store() as store, store.connect() as connection:
        theirs, broken = load_foreign_projections()
        stand = status_of(connection, (*ours(), *theirs))
        print_rows(map(asdict, stand), _COLUMNS, output_format)
    if broken:  # after ours were shown
        raise InvalidInput(broken)


@projections.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
def rebuild(names: tuple[str, ...]) -> None:
    """Rebuild the named projections from the log, or all of them.

    Each is built beside the live one and replaces it in one transaction. Readers never see a
    gap. Runs that are archived are not in them: they are named.
    """
    theirs: Sequence[Projection]
    broken: list[Problem]
    our_names = {projection.name for projection in ours()}
    if names:
        theirs, broken = [_load_projection(name) for name in names if name not in our_names], []
    else:
        theirs, broken = load_foreign_projections()
    mine = [projection for projection in ours() if not names or projection.name in names]
    with session().open_store() as store, store.connect() as connection:
        if mine:
            _rebuild(connection, mine)
        for projection in theirs:  # one by one: a broken one must not stop the others
            try:
                _rebuild(connection, [projection])
            except psycopg.OperationalError:  # the database's fault, not the projection's
                raise
            except InvalidInput as error:
                broken += error.problems
            except Exception as error:  # another package's code, or its SQL
                broken.append(_broken(projection, error))
        for archive in archived_runs(connection).values():
            say(f"not rebuilt: {RunIsArchived(archive)}")
    if broken:
        raise InvalidInput(broken)


def _load_projection(name: str) -> Projection:
    projection: Projection = instance(OFFERED.load(name))
    return projection


def _rebuild(connection: Connection, targets: Sequence[Projection]) -> None:
    position = rebuild_projections(connection, progress=_say_progress, projections=targets)
    names = ", ".join(projection.name for projection in targets)
    say(f"rebuilt {names} up to position {position:,}")


def _broken(projection: Projection, error: Exception) -> Problem:
    package = " ".join(OFFERED.package_of(projection.name) or ())
    return Problem(
        "plugin-failed",
        f"the projection {projection.name!r} of the package {package} can't be built: "
        f"{type(error).__name__}: {error}",
        remedy="its tables were not changed; update or remove the package",
    )


def _say_progress(position: int, newest: int) -> None:
    say(f"read {position:,} of {plural(newest, 'event')}")
