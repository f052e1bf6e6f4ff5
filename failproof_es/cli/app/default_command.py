"""Command groups with a default command: `review RUN` means `review run RUN`."""

from __future__ import annotations

import click

from failproof_es.cli.app.program import CliGroup


class DefaultCommandGroup(CliGroup):
    """A command group whose first command is meant where the arguments name none."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first of `args` names, by default the group's first one.

        Returns its name, the command and its remaining arguments.
        """
        verb = [] if args[0] in self.commands else [next(iter(self.commands))]
        return super().resolve_command(ctx, [*verb, *args])
