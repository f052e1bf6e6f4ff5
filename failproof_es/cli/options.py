"""Options that several commands take."""

from __future__ import annotations

import click

settings_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY.PATH=VALUE",
    help="Put a value over the configuration's; may be repeated. Recorded with the run.",
)
connections_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY.PATH=VALUE",
    help="Put a value over the configuration's in the new run, where it says how models are "
    "reached (base_url, api_key_env, time-outs, workers, retries); may be repeated.",
)
quiet_option = click.option("--quiet", "-q", is_flag=True, help="Show no progress and no hints.")
