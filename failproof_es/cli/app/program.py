"""The program's frame: options that every command takes, and the one place that handles errors.

`--database-url` and `--debug` may come before the command or after it.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from failproof_es.cli.app.process import replace_unencodable, unbreakable_stderr
from failproof_es.cli.entry import interrupts_raise, is_interrupt, report_interrupt
from failproof_es.cli.usage import WrongUsage, coded_usage_errors
from failproof_es.store.environment import DATABASE_URL

if TYPE_CHECKING:
    from failproof_es.store.store import Store

_LONGEST_SENTENCE = 300


@dataclass(slots=True)
class Session:
    """The values of the options that every command takes."""

    database_url: str | None = None
    debug: bool = False

    def open_store(self) -> Store:
        """Open the database that the options, the environment or the default name.

        Raises `InvalidInput` if it cannot be used.
        """
        # The driver logs, for example, interrupted cancellations: no message for people.
        logging.getLogger("psycopg").setLevel(logging.CRITICAL)
        from failproof_es.assurance.signing.opened_store import open_store
        from failproof_es.cli.rendering.output import say

        return open_store(self.database_url, say)

    def child_environment(self) -> dict[str, str]:
        """The environment of a child process that works on the same database."""
        variables = dict(os.environ)
        if self.database_url is not None:
            # Not as an argument: every user can read arguments, and a URL may hold a password.
            variables[DATABASE_URL] = self.database_url
        return variables


def session() -> Session:
    """The session of the running command, with its global options."""
    return click.get_current_context().ensure_object(Session)


def _keep_in_session(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Set the session's field of the option's name, unless the option is not given here."""
    if value not in (None, False):
        setattr(context.ensure_object(Session), str(option.name), value)


def global_options() -> list[click.Parameter]:
    """New instances of `--database-url` and `--debug`, which each command takes, too."""
    return [
        click.Option(
            ["--database-url"],
            metavar="URL",
            expose_value=False,
            callback=_keep_in_session,
            help=f"A PostgreSQL server.  [default: ${DATABASE_URL}, else the embedded server]",
        ),
        click.Option(
            ["--debug"],
            is_flag=True,
            expose_value=False,
            callback=_keep_in_session,
            help="Show stack traces.",
        ),
    ]


class CliCommand(click.Command):
    """A click command that takes the global options, too. Its arguments must be UTF-8."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.params.extend(global_options())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. Raises `WrongUsage` for one that is not UTF-8, as the log is."""
        for argument in args:
            if any("\ud800" <= sign <= "\udfff" for sign in argument):
                raise WrongUsage("not-utf8", f"the argument {argument!r} is not UTF-8", ctx)
        return super().parse_args(ctx, args)


class CliGroup(click.Group):
    """A click group of commands; it takes the global options, too."""

    command_class = CliCommand
    other_words: Mapping[str, str] = MappingProxyType({})
    """Advice for words that other tools use as commands, by word."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.params.extend(global_options())

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their whole first sentence, which click cuts at 45 characters."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, sentence)
                    for name in self.list_commands(ctx)
                    if (sentence := self.sentence_of(ctx, name)) is not None
                ]
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first of `args` names.

        Raises `WrongUsage` with similar names, or what to do instead, if there is none.
        """
        name = args[0]
        if name[:1] == "-" or ctx.resilient_parsing or self.get_command(ctx, name) is not None:
            return super().resolve_command(ctx, args)
        from difflib import get_close_matches

        message = f"No such command {name!r}."
        if (meant := self.other_words.get(name)) is not None:
            message += f" {meant}"
        elif near := get_close_matches(name, self.list_commands(ctx)):
            message += f" Did you mean {' or '.join(map(repr, near))}?"
        raise WrongUsage("unknown-command", message, ctx)

    def sentence_of(self, ctx: click.Context, name: str) -> str | None:
        """The command's sentence in the list of commands; `None` if there is no such command.

        It is the first sentence of its help.
        """
        command = self.get_command(ctx, name)
        return None if command is None else command.get_short_help_str(limit=_LONGEST_SENTENCE)


class Program(CliGroup):
    """The whole program, a group of commands.

    Every error that a command raises becomes a message and an exit code.
    """

    def main(self, *arguments: Any, **settings: Any) -> Any:
        """Run the program, as `click.Group.main` does.

        Characters that the terminal cannot show are printed as escapes.
        """
        replace_unencodable()
        return super().main(*arguments, **settings)

    def make_context(self, *arguments: Any, **settings: Any) -> click.Context:
        """Parse the options before the command. Raises `WrongUsage`."""
        with coded_usage_errors():
            return super().make_context(*arguments, **settings)

    def invoke(self, context: click.Context) -> Any:
        """Run the command and exit with the code for its exception, if it raises one."""
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # closed by the calling process
                setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
        with unbreakable_stderr():
            try:
                with coded_usage_errors(), interrupts_raise():
                    return super().invoke(context)
            except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
                raise
            except (KeyboardInterrupt, click.Abort):  # a module may be half imported
                context.exit(report_interrupt())
            except Exception as error:
                if is_interrupt(error):
                    context.exit(report_interrupt())
                from failproof_es.cli.app.errors import report

                debug = context.ensure_object(Session).debug
                context.exit(report(error, debug=debug, command=context.invoked_subcommand))
