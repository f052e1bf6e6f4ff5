"""`verify`: the log against its tree, and the tree against what was signed and kept."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click
import psycopg

from failproof_es.assurance.export import evidence
from failproof_es.assurance.findings import Finding, Signatures, Verdict, Verification
from failproof_es.assurance.signing_key import own_public_key, read_public_key
from failproof_es.assurance.trusted import default_place, read_kept
from failproof_es.assurance.verification import verify_log
from failproof_es.assurance.verified import keep_verified, read_verified
from failproof_es.cli.errors import ExitCode
from failproof_es.cli.evidence import NEXT_STEP
from failproof_es.cli.output import Format, format_option, print_json, say
from failproof_es.cli.program import Command, session
from failproof_es.cli.protection import say_missing
from failproof_es.cli.sanitise import one_line
from failproof_es.counting import counted
from failproof_es.ledger import bundle
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.contents import EvidenceError, NotProvenYet
from failproof_es.ledger.note import PublicKey
from failproof_es.problems import InvalidInput, Problem
from failproof_es.store import ledger
from failproof_es.store.layers import missing_layers
from failproof_es.store.ledger import Connection
from failproof_es.store.reader import resolve_run

_SAID = {
    Verdict.GENUINE: "genuine",
    Verdict.UNSIGNED: "UNSIGNED, and nothing was found",
    Verdict.CHANGED: "NOT as it was recorded",
}


@click.command(cls=Command)
@click.option(
    "--key", help="The log's public key, or a file that holds it.  [default: this user's]"
)
@click.option(
    "--checkpoint", "places", multiple=True, metavar="FILE|DIR|URL",
    help="Where a checkpoint is kept outside the database. Can be given again.  "
    "[default: this user's]",
)  # fmt: skip
@click.argument("run", required=False)
@click.option(
    "--incremental", is_flag=True,
    help="Read only what came since the last verification that found nothing.",
)  # fmt: skip
@click.option(
    "--unsigned", is_flag=True,
    help="Exit 0 also when nothing was found and no signature could be checked.",
)  # fmt: skip
@format_option()
def verify(
    run: str | None,
    key: str | None,
    places: tuple[str, ...],
    incremental: bool,
    unsigned: bool,
    output_format: Format,
) -> None:
    """Compare every event of the log with the tree, the tree with its checkpoints.

    Reads as an auditor and writes nothing to the database. Names the first bad event, and
    what kind of change fits. Exits 1 when anything was changed; and when the log is unsigned,
    because there is no public key or no checkpoint: a log that was replaced as a whole looks
    like that. --unsigned accepts it.

    With RUN, prove instead that this run is genuine and whole as of the newest checkpoint, as
    its evidence would; that takes neither --checkpoint, --incremental nor --unsigned. Exits 1
    when it is not what was sealed and signed, and 3 when it is not sealed or not signed yet,
    which is no sign of a change.
    """
    if run is not None and (places or incremental or unsigned):
        raise click.UsageError(
            "RUN is proven as a whole: leave out --checkpoint, --incremental and --unsigned"
        )
    with (
        session().open_store() as store,
        psycopg.connect(store.auditor_url, autocommit=True) as connection,
    ):
        origin = ledger.origin(connection)
        public = own_public_key(origin) if key is None else read_public_key(key)
        if run is not None:
            _verify_run(connection, run, public, output_format)
            return
        trusted = _trusted(origin, public, places)
        before = read_verified(origin) if incremental else None
        result = verify_log(connection, public, trusted, before)
        missing = missing_layers(connection)
    if result.verified is not None:
        keep_verified(result.verified)
    if output_format is Format.TABLE:
        _print(result)
        say_missing(missing)
    else:
        print_json(document(result), indent=output_format is Format.JSON)
    accepted = result.genuine or (unsigned and result.verdict is Verdict.UNSIGNED)
    click.get_current_context().exit(ExitCode.DONE if accepted else ExitCode.FAILED)


def _trusted(origin: str, public: PublicKey | None, places: tuple[str, ...]) -> list[Checkpoint]:
    """The checkpoints to hold the log to: those in the places named, else this user's own."""
    if public is None:
        if places:
            raise InvalidInput.because(
                "without the log's public key no checkpoint can be trusted",
                remedy="give it with --key",
            )
        return []
    if not places:
        own = read_kept(str(default_place(origin)), public)
        return [] if own is None else [own]
    kept = {place: read_kept(place, public) for place in places}
    if missing := [place for place, checkpoint in kept.items() if checkpoint is None]:
        raise InvalidInput(
            [Problem(f"no checkpoint is kept in {place}", remedy="is it the right place?")
             for place in missing]
        )  # fmt: skip
    return [checkpoint for checkpoint in kept.values() if checkpoint is not None]


def _verify_run(
    connection: Connection, run: str, public: PublicKey | None, output_format: Format
) -> None:
    """Make the run's evidence in memory, and judge it as a stranger would."""
    if public is None:
        raise InvalidInput.because(
            "without the log's public key a run cannot be proven", remedy="give it with --key"
        )
    try:
        made = bundle.read(b"".join(evidence(connection, resolve_run(connection, run))))
        proven = bundle.verify(made, public)
    except EvidenceError as error:
        yet = isinstance(error, NotProvenYet)
        if output_format is not Format.TABLE:
            verdict = error.missing.verdict if isinstance(error, NotProvenYet) else "changed"
            print_json({"run": run, "genuine": False, "verdict": verdict, "reason": str(error)})
        elif isinstance(error, NotProvenYet):
            click.echo(one_line(f"run {run}: {error}"))
            say(NEXT_STEP[error.missing])
        else:
            click.echo(one_line(f"run {run}: NOT proven: {error}"))
        click.get_current_context().exit(ExitCode.NOT_PROVEN_YET if yet else ExitCode.FAILED)
    size = proven.checkpoint.size
    if output_format is not Format.TABLE:
        facts = {"events": len(made.events), "checkpoint": size}
        print_json({"run": run, "genuine": True, "verdict": "genuine", **facts})
        return
    for line in made.summary:
        click.echo(one_line(line))
    click.echo(
        f"genuine and whole: {len(made.events):,} events, as of the checkpoint of {size:,} events"
    )


def document(result: Verification) -> dict[str, Any]:
    """The verification as JSON."""
    return {
        "origin": result.origin,
        "genuine": result.genuine,
        "verdict": result.verdict.value,
        "signatures": result.signatures.value,
        "checkpoints": result.checkpoints,
        "events": result.events,
        "tree_size": result.tree_size,
        "root": result.root.hex(),
        "signed": result.signed_size,
        "anchored_outside": result.anchored_size,
        "not_anchored_outside": result.tree_size - result.anchored_size,
        "findings": [asdict(each) for each in result.findings],
        "more_findings": result.more,
    }


def _print(result: Verification) -> None:
    for each in result.findings:
        click.echo(one_line(f"{each.kind}: {_place(each)}{each.message}"))
    for kind, count in result.more.items():
        click.echo(f"{kind}: {count:,} more")
    click.echo(f"{counted(result.events, 'event')} of {result.origin}: {_SAID[result.verdict]}")
    if result.signatures is not Signatures.CHECKED:
        say(_why_unsigned(result))
    tail = result.tree_size - result.anchored_size
    click.echo(
        f"signed: {result.signed_size:,}; anchored outside the database: "
        f"{result.anchored_size:,}; not anchored yet: the last {tail:,}"
    )


def _why_unsigned(result: Verification) -> str:
    """Which signatures could not be checked, and what to do."""
    give_key = (
        "Give the log's public key with --key: `failproof-es ledger key` prints it where the log "
        "is signed."
    )
    sign = (
        "`failproof-es ledger checkpoint` signs the log. If it was signed before, its checkpoints "
        "were removed."
    )
    there = counted(result.checkpoints, "checkpoint")
    match result.signatures:
        case Signatures.NO_KEY:
            why = f"there is no public key of {result.origin} here to check {there} with. "
            return f"unsigned: {why}{give_key}"
        case Signatures.NO_CHECKPOINT:
            return f"unsigned: the database holds no checkpoint. {sign}"
        case Signatures.NEITHER:
            why = f"no checkpoint, and there is no public key of {result.origin} here. "
            return f"unsigned: the database holds {why}{give_key} {sign}"
        case _:
            return f"unsigned: the log's key signed none of {there} in the database."


def _place(finding: Finding) -> str:
    if finding.index is None:
        return ""
    told = f"event {finding.index}"
    if finding.stream_id is not None:
        told += f" (position {finding.position}, stream {finding.stream_id} version "
        told += f"{finding.version}, {finding.topic})"
    return f"{told}: "
