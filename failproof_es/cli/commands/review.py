"""`review`: people's verdicts on the evaluations of a run."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from failproof_es.cli.app.chosen_run import print_left_out, read_run, say_left_out, with_warning
from failproof_es.cli.app.default_command import DefaultCommandGroup
from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.app.following import exit_if_changed, signed_and_followed
from failproof_es.cli.app.input_files import read_file
from failproof_es.cli.app.options import all_of
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.app.result_choice import choice_options
from failproof_es.cli.commands.review_queue import queue
from failproof_es.cli.rendering.output import Format, format_option, print_json, print_line, say
from failproof_es.cli.rendering.written_files import write_recorded
from failproof_es.cli.reviewing.answers import InvalidAnswer, name
from failproof_es.cli.reviewing.chosen_evaluations import (
    Choice,
    chosen_evaluations,
    waiting_evaluations,
)
from failproof_es.cli.reviewing.closing import require_closable, require_complete
from failproof_es.cli.reviewing.disputed_lines import Disagreements
from failproof_es.cli.reviewing.exported_sheet import (
    check_handing_on,
    conflicts_of,
    export_of,
    is_blind,
)
from failproof_es.cli.reviewing.labelling import label_queue
from failproof_es.cli.reviewing.policies import policy_lines
from failproof_es.cli.reviewing.screen import ReviewQuit, ask, show
from failproof_es.cli.reviewing.sheet import opinions, read_sheet, sheet
from failproof_es.cli.usage import WrongUsage
from failproof_es.configuration.prompt_template import templates_of
from failproof_es.dialects.kit.judging import checklist
from failproof_es.engine.history import read_evaluations
from failproof_es.engine.identity import current_user
from failproof_es.engine.operations import record_operations
from failproof_es.engine.queues.claiming import require_open_for
from failproof_es.engine.queues.creating import require_queue
from failproof_es.engine.required_plugins import require_dialect
from failproof_es.engine.reviews.comparison import RaterChoice, What
from failproof_es.engine.reviews.people import (
    NewerVerdict,
    NewerVerdicts,
    Reviewing,
    finished_evaluations,
    record_reviews,
)
from failproof_es.engine.reviews.sheets import record_export, saw_engine
from failproof_es.events import ReviewClosed
from failproof_es.gate_words import gate_line
from failproof_es.problems import InvalidInput, Problems
from failproof_es.reading.people_gates import judge_by_people
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.voted_runs import runs_with_votes
from failproof_es.store.errors import ReadOnlyLog
from failproof_es.store.reading.reader import max_position, resolve_run
from failproof_es.store.store import Store
from failproof_es.support.extras import require
from failproof_es.support.plurals import plural

_LARGEST_SHEET = 1 << 28
"""Maximum bytes of a sheet."""


def _reviewer(_: click.Context, parameter: click.Parameter, value: str | None) -> str:
    try:
        return name(current_user() if value is None else value)
    except InvalidAnswer as error:
        raise click.BadParameter(str(error), param=parameter) from None


reviewer_option = click.option(
    "--reviewer", metavar="NAME", callback=_reviewer, help="Who reviews.  [default: you]"
)
choosing_options = all_of(
    reviewer_option,
    click.option(
        "--only",
        type=click.Choice(["all", "failures", "unscored", "disagreements"]),
        default="all",
        show_default=True,
        help="failures: scored and not passed. unscored: abandoned. disagreements: those that "
        "`review disagreements` lists. all: everything finished.",
    ),
    choice_options,
    click.option(
        "--queue",
        "queue_name",
        metavar="NAME",
        help="What this queue of RUN gives to the reviewer, and nothing else.",
    ),
    click.option(
        "--again",
        is_flag=True,
        help="Also show what this reviewer has reviewed. The later verdict counts.",
    ),
    click.option(
        "--unblind",
        is_flag=True,
        help="Show the model and the engine's result. Each verdict then records that the reviewer "
        "was not blind. --only failures does the same.",
    ),
)


@click.group(cls=DefaultCommandGroup, context_settings={"ignore_unknown_options": True})
def review() -> None:
    """Review evaluations by hand: `failproof-es review RUN`.

    Verdicts are recorded beside the run, which does not change. Nothing is replaced: of
    each reviewer the later verdict counts, and the earlier ones stay visible.
    """


@review.command("run", cls=CliCommand)
@click.argument("run")
@choosing_options
def run_(
    run: str, reviewer: str, only: Choice, queue_name: str | None, again: bool, unblind: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Review the evaluations of RUN one after the other.

    Each verdict is on record at once. Leave at any question with `quit`; the next time goes
    on with what this reviewer has not reviewed yet. The model, and what the engine and its judges
    came to, are not shown, so that they sway nobody.
    """
    with session().open_store() as store, store.lend() as connection:
        recorded = read_run(connection, run)
        if queue_name is not None:
            _refuse_choices(only, again, unblind, options)
            queue = require_queue(
                connection, recorded.run_id, recorded.started.run_number, queue_name
            )
            label_queue(store, recorded, queue, reviewer, lambda: _keeping_up(store))
            return
        dialect, templates = require_dialect(recorded.started), templates_of(recorded.started)
        unreviewed_by = None if again else reviewer
        chosen = chosen_evaluations(
            connection, recorded, only, options, unreviewed_by=unreviewed_by
        )
        keys = [evaluation.recorded.key for evaluation in chosen]
        unblind = unblind or only == "failures"
        # That others disagree with a verdict of one's own tells what the engine said.
        told = only == "disagreements" and again
        blind = not (unblind or told or saw_engine(connection, recorded.run_id, reviewer))
        reviewing = Reviewing(recorded.run_id, reviewer, blind=blind)
        done = 0
        try:
            with ExitStack() as stack:
                for number, key in enumerate(keys, 1):
                    recorded_now = read_evaluations(connection, [key])
                    evaluation = next(finished_evaluations(connection, recorded_now))
                    place = f"{number} of {len(keys)}"
                    show(evaluation, dialect, place, templates=templates, unblind=unblind)
                    if opinion := ask(checklist(evaluation.recorded.case.expectation)):
                        if not done:
                            stack.enter_context(_keeping_up(store))
                        record_reviews(store, reviewing, {key.evaluation_id: opinion})
                        done += 1
        except ReviewQuit:
            pass
        except click.Abort:
            click.echo()  # the last prompt has no end of line
            raise
        finally:
            if keys:
                say(f"{done} of {plural(len(keys), 'evaluation')} reviewed by {reviewer}")
            else:
                fits = " that fits" if only != "all" or any(options.values()) else ""
                say(f"no finished evaluation{fits} is left to review for {reviewer}")


@review.command(cls=CliCommand)
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path))
@choosing_options
def export(
    run: str, file: Path, reviewer: str, only: Choice, queue_name: str | None, again: bool,
    unblind: bool, **options: Any,
) -> None:  # fmt: skip
    """Write what is to be reviewed of RUN to FILE, a CSV for spreadsheets.

    Fill in `verdict` with one of the row's `choices`. What is left empty is not reviewed.
    `severity`, `tags` and `notes` go into the row `overall`. A FILE that exists is never
    overwritten: somebody may have filled it in.

    The sheet is on record: whom it was made for, which verdicts it shows, and whether it hides
    the engine's. Leave the column `sheet` as it is.
    """
    if file.exists():
        raise InvalidInput.because(
            "file-exists",
            f"{file} exists already: nothing was written",
            remedy="choose another name",
        )
    with session().open_store() as store, store.lend() as connection:
        recorded = RecordedRun.read_events(connection, resolve_run(connection, run))
        dialect = require_dialect(recorded.started)
        position = max_position(connection)
        if queue_name is not None:
            _refuse_choices(only, again, unblind, options)
            run_number = recorded.started.run_number
            queue = require_queue(connection, recorded.run_id, run_number, queue_name).created
            require_open_for(connection, queue, reviewer)
            evaluations = waiting_evaluations(connection, recorded, queue, reviewer, position)
            unblind = not queue.blind
            for line in policy_lines(queue.policy):
                say(line)
        else:
            evaluations = chosen_evaluations(
                connection, recorded, only, options,
                unreviewed_by=None if again else reviewer, up_to=position,
            )  # fmt: skip
            unblind = unblind or only == "failures"
        try:
            own = record_export(
                store, recorded.run_id, reviewer, position, blind=not unblind, queue=queue_name
            )
        except ReadOnlyLog:
            own = ""
            say("this database user may only read: the sheet has no id, and is imported as if "
                "it had been written by hand")  # fmt: skip
        rows = sheet(
            evaluations, dialect, reviewer,
            templates=templates_of(recorded.started), unblind=unblind, sheet_id=own,
        )  # fmt: skip
        write_recorded(store, [recorded.run_id], "review_sheet", file, rows)
    by = "" if reviewer == current_user() else f" --reviewer {shlex.quote(reviewer)}"
    command = f"failproof-es review import {recorded.started.run_number} {file}{by}"
    say(f"{file}: fill it in, then `{command}`")


@review.command("import", cls=CliCommand)
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@reviewer_option
@click.option(
    "--handed-on",
    is_flag=True,
    help="FILE was exported for somebody else, empty, and handed on to this reviewer.",
)
@click.option("--keep-newer", is_flag=True, help="Keep verdicts that are newer than FILE.")
@click.option("--overwrite", is_flag=True, help="Let verdicts in FILE count instead of newer ones.")
def import_(
    run: str, file: Path, reviewer: str, handed_on: bool, keep_newer: bool, overwrite: bool
) -> None:
    """Put the verdicts in FILE, which `review export` wrote, on record: all or none of them.

    All errors of the file are listed at once. A cell that FILE was exported with is no verdict,
    and a verdict that this reviewer already gave is not recorded again: importing a file twice
    adds nothing.

    Where the reviewer gave another verdict since the export, nothing is imported; choose one with
    --keep-newer or --overwrite. FILE is imported for the reviewer that it was exported for. A file
    that was written by hand has no record of an export: its verdicts are not known to be blind.
    """
    if keep_newer and overwrite:
        raise WrongUsage("options-conflict", "--keep-newer and --overwrite exclude each other")
    newer: NewerVerdict = "keep" if keep_newer else "overwrite" if overwrite else "refuse"
    content = read_file(file, _LARGEST_SHEET)
    problems = Problems()
    with session().open_store() as store, store.lend() as connection:
        recorded = read_run(connection, run)
        filled_sheet = read_sheet(file, content, problems)
        export = export_of(connection, recorded.run_id, filled_sheet)
        if export is not None and export.queue is not None:
            run_number = recorded.started.run_number
            queue = require_queue(connection, recorded.run_id, run_number, export.queue).created
            require_open_for(connection, queue, reviewer)
        checklists = {
            evaluation.evaluation_id: [
                item.key for item in checklist(evaluation.recorded.case.expectation)
            ]
            for evaluation in finished_evaluations(connection, recorded.evaluations())
            if evaluation.evaluation_id in filled_sheet.rows
        }
        if export is not None and export.reviewer != reviewer:
            check_handing_on(connection, export, reviewer, filled_sheet, handed_on=handed_on)
        verdicts = opinions(filled_sheet, checklists)
        if not verdicts and not problems.errors:
            remedy = "fill in the column `verdict`"
            problems.error("missing-verdict", "holds no verdict", path=file, remedy=remedy)
        problems.raise_errors()
        digest = hashlib.sha256(content).hexdigest()
        own = export is not None and export.reviewer == reviewer
        reviewing = Reviewing(
            recorded.run_id,
            reviewer,
            is_blind(connection, recorded.run_id, reviewer, export, filled_sheet),
            digest,
            sheet=None if export is None else export.sheet,
            pre_filled_at=export.position if export is not None and own else None,
            newer=newer,
            queue=None if export is None else export.queue,
        )
        with _keeping_up(store):
            try:
                new = record_reviews(store, reviewing, verdicts)
            except NewerVerdicts as conflict:
                raise conflicts_of(filled_sheet, conflict, reviewer) from None
            say(
                f"new and on record: {len(new)} of {plural(len(verdicts), 'verdict')}, "
                f"by {reviewer}"
            )


@review.command(cls=CliCommand)
@click.argument("run")
@click.option(
    "--incomplete",
    is_flag=True,
    help="Judge although some evaluations are not reviewed: these count as not passed.",
)
def close(run: str, incomplete: bool) -> None:
    """Judge the gates of RUN by the verdicts of people, and record the result.

    For runs whose configuration has `gates: {by: people}`. What people decided counts, and where
    nobody reviewed an evaluation, the engine's score of it. Disputed and unclear evaluations
    count as not passed. The run itself stays as it is. After more reviews it can be closed again:
    the last time counts, and the earlier ones stay on record.

    Exits with 0 if all gates of the run are met, with 3 if not, and with 2 while an evaluation
    awaits review.
    """
    with session().open_store() as store, store.lend() as connection:
        run_id = read_run(connection, run).run_id
        recorded = RecordedRun.read(connection, run_id, max_position(connection))
        require_closable(recorded)
        judgement = judge_by_people(recorded)
        if not incomplete:
            require_complete(recorded, judgement)
        assert recorded.up_to is not None
        fields = {
            "position": recorded.up_to,
            "incomplete": incomplete,
            "reviews": dict(judgement.reviews),
            "overruled": dict(judgement.overruled),
            "gates": judgement.gates,
        }
        with _keeping_up(store):
            record_operations(store, run_id, [(ReviewClosed, fields)])
        gates = recorded.gates | judgement.gates
    for gate_name, gate in gates.items():
        print_line(gate_line(gate_name, gate))
    say(f"reviews of run {recorded.started.run_number} closed as of position {recorded.up_to}")
    if not all(gate["met"] for gate in gates.values()):
        click.get_current_context().exit(ExitCode.GATE_NOT_MET)


@review.command(cls=CliCommand)
@click.argument("run")
@format_option(Format.TABLE, Format.JSON)
def status(run: str, output_format: Format) -> None:
    """Show the reviews of RUN by reviewer, and the agreement of judges and people.

    Agreement is Cohen's kappa with its 95 % interval: 1 is agreement, 0 is chance.
    """
    require("report", "`review status`")  # its statistics
    # Imported here: it loads scipy, which takes longer than most commands.
    from failproof_es.cli.reviewing.status import print_status, status_of

    with session().open_store() as store, store.lend() as connection:
        recorded = read_run(connection, run)
        document: dict[str, Any] = status_of(
            recorded, finished_evaluations(connection, recorded.evaluations())
        )
    if output_format is Format.TABLE:
        print_status(document)
    else:
        print_json(document, indent=True)


@review.command(cls=CliCommand)
@click.argument("run", required=False)
@click.option(
    "--between",
    nargs=2,
    metavar="RATER RATER",
    help="Only what these two disagree on, named as in `review status`.",
)
@click.option(
    "--on", "what", type=click.Choice(["items", "verdicts"]), help="With --between: only these."
)
@format_option(Format.TABLE, Format.JSONL)
def disagreements(
    run: str | None, between: tuple[str, str] | None, what: What | None, output_format: Format
) -> None:
    """List the items of RUN on which judges and people disagree, with their words.

    Each item with different verdicts, each evaluation that one passed and another failed, and each
    judge's vote that does not count, with the reason. Of a judge the quotation is printed, of a
    person the notes. Without RUN, of every run that has a judge or a review. Archived runs are
    named on stderr, and as JSON also in the last line, `left_out`.
    """
    if what is not None and between is None:
        raise WrongUsage("missing-option", "--on needs --between")
    listing = Disagreements(None if between is None else RaterChoice(frozenset(between), what))
    with session().open_store() as store, store.lend() as connection:
        if run is not None:
            listing.add(read_run(connection, run), output_format, is_only=True)
        else:
            for run_id in list(runs_with_votes(connection)):
                recorded = with_warning(RecordedRun.read(connection, run_id))
                listing.add(recorded, output_format, is_only=False)
            print_left_out(say_left_out(connection), output_format)
    if between is not None and not listing.compared:
        raise InvalidInput.because(
            "unknown-name", f"{between[0]} and {between[1]} voted on nothing together",
            field="--between", remedy="`failproof-es review status RUN` names the raters",
        )  # fmt: skip
    listing.say_totals()


def _refuse_choices(only: Choice, again: bool, unblind: bool, options: Mapping[str, Any]) -> None:
    """Raise `WrongUsage` if an option chooses what a queue has chosen already."""
    if only != "all" or again or unblind or any(options.values()):
        raise WrongUsage("options-conflict", "--queue chooses the evaluations by itself")


review.add_command(queue)


@contextmanager
def _keeping_up(store: Store) -> Iterator[None]:
    """Sign the events that are appended in this context, and keep the projections current.

    This also holds when the reviewer stops early. Exits 1 if the log was changed.
    """
    with suppress(ReviewQuit), signed_and_followed(store) as signer:
        yield
    exit_if_changed(signer)
