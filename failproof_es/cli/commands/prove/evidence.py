"""`evidence`: exports one run as a file that anyone can verify."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import click

from failproof_es.assurance.attested_result import attest_gates
from failproof_es.assurance.event_receipt import cose_receipt, prove_in_tree
from failproof_es.assurance.run_evidence import evidence_lines
from failproof_es.assurance.signing.checkpoint_signer import own_key, sign_and_keep_checkpoint
from failproof_es.assurance.signing.signing_key import own_public_key, read_public_key
from failproof_es.assurance.signing.time_stamping import (
    NotStamped,
    TimeStamp,
    verify_time_stamps,
)
from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.app.input_files import read_file
from failproof_es.cli.app.program import CliGroup, session
from failproof_es.cli.commands.prove.policy_file import read_policy, told_policy
from failproof_es.cli.commands.prove.time_stamp_roots import (
    time_stamp_root_option,
    time_stamp_roots,
)
from failproof_es.cli.rendering.evidence_lines import BundledRun
from failproof_es.cli.rendering.output import say
from failproof_es.cli.rendering.written_files import write_recorded
from failproof_es.cli.usage import WrongUsage
from failproof_es.engine.replays.evidence import replay_bundle
from failproof_es.ledger import bundle, tlog_proof
from failproof_es.ledger.contents import EvidenceError, Missing, NotProvenYet
from failproof_es.ledger.note import COSIGNATURES, LOG_SIGNATURES, SigningKey
from failproof_es.ledger.tlog_policy import Policy
from failproof_es.ledger.tlog_proof import ProofError
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger
from failproof_es.store.connecting import connect
from failproof_es.store.ledger import Connection
from failproof_es.store.reading.reader import resolve_run
from failproof_es.support.extras import require as require_extra
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import one_line

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

NEXT_STEP = {
    Missing.SEAL: "A run is sealed when it ends: `failproof-es resume` finishes it.",
    Missing.CHECKPOINT: "`failproof-es ledger checkpoint` signs what is committed.",
}
"""The next step for each thing that the run lacks."""


EVENT_FORMATS = ("tlog-proof", "cose")
"""The formats that prove a single event."""
_OF_OTHERS = {
    re.compile(rb"\xd2"): "a COSE receipt, which programs for RFC 9942 verify",
    re.compile(rb'\s*\{\s*"(mediaType|verificationMaterial|dsseEnvelope)"'): "an in-toto statement "
    "in a Sigstore bundle, which programs for DSSE verify",
}
"""Files that are not verified here, by their beginning."""
SIGNED_FORMATS = ("cose", "in-toto")
"""The formats that the log's key signs anew."""
FORMATS = ("bundle", *EVENT_FORMATS, "in-toto")


@dataclass(frozen=True, slots=True)
class EvidenceRequest:
    """A run, and the form in which it is to be proven.

    `position` is that of the event to prove (`None`: the run's seal), `size` that of the checkpoint
    (`None`: the newest), `key` the log's, for one of `SIGNED_FORMATS`.
    """

    run_id: UUID
    file_format: str
    position: int | None
    size: int | None
    key: SigningKey | None


@click.group(cls=CliGroup)
def evidence() -> None:
    """Export one run as evidence that anyone can verify offline."""


@evidence.command()
@click.argument("run")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="The file to write."
)
@click.option(
    "--format", "file_format", type=click.Choice(FORMATS), default="bundle", show_default=True,
    help="The whole run (bundle); a proof of its seal (tlog-proof, cose); the result of its gates "
    "(in-toto).",
)  # fmt: skip
@click.option(
    "--event", "position", type=click.IntRange(1, (1 << 63) - 1), metavar="POSITION",
    help="With tlog-proof or cose: prove this event of the run instead of its seal.",
)  # fmt: skip
@click.option("--no-checkpoint", is_flag=True, help="Take the newest checkpoint; sign nothing.")
@click.option(
    "--checkpoint", "size", type=click.IntRange(min=1), metavar="SIZE",
    help="Take the checkpoint of SIZE events, for example a cosigned one; sign nothing.",
)  # fmt: skip
def export(
    run: str,
    output: Path,
    file_format: str,
    position: int | None,
    no_checkpoint: bool,
    size: int | None,
) -> None:
    """Write RUN and everything that proves it to one file (docs/reference/evidence-format.md).

    Other formats are for programs of others: C2SP tlog-proof, COSE receipts (RFC 9942), in-toto
    test results in a Sigstore bundle. The last two are signed by the log's key, so they are written
    where it is.

    The log is signed first, unless you choose a checkpoint. The file then holds what the log
    held at that checkpoint. Later attempts and reviews are not in it.

    Exits 3 when the run is not sealed or not signed yet. Exits 1 when the run differs from
    what was sealed and signed. In both cases no file is written.
    """
    if position is not None and file_format not in EVENT_FORMATS:
        raise WrongUsage("options-conflict", f"--event needs --format {' or '.join(EVENT_FORMATS)}")
    if file_format in SIGNED_FORMATS and (no_checkpoint or size is not None):
        raise WrongUsage(
            "options-conflict",
            f"--format {file_format} is signed anew: leave out --checkpoint and --no-checkpoint",
        )
    if file_format == "cose":
        require_extra("cose", "a COSE receipt")
    with session().open_store() as store:
        with store.lend() as connection:
            run_id = resolve_run(connection, run)
            if not no_checkpoint and size is None:
                sign_and_keep_checkpoint(connection)
            key = own_key(connection) if file_format in SIGNED_FORMATS else None
        with connect(store.auditor_url) as connection:
            try:
                lines = _pieces(
                    connection, EvidenceRequest(run_id, file_format, position, size, key)
                )
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
    if file_format == "bundle" and written_file.bytes > bundle.MOST_BYTES:
        say(f"warning: no verifier reads a file of more than {bundle.MOST_BYTES:,} bytes")


def _pieces(connection: Connection, request: EvidenceRequest) -> Iterable[bytes]:
    """The content of the file. Raises as `evidence_lines` does, and `attest_gates`."""
    run_id, size, key = request.run_id, request.size, request.key
    own = own_public_key(ledger.origin(connection))
    lines = evidence_lines(connection, run_id, size, own)
    if request.file_format == "bundle":
        return lines
    if request.file_format == "in-toto":
        assert key is not None
        return [attest_gates(run_id, lines, key)]
    proof = prove_in_tree(connection, run_id, request.position, size, own)
    if key is None:
        return [str(proof).encode()]
    return [cose_receipt(proof, key)]


@evidence.command("verify")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--key", help="The log's public key, or a file that holds it.")
@click.option(
    "--policy", "policy_file", type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE", help="In place of keys: the logs and the quorum of cosigners that count "
    "(C2SP tlog-policy).",
)  # fmt: skip
@click.option(
    "--cosigner", "cosigners", multiple=True, metavar="KEY",
    help="Require a signature by this cosigner's public key. May be repeated.",
)  # fmt: skip
@time_stamp_root_option
@click.option("--replay", is_flag=True, help="Also score the recorded answers again.")
@click.option("--list", "listing", is_flag=True, help="List the evaluations instead.")
@click.option(
    "--show", "case", metavar="CASE",
    help="Print all about one case instead: the question, requests, answers, verdicts, reviews. "
    "CASE is a case id; write SUITE/CASE if two suites have it.",
)  # fmt: skip
def verify_evidence(
    file: Path,
    key: str | None,
    policy_file: Path | None,
    cosigners: tuple[str, ...],
    root_file: Path | None,
    replay: bool,
    listing: bool,
    case: str | None,
) -> None:
    """Check the evidence in FILE, without a database and without the network.

    FILE is a bundle or a C2SP tlog-proof.

    Prints the run's result as its report has it: who ran which models where, how many evaluations
    passed, the gates, the seal. With --list or --show, prints proven content only. With
    --time-stamp-root, the signed tree must have existed at a time that such an authority states.

    Exits 1 when the evidence does not prove what it says, or when --replay gives another result.
    """
    if replay + listing + (case is not None) > 1:
        raise WrongUsage("options-conflict", "--replay, --list and --show exclude each other")
    policy = _policy(key, cosigners, policy_file)
    roots = () if root_file is None else time_stamp_roots(root_file)
    content = read_file(file, bundle.MOST_BYTES)
    _require_readable_here(file, content)
    try:
        if content.startswith(tlog_proof.FIRST_LINE.encode()):
            if replay or listing or case is not None:
                raise WrongUsage("options-conflict", "a proof of one event holds no evaluations")
            _print_proof(content, policy, roots)
            return
        read = bundle.read(content)
        verdict = bundle.verify(read, policy)
        stamps = verify_time_stamps(read.note, roots) if roots else []
    except (EvidenceError, ProofError, NotStamped) as error:
        click.echo(one_line(f"NOT genuine: {error}"))
        click.get_current_context().exit(ExitCode.FAILED)
    run = BundledRun(read)
    if listing or case is not None:
        for line in run.evaluations() if case is None else run.case(case):
            click.echo(one_line(line))
        return
    for line in (*read.summary, *run.result()):
        click.echo(one_line(line))
    _print_cosigned(verdict.cosigned, stamps)
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


def _require_readable_here(file: Path, content: bytes) -> None:
    """Raise `InvalidInput` for a file in a format that programs of others verify."""
    for beginning, description in _OF_OTHERS.items():
        if beginning.match(content):
            raise InvalidInput.because(
                "another-format",
                f"{file} is {description}",
                remedy="verify it by such a program; a bundle or a tlog-proof is verified here",
            )


def _policy(key: str | None, cosigners: tuple[str, ...], file: Path | None) -> Policy:
    """The policy in the file, or of the keys. Raises `InvalidInput` and `WrongUsage`."""
    if (key is None) == (file is None) or (file is not None and cosigners):
        raise WrongUsage("options-conflict", "say whose signatures count: --key, or --policy alone")
    if file is not None:
        policy = read_policy(file)
        with told_policy(file):
            policy.require_log()
        return policy
    assert key is not None
    log_key = read_public_key(key, LOG_SIGNATURES)
    cosigner_keys = dict.fromkeys(read_public_key(text, COSIGNATURES) for text in cosigners)
    with told_policy():
        return Policy.of(log_key, list(cosigner_keys))


def _print_proof(content: bytes, policy: Policy, roots: Sequence[Certificate]) -> None:
    proof = tlog_proof.read(content)
    proven = tlog_proof.verify(proof, policy)
    stamps = verify_time_stamps(proof.signed, roots) if roots else []
    event = proven.event
    click.echo(one_line(f"{event.topic}, version {event.version} of the stream {event.stream_id}"))
    click.echo(one_line(event.state.decode(errors="backslashreplace")))
    _print_cosigned(proven.cosigned, stamps)
    of_tree = proven.checkpoint
    click.echo(
        one_line(
            f"genuine: event {proof.index:,} of the {of_tree.size:,} in the log {of_tree.origin}"
        )
    )


def _print_cosigned(cosigned: Mapping[str, int | None], stamps: Sequence[TimeStamp]) -> None:
    for name, at in cosigned.items():
        click.echo(one_line(f"cosigned by {name} at {at}"))
    for stamp in stamps:
        click.echo(one_line(stamp.describe()))
