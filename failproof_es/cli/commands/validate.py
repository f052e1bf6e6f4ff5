"""`validate` and `start --dry-run`: every check of `start`, and the requests it would send."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from failproof_es.cli.app.options import allow_option, settings_option
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.output import (
    Column,
    Format,
    format_option,
    print_json,
    print_table,
    say,
)
from failproof_es.cli.starting.all_problems import choose_and_permit, load_or_report_all
from failproof_es.cli.starting.permitting import not_permitted
from failproof_es.cli.starting.selection_options import selection_options
from failproof_es.cli.usage import WrongUsage
from failproof_es.configuration.loading import LoadedConfiguration
from failproof_es.configuration.schema import Configuration
from failproof_es.engine.drive.targets import Targets
from failproof_es.engine.planning.planner import skipped_lines
from failproof_es.engine.preflight.checks import Preflight, check
from failproof_es.engine.preflight.destinations import announce, describe_checks, is_looked_at
from failproof_es.engine.preflight.estimates import Estimates
from failproof_es.engine.preflight.spend_checks import price_line
from failproof_es.models.trust.permissions import (
    ClassDemand,
    Demand,
    Permissions,
    demands_of,
    demands_of_model,
    granted_for,
    models_of,
)
from failproof_es.problems import Problem
from failproof_es.store.store import Store
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import one_line

_COLUMNS = (
    Column("model", "key"),
    Column("requests", "requests", right=True),
    Column("characters", "characters", right=True),
    Column("cost", "cost"),
    Column("priced by", "priced_by"),
)


@click.command(cls=CliCommand)
@click.argument("config", type=click.Path(path_type=Path))
@click.option(
    "--offline",
    is_flag=True,
    help="Connect to no model's server. Everything else is checked, also whether each key is set.",
)
@click.option(
    "--run-classes",
    is_flag=True,
    help="Also import and construct the classes of your own that CONFIG names: their code runs.",
)
@allow_option
@settings_option
@selection_options
@format_option()
def validate(
    config: Path,
    offline: bool,
    run_classes: bool,
    allow: tuple[str, ...],
    settings: tuple[str, ...],
    output_format: Format,
) -> None:
    """Check the configuration CONFIG, its suites, its models and the database.

    No case is asked and nothing is stored.

    To check the models, it sends GET BASE_URL/models to each server, with the key that
    `api_key_env` names. With --offline it sends nothing. It runs no code that CONFIG names: a
    class of your own is only found. With --run-classes it constructs the class, with its key.
    First it says which variable's value goes to which host, and which classes run. At the end it
    says what it did.

    A vendor's key goes to the vendor's own host. Before it goes elsewhere, or another secret such
    as GITHUB_TOKEN goes anywhere, you are asked once. Without a terminal that is an error: --allow.

    Prints what a run would ask: the requests of each model, and the least and the most they may
    cost; as JSON the `warnings`, too. Exits 2 and lists all errors if there are any.
    """
    if offline and run_classes:
        raise WrongUsage("options-conflict", "--offline runs no class: leave out --run-classes")
    demands = partial(_demands_looked_at, offline=offline, run_classes=run_classes)
    loaded = load_or_report_all(config, settings, allow, demands)
    with session().open_store() as store:
        print_preflight(
            loaded, store, output_format, allow, offline=offline, run_classes=run_classes
        )


def print_preflight(
    loaded: LoadedConfiguration,
    store: Store,
    output_format: Format,
    allow: Sequence[str],
    *,
    offline: bool = False,
    run_classes: bool = False,
) -> None:
    """Run all checks of `start`, and print the result without starting a run.

    `allow` are values of `--allow`. `offline` sends nothing, `run_classes` constructs classes that
    the configuration names. Raises `InvalidInput` with every error.
    """
    configuration = loaded.configuration
    announce(configuration, say, loaded.placed, run_classes=run_classes)
    demands = partial(_demands_looked_at, offline=offline, run_classes=run_classes)
    loaded, _ = choose_and_permit(loaded, store, allow, demands)
    later = [demand for demand in demands_of(configuration) if demand not in demands(configuration)]
    refused = not_permitted(later, allow, own=True, placed=loaded.placed)
    for problem in refused:
        say(f"warning: {problem}")
    permissions = granted_for(configuration)  # sends nothing else and runs no other class
    preflight, estimates = asyncio.run(_check(loaded, store, permissions, offline, run_classes))
    for step in describe_checks(configuration, offline=offline, run_classes=run_classes):
        say(step)
    for line in preflight.files:
        say(line)
    for remark in preflight.remarks:
        say(remark)
    for problem in preflight.findings:
        if problem.severity != "error":
            say(problem.describe())
    for line in skipped_lines(
        [defect for defect in preflight.findings if defect.severity == "error"]
    ):
        say(line)
    document = estimates.as_json()
    if output_format is not Format.TABLE:
        warnings = [*refused, *(p for p in preflight.findings if p.severity == "warning")]
        document["warnings"] = [_describe_warning(problem) for problem in warnings]
        print_json(document, indent=output_format is Format.JSON)
        return
    click.echo(
        f"Ready to run: {plural(document['cases'], 'case')}, "
        f"{plural(document['evaluations'], 'evaluation')}, "
        f"{plural(document['requests'], 'request')} if no request fails"
    )
    rows = document["models"]
    print_table(map(_row, [*rows, _total(rows)] if len(rows) > 1 else rows), _COLUMNS)
    unpriced = [
        model
        for row, (_, model) in zip(document["models"], models_of(configuration), strict=True)
        if row["cost_usd"] is None
    ]
    if len(unpriced) < len(document["models"]):
        click.echo("The cost is from empty answers to answers of max_tokens tokens each time.")
    if unpriced:
        say(one_line(f"no price is known for {unpriced[0].model}: {price_line(unpriced[0])}"))


def _demands_looked_at(
    configuration: Configuration, *, offline: bool, run_classes: bool
) -> list[Demand | ClassDemand]:
    """The demands of the models that a check with these options looks at."""
    return [
        demand
        for field, model in models_of(configuration)
        if is_looked_at(model, offline=offline, run_classes=run_classes)
        for demand in demands_of_model(field, model)
    ]


def _describe_warning(problem: Problem) -> dict[str, Any]:
    """A warning as JSON: its code, its message and its place."""
    return {
        "code": problem.code,
        "message": problem.message,
        "path": None if problem.path is None else str(problem.path),
        "line": problem.line,
        "field": problem.field,
        "remedy": problem.remedy,
    }


async def _check(
    loaded: LoadedConfiguration,
    store: Store,
    permissions: Permissions,
    offline: bool,
    run_classes: bool,
) -> tuple[Preflight, Estimates]:
    targets = Targets(loaded.configuration, permissions)
    try:
        preflight = await check(loaded, store, targets, offline=offline, run_classes=run_classes)
        return preflight, preflight.estimates
    finally:
        await targets.close()


def _total(estimates: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The estimate of all models and judges together; its cost is `None` if one is unknown."""
    costs = [estimate["cost_usd"] for estimate in estimates]
    return {
        "key": "total",
        "requests": sum(estimate["requests"] for estimate in estimates),
        "characters": sum(estimate["characters"] for estimate in estimates),
        "cost_usd": None if None in costs else tuple(map(sum, zip(*costs, strict=True))),
        "priced_by": None,
    }


def _row(estimate: dict[str, Any]) -> dict[str, Any]:
    cost = "unknown"
    if estimate["cost_usd"] is not None:
        least, most = estimate["cost_usd"]
        cost = f"${least:,.4f} to ${most:,.4f}"
    counts = {name: f"{estimate[name]:,}" for name in ("requests", "characters")}
    return {**estimate, **counts, "cost": cost, "priced_by": estimate["priced_by"] or "-"}
