"""Checks a sheet against the record of its export: its reviewer, its blindness, newer verdicts."""

from __future__ import annotations

from datetime import UTC
from uuid import UUID

from failproof_es.cli.reviewing.sheet import OVERALL, SHEET, Sheet
from failproof_es.engine.reviews.people import NewerVerdicts, read_reviews
from failproof_es.engine.reviews.sheets import find_export, run_of_sheet, saw_engine
from failproof_es.events import ReviewExported
from failproof_es.problems import InvalidInput
from failproof_es.store.reading.experiments import run_numbers
from failproof_es.store.reading.reader import Connection


def export_of(connection: Connection, run_id: UUID, filled_sheet: Sheet) -> ReviewExported | None:
    """The event that records the sheet's export.

    `None` if the sheet has no id, or with a problem: ids of several sheets, or of no sheet. Raises
    `InvalidInput` if it is a sheet of another run: each of its rows would be an error, too.
    """
    lines_by_sheet = {sheet: line for sheet, line in filled_sheet.sheets.items() if sheet}
    if not lines_by_sheet:
        return None
    if len(filled_sheet.sheets) > 1:
        first, *rest = filled_sheet.sheets.items()
        for sheet, line in rest:
            filled_sheet.refuse(
                "mixed-sheets" if sheet else "empty-value",
                f"this row is of another sheet than line {first[1]}" if sheet else "is empty",
                line, field=SHEET,
                remedy="import each sheet by itself, and leave this column as it was exported",
            )  # fmt: skip
        return None
    ((sheet, line),) = lines_by_sheet.items()
    export = find_export(connection, run_id, sheet)
    if export is None:
        _refuse_other_run(connection, sheet, line, filled_sheet)
        filled_sheet.refuse(
            "unknown-sheet", f"{sheet!r} is no sheet that was exported of this run",
            line, field=SHEET,
            remedy="import it for the run that it was exported from, with this column as it was",
        )  # fmt: skip
    return export


def _refuse_other_run(connection: Connection, sheet: str, line: int, filled_sheet: Sheet) -> None:
    """Raise `InvalidInput` if the sheet with this id was exported of another run."""
    run_id = run_of_sheet(connection, sheet)
    number = None if run_id is None else run_numbers(connection, [run_id]).get(run_id)
    if number is not None:
        filled_sheet.refuse(
            "unknown-sheet", f"{sheet!r} is a sheet of run {number}", line, field=SHEET,
            remedy=f"`failproof-es review import {number} {filled_sheet.path}`",
        )  # fmt: skip
        raise InvalidInput(filled_sheet.problems.errors)


def check_handing_on(
    connection: Connection,
    export: ReviewExported,
    reviewer: str,
    filled_sheet: Sheet,
    *,
    handed_on: bool,
) -> None:
    """Refuse another reviewer's sheet unless it was exported empty and `handed_on` is set.

    `reviewer` imports the sheet.
    """
    reviews = read_reviews(connection, list(filled_sheet.rows), up_to=export.position)
    has_verdicts = any(
        review.reviewer == export.reviewer for own in reviews.values() for review in own
    )
    line = filled_sheet.sheets[export.sheet]
    message = f"was exported for {export.reviewer!r}, not for {reviewer!r}"
    if has_verdicts:
        filled_sheet.refuse(
            "wrong-reviewer", f"{message}, and has verdicts of {export.reviewer!r}",
            line, field=SHEET,
            remedy=f"`review export` makes one for {reviewer!r}; --reviewer names who filled it in",
        )  # fmt: skip
    elif not handed_on:
        filled_sheet.refuse(
            "wrong-reviewer", message, line, field=SHEET,
            remedy=f"--reviewer names who filled it in; --handed-on says that {reviewer!r} did",
        )  # fmt: skip


def is_blind(
    connection: Connection,
    run_id: UUID,
    reviewer: str,
    export: ReviewExported | None,
    filled_sheet: Sheet,
) -> bool | None:
    """Whether the engine's verdicts were hidden from the reviewer of the sheet.

    False also if this reviewer saw them otherwise; `None` if the sheet's export is not on record.
    """
    if filled_sheet.shows_engine or saw_engine(connection, run_id, reviewer):
        return False
    return None if export is None else export.blind


def conflicts_of(filled_sheet: Sheet, conflict: NewerVerdicts, reviewer: str) -> InvalidInput:
    """The error for a sheet that newer verdicts of the same reviewer contradict.

    It has a problem for each such evaluation, at its line in the file.
    """
    for evaluation_id, newest in conflict.newest.items():
        row = next(
            (row for row in filled_sheet.rows[evaluation_id] if row["item"] == OVERALL),
            filled_sheet.rows[evaluation_id][0],
        )
        moment = newest.timestamp.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")
        filled_sheet.refuse_cell(
            "newer-verdict", row, "verdict",
            f"{reviewer!r} gave the verdict {newest.verdict!r} on {moment}, which this file does "
            "not show: nothing was imported",
            "--keep-newer keeps it, --overwrite lets this file count",
        )  # fmt: skip
    return InvalidInput(filled_sheet.problems.errors)
