"""`validate` and `start --dry-run`: every check of `start`, and the requests it would send."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click

from failproof_es.cli.app.options import settings_option
from failproof_es.cli.app.program import Command, session
from failproof_es.cli.rendering.output import (
    Column,
    Format,
    format_option,
    print_json,
    print_table,
    say,
)
from failproof_es.cli.starting.selection_options import selection_options
from failproof_es.configuration.loading import LoadedConfiguration, load_configuration
from failproof_es.engine.drive.targets import Targets
from failproof_es.engine.planning.planner import skipped_lines
from failproof_es.engine.preflight.checks import Preflight, check
from failproof_es.engine.preflight.destinations import announce, describe_checks
from failproof_es.engine.preflight.estimates import Estimates
from failproof_es.store.store import Store
from failproof_es.support.plurals import plural

_COLUMNS = (
    Column("model", "key"),
    Column("requests", "requests", right=True),
    Column("characters", "characters", right=True),
    Column("cost", "cost"),
    Column("priced by", "priced_by"),
)


@click.command(cls=Command)
@click.argument("config", type=click.Path(path_type=Path))
@click.option(
    "--offline",
    is_flag=True,
    help="Connect to no model's server and construct no class. Everything else is checked, also "
    "whether each key is set.",
)
@settings_option
@selection_options
@format_option()
def validate(config: Path, offline: bool, settings: tuple[str, ...], output_format: Format) -> None:
    """Check the configuration CONFIG, its suites, its models and the database.

    No case is asked and nothing is stored.

    To check the models, it sends GET BASE_URL/models to each server, with the key that
    `api_key_env` names. It also constructs the class of each `python` model, with its key: your
    code runs. With --offline it does neither. First it says which variable's value goes to
    which host. At the end it says what it sent and constructed.

    Prints what a run would ask: the requests of each model, and the least and the most they may
    cost. Exits 2 and lists all errors if there are any.
    """
    loaded = load_configuration(config, settings)
    with session().open_store() as store:
        print_preflight(loaded, store, output_format, offline=offline)


def print_preflight(
    loaded: LoadedConfiguration, store: Store, output_format: Format, *, offline: bool = False
) -> None:
    """Run all checks, and print the result. Raises `InvalidInput` with every error."""
    announce(loaded.configuration, say, loaded.placed)
    preflight, estimates = asyncio.run(_look(loaded, store, offline))
    for step in describe_checks(loaded.configuration, offline=offline):
        say(step)
    for line in preflight.files:
        say(line)
    for remark in preflight.remarks:
        say(remark)
    for problem in preflight.found:
        if problem.severity != "error":
            say(problem.describe())
    for line in skipped_lines([each for each in preflight.found if each.severity == "error"]):
        say(line)
    for line in estimates.fixed_outcome.lines():
        say(f"warning: {line}")
    found = estimates.as_json()
    if output_format is not Format.TABLE:
        print_json(found, indent=output_format is Format.JSON)
        return
    click.echo(
        f"Ready to run: {plural(found['cases'], 'case')}, "
        f"{plural(found['evaluations'], 'evaluation')}, "
        f"{plural(found['requests'], 'request')} if no request fails"
    )
    print_table((_row(each) for each in found["models"]), _COLUMNS)
    click.echo("The cost is an estimate, from nothing answered to max_tokens answered each time.")


async def _look(
    loaded: LoadedConfiguration, store: Store, offline: bool
) -> tuple[Preflight, Estimates]:
    targets = Targets(loaded.configuration)
    try:
        preflight = await check(loaded, store, targets, offline=offline)
        return preflight, preflight.estimates
    finally:
        await targets.close()


def _row(found: dict[str, Any]) -> dict[str, Any]:
    cost = "unknown"
    if found["cost_usd"] is not None:
        least, most = found["cost_usd"]
        cost = f"${least:,.4f} to ${most:,.4f}"
    counts = {name: f"{found[name]:,}" for name in ("requests", "characters")}
    return {**found, **counts, "cost": cost, "priced_by": found["priced_by"] or "-"}
