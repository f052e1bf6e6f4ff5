"""`ledger`: the tree over the log, its signed checkpoints, and its witnesses."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import click

from failproof_es.assurance.signing.asked_witnesses import cosigning_request
from failproof_es.assurance.signing.checkpoint_signer import (
    CHECKPOINT_EVERY_S,
    CheckpointSigner,
    own_key,
    sign_and_keep_checkpoint,
)
from failproof_es.assurance.signing.kept_checkpoints import (
    check_and_keep,
    check_continues,
    default_place,
    newest_note,
)
from failproof_es.assurance.signing.signing_key import (
    key_path,
    own_public_key,
    read_public_key,
)
from failproof_es.assurance.tree_history import read_trees, refuse_replaced
from failproof_es.cli.app.alive import told_alive
from failproof_es.cli.app.following import exit_if_changed, report_signing_error
from failproof_es.cli.app.input_files import read_file
from failproof_es.cli.app.options import FiniteRange
from failproof_es.cli.app.program import CliGroup, session
from failproof_es.cli.commands.prove.cosigned_checkpoint import (
    exit_if_missing,
    policy_option,
    require_time_stamping,
    sign_and_have_cosigned,
    time_stamp_option,
)
from failproof_es.cli.commands.prove.ledger_repair import repair
from failproof_es.cli.commands.prove.ledger_witness import cosign, witness
from failproof_es.cli.commands.prove.policy_file import read_policy
from failproof_es.cli.rendering.output import (
    Format,
    format_option,
    print_facts,
    say,
    write_file,
)
from failproof_es.cli.usage import WrongUsage
from failproof_es.ledger import checkpoint as checkpoints
from failproof_es.ledger import note
from failproof_es.ledger.note import (
    LOG_SIGNATURES,
    NoteError,
    PublicKey,
)
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger as tables
from failproof_es.store.ledger import Connection
from failproof_es.store.store import Store
from failproof_es.support.plurals import plural

_LARGEST_CHECKPOINT = 1 << 20
_LOOK_S = 1.0


@click.group(cls=CliGroup)
def ledger() -> None:
    """Sign the log, have it cosigned, and check it against checkpoints kept elsewhere."""


ledger.add_command(repair)
ledger.add_command(cosign)
ledger.add_command(witness)


@ledger.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Also write it to this file.")
@format_option()
def key(output: Path | None, output_format: Format) -> None:
    """Print the log's public key. Give it directly to those who verify your evidence."""
    with session().open_store() as store, store.lend() as connection:
        public = own_key(connection).public
    origin = public.name
    if output is not None:
        write_file(output, [f"{public}\n".encode()])
    facts = {"origin": origin, "public_key": str(public), "key_file": str(key_path(origin))}
    print_facts(facts, output_format)


@ledger.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Also write it to this file.")
@click.option(
    "--since",
    type=click.IntRange(min=0),
    metavar="SIZE",
    help="Add the proof that it continues the tree of SIZE. A witness needs it.",
)
@click.option(
    "--add",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Record the cosignatures in FILE. Sign nothing.",
)
@policy_option
@time_stamp_option
def checkpoint(
    output: Path | None,
    since: int | None,
    add: Path | None,
    policy_file: Path | None,
    authorities: tuple[str, ...],
) -> None:
    """Add all committed events to the tree, sign it, and print the checkpoint.

    Exits 3 unless the quorum of --policy cosigned and each authority of --time-stamp answered. What
    came is recorded all the same.
    """
    if add is not None and (since is not None or policy_file is not None or authorities):
        raise WrongUsage(
            "options-conflict", "--add signs nothing: leave out --since, --policy and --time-stamp"
        )
    require_time_stamping(authorities)
    policy = None if policy_file is None else read_policy(policy_file)
    missing: list[str] = []
    with session().open_store() as store, store.lend() as connection:
        if add is not None:
            text = _add_cosignatures(connection, add)
        else:
            newest, missing = sign_and_have_cosigned(connection, policy, authorities)
            text = str(newest if since is None else cosigning_request(connection, newest, since))
    if output is not None:
        write_file(output, [text.encode()])
    click.echo(text, nl=False)
    exit_if_missing(missing)


@ledger.command()
@click.option("--follow", is_flag=True, help="Go on until stopped: a service that signs the log.")
@click.option(
    "--every",
    type=FiniteRange(min=1),
    default=CHECKPOINT_EVERY_S,
    show_default=True,
    metavar="SECONDS",
    help="With --follow: sign so often.",
)
@click.option(
    "--alive-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --follow: touch FILE every 5 seconds, for a probe.",
)
def sign(follow: bool, every: float, alive_file: Path | None) -> None:
    """Sign the log as it is now, with the key of this host.

    `failproof-es db init` makes the key. Workers and other hosts need none. With --follow it waits
    through outages, and exits 1 when the log was changed: then nothing more is signed.
    """
    with session().open_store() as store:
        with store.lend() as connection:
            signed = sign_and_keep_checkpoint(connection)  # reports an error at once
        say(f"{plural(signed.size, 'event')} signed")
        if follow:
            keeper = asyncio.run(_sign_until_stopped(store, every, alive_file))
            report_signing_error(keeper)
            exit_if_changed(keeper)


async def _sign_until_stopped(
    store: Store, every_s: float, alive_file: Path | None
) -> CheckpointSigner:
    """Sign every `every_s` seconds until SIGINT or SIGTERM, or until the log proves to be changed.

    Touches `alive_file` meanwhile. The signer that is returned has the error, if any.
    """
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    trouble: str | None = None
    with CheckpointSigner(store, every_s, must_sign=True) as keeper:
        async with told_alive(alive_file):
            while not stop.is_set() and keeper.changed is None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_S):
                        await stop.wait()
                message = None if keeper.trouble is None else str(keeper.trouble)
                if message != trouble and keeper.changed is None:
                    say("signing again" if message is None else f"not signed for now: {message}")
                trouble = message
    return keeper


@ledger.command()
@click.argument("place", required=False, metavar="[FILE|DIR|URL]")
@click.option("--every", type=FiniteRange(min=1), metavar="SECONDS", help="Repeat until stopped.")
@click.option("--log-key", help="The log's public key.  [default: this user's]")
def watch(place: str | None, every: float | None, log_key: str | None) -> None:
    """Check the log against the last checkpoint kept in PLACE, and keep the newest there.

    A file keeps the newest checkpoint, a folder keeps all of them. A URL is only read. Without
    PLACE, the file of this user is taken. Exits 1 when the log does not continue the checkpoint
    that was kept.
    """
    with session().open_store() as store:
        while True:
            with store.lend() as connection:
                _watch_once(connection, place, log_key)
            if every is None:
                return
            time.sleep(every)


def _watch_once(connection: Connection, place: str | None, given_key: str | None) -> None:
    origin = tables.origin(connection)
    public = _public_key(given_key, origin)
    if place is not None:
        refuse_replaced(read_trees(connection), public, place)
    newest, previous_size = check_and_keep(connection, place or str(default_place(origin)), public)
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
    before = (
        "nothing was kept before"
        if previous_size is None
        else f"continues the {previous_size} kept"
    )
    click.echo(f"{now}Z  {plural(newest.size, 'event')} signed; {before}")


def _public_key(key_or_file: str | None, origin: str) -> PublicKey:
    public = read_public_key(key_or_file, LOG_SIGNATURES) if key_or_file else own_public_key(origin)
    if public is None:
        raise InvalidInput.because(
            "no-public-key",
            f"there is no public key of {origin} here",
            remedy="`failproof-es ledger key` prints it where the log is signed",
        )
    return public


def _add_cosignatures(connection: Connection, file: Path) -> str:
    """Record the cosignatures in the file; return its text.

    Raises `InvalidInput` if the file is no cosigned checkpoint of this log, or not of the tree in
    the database.
    """
    public = _public_key(None, tables.origin(connection))
    content = read_file(file, _LARGEST_CHECKPOINT)
    try:
        cosigned = note.parse(content.decode())
        added = checkpoints.opened(cosigned, public)
    except (NoteError, UnicodeDecodeError) as error:
        raise InvalidInput.because(
            "not-a-checkpoint",
            f"{file} is not a cosigned checkpoint of this log: {error}",
            remedy="give it what `ledger cosign` printed",
        ) from None
    check_continues(connection, added, checkpoints.opened(newest_note(connection, public), public))
    tables.add_checkpoint(connection, added.size, str(cosigned))
    return str(cosigned)
