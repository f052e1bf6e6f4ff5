"""Options of `start` and `validate` that choose cases and models, and what is reused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import click
import orjson

from failproof_es.cli.app.options import all_of

_options = all_of(
    click.option(
        "--limit",
        type=click.IntRange(min=1),
        metavar="N",
        help="Ask only the first N cases.",
    ),
    click.option(
        "--sample",
        type=click.IntRange(min=1, max=1_000_000),
        metavar="N",
        help="Ask only N cases, drawn by a hash of the seed and each case's id.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(min=0, max=2**63 - 1),
        metavar="S",
        help="The seed of the sample; 0 unless given.",
    ),
    click.option(
        "--only",
        multiple=True,
        metavar="PATTERN",
        help="Ask only cases that match id:GLOB, tag:GLOB or suite:GLOB, or that had such a result "
        "in a run: failed:RUN, errors:RUN or unscored:RUN. May be repeated.",
    ),
    click.option(
        "--exclude",
        multiple=True,
        metavar="PATTERN",
        help="Leave out cases that match such a pattern. May be repeated.",
    ),
    click.option(
        "--model",
        "models",
        multiple=True,
        metavar="KEY",
        help="Ask only the model with this key, or those that a glob fits: with --only failed:RUN "
        "the cases that these models failed. May be repeated.",
    ),
    click.option(
        "--reuse",
        metavar="RUN",
        help="Carry over from RUN what it scored with the very same requests, byte for byte.",
    ),
    click.option(
        "--allow-unlisted",
        is_flag=True,
        default=None,
        help="Ask a model also if its server lists its models and this one is not among them.",
    ),
)
_PATHS = {
    "allow_unlisted": "execution.allow_unlisted",
    "reuse": "reuse.from_run",
    **{
        name: f"selection.{name}"
        for name in ("limit", "sample", "seed", "only", "exclude", "models")
    },
}
"""The path of each option in the configuration."""


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that gives a command the options that choose cases and models.

    The command receives them as entries of its `settings`, like those of `--set`.
    """

    @wraps(command)
    def with_settings(*arguments: Any, settings: tuple[str, ...], **options: Any) -> Any:
        selection = {name: options.pop(name) for name in _PATHS}
        return command(*arguments, settings=(*settings, *as_settings(selection)), **options)

    return _options(with_settings)


def as_settings(selection: dict[str, Any]) -> Iterator[str]:
    """The options that are set, as arguments of `--set`: `selection.limit=5`.

    `selection` has the values by option; `None` and an empty tuple are not set.
    """
    for name, value in selection.items():
        if value is not None and value != ():
            yield f"{_PATHS[name]}={orjson.dumps(value).decode()}"
