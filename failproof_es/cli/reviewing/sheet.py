"""Reviews in a spreadsheet: CSV (RFC 4180, UTF-8) with a row for each verdict to give.

An evaluation has a row `overall`, which shows the conversation, and one for each item of its
checklist. Text that a spreadsheet would take for a formula is written behind an apostrophe,
which is removed when the file is imported. The column `sheet` has the id of the export.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from uuid import UUID

from failproof_es.cli.reviewing.answers import (
    OUTCOMES,
    VERDICTS,
    InvalidAnswer,
    item_verdict,
    overall_verdict,
    severity,
    tags,
    valid,
)
from failproof_es.cli.reviewing.screen import engine_said, turn_text
from failproof_es.configuration.choices import PromptTemplate
from failproof_es.dialects.kit.judging import Item, checklist
from failproof_es.dialects.protocol import Dialect
from failproof_es.engine.reviews.conversation import ConversationTurn, conversation
from failproof_es.engine.reviews.people import ReviewedEvaluation, ReviewInput
from failproof_es.events import Reviewed, ReviewedItem
from failproof_es.events.line import describe_verdict
from failproof_es.problems import Problems
from failproof_es.support.spreadsheet import escaped, unescaped
from failproof_es.support.untrusted_text import lines, one_line

OVERALL = "overall"
ENGINE = "engine"
"""The column with the engine's verdict. A sheet with this column is not a blind review."""
MODEL = "model"
"""The column with the model, empty in a blind sheet."""
SHEET = "sheet"
"""The column with the id of the sheet (`failproof_es.engine.reviews.sheets`), in every row."""
CHOICES = "choices"
"""The column with the possible verdicts."""

_ANSWERS = ("verdict", "severity", "tags", "notes")
_NEEDED = ("evaluation_id", "item", *_ANSWERS)
COLUMNS = (
    *("evaluation_id", "suite", "case", MODEL, "repetition", "item", "text", CHOICES),
    *(*_ANSWERS, SHEET),
)

_LONGEST_CELL = 30_000
"""Maximum characters: spreadsheets silently cut a cell off at 32,767."""


# -- writing -------------------------------------------------------------------------------


def sheet(
    evaluations: Iterable[ReviewedEvaluation],
    dialect: Dialect,
    reviewer: str,
    *,
    templates: Mapping[str, PromptTemplate],
    unblind: bool,
    sheet_id: str = "",
) -> Iterator[bytes]:
    """The bytes of a sheet, row by row, with this reviewer's last verdicts filled in.

    `templates` has the models' prompt templates by key. `unblind` adds the column with the engine's
    verdicts, and fills in the model. `sheet_id` is the id of the export, empty if it is not on
    record.
    """
    columns = (*COLUMNS, *([ENGINE] if unblind else []))
    yield b"\xef\xbb\xbf" + _row(columns)  # without the byte order mark, spreadsheets read Latin-1
    for evaluation in evaluations:
        template = templates.get(evaluation.recorded.key.model_key)
        spoken = conversation(dialect, evaluation.recorded.case, evaluation.state, template)
        for cells in _rows(evaluation, spoken, evaluation.latest().get(reviewer)):
            cells[SHEET] = sheet_id
            cells[MODEL] = cells[MODEL] if unblind else ""
            yield _row([escaped(str(cells.get(column, ""))) for column in columns])


def _rows(
    evaluation: ReviewedEvaluation, spoken: Sequence[ConversationTurn], review: Reviewed | None
) -> Iterator[dict[str, Any]]:
    case, key = evaluation.recorded.case, evaluation.recorded.key
    about = {
        "evaluation_id": evaluation.evaluation_id,
        "suite": one_line(case.suite_id),
        "case": one_line(case.case_id),
        MODEL: one_line(key.model_key),
        "repetition": key.repetition,
    }
    turns = "\n\n".join(map(turn_text, spoken))
    overall = {
        "item": OVERALL,
        "text": _cell(turns),
        CHOICES: ", ".join(VERDICTS),
        ENGINE: engine_said(evaluation.state),
    }
    if review is not None:
        overall |= {
            "verdict": review.verdict,
            "severity": review.severity or "",
            "tags": ", ".join(review.tags),
            "notes": review.notes,
        }
    yield about | overall
    verdicts = (
        {reviewed.item: reviewed.verdict for reviewed in review.items} if review is not None else {}
    )
    for item in checklist(case.expectation):
        yield about | _item_row(item, evaluation, verdicts.get(item.key, ""))


def _item_row(item: Item, evaluation: ReviewedEvaluation, verdict: str) -> dict[str, Any]:
    score = evaluation.state.score
    decided = None if score is None else score.scores.get(item.key)
    return {
        "item": item.key,
        "text": _cell(item.text),
        CHOICES: ", ".join(OUTCOMES),
        "verdict": describe_verdict(verdict),
        ENGINE: "" if decided is None else item.describe(decided == 1.0),
    }


def _cell(text: str) -> str:
    safe_text = lines(text)
    if len(safe_text) <= _LONGEST_CELL:
        return safe_text
    left_out = len(safe_text) - _LONGEST_CELL
    return f"{safe_text[:_LONGEST_CELL]}\n[{left_out} more characters: see `failproof-es results`]"


def _row(cells: Sequence[str]) -> bytes:
    line = io.StringIO(newline="")
    csv.writer(line).writerow(cells)
    return line.getvalue().encode("utf-8")


# -- reading -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SheetRow:
    """One row of a sheet: its cells by column, and the number of its first line, from 1.

    `row[column]` is the cell without white space around it, empty if it is missing.
    """

    line: int
    cells: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        return self.cells.get(column, "").strip()

    def field(self, column: str) -> str:
        """The cell for an error: the column, the case and the item.

        A spreadsheet counts rows, not lines.
        """
        places = [text for text in (self["case"], self["item"]) if text]
        return f"{column} of {', '.join(places)}" if places else column


@dataclass(slots=True)
class Sheet:
    """The content of a sheet that was read: its rows by evaluation, and all its defects."""

    path: Path
    problems: Problems
    rows: dict[UUID, list[SheetRow]] = field(default_factory=dict)
    shows_engine: bool = False
    """Whether the sheet has the column with the engine's verdicts."""
    sheets: dict[str, int] = field(default_factory=dict)
    """The first line of each id in the column `sheet`; the id is empty for rows without one."""

    def refuse(
        self,
        code: str,
        message: str,
        line: int,
        *,
        field: str | None = None,
        remedy: str | None = None,
    ) -> None:
        """Record a defect at a line of the file."""
        self.problems.error(code, message, path=self.path, line=line, field=field, remedy=remedy)

    def refuse_cell(
        self, code: str, row: SheetRow, column: str, message: str, remedy: str | None = None
    ) -> None:
        """Record a defect of a cell."""
        self.refuse(code, message, row.line, field=row.field(column), remedy=remedy)


def read_sheet(path: Path, content: bytes, problems: Problems) -> Sheet:
    """Read a sheet's content. Every defect goes to `problems`, and the rest is returned.

    `path` is for the problems only. The delimiter may be a comma or a semicolon.
    """
    filled_sheet = Sheet(path, problems)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        filled_sheet.refuse("not-utf8", "is not UTF-8", line, remedy="save it as CSV UTF-8")
        return filled_sheet
    first = text.split("\n", 1)[0]
    delimiter = ";" if first.count(";") > first.count(",") else ","  # as in locales that write 0,5
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    before = 0
    try:
        columns = [cell.strip().lower() for cell in next(reader, [])]
        if not _check_columns(filled_sheet, columns):
            return filled_sheet
        filled_sheet.shows_engine = ENGINE in columns
        before = reader.line_num
        for cells in reader:
            line, before = before + 1, reader.line_num
            _add_row(filled_sheet, SheetRow(line, dict(zip(columns, cells, strict=False))))
            if len(cells) > len(columns):
                message = f"has {len(cells)} cells, the first line has {len(columns)}"
                remedy = "quote cells that hold commas"
                filled_sheet.refuse("wrong-cell-count", message, line, remedy=remedy)
    except csv.Error as error:
        filled_sheet.refuse("not-csv", f"is not CSV: {error}", before + 1)
    return filled_sheet


def opinions(
    filled_sheet: Sheet, checklists: Mapping[UUID, Sequence[str]]
) -> dict[UUID, ReviewInput]:
    """The reviews in the sheet by evaluation, without those of empty or invalid rows.

    `checklists` are the finished evaluations of the run, each with the keys of its checklist. Every
    defect goes to the sheet's problems.
    """
    reviews: dict[UUID, ReviewInput] = {}
    for evaluation_id, rows in filled_sheet.rows.items():
        if evaluation_id not in checklists:
            message = f"{evaluation_id} is not a finished evaluation of this run"
            remedy = "import it for the run that it was exported from"
            filled_sheet.refuse_cell(
                "unknown-evaluation", rows[0], "evaluation_id", message, remedy
            )
        elif opinion := _opinion(filled_sheet, rows, checklists[evaluation_id]):
            reviews[evaluation_id] = opinion
    return reviews


def _check_columns(filled_sheet: Sheet, columns: Sequence[str]) -> bool:
    known_columns = (*COLUMNS, ENGINE)
    count = len(filled_sheet.problems.problems)
    for column in (name for name in _NEEDED if name not in columns):
        remedy = "export the file again"
        filled_sheet.refuse("missing-column", "is missing", 1, field=column, remedy=remedy)
    for place, column in enumerate(columns):
        if column in columns[:place]:
            filled_sheet.refuse("duplicate-column", "appears twice", 1, field=column)
        elif column not in known_columns:
            close = get_close_matches(column, known_columns, n=1)
            remedy = (
                f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known_columns)}"
            )
            message = "is not a review column"
            filled_sheet.refuse("unknown-column", message, 1, field=column, remedy=remedy)
    return len(filled_sheet.problems.problems) == count


def _add_row(filled_sheet: Sheet, row: SheetRow) -> None:
    if not any(cell.strip() for cell in row.cells.values()):
        return
    filled_sheet.sheets.setdefault(row[SHEET], row.line)
    try:
        filled_sheet.rows.setdefault(UUID(row["evaluation_id"]), []).append(row)
    except ValueError:
        message = f"{row['evaluation_id']!r} is not the id of an evaluation"
        remedy = "leave it as it was exported"
        filled_sheet.refuse_cell("invalid-id", row, "evaluation_id", message, remedy)


def _opinion(
    filled_sheet: Sheet, rows: Sequence[SheetRow], keys: Sequence[str]
) -> ReviewInput | None:
    """The review in the rows of one evaluation; `None` if they are empty or invalid.

    `keys` are those of its checklist. Every defect goes to the sheet's problems.
    """
    errors = filled_sheet.problems.errors
    overall: SheetRow | None = None
    reviewed_items: dict[str, ReviewedItem] = {}
    seen: set[str] = set()
    for row in rows:
        item = row["item"]
        if item in seen:
            message = f"{item!r} appears twice for this evaluation"
            filled_sheet.refuse_cell("duplicate-value", row, "item", message, "keep one of them")
        elif item == OVERALL:
            overall = row
        elif item not in keys:
            allowed = ", ".join((OVERALL, *keys))
            message, remedy = f"{item!r} is not an item of this case", f"there are: {allowed}"
            filled_sheet.refuse_cell("unknown-name", row, "item", message, remedy)
        else:
            for column in (name for name in _ANSWERS[1:] if row[name]):
                filled_sheet.refuse_cell(
                    "misplaced-field", row, column, "belongs into the row `overall`"
                )
            try:
                if row["verdict"]:
                    verdict = item_verdict(item, row["verdict"])
                    reviewed_items[item] = ReviewedItem(item=item, verdict=verdict)
            except InvalidAnswer as error:
                filled_sheet.refuse_cell(
                    "invalid-value", row, "verdict", str(error), "or leave it empty"
                )
        seen.add(item)
    if overall is None or not any(overall[column] for column in _ANSWERS):
        if reviewed_items:
            message = "the row `overall` has no verdict"
            filled_sheet.refuse_cell("missing-verdict", overall or rows[0], "verdict", message)
        return None
    items = tuple(reviewed_items[key] for key in keys if key in reviewed_items)
    opinion = _read_overall(filled_sheet, overall, items)
    if opinion is not None and opinion.contradicts_itself:
        contradiction = f"says pass, though {', '.join(opinion.broken_items)} does not hold"
        filled_sheet.refuse_cell(
            "contradictory-verdict", overall, "verdict", contradiction, "change one of them"
        )
    return opinion if filled_sheet.problems.errors == errors else None


def _read_overall(
    filled_sheet: Sheet, row: SheetRow, items: tuple[ReviewedItem, ...]
) -> ReviewInput | None:
    read: dict[str, Any] = {}
    for column, reader in (
        ("verdict", overall_verdict),
        ("severity", severity),
        ("tags", tags),
        ("notes", valid),
    ):
        try:
            read[column] = reader(unescaped(row[column]))
        except InvalidAnswer as error:
            filled_sheet.refuse_cell("invalid-value", row, column, str(error))
    return ReviewInput(items=items, **read) if len(read) == len(_ANSWERS) else None
