"""`prompts`: import prompts into the log, to run them from there."""

from __future__ import annotations

import click

from failproof_es.cli.app.options import DialectOption
from failproof_es.cli.app.program import CliGroup, session
from failproof_es.cli.rendering.output import (
    Format,
    columns_of_keys,
    format_option,
    print_rows,
    say,
)
from failproof_es.dialects import case_files, dialect_named
from failproof_es.engine.planning.prompt_collections import collection_names, import_prompts
from failproof_es.problems import InvalidInput
from failproof_es.support.untrusted_text import one_line

_COLUMNS = (*columns_of_keys("collection", "dialect"), *columns_of_keys("prompts", right=True))


@click.group(cls=CliGroup)
def prompts() -> None:
    """Work with collections of prompts in the log."""


@prompts.command("import")
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option("--collection", required=True, metavar="NAME", help="The collection to add to.")
@click.option(
    "--dialect",
    cls=DialectOption,
    command="prompts import",
    help="Read the files as this dialect.",
)
@format_option()
def import_(paths: tuple[str, ...], collection: str, dialect: str, output_format: Format) -> None:
    """Store the prompts of files, complete, in a collection.

    A configuration runs them with `prompts: {source: database, collection: NAME}`. If
    two prompts have the same id, the one imported last counts. All are imported, or none.
    """
    if not collection.strip():
        raise InvalidInput.because(
            "empty-value", "--collection: is empty", remedy="give the collection a name"
        )
    case_dialect = dialect_named(dialect)
    files = case_files(list(paths), case_dialect.suffixes)
    with session().open_store() as store:
        count, warnings = import_prompts(store, case_dialect, files, collection)
    for warning in warnings:
        say(f"warning: {one_line(warning)}")
    row = {"collection": collection, "dialect": case_dialect.name, "prompts": count}
    print_rows([row], _COLUMNS, output_format)


@prompts.command("list")
@format_option()
def list_(output_format: Format) -> None:
    """List the collections: their dialect, and how many prompts each holds."""
    with session().open_store() as store, store.lend() as connection:
        rows = [
            {"collection": name, "dialect": dialect, "prompts": count}
            for name, (dialect, count) in collection_names(connection).items()
        ]
    print_rows(
        rows,
        _COLUMNS,
        output_format,
        when_empty="no collections yet; to store one, see `failproof-es prompts import --help`",
    )
