"""`suites`: create, check and list case files without running anything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from failproof_es.cli.app.options import DialectOption
from failproof_es.cli.app.program import CliGroup
from failproof_es.cli.rendering.output import (
    Format,
    columns_of_keys,
    format_option,
    print_rows,
    print_table,
    say,
)
from failproof_es.core.case import Case
from failproof_es.core.severity import severity_of
from failproof_es.dialects import case_files, dialect_named, recognise_each, refuse_other_dialects
from failproof_es.dialects.fixed_outcomes import FixedOutcomeCounts, fixed_outcomes_of
from failproof_es.dialects.new_suites import new_suite
from failproof_es.dialects.protocol import Dialect
from failproof_es.engine.planning.case_warnings import CaseWarnings
from failproof_es.problems import InvalidInput, Problems
from failproof_es.support.atomic_file import describe_write_error
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import one_line, shortened

_SUITES = (*columns_of_keys("dialect", "suite"), *columns_of_keys("cases", right=True))
_CASES = columns_of_keys("id", "title", "category", "severity", "tags")
_TITLES = ("title", "prompt", "content", "question")
"""The fields that identify a case for people: its title, else its question."""
_TITLE_WIDTH = 60


_paths = click.argument("paths", nargs=-1, required=True, metavar="PATH...")
_dialect = click.option(
    "--dialect",
    metavar="NAME",
    help="Read the files as this dialect. Without it, the content decides.",
)


@click.group(cls=CliGroup)
def suites() -> None:
    """Create, check and list suites of cases."""


@suites.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--dialect",
    cls=DialectOption,
    command="suites new",
    help="The dialect to write it in.",
)
def new(file: Path, dialect: str) -> None:
    """Write a small valid suite to FILE to start from, with a comment on every field.

    The suffix of FILE chooses the format, such as .yaml or .jsonl for redteam; with one that the
    dialect has not, all of its suffixes are told. JSON has no comments, so they go to stderr
    instead. A file that exists is not overwritten.
    """
    draft = new_suite(dialect_named(dialect), file)
    try:
        with file.open("xb") as stream:
            stream.write(draft.content)
    except FileExistsError:
        raise InvalidInput.because(
            "file-exists",
            f"{file} exists already: nothing was written",
            remedy="choose another name",
        ) from None
    except OSError as error:
        raise InvalidInput.because(
            "file-unwritable",
            f"{file} cannot be written: {describe_write_error(file, error)}",
            remedy="name a place where you may write, or change its permissions",
        ) from None
    if draft.guidance is not None:
        say(draft.guidance)
    say(f"written: {one_line(file)}")


@suites.command()
@_paths
@_dialect
@format_option()
def validate(paths: tuple[str, ...], dialect: str | None, output_format: Format) -> None:
    """Check case files. Each PATH is a file, a folder or a glob.

    Lists every defect of every file with its line and field, and exits 2 if there is one.
    Counts the cases that any answer passes, and the cases that no answer can pass. The files may
    be of several dialects. Nothing is sent and no database is needed.
    """
    problems = Problems()
    dialect_files = files_of(list(paths), dialect, problems)
    suites: defaultdict[tuple[str, str], FixedOutcomeCounts] = defaultdict(FixedOutcomeCounts)
    total = FixedOutcomeCounts()
    for dialect_, case in _cases_of(dialect_files, problems):
        decided = fixed_outcomes_of(dialect_)(case)
        for counts in (suites[case.dialect, case.suite_id], total):
            counts.add(decided)
    _report(problems, total.cases)
    rows = [{"dialect": name, "suite": suite} | asdict(of) for (name, suite), of in suites.items()]
    print_rows(rows, _SUITES, output_format)
    for line in total.lines():
        say(f"warning: {line}")
    files = sum(len(files) for _, files in dialect_files)
    say(f"valid: {plural(total.cases, 'case')} in {plural(files, 'file')}")


@suites.command("list")
@_paths
@_dialect
@format_option()
def list_(paths: tuple[str, ...], dialect: str | None, output_format: Format) -> None:
    """List the cases of files: id, title, category, severity and tags of each.

    If a dialect has no titles, the question is shown instead. Files with defects are refused,
    as by `suites validate`.
    """
    problems = Problems()
    rows = [_row(case) for _, case in _cases_of(files_of(list(paths), dialect, problems), problems)]
    _report(problems, len(rows))
    if output_format is Format.TABLE:
        print_table((_in_table(row) for row in rows), _CASES)
    else:
        print_rows(rows, _CASES, output_format)


def files_of(
    paths: list[str], dialect: str | None, problems: Problems
) -> list[tuple[Dialect, Sequence[Path]]]:
    """The dialects of these paths, each with its files; skipped files are warnings in `problems`.

    `None` as `dialect` recognises each file's dialect. `shipped:redteam` names shipped suites.
    Raises `InvalidInput` if a path has no files, or a dialect cannot be found.
    """
    if dialect is None:
        return recognise_each(paths, warnings=problems)
    case_dialect = dialect_named(dialect)
    return [(case_dialect, case_files(paths, case_dialect.suffixes))]


def _cases_of(
    dialect_files: Sequence[tuple[Dialect, Sequence[Path]]], problems: Problems
) -> Iterator[tuple[Dialect, Case]]:
    keys = CaseWarnings()
    for dialect, files in dialect_files:
        fitting = refuse_other_dialects(dialect, files, problems)
        for case in dialect.load(fitting, problems):
            keys.add(fitting, case)
            yield dialect, case
    problems.problems.extend(keys.warnings())


def _report(problems: Problems, cases: int) -> None:
    """Print the warnings.

    Raises `InvalidInput` with every error, or if `cases`, the number of cases, is 0.
    """
    if not cases and not problems.errors:
        problems.error("no-cases", "the files hold no case", remedy="add at least one")
    problems.raise_errors()
    for warning in problems.warnings:
        say(one_line(warning.describe()))


def _row(case: Case) -> dict[str, Any]:
    titles = (case.document.get(name) for name in _TITLES)
    return {
        "id": case.case_id,
        "title": next((title for title in titles if isinstance(title, str)), None),
        "category": case.category,
        "severity": severity_of(case),
        "tags": list(case.tags),
        "dialect": case.dialect,
        "suite": case.suite_id,
    }


def _in_table(row: dict[str, Any]) -> dict[str, Any]:
    title = shortened(" ".join((row["title"] or "").split()), _TITLE_WIDTH)
    return {**row, "title": title or None, "tags": ", ".join(row["tags"])}
