"""Signs the log, and has others cosign it and stamp it with the time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from failproof_es.assurance.run_evidence import checkpoint_as_of
from failproof_es.assurance.signing.asked_witnesses import ask_witnesses
from failproof_es.assurance.signing.checkpoint_signer import own_key, sign_and_keep_checkpoint
from failproof_es.assurance.signing.kept_checkpoints import newest_note
from failproof_es.assurance.signing.time_stamping import (
    NotStamped,
    authority_name,
    request_time_stamp,
)
from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.rendering.output import say
from failproof_es.ledger import checkpoint
from failproof_es.ledger.errors import NotSigned
from failproof_es.ledger.note import Note, NoteError, require_storable
from failproof_es.ledger.time_stamp import time_stamps
from failproof_es.ledger.tlog_policy import Policy, escape_name
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection
from failproof_es.support import extras


def policy_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that gives a command `--policy`; it receives `policy_file`."""
    return click.option(
        "--policy", "policy_file", type=click.Path(path_type=Path, exists=True, dir_okay=False),
        metavar="FILE",
        help="Have the witnesses of FILE (C2SP tlog-policy) that have a URL cosign it.",
    )(command)  # fmt: skip


def time_stamp_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that gives a command `--time-stamp`; it receives `authorities`."""
    return click.option(
        "--time-stamp", "authorities", multiple=True, metavar="URL",
        help="Have the time-stamping authority at URL (RFC 3161) stamp it with the time. May be "
        "repeated.",
    )(command)  # fmt: skip


def require_time_stamping(authorities: Sequence[str]) -> None:
    """Raise `InvalidInput` if the extra `timestamp`, which asks authorities, is missing."""
    if authorities:
        extras.require("timestamp", "--time-stamp")


def sign_and_have_cosigned(
    connection: Connection, policy: Policy | None, authorities: Sequence[str] = ()
) -> tuple[Note, list[str]]:
    """The new checkpoint of the log, with what others add to it, which is recorded.

    The witnesses of the policy cosign it, and each of the time-stamping `authorities` that did not
    yet stamps it. Also returns why the quorum or an authority is missing.
    """
    sign_and_keep_checkpoint(connection)
    public = own_key(connection).public
    signed = newest_note(connection, public)
    known, _ = checkpoint_as_of(connection, checkpoint.parse(signed.text).size, public)
    earlier = time_stamps(known) if known.text == signed.text else []
    added = signed.signed(*earlier)
    problems = []
    try:
        if policy is not None:
            added = _cosigned(connection, signed, policy).signed(*earlier)
        for url in authorities:
            name = authority_name(url)
            if any(line.name == name for line in earlier):
                continue  # the earliest time says most
            try:
                stamped = added.signed(request_time_stamp(url, signed.text))
                added = require_storable(stamped)
            except (NotStamped, NoteError) as error:
                problems.append(f"{name} did not stamp the checkpoint: {error}")
    finally:
        if added != signed:
            size = checkpoint.parse(signed.text).size
            ledger.add_checkpoint(connection, size, str(added))
    if policy is not None:
        try:
            (policy if policy.logs else replace(policy, logs=(public,))).open(added)
        except NotSigned as error:
            problems.append(f"the policy is not satisfied: {error}")
    return added, problems


def exit_if_missing(problems: Sequence[str]) -> None:
    """Say what is missing, and end the program with 3; nothing if nothing is."""
    for problem in problems:
        say(f"error: {problem}")
    if problems:
        click.get_current_context().exit(ExitCode.NOT_PROVEN_YET)


def _cosigned(connection: Connection, signed: Note, policy: Policy) -> Note:
    cosigned, problems = ask_witnesses(connection, signed, policy)
    for name, why in problems.items():
        say(f"warning: {escape_name(name)} did not cosign: {why}")
    return cosigned
