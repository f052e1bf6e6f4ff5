"""Options that several commands take."""

from __future__ import annotations

import click

settings_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY.PATH=VALUE",
    help="Override a value of the configuration. Recorded with the run. May be repeated.",
)
connections_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY.PATH=VALUE",
    help="Override a value of the configuration in the new run, of those that say how models are "
    "reached (base_url, api_key_env, time-outs, workers, retries). May be repeated.",
)
quiet_option = click.option("--quiet", "-q", is_flag=True, help="Show no progress and no hints.")
