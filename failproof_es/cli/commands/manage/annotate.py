"""`annotate`: the name, the tags and the note under which people find a run."""

from __future__ import annotations

from typing import Any

import click

from failproof_es.cli.app.following import exit_if_changed, signed_and_followed
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.output import (
    Format,
    format_option,
    print_facts,
    print_json,
    say,
)
from failproof_es.engine.annotations import AnnotationChange, annotations_of
from failproof_es.engine.annotations import annotate as record_annotation
from failproof_es.events import RunAnnotated
from failproof_es.store.reading.experiments import run_numbers
from failproof_es.store.reading.reader import resolve_run


@click.command(cls=CliCommand)
@click.argument("run")
@click.option("--name", metavar="TEXT", help="Show RUN under this name. Empty: its configured one.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Add a tag. Can be repeated.")
@click.option("--untag", multiple=True, metavar="TAG", help="Remove a tag. Can be repeated.")
@click.option("--note", metavar="TEXT", help="Put this note beside RUN. Empty: no note.")
@click.option(
    "--hide/--show",
    "hidden",
    default=None,
    help="Leave RUN out of lists, or put it back. It counts as an attempt either way.",
)
@format_option(Format.TABLE, Format.JSON)
def annotate(
    run: str,
    name: str | None,
    tags: tuple[str, ...],
    untag: tuple[str, ...],
    note: str | None,
    hidden: bool | None,
    output_format: Format,
) -> None:
    """Name, tag or hide RUN, or put a note beside it.

    Each change is an event with who made it and when: `audit RUN` prints all of them. No result
    and no number changes by it. Without an option, what is on record is printed.
    """
    change = AnnotationChange(name=name, tags=tags, untag=untag, note=note, hidden=hidden)
    with session().open_store() as store:
        with store.lend() as connection:
            run_id = resolve_run(connection, run)
            number = run_numbers(connection, [run_id])[run_id]
        if change != AnnotationChange():
            with signed_and_followed(store) as signer:
                recorded = record_annotation(store, run_id, change)
            if recorded is None:
                say(f"run {number} is annotated so already: nothing is recorded")
            exit_if_changed(signer)
        with store.lend() as connection:
            annotation = annotations_of(connection, [run_id]).get(run_id)
    fields = _annotation_fields(annotation)
    if output_format is not Format.TABLE:
        print_json({"run_id": str(run_id), **fields})
    elif annotation is None:
        say(f"run {number} has no annotation: give it --name, --tag, --note or --hide")
    else:
        print_facts({**fields, "tags": ", ".join(annotation.tags) or None})


def _annotation_fields(annotation: RunAnnotated | None) -> dict[str, Any]:
    """The annotation as printed; every value is `None` or empty without one."""
    if annotation is None:
        return {"name": None, "tags": [], "note": None, "hidden": False, "who": None, "at": None}
    fields = annotation.model_dump(include={"name", "tags", "note", "hidden", "who"})
    return {**fields, "at": annotation.timestamp}
