"""`audit-questions`: what an auditor asks of a run, with answers from the record."""

from __future__ import annotations

import click

from failproof_es.catalogue.audit_questions import audit_answers
from failproof_es.catalogue.run_document import run_document
from failproof_es.cli.app.chosen_run import read_run
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.output import Format, format_option, print_json, print_line
from failproof_es.reading.as_of import read_as_of


@click.command("audit-questions", cls=CliCommand)
@click.argument("run")
@format_option()
def audit_questions(run: str, output_format: Format) -> None:
    """Answer what an auditor asks of RUN, from the record.

    Each answer names the events that it rests on, by their positions, and the command that repeats
    it. What the record cannot answer is said. Nothing is verified here: the commands do that.
    """
    with session().open_store() as store, store.lend() as connection:
        recorded = read_run(connection, run)
        document = run_document(recorded, read_as_of(connection, recorded.reader))
        answers = audit_answers(recorded, document)
    if output_format is not Format.TABLE:
        print_json(
            [answer.model_dump(mode="json") for answer in answers],
            indent=output_format is Format.JSON,
        )
        return
    for number, answer in enumerate(answers, 1):
        print_line(f"{number}. {answer.question}{'' if answer.answered else ' (open)'}")
        print_line(f"   {answer.answer}")
        if answer.events:
            print_line(f"   events: {', '.join(map(str, answer.events))}")
        for command in answer.commands:
            print_line(f"   {command}")
