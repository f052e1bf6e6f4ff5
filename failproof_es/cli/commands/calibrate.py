"""`calibrate`: people's labels of a random sample measure the judges of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import click

from failproof_es.cli.app.chosen_run import read_run
from failproof_es.cli.app.default_command import DefaultCommandGroup
from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.app.following import exit_if_changed, signed_and_followed
from failproof_es.cli.app.options import FiniteRange
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.commands.review_queue import people_options, seed_option
from failproof_es.cli.rendering.output import Format, format_option, print_json, print_line, say
from failproof_es.cli.reviewing.policies import policy_in
from failproof_es.configuration.loading import load_configuration
from failproof_es.engine.calibration.calibrations import newest_sample
from failproof_es.engine.calibration.judged_run import JudgedRun, read_judged_run
from failproof_es.engine.calibration.label_sample import draw as draw_sample
from failproof_es.engine.calibration.label_sample import read_labels
from failproof_es.engine.queues.creating import MOST_EVALUATIONS, create_queue, how_to_label
from failproof_es.events import RunStarted
from failproof_es.events.base import ENDED
from failproof_es.gate_words import gate_line
from failproof_es.gates import RetryBias
from failproof_es.problems import InvalidInput
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.reading.reader import Connection, find, max_position
from failproof_es.support.extras import require
from failproof_es.support.plurals import plural

_MOST_EVALUATIONS = 1_000_000_000


@click.group(cls=DefaultCommandGroup, context_settings={"ignore_unknown_options": True})
def calibrate() -> None:
    """Measure the judges of a run by people's labels: `failproof-es calibrate RUN --labels 100`.

    A random sample of the judged evaluations is drawn. People label it without seeing the judges'
    verdicts. `calibrate close` records how often the judges err, and reports show the corrected
    rate beside each judged one.
    """


@calibrate.command(cls=CliCommand)
@click.argument("run", metavar="RUN|CONFIG")
@click.option(
    "--labels", required=True, type=click.IntRange(2, MOST_EVALUATIONS), metavar="N",
    help="Number of evaluations to draw; all, if the judges scored fewer.",
)  # fmt: skip
@seed_option
@people_options
def draw(
    run: str, labels: int, seed: int, labels_each: int, reviewers: tuple[str, ...],
    adjudicators: tuple[str, ...], policy_file: Path | None,
) -> None:  # fmt: skip
    """Draw a blind random sample of the judged evaluations of RUN: a queue for people to label.

    CONFIG, a configuration file, stands for its last run. The sample is stratified by the judges'
    verdict and spread over the models.
    """
    policy = policy_in(policy_file)
    with session().open_store() as store, store.lend() as connection:
        recorded = _run_of(connection, run)
        _require_ended(recorded)
        position = max_position(connection)
        judged = _judged(connection, recorded, position)
        strata, evaluations = draw_sample(judged.evaluations, labels, seed)
        fields = {
            "position": position, "chosen_by": "scored by judges", "seed": seed, "strata": strata,
            "evaluations": evaluations, "labels_each": labels_each, "reviewers": reviewers,
            "adjudicators": adjudicators, "blind": True, "policy": policy,
        }  # fmt: skip
        with signed_and_followed(store) as signer:
            sample = create_queue(store, recorded.run_id, fields, name=None, prefix="calibration")
        exit_if_changed(signer)
    for stratum in strata:
        word = "passed" if stratum.passed else "failed"
        say(f"{stratum.drawn:,} of {stratum.evaluations:,} that the judges {word}")
    number = recorded.started.run_number
    print_line(sample.queue)
    label = how_to_label(number, sample.queue)
    say(f"label them: {label}, then `failproof-es calibrate close {number}`")


@calibrate.command(cls=CliCommand)
@click.argument("run", metavar="RUN")
@format_option(Format.TABLE, Format.JSON)
def show(run: str, output_format: Format) -> None:
    """Show the progress of the labels of RUN, how often its judges err, and the corrected rates.

    A rate is corrected by labels of the model's own answers, else by the error rates of a fresh
    calibration of the same judges on another run. Every figure has its 95 % interval.
    """
    require("report", "`calibrate show`")  # its statistics
    from failproof_es.cli.reviewing.calibrating import calibration_document, print_calibration
    from failproof_es.engine.calibration.judge_quality import read_judge_quality

    with session().open_store() as store, store.lend() as connection:
        recorded = read_run(connection, run)
        quality = read_judge_quality(connection, recorded.run)
        if quality is None:
            raise _nothing_judged(recorded)
        sample = newest_sample(connection, recorded.run_id)
        labels = None if sample is None else read_labels(connection, sample)
        number = recorded.started.run_number
        document = calibration_document(number, sample, labels, quality)
    if output_format is Format.JSON:
        print_json(document, indent=True)
    else:
        calibration = quality.calibration
        print_calibration(document, () if calibration is None else calibration.event.errors)


@calibrate.command(cls=CliCommand)
@click.argument("run", metavar="RUN")
@click.option(
    "--incomplete", is_flag=True, help="Calibrate although a part of the sample has no label."
)
def close(run: str, incomplete: bool) -> None:
    """Measure the judges of RUN by the labels of its last sample, and record the calibration.

    Reviews count whose reviewer did not see the engine's verdict. Evaluations on which reviewers
    are unsure or disagree, and nobody decided, are counted, and are no labels. The gates of RUN on
    its judges are judged again. After more labels it can be closed again: the last time counts.

    Exits with 3 if such a gate is not met, and with 2 while the sample has evaluations without a
    label.
    """
    require("report", "`calibrate close`")  # its statistics
    from failproof_es.engine.calibration.closing import calibrate_run

    with session().open_store() as store, store.lend() as connection:
        recorded = read_run(connection, run)
        by_result = recorded.chosen_by_result
        again = RetryBias(None if by_result is None else by_result.reason)
        with signed_and_followed(store) as signer:
            gates = calibrate_run(store, connection, recorded.run, again, incomplete=incomplete)
        exit_if_changed(signer)
        number = recorded.started.run_number
    for name, gate in gates.items():
        print_line(gate_line(name, gate))
    say(f"judges of run {number} calibrated: `failproof-es calibrate show {number}`")
    if not all(gate["met"] for gate in gates.values()):
        click.get_current_context().exit(ExitCode.GATE_NOT_MET)


_share = FiniteRange(0.0, 1.0)


@calibrate.command(cls=CliCommand)
@click.option(
    "--width", required=True, type=FiniteRange(0.0, 1.0, min_open=True), metavar="SHARE",
    help="Wanted width of the interval of the corrected rate, such as 0.1.",
)  # fmt: skip
@click.option(
    "--evaluations", required=True, type=click.IntRange(1, _MOST_EVALUATIONS), help="Of one model."
)
@click.option("--passed", required=True, type=_share, help="Share that the judge passes.")
@click.option(
    "--true-positive-rate", type=_share, default=0.9, show_default=True,
    help="Share of the good answers that the judge passes.",
)  # fmt: skip
@click.option(
    "--false-positive-rate", type=_share, default=0.1, show_default=True,
    help="Share of the bad answers that the judge passes.",
)  # fmt: skip
def needed(width: float, evaluations: int, **shares: Any) -> None:
    """Print how many labels of one model make the corrected rate certain enough.

    Before a run the shares are assumptions; `calibrate show` has measured ones of an earlier run.
    """
    require("report", "`calibrate needed`")  # its statistics
    from failproof_es.support.statistics import judge_required_labels

    try:
        labels = judge_required_labels(width, evaluations=evaluations, **shares)
    except ValueError as error:
        raise InvalidInput.because(
            "out-of-range", str(error), remedy="change --passed or an error rate"
        ) from None
    if labels is None:
        raise InvalidInput.because(
            "out-of-range",
            f"{plural(evaluations, 'evaluation')} cannot give an interval of {width:g}",
            remedy="ask more cases, or accept a wider interval",
        )
    print_line(str(labels))


def _run_of(connection: Connection, run: str) -> RecordedRun:
    """The run that `run` names, or the last one of the configuration file of this path."""
    path = Path(run)
    is_file = path.is_file() and not run.isdecimal() and run != "latest"
    if not is_file and path.suffix not in (".yaml", ".yml"):
        return read_run(connection, run)
    digest = load_configuration(path).digest()
    run_id: UUID | None = None
    for row in find(connection, topics=[RunStarted.__name__], newest_first=True):
        event = row.event()
        if isinstance(event, RunStarted) and event.configuration_digest == digest:
            run_id = event.originator_id
            break
    if run_id is None:
        raise InvalidInput.because(
            "unknown-run",
            f"no run of the configuration {run}, as it is now, is on record",
            remedy=f"`failproof-es start {run}` first, or name a run",
        )
    return read_run(connection, str(run_id))


def _require_ended(recorded: RecordedRun) -> None:
    """Raise `InvalidInput` while the run can get more evaluations, which no sample would have."""
    if recorded.run.status not in ENDED:
        raise InvalidInput.because(
            "run-not-completed",
            f"run {recorded.started.run_number} is {recorded.run.status}",
            remedy="draw from it when it has ended",
        )


def _judged(connection: Connection, recorded: RecordedRun, position: int) -> JudgedRun:
    judged = read_judged_run(connection, recorded.run, position)
    if not judged.evaluations:
        raise _nothing_judged(recorded)
    return judged


def _nothing_judged(recorded: RecordedRun) -> InvalidInput:
    number = recorded.started.run_number
    return InvalidInput.because(
        "nothing-judged",
        f"no judge has scored an evaluation of run {number}",
        remedy="a run with `judge` in its configuration has verdicts to calibrate",
    )
