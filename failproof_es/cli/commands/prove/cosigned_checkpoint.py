"""Signs the log, and has the witnesses of a policy cosign it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from failproof_es.assurance.signing.asked_witnesses import ask_witnesses
from failproof_es.assurance.signing.checkpoint_signer import own_key, sign_and_keep_checkpoint
from failproof_es.assurance.signing.kept_checkpoints import newest_note
from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.rendering.output import say
from failproof_es.ledger import checkpoint
from failproof_es.ledger.errors import NotSigned
from failproof_es.ledger.note import Note
from failproof_es.ledger.tlog_policy import Policy, escape_name
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection


def policy_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that gives a command `--policy`; it receives `policy_file`."""
    return click.option(
        "--policy", "policy_file", type=click.Path(path_type=Path, exists=True, dir_okay=False),
        metavar="FILE",
        help="Have the witnesses of FILE (C2SP tlog-policy) that have a URL cosign it.",
    )(command)  # fmt: skip


def sign_and_have_cosigned(connection: Connection, policy: Policy | None) -> Note:
    """The new checkpoint of the log, with the cosignatures of the policy's witnesses.

    They are recorded. Ends the program with 3 if the quorum did not cosign.
    """
    sign_and_keep_checkpoint(connection)
    public = own_key(connection).public
    signed = newest_note(connection, public)
    if policy is None:
        return signed
    if not policy.logs:
        policy = replace(policy, logs=(public,))
    cosigned, problems = ask_witnesses(connection, signed, policy)
    for name, why in problems.items():
        say(f"warning: {escape_name(name)} did not cosign: {why}")
    if cosigned != signed:
        ledger.add_checkpoint(connection, checkpoint.parse(cosigned.text).size, str(cosigned))
    try:
        policy.open(cosigned)
    except NotSigned as error:
        say(f"error: the policy is not satisfied: {error}")
        click.get_current_context().exit(ExitCode.NOT_PROVEN_YET)
    return cosigned
