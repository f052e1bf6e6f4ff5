"""`archive` and `attach`: takes old runs out of the log into verified files, and back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import UUID

import click
import psycopg

from failproof_es.assurance.archiving.archive import (
    ArchivedRun,
    ArchivingContext,
    archive_run,
    runs_of_month,
)
from failproof_es.assurance.archiving.attach import AttachedRun, attach_file
from failproof_es.assurance.signing.checkpoint_signer import sign_and_keep_checkpoint
from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.output import (
    Column,
    Format,
    columns_of_keys,
    format_option,
    print_rows,
    say,
)
from failproof_es.cli.usage import WrongUsage
from failproof_es.engine.identity import current_host, current_user, process_label
from failproof_es.problems import InvalidInput
from failproof_es.reading.at_head import catch_up_problem
from failproof_es.store.reading.reader import Connection, resolve_run
from failproof_es.store.store import Store
from failproof_es.support.untrusted_text import one_line
from projections.installed import names_of_others
from projections.positions import read_positions

_COLUMNS = (
    Column("run", "run_number", right=True),
    *columns_of_keys("events", "bytes", right=True),
    *columns_of_keys("file"),
    Column("SHA-256", "sha256"),
)
_MONTH = re.compile(r"(?!0000)[0-9]{4}-(0[1-9]|1[0-2])")


@click.command(cls=CliCommand)
@click.argument("runs", metavar="[RUN]...", nargs=-1)
@click.option(
    "--month", metavar="YYYY-MM", help="Archive the runs that began in the month YYYY-MM (UTC)."
)
@click.option(
    "--to", "folder", required=True, type=click.Path(path_type=Path, file_okay=False),
    help="The folder for the files, one for each run.",
)  # fmt: skip
@format_option()
def archive(runs: tuple[str, ...], month: str | None, folder: Path, output_format: Format) -> None:
    """Move the events of old runs from the log into verified files.

    The file of a run is its evidence: `evidence verify` checks it without a database. It is
    written, read again and verified whole, and what it holds is recorded and signed, before
    anything leaves the log. Keep the file: without it the run cannot be attached again.

    What stays: the run's plan and end, its cases, its reviews, and the leaf hash of every event.
    So the log, its checkpoints and the evidence of other runs verify as before.

    Only a run that has ended can be archived. Runs that cannot be are listed with the reason,
    and the exit code is 2. Broken off, the same command finishes it.
    """
    if (month is None) == (not runs):
        raise WrongUsage("missing-option", "name runs, or a month with --month")
    if month is not None and not _MONTH.fullmatch(month):
        raise WrongUsage("invalid-option", f"--month {month!r}: write it like 2026-03")
    by = _archiving_context()
    done: list[dict[str, Any]] = []
    refused: list[str] = []
    with session().open_store() as store:
        with store.lend() as connection:
            numbered_runs = _select_runs(connection, runs, month)
            _require_followed(connection, [run_id for run_id, _ in numbered_runs])
        for run_id, number in numbered_runs:
            try:
                done.append(_row(archive_run(store, run_id, folder, by)))
            except InvalidInput as error:
                refused.append(f"run {number} is not archived: {error}")
        print_rows(done, _COLUMNS, output_format, when_empty="no run was archived")
        for refusal in refused:
            say(f"error: {one_line(refusal)}")
        if done:
            _bring_tables_up(store)
    if refused:
        click.get_current_context().exit(ExitCode.USAGE)


def _select_runs(
    connection: Connection, runs: Sequence[str], month: str | None
) -> list[tuple[UUID, int]]:
    """Ids and numbers of the chosen runs, or of those of the month (`YYYY-MM`).

    Newest first: a branch is archived before its source. Raises `InvalidInput` for an unknown run.
    """
    if month is not None:
        numbered_runs = runs_of_month(connection, month)
    else:
        ids = list(dict.fromkeys(resolve_run(connection, run) for run in runs))
        rows = connection.execute(
            "SELECT run_id, run_number FROM failproof.run_list WHERE run_id = ANY (%s)", (ids,)
        )
        numbered_runs = rows.fetchall()
    return sorted(numbered_runs, key=lambda run: -run[1])


def _require_followed(connection: Connection, run_ids: Sequence[UUID]) -> None:
    """Raise `InvalidInput` if another package's projection has not read all events of these runs.

    This program's own projections drop an archived run anyway. Others keep its rows, which must be
    complete.
    """
    row = connection.execute(
        "SELECT max(notification_id) FROM failproof.stored_events WHERE run_id = ANY (%s)",
        (list(run_ids),),
    ).fetchone()
    last = (row and row[0]) or 0
    positions = read_positions(connection)
    for name in names_of_others():
        if name in positions and positions[name].position < last:
            raise InvalidInput.because(
                "projections-outdated",
                f"the projection {name} of another package has not read these runs yet",
                remedy=f"`failproof-es projections rebuild {name}` lets it read the log to its end",
            )


@click.command(cls=CliCommand)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@format_option()
def attach(file: Path, output_format: Format) -> None:
    """Put the run in FILE, which `archive` wrote, back into the log.

    Every event goes back to its place, byte for byte, or none does. FILE has to have the SHA-256
    that is on record, and each event in it the leaf hash that stayed in the database.
    """
    with session().open_store() as store:
        attached = attach_file(store, file, _archiving_context())
        try:
            with store.lend() as connection:
                sign_and_keep_checkpoint(connection)
        except InvalidInput as error:
            say(f"the run is attached, and this is not signed yet: {error}")
        columns = (Column("run", "run_number", right=True), Column("events", "events", right=True))
        print_rows([_row(attached)], columns, output_format)
        _bring_tables_up(store)


def _bring_tables_up(store: Store) -> None:
    """Let the read models follow, if the login may write them; else the next command says why."""
    with suppress(psycopg.Error), store.lend() as connection:
        catch_up_problem(connection)


def _row(run: ArchivedRun | AttachedRun) -> dict[str, Any]:
    return {**asdict(run), "run_id": str(run.run_id)}


def _archiving_context() -> ArchivingContext:
    return ArchivingContext(current_user(), current_host(), process_label())
