"""`evidence`: exports one run as a file that anyone can verify."""

from __future__ import annotations

from pathlib import Path

import click

from failproof_es.assurance.run_evidence import evidence_lines
from failproof_es.assurance.signing.checkpoint_signer import sign_and_keep_checkpoint
from failproof_es.assurance.signing.signing_key import own_public_key, read_public_key
from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.app.input_files import read_file
from failproof_es.cli.app.program import CliGroup, session
from failproof_es.cli.rendering.evidence_lines import BundledRun
from failproof_es.cli.rendering.output import say
from failproof_es.cli.rendering.written_files import write_recorded
from failproof_es.cli.usage import WrongUsage
from failproof_es.engine.replays.evidence import replay_bundle
from failproof_es.ledger import bundle
from failproof_es.ledger.contents import EvidenceError, Missing, NotProvenYet
from failproof_es.ledger.note import COSIGNATURE, ED25519
from failproof_es.store import ledger
from failproof_es.store.connecting import connect
from failproof_es.store.reading.reader import resolve_run
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import one_line

NEXT_STEP = {
    Missing.SEAL: "A run is sealed when it ends: `failproof-es resume` finishes it.",
    Missing.CHECKPOINT: "`failproof-es ledger checkpoint` signs what is committed.",
}
"""The next step for each thing that the run lacks."""


@click.group(cls=CliGroup)
def evidence() -> None:
    """Export one run as evidence that anyone can verify offline."""


@evidence.command()
@click.argument("run")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="The file to write."
)
@click.option("--no-checkpoint", is_flag=True, help="Take the newest checkpoint; sign nothing.")
@click.option(
    "--checkpoint", "size", type=click.IntRange(min=1), metavar="SIZE",
    help="Take the checkpoint of SIZE events, for example a cosigned one; sign nothing.",
)  # fmt: skip
def export(run: str, output: Path, no_checkpoint: bool, size: int | None) -> None:
    """Write RUN and everything that proves it to one file (docs/reference/evidence-format.md).

    The log is signed first, unless you choose a checkpoint. The file then holds what the log
    held at that checkpoint. Later attempts and reviews are not in it.

    Exits 3 when the run is not sealed or not signed yet. Exits 1 when the run differs from
    what was sealed and signed. In both cases no file is written.
    """
    with session().open_store() as store:
        with store.lend() as connection:
            run_id = resolve_run(connection, run)
            if not no_checkpoint and size is None:
                sign_and_keep_checkpoint(connection)
        with connect(store.auditor_url) as connection:
            try:
                own = own_public_key(ledger.origin(connection))
                lines = evidence_lines(connection, run_id, size, own)
                written_file = write_recorded(store, [run_id], "evidence", output, lines)
            except NotProvenYet as error:
                say(f"run {run} cannot be exported: {error}. {NEXT_STEP[error.missing]}")
                click.get_current_context().exit(ExitCode.NOT_PROVEN_YET)
            except EvidenceError as error:
                say(
                    f"error: run {run} cannot be exported: {error}. `failproof-es verify` says "
                    "what was changed."
                )
                click.get_current_context().exit(ExitCode.FAILED)
    say(f"{output}: {plural(written_file.bytes, 'byte')}")
    if written_file.bytes > bundle.MOST_BYTES:
        say(f"warning: no verifier reads a file of more than {bundle.MOST_BYTES:,} bytes")


@evidence.command("verify")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--key", required=True, help="The log's public key, or a file that holds it.")
@click.option(
    "--cosigner", "cosigners", multiple=True, metavar="KEY",
    help="Require a signature by this cosigner's public key. May be repeated.",
)  # fmt: skip
@click.option("--replay", is_flag=True, help="Also score the recorded answers again.")
@click.option("--list", "listing", is_flag=True, help="List the evaluations instead.")
@click.option(
    "--show", "case", metavar="CASE",
    help="Print all about one case instead: the question, requests, answers, verdicts, reviews. "
    "CASE is a case id; write SUITE/CASE if two suites have it.",
)  # fmt: skip
def verify_evidence(
    file: Path,
    key: str,
    cosigners: tuple[str, ...],
    replay: bool,
    listing: bool,
    case: str | None,
) -> None:
    """Check the evidence in FILE, without a database and without the network.

    Prints the run's result as its report has it: who ran which models where, how many evaluations
    passed, the gates, the seal. With --list or --show, prints proven content only.

    Exits 1 when the evidence does not prove what it says, or when --replay gives another result.
    """
    if replay + listing + (case is not None) > 1:
        raise WrongUsage("options-conflict", "--replay, --list and --show exclude each other")
    public = read_public_key(key, ED25519)
    cosigner_keys = [read_public_key(cosigner, COSIGNATURE) for cosigner in cosigners]
    content = read_file(file, bundle.MOST_BYTES)
    try:
        read = bundle.read(content)
        verdict = bundle.verify(read, public, cosigner_keys)
    except EvidenceError as error:
        click.echo(one_line(f"NOT genuine: {error}"))
        click.get_current_context().exit(ExitCode.FAILED)
    run = BundledRun(read)
    if listing or case is not None:
        for line in run.evaluations() if case is None else run.case(case):
            click.echo(one_line(line))
        return
    for line in (*read.summary, *run.result()):
        click.echo(one_line(line))
    for name, at in verdict.cosigned.items():
        click.echo(f"cosigned by {name} at {at}")
    click.echo(
        f"genuine: {plural(len(read.events), 'event')}, each in the signed tree; the run is whole"
    )
    if replay:
        agree, differing = replay_bundle(read)
        click.echo(f"replayed: {agree:,} evaluations agree, {len(differing):,} differ")
        for difference in differing:
            click.echo(one_line(f"  differs: {difference}"))
        if differing:
            click.get_current_context().exit(ExitCode.FAILED)
