"""Options that several commands take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

if TYPE_CHECKING:
    from failproof_es.dialects.protocol import TakesADialect


class FiniteRange(click.FloatRange):
    """A number within bounds; `nan` and `inf`, which click lets pass, are refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number. Fails as click's own types do."""
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


F = TypeVar("F", bound=Callable[..., Any])

MODEL_OPTIONS = {"base_url": "--base-url", "api_key_env": "--api-key-env", "options": "--option"}
"""Options of `init` and `models` that set a field of a model, by field."""


def all_of(*options: Callable[[F], F]) -> Callable[[F], F]:
    """A decorator that gives a command all these options, in this order."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


base_url_option = click.option(
    "--base-url", metavar="URL", help="The model's server, as in a configuration."
)
key_variable_option = click.option(
    "--api-key-env", metavar="VARIABLE", help="The environment variable that holds the key."
)
provider_options_option = click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the provider, such as region=us-east-1. May be repeated.",
)
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
    help="Override a value of the configuration in the new run: a connection setting (base_url, "
    "api_key_env, time-outs, workers, retries) or the spend ceiling. May be repeated.",
)
allow_option = click.option(
    "--allow",
    "allow",
    multiple=True,
    metavar="VARIABLE=HOST",
    envvar="FAILPROOF_ES_ALLOW",
    show_envvar=True,
    help="Let this variable's value go to HOST. A vendor's key may go to the vendor's own host "
    "without it. May be repeated.",
)
allow_class_option = click.option(
    "--allow-class",
    "allow_class",
    multiple=True,
    metavar="MODULE:NAME",
    envvar="FAILPROOF_ES_ALLOW_CLASS",
    show_envvar=True,
    help="Let this class of your own run, which a recorded run names. May be repeated.",
)


class DialectOption(click.Option):
    """The option `--dialect` of `command`.

    Its default is the dialect that declares itself the command's default.
    """

    def __init__(self, names: Sequence[str], *, command: TakesADialect, **attributes: Any) -> None:
        super().__init__(names, **attributes, metavar="NAME", show_default=True)
        self._command = command

    def get_default(self, ctx: click.Context, call: bool = True) -> Any:
        """The default, looked up only when the command runs or shows its help."""
        from failproof_es.dialects.registry import default_dialect

        return cast("Any", default_dialect(self._command))
