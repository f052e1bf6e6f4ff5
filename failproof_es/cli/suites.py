"""`suites`: check case files without running anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from failproof_es.cli.output import Column, Format, format_option, print_rows, say
from failproof_es.cli.program import Group
from failproof_es.cli.sanitise import one_line
from failproof_es.dialects import case_files, dialect_named, recognise_each
from failproof_es.dialects.protocol import Dialect
from failproof_es.problems import Problems

_COLUMNS = (
    Column("dialect", "dialect"),
    Column("suite", "suite"),
    Column("cases", "cases", right=True),
)


@click.group(cls=Group)
def suites() -> None:
    """Work with suites of cases."""


@suites.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--dialect", metavar="NAME", help="Read the files as this dialect; else recognised.")
@format_option()
def validate(paths: tuple[str, ...], dialect: str | None, output_format: Format) -> None:
    """Check case files: a file, a folder or a glob each.

    Lists every defect of every file with its line and field, and exits 2 if there is one.
    The files may be of several dialects. Nothing is sent and no database is needed.
    """
    found = files_of(list(paths), dialect)
    problems = Problems()
    cases = Counter(
        (chosen.name, case.suite_id)
        for chosen, files in found
        for case in chosen.load(files, problems)
    )
    for warning in problems.warnings:
        say(f"warning: {one_line(warning)}")
    if not cases and not problems.errors:
        problems.error("the files hold no case", remedy="add at least one")
    problems.raise_errors()
    rows = [
        {"dialect": name, "suite": suite, "cases": count} for (name, suite), count in cases.items()
    ]
    print_rows(rows, _COLUMNS, output_format)
    files = sum(len(files) for _, files in found)
    say(f"{cases.total()} cases in {files} files are valid")


def files_of(paths: list[str], dialect: str | None) -> list[tuple[Dialect, Sequence[Path]]]:
    """The dialects of these paths, each with its files. Raises `InvalidInput`."""
    if dialect is None:
        return recognise_each(paths)
    chosen = dialect_named(dialect)
    return [(chosen, case_files(paths, chosen.suffixes))]
