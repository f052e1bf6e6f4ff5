"""`ledger cosign` and `ledger witness`: a second party that cosigns checkpoints of a log."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import click

from failproof_es.assurance.signing.kept_checkpoints import locked_place
from failproof_es.assurance.signing.signing_key import (
    create_key,
    has_key,
    public_path,
    read_key,
    read_public_key,
)
from failproof_es.assurance.signing.witness import (
    MOST_BYTES,
    Witness,
    cosign_request,
    parse_request,
)
from failproof_es.cli.app.input_files import read_file
from failproof_es.cli.app.program import CliCommand, CliGroup
from failproof_es.cli.rendering.output import say, write_file
from failproof_es.cli.usage import WrongUsage
from failproof_es.ledger.note import (
    COSIGNATURE,
    COSIGNATURES,
    LOG_SIGNATURES,
    ML_DSA_COSIGNATURE,
    Kind,
    SigningKey,
)
from failproof_es.problems import InvalidInput
from failproof_es.support.extras import require as require_extra

_ALGORITHMS: Mapping[str, Kind] = {"ed25519": COSIGNATURE, "ml-dsa-44": ML_DSA_COSIGNATURE}
"""The kinds of a cosigner's key, by the names of their algorithms."""
_DEFAULT = "ed25519"


def _own_key_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say which key cosigns, and how to make it."""
    for option in (
        click.option(
            "--algorithm", type=click.Choice([*_ALGORITHMS]),
            help="The kind of a new key. ML-DSA-44 also withstands quantum computers.  "
            f"[default: {_DEFAULT}]",
        ),
        click.option("--name", help="Your name in the cosignature, for a new key."),
        click.option(
            "--key", "key_file", required=True, type=click.Path(path_type=Path),
            help="The file of your own key. It is created if it does not exist.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


@click.command(cls=CliCommand)
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@_own_key_options
@click.option("--log-key", required=True, help="The log's public key, or a file that holds it.")
@click.option(
    "--seen", required=True, type=click.Path(path_type=Path),
    help="Where you keep the last checkpoint of this log that you cosigned.",
)  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Also write it to this file.")
def cosign(
    file: Path,
    key_file: Path,
    name: str | None,
    algorithm: str | None,
    log_key: str,
    seen: Path,
    output: Path | None,
) -> None:
    """Cosign the checkpoint in FILE as a second party, without the database.

    FILE must prove that it continues the last checkpoint that you cosigned, or hold that one
    itself. Return what is printed to the owner of the log, for `ledger checkpoint --add`.
    """
    public = read_public_key(log_key, LOG_SIGNATURES)
    own = _cosigner(key_file, name, algorithm)
    request = parse_request(read_file(file, MOST_BYTES))
    with locked_place(str(seen), public) as kept_checkpoint:
        signed = cosign_request(request, public, own, kept_checkpoint.checkpoint, int(time.time()))
        # Kept first: nobody may get a cosignature that this place does not remember. The same FILE
        # can be cosigned again if it cannot be printed.
        kept_checkpoint.replace(request.signed)
    if output is not None:
        write_file(output, [str(signed).encode()])
    click.echo(str(signed), nl=False)


def _cosigner(file: Path, name: str | None, algorithm: str | None) -> SigningKey:
    """The key in the file, which is made unless it exists.

    Raises `InvalidInput`, also if the key that exists is of another name or algorithm.
    """
    kind = _ALGORITHMS[algorithm or _DEFAULT]
    if has_key(file):
        key = read_key(file, COSIGNATURES)
        if name not in (None, key.name) or (algorithm is not None and kind != key.kind):
            raise InvalidInput.because(
                "another-key",
                f"the key in {file} is {key.public}",
                remedy="leave out --name and --algorithm, or name another file for a new key",
            )
        return key
    if name is None:
        raise InvalidInput.because(
            "no-signing-key", f"there is no key in {file}", remedy="give it a --name to make one"
        )
    made = create_key(file, name, kind)
    say(f"made a key: {made.public} (also in {public_path(file)})")
    return made


@click.group(cls=CliGroup)
def witness() -> None:
    """Cosign checkpoints of logs for their owners."""


@witness.command()
@_own_key_options
@click.option(
    "--log-key", "log_keys", required=True, multiple=True, metavar="KEY",
    help="The public key of a log that you cosign, or a file that holds it. Can be repeated.",
)  # fmt: skip
@click.option(
    "--folder", required=True, type=click.Path(path_type=Path, file_okay=False),
    help="Where you keep the last checkpoint of each log that you cosigned.",
)  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS")
@click.option("--port", type=click.IntRange(1, 65535), default=8322, show_default=True, metavar="N")
def serve(
    key_file: Path,
    name: str | None,
    algorithm: str | None,
    log_keys: tuple[str, ...],
    folder: Path,
    host: str,
    port: int,
) -> None:
    """Cosign over HTTP (C2SP tlog-witness) until stopped.

    Everybody who reaches the address may ask: what counts is the signature of the log.
    """
    require_extra("console", "a witness")
    from failproof_es.console.witness_server import make_witness_server

    logs = {log.name: log for log in (read_public_key(text, LOG_SIGNATURES) for text in log_keys)}
    if len(logs) < len(log_keys):
        raise WrongUsage("options-conflict", "--log-key names a log twice")
    own = _cosigner(key_file, name, algorithm)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        listening = socket.create_server((host, port))
    except (OSError, OverflowError) as error:
        raise InvalidInput.because(
            "cannot-listen",
            f"cannot serve at {host}:{port} with the folder {folder}: {error}",
            remedy="choose another --port, --host or --folder",
        ) from None
    with listening:
        say(f"{own.public}")
        say(f"cosigns {', '.join(logs)} at http://{host}:{port}/add-checkpoint")
        with suppress(KeyboardInterrupt):  # the way to stop it
            make_witness_server(Witness(own, logs, folder), host, port).run([listening])
