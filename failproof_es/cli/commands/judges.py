"""`judges`: probe how far the judges of a configuration can be swayed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import click

from failproof_es.assurance.signing.checkpoint_signer import require_continued_log
from failproof_es.cli.app.chosen_run import read_run, with_warning
from failproof_es.cli.app.console_beside import console_beside
from failproof_es.cli.app.options import allow_option, settings_option
from failproof_es.cli.app.program import CliGroup, session
from failproof_es.cli.commands.start_resume import begin_run
from failproof_es.cli.commands.validate import print_preflight
from failproof_es.cli.rendering.output import Column, Format, format_option, print_rows, say
from failproof_es.cli.starting.all_problems import load_or_report_all
from failproof_es.cli.starting.drive_options import DriveOptions, drive_options
from failproof_es.cli.starting.telemetry_beside import telemetry_beside
from failproof_es.configuration.loading import LoadedConfiguration
from failproof_es.dialects.judge_probe.conversation import JudgedConversation
from failproof_es.engine.planning.judge_probing import (
    make_conversations,
    probe_configuration,
    require_judges,
    write_conversations,
)
from failproof_es.reading.judge_flips import ProbeFlips, judge_flips
from failproof_es.reading.judged_conversations import judged_conversations
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.store import Store
from failproof_es.support.extras import require
from failproof_es.support.percentages import percent, percent_range

_COLUMNS = (
    Column("judge", "judge"),
    Column("probe", "probe"),
    Column("flips", "flips", right=True),
    Column("pairs", "pairs", right=True),
    Column("rate", "rate", right=True),
    Column("95 % interval", "interval", right=True),
    Column("to pass", "to_pass", right=True),
    Column("to fail", "to_fail", right=True),
    Column("undecided", "undecided", right=True),
)


@click.group(cls=CliGroup)
def judges() -> None:
    """Probe how far the judges of a configuration can be swayed."""


@judges.command()
@click.argument("config", type=click.Path(path_type=Path))
@settings_option
@click.option(
    "--run",
    metavar="RUN",
    help="Judge the answers of this run again.  [default: made answers, a wrong one to each case "
    "and a right one where the case has it]",
)
@click.option(
    "--cases",
    type=click.IntRange(min=1, max=1_000_000),
    default=20,
    show_default=True,
    metavar="N",
    help="The number of cases, drawn by the seed.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0, max=2**63 - 1),
    default=0,
    show_default=True,
    metavar="S",
    help="The seed of all draws.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Only check, as `validate` does, and print the number of requests. Nothing is stored.",
)
@allow_option
@drive_options
def probe(
    config: Path,
    settings: tuple[str, ...],
    run: str | None,
    cases: int,
    seed: int,
    dry_run: bool,
    allow: tuple[str, ...],
    options: DriveOptions,
) -> None:
    """Start a run that asks the judges of CONFIG the same questions with small changes.

    No change may change a verdict. repeat asks again. position and paraphrase change the order and
    the wording of the rubric. verbosity adds padding to the answer, authority adds praise by
    experts, self_preference the claim that the judge wrote it. injection adds forged verdicts in
    many spellings. The table counts the verdicts that changed all the same.

    The judges are the models of the run, so that `resume`, `results`, `requests` and `replay` work
    on it, and `judges flips` prints the table again.
    """
    require("report", "`judges probe`")  # its statistics
    loaded = load_or_report_all(config, settings, allow)
    require_judges(loaded)
    with (
        session().open_store() as store,
        console_beside(
            store, options.console, options.console_port, open_it=options.open_it
        ) as live_console,
        telemetry_beside(store, options.otlp, options.otel_content) as telemetry,
        TemporaryDirectory() as folder,
    ):
        file = Path(folder, "judged.jsonl")
        write_conversations(_choose_conversations(loaded, store, run, cases, seed), file)
        probes = probe_configuration(loaded, file, seed)
        if dry_run:
            print_preflight(probes, store, options.output_format, allow)
            return
        require_continued_log(store)

        def print_results(run_id: UUID) -> None:
            with store.lend() as connection:
                recorded = with_warning(RecordedRun.read(connection, run_id))
                print_flips(recorded, options.output_format)
            if not options.quiet:
                number = recorded.started.run_number
                say(f"`failproof-es judges flips {number}` prints this table again")

        begin_run(
            probes, store, allow, options, live_console, telemetry, print_results=print_results
        )


@judges.command()
@click.argument("run")
@format_option()
def flips(run: str, output_format: Format) -> None:
    """Print how often each probe of RUN, which `judges probe` started, changed a verdict."""
    require("report", "`judges flips`")
    with session().open_store() as store, store.lend() as connection:
        print_flips(read_run(connection, run), output_format)


def _choose_conversations(
    loaded: LoadedConfiguration, store: Store, run: str | None, cases: int, seed: int
) -> Sequence[JudgedConversation]:
    """The conversations to judge: those of the run, else made ones."""
    if run is None:
        return make_conversations(loaded, store, cases, seed)
    with store.lend() as connection:
        return list(judged_conversations(read_run(connection, run), cases, seed))


def print_flips(run: RecordedRun, output_format: Format) -> None:
    """Print a row for each judge and probe of the run, in the chosen format."""
    counted = judge_flips(run)
    rows = [asdict(flips) for flips in counted]
    if output_format is Format.TABLE:
        rows = [row | _cells(flips) for row, flips in zip(rows, counted, strict=True)]
    print_rows(rows, _COLUMNS, output_format, when_empty="no verdict can be compared yet")


def _cells(flips: ProbeFlips) -> dict[str, str | None]:
    """The cells of a table that differ from the JSON object."""
    return {
        "rate": None if flips.rate is None else percent(flips.rate),
        "interval": None if flips.interval is None else percent_range(flips.interval),
        "to_pass": f"{flips.to_pass} of {flips.failing}",
        "to_fail": f"{flips.to_fail} of {flips.passing}",
    }
