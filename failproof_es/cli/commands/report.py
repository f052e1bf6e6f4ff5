"""`report`: a document about one or several runs, or one table of them for a slide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from uuid import UUID

import click

from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.progress.steps import StepProgress
from failproof_es.cli.rendering.format_choice import FormatChoice
from failproof_es.cli.rendering.junit import junit_option, write_junit
from failproof_es.cli.rendering.output import say
from failproof_es.cli.rendering.written_files import write_recorded
from failproof_es.cli.usage import WrongUsage
from failproof_es.problems import InvalidInput, Problem
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.reading.reader import Connection, resolve_run
from failproof_es.support.extras import require
from failproof_es.support.plurals import plural

DOCUMENT = ("html", "md", "json", "csv")
SLIDE = ("png", "svg", "md")
_OTHER_SUFFIXES: Mapping[str, str] = {"htm": "html", "markdown": "md"}
_PRINT = (
    "write it as .html, open that in a browser and print it to a file: it is laid out for paper"
)


@click.command(cls=CliCommand)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--format", "form", type=FormatChoice(list(dict.fromkeys(DOCUMENT + SLIDE))),
    help="html: one file for any browser. md: for a repository. json: the whole report, for "
    "programs. csv: the rates. png and svg: a slide.  [default: by the suffix of --output, else "
    "html; of a slide png, svg and md]",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path),
    help="Write it here; `-` prints it.  [default: YYYY-MM-DD_HH-MM-SS_NAME.FORMAT here]",
)  # fmt: skip
@click.option(
    "--pool", is_flag=True,
    help="Count the runs together, as one: for runs that asked different cases of the same models, "
    "such as both runs of an import.",
)  # fmt: skip
@click.option(
    "--slide", is_flag=True, help="Write only one table: models, severities and categories."
)
@click.option(
    "--without", multiple=True, metavar="NAME",
    help="With --slide, leave out `severity`, `category` or `suite`, or one of these by its name "
    "on the slide. May be repeated.",
)  # fmt: skip
@junit_option
def report(
    runs: tuple[str, ...],
    form: str | None,
    output: Path | None,
    pool: bool,
    slide: bool,
    without: tuple[str, ...],
    junit: Path | None,
) -> None:
    """Write a report of RUN, or of several runs and how they compare.

    It begins with the verdict. The comparison covers the cases that all runs were asked. With
    --pool, several runs count as one, and the report names them. Prints the path of the file. Every
    rate has its counts and its interval. Text written by models is shown as it is, and never
    interpreted.
    """
    require("report", "a report")
    if without and not slide:
        raise WrongUsage("options-conflict", "--without needs --slide")
    forms = formats_of(form, output, slide=slide)
    with StepProgress() as progress, session().open_store() as store, store.lend() as connection:
        progress("reading the log")
        run_ids = [resolve_run(connection, run) for run in runs]
        if junit is not None:
            write_junit(store, [RecordedRun.read(connection, run_id) for run_id in run_ids], junit)
        name, files = _files(
            connection, run_ids, forms, progress, pooled=pool, slide=slide, without=without
        )
        for suffix, pieces in zip(forms, files, strict=True):
            if output is not None and str(output) == "-":
                for piece in pieces:
                    click.echo(piece, nl=False)
                continue
            path = Path(_file_name(name, suffix)) if output is None else output
            written_file = write_recorded(store, run_ids, "report", path, pieces)
            say(f"{plural(written_file.bytes, 'byte')}, SHA-256 {written_file.sha256}")
            click.echo(path)


def _files(
    connection: Connection,
    run_ids: Sequence[UUID],
    forms: Sequence[str],
    progress: StepProgress,
    *,
    pooled: bool,
    slide: bool,
    without: Sequence[str],
) -> tuple[str, Sequence[Iterable[bytes]]]:
    """The name of the first run, and the pieces of a file for each of `forms`."""
    from failproof_es.report.formats.documents import document_of, slide_of

    if slide:
        name, slides = slide_of(
            connection, run_ids, forms, progress, without=without, pooled=pooled
        )
        return name, [[content] for content in slides]
    (form,) = forms
    name, pieces = document_of(connection, run_ids, form, progress, pooled=pooled)
    return name, [pieces]


def _file_name(name: str, suffix: str) -> str:
    from failproof_es.report.formats.documents import file_name

    return file_name(name, suffix)


def formats_of(form: str | None, output: Path | None, *, slide: bool) -> Sequence[str]:
    """The formats to write: `form` if given, else by the suffix of the file, else the default.

    Raises `InvalidInput` if the report, or the slide, has no such format, or if the suffix is that
    of another one.
    """
    known = SLIDE if slide else DOCUMENT
    suffix = "" if output is None else output.suffix[1:].lower()
    by_suffix = _OTHER_SUFFIXES.get(suffix, suffix)
    what = "a slide" if slide else "a report"
    if form is not None and form not in known:
        problem = Problem(
            "unsupported-format", f"{what} has no format {form}", field="--format",
            remedy="add --slide" if form in SLIDE else f"use {', '.join(known)}",
        )  # fmt: skip
    elif suffix == "pdf":
        problem = Problem(
            "unsupported-format", f"{what} is not written as PDF", field="--output", remedy=_PRINT
        )
    elif form is not None and by_suffix != form and by_suffix in DOCUMENT + SLIDE:
        remedy = "leave out --format, or change the suffix"
        problem = Problem(
            "options-conflict", f"the suffix .{suffix} is not of --format {form}", remedy=remedy
        )
    elif form is None and suffix and by_suffix not in known:
        problem = Problem(
            "unsupported-format", f"{what} has no format with the suffix .{suffix}",
            field="--output",
            remedy=f"use {', '.join(f'.{one}' for one in known)}, or name the --format",
        )  # fmt: skip
    elif form or suffix:
        return (form or by_suffix,)
    elif slide:
        return ("md",) if output is not None else SLIDE
    else:
        return ("html",)
    raise InvalidInput([problem])
