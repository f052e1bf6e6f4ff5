"""`report`: a document about one or several runs."""

from __future__ import annotations

from pathlib import Path

import click

from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.junit import junit_option, write_junit
from failproof_es.cli.rendering.output import say
from failproof_es.cli.rendering.written_files import write_recorded
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.reading.reader import resolve_run
from failproof_es.support.extras import require
from failproof_es.support.plurals import plural

FORMATS = ("html", "md", "json", "csv")


@click.command(cls=CliCommand)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--format", "document", type=click.Choice(FORMATS), default="html", show_default=True,
    help="html: one file for any browser. md: for a repository. json: the whole report, for "
    "programs. csv: the rates.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path),
    help="Write it here; `-` prints it.  [default: YYYY-MM-DD_HH-MM-SS_NAME.FORMAT here]",
)  # fmt: skip
@junit_option
def report(runs: tuple[str, ...], document: str, output: Path | None, junit: Path | None) -> None:
    """Write a report of RUN, or of several runs and how they compare.

    The comparison covers the cases that all of them were asked. Prints the path of the file.
    Every rate has its counts, its interval and its method. Text written by models is shown
    as it is, and never interpreted.
    """
    require("report", "a report")
    from failproof_es.report.formats.documents import document_of, file_name

    with session().open_store() as store, store.connect() as connection:
        run_ids = [resolve_run(connection, run) for run in runs]
        if junit is not None:
            write_junit(store, [RecordedRun.read(connection, run_id) for run_id in run_ids], junit)
        name, pieces = document_of(connection, run_ids, document)
        if output is not None and str(output) == "-":
            for piece in pieces:
                click.echo(piece, nl=False)
            return
        path = Path(file_name(name, document)) if output is None else output
        written_file = write_recorded(store, run_ids, "report", path, pieces)
    say(f"{plural(written_file.bytes, 'byte')}, SHA-256 {written_file.sha256}")
    click.echo(path)
