"""`ledger repair`: a new tree for a log whose tree is damaged."""

from __future__ import annotations

import os
from typing import Any

import click

from failproof_es.assurance.repair import Reason
from failproof_es.assurance.repair import repair as begin_repair
from failproof_es.assurance.signing.checkpoint_signer import sign_and_keep_checkpoint
from failproof_es.assurance.signing.signing_key import KEY_FILE, own_file, public_path
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.output import Format, format_option, print_facts, say
from failproof_es.engine.identity import current_host, current_user


@click.command(cls=CliCommand)
@click.option("--reason", required=True, metavar="TEXT", help="Why, for the record.")
@click.option(
    "--force", is_flag=True,
    help="Begin a new tree even if nothing is wrong with this one, or if a new one would not "
    "mend the log.",
)  # fmt: skip
@click.option(
    "--without-old-key", is_flag=True,
    help="The old tree's key is lost, so it cannot sign for the new tree.",
)  # fmt: skip
@format_option()
def repair(reason: str, force: bool, without_old_key: bool, output_format: Format) -> None:
    """Replace a damaged tree by a new one, built from the log's events.

    The old tree and its checkpoints are kept. The log records who replaced it, why, and what was
    wrong. The new tree has its own origin and key, and the old key signs for the new one.

    From then on `verify` reports that the tree was replaced. It still checks the log against
    everything that was signed before. An event that was changed is not repaired: the command
    stops.
    """
    with session().open_store() as store, store.lend() as connection:
        done = begin_repair(
            store, connection, Reason(reason, current_user(), current_host()),
            force=force, without_old_key=without_old_key,
        )  # fmt: skip
        key_file = own_file(done.new_origin, "key")
        facts: dict[str, Any] = {
            "old_origin": done.old_origin,
            "old_tree_size": done.old_tree_size,
            "origin": done.new_origin,
            "public_key": done.new_key,
            "key_file": str(key_file),
        }
        if KEY_FILE in os.environ:
            say(
                f"the new tree is not signed yet: {KEY_FILE} names the old key. Set it to "
                f"{key_file} and run `failproof-es ledger checkpoint`."
            )
        else:
            facts["signed"] = sign_and_keep_checkpoint(connection).size
    print_facts(facts, output_format)
    say(
        f"Give {public_path(key_file)} to everyone who verifies this log, and a new checkpoint to "
        "everyone who keeps one. A witness starts again with an empty --seen. Old checkpoints "
        "stay valid: `failproof-es verify --checkpoint` takes both."
    )
