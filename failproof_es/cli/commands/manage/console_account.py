"""`console-account`: writes the local accounts of people who use the console."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from failproof_es.cli.app.program import CliCommand
from failproof_es.cli.rendering.output import say
from failproof_es.problems import InvalidInput
from failproof_es.support import extras

_LONGEST_LINE = 16_384


@click.command("console-account", cls=CliCommand)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("name")
@click.option("--remove", is_flag=True, help="Remove the account: its sessions end at once.")
def console_account(file: Path, name: str, remove: bool) -> None:
    """Write the account NAME of the console into FILE.

    `console --review --accounts FILE` lets its people log in. This command asks for the password,
    or reads it from the first line of standard input where that is no terminal. FILE holds a hash
    of it (argon2id). NAME is the reviewer's name in the record. A console that runs reads FILE
    again; a new password ends the sessions of NAME.
    """
    extras.require("console", "an account of the console")
    from failproof_es.console.security.account_file import remove_account, write_account

    if remove:
        remove_account(file, name)
        say(f"the account {name!r} is removed from {file}")
        return
    is_new = write_account(file, name, _password())
    say(f"the account {name!r} is {'written to' if is_new else 'changed in'} {file}")


def _password() -> str:
    if sys.stdin.isatty():
        password: str = click.prompt("Password", hide_input=True, confirmation_prompt=True)
        return password
    line = sys.stdin.buffer.readline(_LONGEST_LINE)
    try:
        return line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise InvalidInput.because(
            "not-utf8", "the password on standard input is not UTF-8", remedy="write it in UTF-8"
        ) from None
