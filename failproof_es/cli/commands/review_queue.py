"""`review queue`: queues of evaluations that several people label."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from failproof_es.cli.app.chosen_run import read_run
from failproof_es.cli.app.following import exit_if_changed, signed_and_followed
from failproof_es.cli.app.options import FiniteRange, all_of
from failproof_es.cli.app.program import CliCommand, CliGroup, session
from failproof_es.cli.app.result_choice import choice_options, named_conditions
from failproof_es.cli.rendering.output import Format, format_option, print_json, print_line, say
from failproof_es.cli.reviewing.answers import InvalidAnswer, name
from failproof_es.cli.reviewing.chosen_evaluations import Choice, chosen_evaluations
from failproof_es.cli.reviewing.policies import policy_in, policy_option
from failproof_es.engine.queues.creating import (
    close_queue,
    create_queue,
    draw_share,
    how_to_label,
    queues_of,
    require_queue,
)
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.reading.reader import max_position, resolve_run
from failproof_es.support.extras import require
from failproof_es.support.plurals import plural

_LARGEST_SEED = 2**63 - 1
_MOST_LABELS_EACH = 9


def _names(
    _: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    try:
        return tuple(dict.fromkeys(map(name, values)))
    except InvalidAnswer as error:
        raise click.BadParameter(str(error), param=parameter) from None


seed_option = click.option(
    "--seed", type=click.IntRange(0, _LARGEST_SEED), default=1, show_default=True,
    help="Seed of the draw: another seed draws other evaluations.",
)  # fmt: skip
people_options = all_of(
    click.option(
        "--labels-each", type=click.IntRange(1, _MOST_LABELS_EACH), default=1, show_default=True,
        metavar="N", help="Number of people who label each evaluation.",
    ),
    click.option(
        "--reviewer", "reviewers", multiple=True, metavar="NAME", callback=_names,
        help="Who labels; can be repeated.  [default: everybody]",
    ),
    click.option(
        "--adjudicator", "adjudicators", multiple=True, metavar="NAME", callback=_names,
        help="Who decides where labels differ; can be repeated.  [default: everybody else]",
    ),
    policy_option,
)  # fmt: skip


@click.group(cls=CliGroup)
def queue() -> None:
    """Give evaluations to several people, each to as many as are to label it.

    Where labels differ, a third person decides. People label a queue in the console, at the
    terminal (`review RUN --queue NAME`) or with a sheet (`review export RUN FILE --queue NAME`).
    """


@queue.command(cls=CliCommand)
@click.argument("run")
@click.argument("queue_name", metavar="NAME")
@click.option(
    "--only",
    type=click.Choice(["all", "failures", "unscored", "disagreements"]),
    default="all",
    show_default=True,
    help="Which finished evaluations, as for `review`.",
)
@choice_options
@click.option(
    "--random", "percent", type=FiniteRange(0, 100, min_open=True), metavar="PERCENT",
    help="Draw this part of them at random.",
)  # fmt: skip
@seed_option
@people_options
@click.option("--unblind", is_flag=True, help="Show the engine's result to who labels.")
def create(
    run: str, queue_name: str, only: Choice, percent: float | None, seed: int, unblind: bool,
    labels_each: int, reviewers: tuple[str, ...], adjudicators: tuple[str, ...],
    policy_file: Path | None, **options: Any,
) -> None:  # fmt: skip
    """Put finished evaluations of RUN into a queue NAME, and record it.

    Unless --unblind, people see neither the result of the engine nor the name of the model.
    """
    policy = policy_in(policy_file)
    with session().open_store() as store, store.lend() as connection:
        recorded = RecordedRun.read_events(connection, resolve_run(connection, run))
        position = max_position(connection)
        evaluations = tuple(
            evaluation.evaluation_id
            for evaluation in chosen_evaluations(
                connection, recorded, only, options, unreviewed_by=None, up_to=position
            )
        )
        of = len(evaluations)
        if percent is not None:
            evaluations = draw_share(evaluations, percent, seed)
        fields = {
            "position": position,
            "chosen_by": _describe_choice(only, options, percent),
            "seed": None if percent is None else seed,
            "strata": (),
            "evaluations": evaluations,
            "labels_each": labels_each,
            "reviewers": reviewers,
            "adjudicators": adjudicators,
            "blind": not unblind,
            "policy": policy,
        }
        with signed_and_followed(store) as signer:
            created = create_queue(store, recorded.run_id, fields, name=queue_name)
        exit_if_changed(signer)
    print_line(created.queue)
    say(f"{len(evaluations):,} of {plural(of, 'evaluation')}")
    say(f"label them: {how_to_label(recorded.started.run_number, created.queue)}")


def _describe_choice(only: Choice, options: Mapping[str, Any], percent: float | None) -> str:
    """The options that chose the evaluations, as one would write them."""
    conditions = [
        f"--{option} {shlex.quote(value)}"
        for option, values in named_conditions(options).items()
        for value in values
    ]
    drawn = [] if percent is None else [f"--random {percent:g}"]
    return " ".join([f"--only {only}", *conditions, *drawn])


@queue.command(cls=CliCommand)
@click.argument("run")
@click.argument("queue_name", metavar="[NAME]", required=False)
@format_option(Format.TABLE, Format.JSON)
def status(run: str, queue_name: str | None, output_format: Format) -> None:
    """Show the progress of the queues of RUN, or of one: by status and by person.

    The agreement is Krippendorff's alpha of the labels: 1 is agreement, 0 is chance. The seconds
    are the median time of one evaluation, from its display to the verdict.
    """
    require("report", "`review queue status`")  # its statistics
    from failproof_es.cli.reviewing.queue_status import print_queues, queue_document

    with session().open_store() as store, store.lend() as connection:
        recorded = read_run(connection, run)
        number = recorded.started.run_number
        queues = list(queues_of(connection, recorded.run_id))
        if queue_name is not None:
            queues = [require_queue(connection, recorded.run_id, number, queue_name)]
        document = {
            "run_id": str(recorded.run_id),
            "run_number": number,
            "queues": [queue_document(connection, own) for own in queues],
        }
    if output_format is Format.JSON:
        print_json(document, indent=True)
    else:
        print_queues(document)


@queue.command(cls=CliCommand)
@click.argument("run")
@click.argument("queue_name", metavar="NAME")
@click.option(
    "--incomplete", is_flag=True, help="Close it although labels or decisions are missing."
)
def close(run: str, queue_name: str, incomplete: bool) -> None:
    """Close the queue NAME of RUN: it gives out nothing more; its labels stay.

    Exits with 2 while an evaluation of it lacks a label or a decision.
    """
    with session().open_store() as store, store.lend() as connection:
        recorded = read_run(connection, run)
        number = recorded.started.run_number
        own = require_queue(connection, recorded.run_id, number, queue_name)
        with signed_and_followed(store) as signer:
            closed = close_queue(store, connection, own, number, incomplete=incomplete)
        exit_if_changed(signer)
    counts = ", ".join(f"{count:,} {word}" for word, count in closed.statuses.items())
    say(f"{closed.queue} closed as of position {closed.position}: {counts}")
