"""Errors of usage: wrong options and arguments, shown with the command's usage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click


class WrongUsage(click.UsageError):
    """A command cannot be run with these options and arguments; the text ends with the code.

    What has the shape of a key in it becomes `***`.
    """

    def __init__(self, code: str, message: str, context: click.Context | None = None) -> None:
        from failproof_es.support.key_shapes import hide_keys  # `--help` need not load it

        super().__init__(f"{hide_keys(message)} [{code}]", context)


@contextmanager
def coded_usage_errors() -> Iterator[None]:
    """Turn click's errors of usage into `WrongUsage`."""
    try:
        yield
    except (WrongUsage, click.exceptions.NoArgsIsHelpError):
        raise
    except click.UsageError as error:
        raise _with_code(error) from None


def _with_code(error: click.UsageError) -> WrongUsage:
    message = error.format_message()
    match error:
        case click.NoSuchOption():
            return WrongUsage("unknown-option", message, error.ctx)
        case click.MissingParameter():
            return WrongUsage("missing-option", message, error.ctx)
        case click.BadParameter() | click.BadOptionUsage():
            return WrongUsage("invalid-option", message, error.ctx)
        case _:
            return WrongUsage("usage-error", message, error.ctx)
