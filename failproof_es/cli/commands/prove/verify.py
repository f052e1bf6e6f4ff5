"""`verify`: the log against its tree, and the tree against signed and kept checkpoints."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from failproof_es.assurance.archiving.check_files import check_archives
from failproof_es.assurance.checking.findings import (
    Signatures,
    SupersededTree,
    Verification,
    VerificationFinding,
    VerificationResult,
    VerifiedPrefix,
)
from failproof_es.assurance.checking.recorded_times import times_apart
from failproof_es.assurance.checking.verification import verify_log
from failproof_es.assurance.run_proof import prove_run
from failproof_es.assurance.signing.kept_checkpoints import default_place, read_kept
from failproof_es.assurance.signing.signing_key import read_public_key
from failproof_es.assurance.signing.time_stamping import TimeStamp, newest_time_stamp
from failproof_es.assurance.signing.verified_positions import keep_verified, read_verified
from failproof_es.assurance.tree_history import own_public_keys, read_trees
from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.commands.prove.evidence import NEXT_STEP
from failproof_es.cli.commands.prove.time_stamp_roots import (
    time_stamp_root_option,
    time_stamp_roots,
)
from failproof_es.cli.progress.steps import StepProgress
from failproof_es.cli.rendering.compared_rows import (
    print_comparison,
    rows_document,
    try_comparison,
)
from failproof_es.cli.rendering.output import Format, format_option, print_json, say
from failproof_es.cli.rendering.protection import print_missing_layers
from failproof_es.cli.usage import WrongUsage
from failproof_es.ledger.bundle import LogProof
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.contents import EvidenceError, NotProvenYet
from failproof_es.ledger.note import LOG_SIGNATURES, PublicKey
from failproof_es.problems import InvalidInput, Problem
from failproof_es.store.connecting import connect
from failproof_es.store.ledger import Connection
from failproof_es.store.reading.reader import resolve_run
from failproof_es.store.schema.protection_layers import missing_layers
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import one_line
from projections.log_comparison import RowComparison, compare_log, compare_run

_RESULT_WORDS = {
    VerificationResult.GENUINE: "genuine",
    VerificationResult.UNSIGNED: "UNSIGNED, no problem found",
    VerificationResult.CHANGED: "CHANGED since it was recorded",
}

_ROWS_CHANGED = {"genuine": False, "verdict": "rows changed"}
"""The result in JSON if the log is genuine and a row is not what it gives."""


@click.command(cls=CliCommand)
@click.option(
    "--key", help="The log's public key, or a file that holds it.  [default: this user's]"
)
@click.option(
    "--checkpoint", "places", multiple=True, metavar="FILE|DIR|URL",
    help="Where a checkpoint is kept outside the database. May be repeated. "
    "[default: this user's]",
)  # fmt: skip
@click.argument("run", required=False)
@click.option(
    "--incremental", is_flag=True,
    help="Read only the events after the last verification that found no change.",
)  # fmt: skip
@click.option(
    "--unsigned", is_flag=True,
    help="Exit 0 although no signature could be checked, if no change was found.",
)  # fmt: skip
@click.option(
    "--archive", "archives", multiple=True, type=click.Path(path_type=Path, exists=True),
    metavar="FILE|DIR", help="Also check archived events against their files. May be repeated.",
)  # fmt: skip
@click.option(
    "--tables", is_flag=True,
    help="Also fold the whole log, and compare every row of the read models with it.",
)  # fmt: skip
@time_stamp_root_option
@format_option()
def verify(
    run: str | None,
    key: str | None,
    places: tuple[str, ...],
    incremental: bool,
    unsigned: bool,
    archives: tuple[Path, ...],
    tables: bool,
    root_file: Path | None,
    output_format: Format,
) -> None:
    """Verify that nothing in the log was changed, or that RUN is genuine.

    Every event is compared with the tree, and the tree with its checkpoints.

    It reads as an auditor, and writes nothing to the database. It names the first bad event, and
    what kind of change fits. Exits 1 when anything was changed.

    Events of archived runs are counted apart. Their leaf hashes are compared with the tree, and
    with --archive their files, too. With a folder, the file of every archived run has to be in
    one of the places named: one that is missing is a finding.

    `results`, `show` and the console read rows that were folded from the log. With --tables, the
    log is folded again and compared with every row, which takes ten times as long. Changed rows
    are named, and exit code 1. Exits 3 when nothing was changed, and a table is behind the
    archiving of a run.

    With --time-stamp-root, it says the time at which a signed tree existed, and exits 3 when no
    checkpoint has such a time stamp.

    Exits 1 also when the log is unsigned, because there is no public key or no checkpoint. A log
    that was replaced as a whole looks the same. --unsigned accepts it.

    With RUN, it proves instead that this run is genuine and whole at the newest checkpoint, as
    its evidence would. It also compares the rows of the read models with the run's events. RUN
    goes with none of the options but --key and --format. Exits 1 when the run
    differs from what was sealed and signed, or a row from its events. Exits 3 when it is not
    sealed or not signed yet, which is not a sign of a change.
    """
    if run is not None and (places or incremental or unsigned or archives or tables or root_file):
        raise WrongUsage(
            "options-conflict",
            "RUN is proven as a whole: leave out --checkpoint, --incremental, --unsigned, "
            "--archive, --tables and --time-stamp-root",
        )
    roots = [] if root_file is None else time_stamp_roots(root_file)
    with (
        session().open_store() as store,
        connect(store.auditor_url) as connection,
    ):
        trees = read_trees(connection)
        origin = trees.current.origin
        keys = (
            own_public_keys(trees)
            if key is None
            else trees.keys(read_public_key(key, LOG_SIGNATURES))
        )
        public = keys.get(origin, next(iter(keys.values()), None))
        if run is not None:
            _verify_run(connection, run, public, output_format)
            return
        trusted = _trusted(keys, places)
        before = read_verified(origin) if incremental else None
        result = verify_log(connection, public, trusted, before, store.auditor_url)
        check_archives(connection, archives, public, result)
        missing = missing_layers(connection)
        comparison = _compare_tables(connection) if tables else None
        stamped = (
            newest_time_stamp(connection, public, roots) if roots and public is not None else None
        )
    if result.verified is not None:
        _keep(result.verified)
    if output_format is Format.TABLE:
        _print(result)
        if comparison is not None:
            print_comparison(comparison, log_is_genuine=result.genuine)
        elif not tables:
            say("the rows that results are read from were not compared: --tables, or `verify RUN`")
        print_missing_layers(missing)
        if stamped is not None:
            click.echo(one_line(f"the tree of {stamped[0]:,} events: {stamped[1].describe()}"))
        elif roots:
            say("no checkpoint of the log's key has a time stamp under these certificates")
    else:
        facts = _log_document(result, comparison)
        if roots:
            facts["time_stamped"] = _time_stamp_document(stamped)
        print_json(facts, indent=output_format is Format.JSON)
    accepted = result.genuine or (unsigned and result.verdict is VerificationResult.UNSIGNED)
    code = ExitCode.DONE if accepted else ExitCode.FAILED
    if accepted and tables:
        code = exit_code_of_rows(comparison)
    if code is ExitCode.DONE and roots and stamped is None:
        code = ExitCode.NOT_PROVEN_YET
    click.get_current_context().exit(code)


def _log_document(result: Verification, comparison: RowComparison | None) -> dict[str, Any]:
    """The verification as an object for JSON, with the comparison of rows under `tables`."""
    facts = document(result)
    facts["tables"] = rows_document(comparison, log_is_genuine=result.genuine)
    if result.genuine and comparison is not None and comparison.deviations:
        facts |= _ROWS_CHANGED
    return facts


def _time_stamp_document(stamped: tuple[int, TimeStamp] | None) -> dict[str, Any] | None:
    if stamped is None:
        return None
    size, stamp = stamped
    return {"tree_size": size, "at": stamp.at.isoformat(), "by": stamp.by}


def exit_code_of_rows(comparison: RowComparison | None) -> ExitCode:
    """1 if a row was changed or nothing could be compared, 3 if a table is only behind."""
    if comparison is None or comparison.deviations:
        return ExitCode.FAILED
    return ExitCode.NOT_PROVEN_YET if comparison.behind else ExitCode.DONE


def _compare_tables(connection: Connection) -> RowComparison | None:
    with StepProgress() as progress:
        return try_comparison(
            lambda: compare_log(connection, partial(progress, "comparing the read models"))
        )


def _keep(verified: VerifiedPrefix) -> None:
    try:
        keep_verified(verified)
    except InvalidInput as error:
        say(f"the next --incremental verification begins where the last one did: {error}")


def _trusted(keys: Mapping[str, PublicKey], places: tuple[str, ...]) -> list[Checkpoint]:
    """The checkpoints to check the log against: in the named places, else this user's own.

    `keys` are the public keys by origin: of the log's tree, and of trees that a repair replaced.
    Empty without keys. Raises `InvalidInput` if a named place has no checkpoint, or no key is
    known.
    """
    if not keys:
        if places:
            raise InvalidInput.because(
                "no-public-key",
                "without the log's public key no checkpoint can be trusted",
                remedy="give it with --key",
            )
        return []
    if not places:
        own = (read_kept(str(default_place(origin)), key) for origin, key in keys.items())
        return [checkpoint for checkpoint in own if checkpoint is not None]
    checkpoints = {place: _read_kept(place, list(keys.values())) for place in places}
    if missing := [place for place, checkpoint in checkpoints.items() if checkpoint is None]:
        raise InvalidInput(
            [Problem("no-checkpoint", f"no checkpoint is kept in {place}", remedy="check the path")
             for place in missing]
        )  # fmt: skip
    return [checkpoint for checkpoint in checkpoints.values() if checkpoint is not None]


def _read_kept(place: str, keys: Sequence[PublicKey]) -> Checkpoint | None:
    """The newest checkpoint kept in a place and signed by one of the keys; `None` if none is kept.

    Raises `InvalidInput` if it cannot be read, or no key signed it.
    """
    *first_keys, last = keys
    for key in first_keys:
        with contextlib.suppress(InvalidInput):
            return read_kept(place, key)
    return read_kept(place, last)


def _verify_run(
    connection: Connection, run: str, public: PublicKey | None, output_format: Format
) -> None:
    """Verify one run from the log, as an outsider would verify its evidence, and its rows.

    Prints the result. Exits 1 if the run or a row is changed, 3 if it is not sealed or signed yet.
    Raises `InvalidInput` without a public key.
    """
    if public is None:
        raise InvalidInput.because(
            "no-public-key",
            "without the log's public key a run cannot be proven",
            remedy="give it with --key",
        )
    run_id = resolve_run(connection, run)
    proof: LogProof | EvidenceError
    try:
        proof = prove_run(connection, run_id, public)
    except EvidenceError as error:
        proof = error
    rows = try_comparison(lambda: compare_run(connection, run_id))
    remark = times_apart(connection, run_id)
    remarks = [] if remark is None else [remark]
    if output_format is Format.TABLE:
        _print_proof(run, proof)
        _print_remarks(remarks)
        if rows is not None:
            print_comparison(rows, log_is_genuine=isinstance(proof, LogProof))
    else:
        print_json({**_proof_document(run, proof, rows), "remarks": remarks})
    click.get_current_context().exit(_exit_code(proof, rows))


def _exit_code(proof: LogProof | EvidenceError, rows: RowComparison | None) -> ExitCode:
    if rows is not None and rows.deviations:
        return ExitCode.FAILED
    if isinstance(proof, NotProvenYet):
        return ExitCode.NOT_PROVEN_YET
    return ExitCode.FAILED if isinstance(proof, EvidenceError) else ExitCode.DONE


def _proof_document(
    run: str, proof: LogProof | EvidenceError, rows: RowComparison | None
) -> dict[str, Any]:
    tables = {"tables": rows_document(rows, log_is_genuine=isinstance(proof, LogProof))}
    if isinstance(proof, EvidenceError):
        verdict = proof.missing.verdict if isinstance(proof, NotProvenYet) else "changed"
        result = {"genuine": False, "verdict": verdict, "reason": str(proof)}
        return {"run": run, **result, **tables}
    result = {"genuine": True, "verdict": "genuine"}
    if rows is not None and rows.deviations:
        result = {**_ROWS_CHANGED, "reason": rows.deviations[0]}
    proven = {"events": proof.events, "checkpoint": proof.checkpoint.size}
    return {"run": run, **result, **proven, **tables}


def _print_proof(run: str, proof: LogProof | EvidenceError) -> None:
    if isinstance(proof, NotProvenYet):
        click.echo(one_line(f"run {run}: {proof}"))
        say(NEXT_STEP[proof.missing])
    elif isinstance(proof, EvidenceError):
        click.echo(one_line(f"run {run}: NOT proven: {proof}"))
        say("`failproof-es verify` names the first changed event")
    else:
        for line in proof.summary:
            click.echo(one_line(line))
        click.echo(
            f"genuine and whole: {proof.events:,} events, as of the checkpoint of "
            f"{proof.checkpoint.size:,} events"
        )


def document(result: Verification) -> dict[str, Any]:
    """The verification as an object for JSON."""
    return {
        "origin": result.origin,
        "genuine": result.genuine,
        "verdict": result.verdict.value,
        "signatures": result.signatures.value,
        "checkpoints": result.checkpoints,
        "events": result.events,
        "archived": result.archived,
        "archived_runs": [asdict(run) for run in result.archived_runs],
        "tree_size": result.tree_size,
        "root": result.root.hex(),
        "signed": result.signed_size,
        "anchored_outside": result.anchored_size,
        "not_anchored_outside": result.tree_size - result.anchored_size,
        "replaced": [asdict(tree) for tree in result.replaced],
        "remarks": result.remarks,
        "findings": [asdict(finding) for finding in result.findings],
        "more_findings": result.more,
    }


def _print(result: Verification) -> None:
    for finding in result.findings:
        click.echo(one_line(f"{finding.kind}: {_place(finding)}{finding.message}"))
    for kind, count in result.more.items():
        click.echo(f"{kind}: {count:,} more")
    for replaced in result.replaced:
        _print_replaced(replaced)
    _print_remarks(result.remarks)
    log = result.origin or "a log without a name"
    click.echo(f"{plural(result.events, 'event')} of {log}: {_RESULT_WORDS[result.verdict]}")
    _print_archived(result)
    if result.signatures is not Signatures.CHECKED:
        say(_why_unsigned(result))
    tail = result.tree_size - result.anchored_size
    click.echo(
        f"signed: {result.signed_size:,}; anchored outside the database: "
        f"{result.anchored_size:,}; not anchored yet: the last {tail:,}"
    )


def _print_remarks(remarks: Sequence[str]) -> None:
    for remark in remarks:
        click.echo(one_line(f"remark: {remark}"))


def _print_archived(result: Verification) -> None:
    """Print how many events are in archive files, and in which files; nothing if none are."""
    if not result.archived_runs:
        return
    of_runs = plural(len(result.archived_runs), "run")
    are = "is" if result.archived == 1 else "are"
    click.echo(f"{plural(result.archived, 'event')} of {of_runs} {are} archived, in files:")
    for run in result.archived_runs:
        state = "checked" if run.checked else "not checked"
        if not run.checked and is_missing_here(Path(run.file)):
            state = "not checked, and there is no such file on this host"
        if not run.taken_out:
            state += "; still in the log: `failproof-es archive` finishes it"
        click.echo(
            one_line(
                f"  run {run.run_number}: {plural(run.events, 'event')} in {run.file}, "
                f"SHA-256 {run.sha256}: {state}"
            )
        )
    if not all(run.checked for run in result.archived_runs):
        say("--archive FILE|DIR checks archived events against their files")


def is_missing_here(file: Path) -> bool:
    """Whether this host has no file at an absolute path; false where that cannot be known."""
    try:
        file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return file.is_absolute()
    except (OSError, ValueError):  # no right to enter a folder, or a name that no file can have
        return False
    return False


def _print_replaced(replaced: SupersededTree) -> None:
    at = replaced.repaired_at.strftime("%Y-%m-%d %H:%M:%S")
    click.echo(
        one_line(
            f"the tree of {replaced.origin} ({plural(replaced.events, 'event')}) was replaced at "
            f"{at}Z by {replaced.who}@{replaced.where}: {replaced.reason}"
        )
    )
    if not replaced.intact:
        click.echo("  not everything that was signed over it is in the log as it was signed")
    elif replaced.signed_size:
        click.echo(
            f"  what was signed over its first {replaced.signed_size:,} is in the log as it was "
            "signed"
        )
    if replaced.vouched_for:
        click.echo("  its key signed for the new tree")
    for remark in replaced.remarks:
        click.echo(one_line(f"  {remark}"))


def _why_unsigned(result: Verification) -> str:
    """Why signatures could not be checked, and what to do, as one text for people."""
    give_key = (
        "Give the log's public key with --key: `failproof-es ledger key` prints it where the log "
        "is signed."
    )
    sign = (
        "`failproof-es ledger checkpoint` signs the log. If it was signed before, its checkpoints "
        "were removed."
    )
    there = plural(result.checkpoints, "checkpoint")
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


def _place(finding: VerificationFinding) -> str:
    if finding.index is None:
        return ""
    text = f"event {finding.index}"
    if finding.stream_id is not None:
        text += f" (position {finding.position}, stream {finding.stream_id} version "
        text += f"{finding.version}, {finding.topic})"
    return f"{text}: "
