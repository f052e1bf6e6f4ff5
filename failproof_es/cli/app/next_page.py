"""The command that prints the next page of a list."""

from __future__ import annotations

import shlex
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
    parameter name. Global options are left out: a database URL may hold a password.
    """
    context = click.get_current_context()
    words = ["failproof-es", context.info_name or ""]
    for parameter in context.command.params:
        if not parameter.expose_value or parameter.name is None:
            continue
        value = changed.get(parameter.name, context.params[parameter.name])
        if not isinstance(parameter, click.Option):
            if value is not None:
                words.append(shlex.quote(str(value)))
        elif value is True:
            words.append(parameter.opts[0])
        elif parameter.multiple:
            for one_of in value:
                words += [parameter.opts[0], shlex.quote(str(one_of))]
        elif value not in (None, False, Format.TABLE):
            words += [parameter.opts[0], shlex.quote(str(value))]
    return " ".join(words)
