"""The command that prints the next page of a list."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import click

from failproof_es.cli.rendering.output import Format, say


def say_next_page(what: str, **changed: Any) -> None:
    """Say on stderr which command prints `what`, for example `older runs`.

    `changed` is as for `next_page_command`.
    """
    say(f"{what}: `{next_page_command(**changed)}`")


def next_page_command(**changed: Any) -> str:
    """The command that prints the next page.

    It repeats every argument and option of this call, except those that `changed` replaces, by
    parameter name: RUN always, as `latest` may be another run by then. Global options are left out:
    a database URL may hold a password.
    """
    context = click.get_current_context()
    values = {**context.params, **changed}
    return " ".join(["failproof-es", context.info_name or "", *argument_words(values)])


def argument_words(values: Mapping[str, Any]) -> Iterator[str]:
    """The arguments and options of this call that have these values, by parameter name, as words
    of a command."""
    for parameter in click.get_current_context().command.params:
        value = values.get(parameter.name or "")
        if value in (None, False, Format.TABLE) or not parameter.expose_value:
            continue
        option = parameter.opts[:1] if isinstance(parameter, click.Option) else []
        if value is True:
            yield from option
            continue
        for one_of in value if parameter.multiple else (value,):
            yield from (*option, shlex.quote(str(one_of)))
