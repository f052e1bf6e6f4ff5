"""`--junit`: also writes the results of a command's runs as JUnit XML (`exports.junit`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from failproof_es.cli.rendering.written_files import write_recorded
from failproof_es.exports.junit import junit
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.store import Store

junit_option = click.option(
    "--junit",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write the results to FILE as JUnit XML. An evaluation without a score is an error.",
)


def write_junit(store: Store, runs: Sequence[RecordedRun], path: Path) -> None:
    """Write the results of the runs to `path` as JUnit XML, and record that it was written.

    They are read from the log. Raises `InvalidInput` if the file cannot be written.
    """
    by_events = [RecordedRun.read_events(run.connection, run.run_id) for run in runs]
    write_recorded(store, [run.run_id for run in runs], "report", path, junit(by_events))
