"""The options of `start` and `resume` that say how a run is driven, and what is shown of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click

from failproof_es.cli.app.console_beside import PORT_OPTION, console_options
from failproof_es.cli.app.options import all_of
from failproof_es.cli.rendering.junit import junit_option
from failproof_es.cli.rendering.output import Format, format_option
from failproof_es.cli.starting.telemetry_beside import collector_of, telemetry_options
from failproof_es.cli.usage import WrongUsage
from failproof_es.support import extras

_options = all_of(
    click.option(
        "--workers",
        type=click.IntRange(min=1, max=256),
        default=1,
        show_default=True,
        metavar="N",
        help="Drive the run with N processes on this host. Workers elsewhere can join. Ctrl-C lets "
        "these N end; the run is paused unless workers elsewhere drive it, too.",
    ),
    click.option(
        "--detach",
        is_flag=True,
        help="Leave the run to workers, which `failproof-es worker` starts on any host.",
    ),
    console_options,
    telemetry_options,
    junit_option,
    click.option("--quiet", "-q", is_flag=True, help="Show no progress and no hints."),
    click.option("--verbose", "-v", is_flag=True, help="Show every figure of the progress."),
    format_option(),
)


@dataclass(frozen=True, slots=True)
class DriveOptions:
    """The values of these options, by the name of each option's parameter."""

    workers: int
    detach: bool
    console: bool
    console_port: int | None
    open_it: bool
    otlp: str | None
    otel_content: bool
    junit: Path | None
    quiet: bool
    verbose: bool
    output_format: Format

    def checked(self) -> DriveOptions:
        """The same options, with the collector that the environment names if none is given.

        Raises `WrongUsage` for options that exclude each other or need another one, `InvalidInput`
        if a requested console or telemetry cannot be served.
        """
        has_console = self.console or self.open_it
        for is_conflict, message in (
            (
                self.detach and self.junit is not None,
                "--detach leaves before there is a result: once the run is over, `failproof-es "
                "results RUN --junit FILE` writes it",
            ),
            (
                self.detach and self.workers > 1,
                "--detach leaves the run to workers, --workers drives it here: give one of them",
            ),
            (
                self.detach and has_console,
                "--detach leaves at once, and a console beside the run would end with that: "
                "`failproof-es console` serves one",
            ),
            (
                self.quiet and self.verbose,
                "--quiet shows no progress, --verbose all of it: give one of them",
            ),
        ):
            if is_conflict:
                raise WrongUsage("options-conflict", message)
        if self.console_port is not None and not has_console:
            raise WrongUsage(
                "missing-option",
                f"{PORT_OPTION} is for --console and --open: give one of them, too",
            )
        if has_console:
            extras.require("console", "--console")
        return replace(self, otlp=collector_of(self.otlp, self.otel_content, detach=self.detach))


def drive_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that gives a command these options; it receives `options: DriveOptions`."""

    @wraps(command)
    def with_options(*arguments: Any, **values: Any) -> Any:
        own = {option.name: values.pop(option.name) for option in fields(DriveOptions)}
        return command(*arguments, options=DriveOptions(**own).checked(), **values)

    return _options(with_options)
