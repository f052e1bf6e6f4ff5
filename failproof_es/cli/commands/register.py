"""`register`: records the plan of a run before the run."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import click

from failproof_es.assurance.event_receipt import prove_in_tree
from failproof_es.assurance.signing.checkpoint_signer import own_key, require_continued_log
from failproof_es.cli.app.options import allow_option, settings_option
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.commands.prove.cosigned_checkpoint import (
    exit_if_missing,
    policy_option,
    require_time_stamping,
    sign_and_have_cosigned,
    time_stamp_option,
)
from failproof_es.cli.commands.prove.policy_file import read_policy
from failproof_es.cli.progress.steps import slow_step
from failproof_es.cli.rendering.output import Format, format_option, print_facts, say, write_file
from failproof_es.cli.starting.all_problems import choose_and_permit, load_or_report_all
from failproof_es.cli.starting.missing_models import install_missing
from failproof_es.cli.starting.selection_options import selection_options
from failproof_es.core.case import operations_id
from failproof_es.engine import registration
from failproof_es.ledger import checkpoint
from failproof_es.ledger.event_line import parse_event

_MOST_RUNS = 1_000_000


@click.command(cls=CliCommand)
@click.argument("config", type=click.Path(path_type=Path))
@click.option(
    "--runs", type=click.IntRange(1, _MOST_RUNS), default=1, show_default=True, metavar="N",
    help="So many runs may follow the plan.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path),
    help="Write the proof that the plan is in the signed log (C2SP tlog-proof) to this file.",
)  # fmt: skip
@policy_option
@time_stamp_option
@settings_option
@selection_options
@allow_option
@format_option()
def register(
    config: Path,
    runs: int,
    output: Path | None,
    policy_file: Path | None,
    authorities: tuple[str, ...],
    settings: tuple[str, ...],
    allow: tuple[str, ...],
    output_format: Format,
) -> None:
    """Register the plan of CONFIG: what a run will ask, and how it will be judged.

    Everything is checked as by `start`, and no case is asked. The plan is recorded: the digests of
    the cases, the models, judges and gates. Then the log is signed. Publish what is printed, or the
    file of -o: `failproof-es start CONFIG --registration ID` follows the plan, and its report and
    evidence say what has changed.

    Exits 3 unless the quorum of --policy cosigned and each authority of --time-stamp answered. The
    plan is registered all the same.
    """
    require_time_stamping(authorities)
    policy = None if policy_file is None else read_policy(policy_file)
    loaded = load_or_report_all(config, settings, allow)
    with session().open_store() as store:
        require_continued_log(store)
        loaded, permissions = choose_and_permit(loaded, store, allow)
        install_missing(loaded.configuration)
        registered = asyncio.run(
            registration.register(
                loaded, store, runs=runs, say=say, permissions=permissions,
                step=partial(slow_step, quiet=False),
            )
        )  # fmt: skip
        say(f"registered: {registered.about}")
        with store.lend() as connection:
            position = registration.position_of(connection, registered)
            signed, missing = sign_and_have_cosigned(connection, policy, authorities)
            size = checkpoint.parse(signed.text).size
            proof = prove_in_tree(
                connection, operations_id(registered.about), position, size,
                own_key(connection).public,
            )  # fmt: skip
    of_tree = checkpoint.parse(proof.signed.text)
    facts = {
        "registration": str(registered.about),
        "registered_at": registered.timestamp.isoformat(),
        "runs": runs,
        "evaluations": registered.planned_evaluations,
        "experiment": registered.experiment.digest,
        "leaf": parse_event(proof.extra, 1).leaf_hash().hex(),
        "origin": of_tree.origin,
        "tree_size": of_tree.size,
        "tree_root": of_tree.root.hex(),
    }
    print_facts(facts, output_format)
    if output is not None:
        write_file(output, [str(proof).encode()])
    exit_if_missing(missing)
