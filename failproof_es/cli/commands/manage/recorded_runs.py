"""`import` of runs that other tools recorded, and a list of the parts that do not map."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import click

from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.app.following import signed_and_followed
from failproof_es.cli.app.program import session
from failproof_es.cli.rendering.output import Format, print_json, say
from failproof_es.core.run import imported_from
from failproof_es.engine.imports.importing import ImportOutcome, import_run
from failproof_es.problems import InvalidInput, Problem
from failproof_es.recorded_runs.kinds import READERS
from failproof_es.support import event_loop
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import one_line, shortened

_MOST_LISTED = 20
_LONGEST = 300
_SOURCE_FIELDS = {
    *("kind", "tool", "tool_version", "source_sha256", "files", "began_at", "ended_at"),
    *("answers", "absent"),
}
"""The fields of `RunImported` that are printed as JSON under their own names."""


def say_not_mapped(parts: Iterable[str], count: int, more: str) -> None:
    """Say on stderr the first of `count` parts that do not map; `more` says where others are."""
    for part in islice(parts, _MOST_LISTED):
        say(f"not mapped: {one_line(shortened(part, _LONGEST))}")
    if count > _MOST_LISTED:
        say(f"not mapped: {count - _MOST_LISTED:,} more; {more}")


def is_recorded_run(kind: str) -> bool:
    """Whether `kind`, an argument of `import`, reads recorded runs instead of cases."""
    return kind in READERS


def import_recorded_run(
    kind: str, path: Path, case_options: dict[str, Any], *, again: bool, output_format: Format
) -> None:
    """Import the run in `path`, and print the imported and the unmapped parts.

    `case_options` are options of imports of cases: none may be set. `again` imports a source that
    is on record once more. Raises `InvalidInput` for an option that is set, and for an unreadable
    source.
    """
    wrong = [
        Problem("options-conflict", f"{name}: a recorded run takes none")
        for name, value in case_options.items()
        if value
    ]
    if wrong:
        raise InvalidInput(wrong)
    source = READERS[kind](path)
    with session().open_store() as store, signed_and_followed(store) as signer:
        outcome = event_loop.run(import_run(source, store, again=again))
    if output_format is Format.JSON:
        print_json(as_json(outcome))
    else:
        _print_outcome(outcome)
    if not outcome.run.intact or signer.changed is not None:
        click.get_current_context().exit(ExitCode.FAILED)


def as_json(outcome: ImportOutcome) -> dict[str, Any]:
    """The import as an object for JSON, with everything that does not map under `not_mapped`."""
    imported, run = outcome.imported, outcome.run
    return {
        "run_id": str(run.run_id),
        "run_number": run.run_number,
        "name": run.name,
        "status": run.status,
        "already_imported": outcome.already,
        **imported.model_dump(include=_SOURCE_FIELDS),
        "counts": run.counts.model_dump(),
        "not_mapped": [part.model_dump() for part in imported.unmapped],
    }


def _print_outcome(outcome: ImportOutcome) -> None:
    imported, run = outcome.imported, outcome.run
    unmapped = (
        f"{part.what}: {part.why} (first: {part.first}; {part.count:,} in all)"
        for part in imported.unmapped
    )
    say_not_mapped(unmapped, len(imported.unmapped), "--json lists all")
    title = f"run {run.run_number} {one_line(run.name)}"
    if outcome.already:
        say(
            f"this source is on record already: {title}, {imported_from(imported)}; nothing was "
            "recorded. --again imports it once more, as another run"
        )
        return
    counts = run.counts
    click.echo(f"{title}: {plural(imported.answers, 'answer')} {one_line(imported_from(imported))}")
    click.echo(
        f"{counts.scored:,} scored by checks here, {counts.abandoned:,} without a score; "
        "no model was asked"
    )
    if imported.absent:
        evaluations = plural(imported.absent, "planned evaluation")
        say(f"{evaluations} without an answer in the source: each is recorded as that")
    say(f"next: failproof-es show {run.run_number}, failproof-es replay {run.run_number}")
