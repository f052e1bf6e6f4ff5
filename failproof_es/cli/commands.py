"""The program and its commands."""

from __future__ import annotations

import click

from failproof_es.cli.audit import audit
from failproof_es.cli.database import db
from failproof_es.cli.diff import diff
from failproof_es.cli.evidence import evidence
from failproof_es.cli.export import export
from failproof_es.cli.ledger import ledger
from failproof_es.cli.log import log
from failproof_es.cli.models import models
from failproof_es.cli.program import Program
from failproof_es.cli.projections import projections
from failproof_es.cli.prompts import prompts
from failproof_es.cli.replay import replay
from failproof_es.cli.report import report
from failproof_es.cli.results import results
from failproof_es.cli.review import review
from failproof_es.cli.runs import runs
from failproof_es.cli.show import show
from failproof_es.cli.start_resume import resume, start
from failproof_es.cli.suites import suites
from failproof_es.cli.validate import validate
from failproof_es.cli.verify import verify


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="failproof-es", message="%(prog)s %(version)s")
def main() -> None:
    """Evaluate language models on an append-only record.

    RUN is a run number, a run id, or `latest`. Data goes to stdout, everything meant for
    people to stderr. Exit codes: 0 done and all gates met; 1 the run or the tool failed;
    2 wrong usage, configuration or suite, and nothing was sent; 3 the run is complete and
    a gate is not met; 130 interrupted, and can be resumed.
    """


for command in (
    validate,
    start,
    resume,
    replay,
    runs,
    show,
    diff,
    results,
    report,
    review,
    export,
    log,
    audit,
    verify,
    evidence,
    ledger,
    projections,
    suites,
    prompts,
    models,
    db,
):
    main.add_command(command)
