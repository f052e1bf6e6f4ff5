"""Options of several providers: omitted parameters, and the token limit's name. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from failproof_es.configuration.providers import EntryProblem
from failproof_es.configuration.schema import Model

LEAVE_OUT = "leave_out"
"""The option that lists parameters to omit: reasoning models and Claude from 4.7 on refuse
`temperature`."""
MAX_TOKENS_AS = "max_tokens_as"
"""The option that renames the token limit: reasoning models refuse `max_tokens`."""
_MAY_BE_LEFT_OUT = ("temperature",)
_NAMES = ("max_tokens", "max_completion_tokens")


def left_out(model: Model) -> frozenset[str]:
    """The parameters that the option `leave_out` names: no request contains them."""
    return frozenset(model.options.get(LEAVE_OUT, ()))


def max_tokens_name(model: Model) -> str:
    """The name of the token limit in requests: the option `max_tokens_as`, or else `max_tokens`."""
    return str(model.options.get(MAX_TOKENS_AS, _NAMES[0]))


def without_left_out(body: dict[str, Any], model: Model) -> dict[str, Any]:
    """The body of a request without the parameters that the option `leave_out` names."""
    unsent = left_out(model)
    return {name: value for name, value in body.items() if name not in unsent}


def option_problems(model: Model) -> Iterator[EntryProblem]:
    """The errors in the options `leave_out` and `max_tokens_as`."""
    names = model.options.get(LEAVE_OUT, [])
    if not (isinstance(names, list) and all(name in _MAY_BE_LEFT_OUT for name in names)):
        message = f"`{LEAVE_OUT}` is a list that may hold `temperature`"
        yield EntryProblem("invalid-value", "options", message, f"write {LEAVE_OUT}: [temperature]")
    if model.options.get(MAX_TOKENS_AS, _NAMES[0]) not in _NAMES:
        alternatives = " or ".join(f"`{name}`" for name in _NAMES)
        yield EntryProblem(
            "invalid-value", "options", f"`{MAX_TOKENS_AS}` is neither {alternatives}"
        )
    elif MAX_TOKENS_AS in model.options and max_tokens_name(model) in model.parameters:
        message = f"must not hold `{max_tokens_name(model)}`"
        yield EntryProblem(
            "reserved-field",
            "parameters",
            message,
            "write `max_tokens`, which is sent under that name",
        )


def unknown_options(model: Model, supported: tuple[str, ...]) -> Iterator[EntryProblem]:
    """Yield an error for each option of the model's entry that is not `supported`."""
    names = ", ".join(f"`{name}`" for name in supported)
    there = f"there {'is' if len(supported) == 1 else 'are'} {names}"
    for name in sorted(set(model.options) - set(supported)):
        yield EntryProblem("unknown-field", "options", f"has no `{name}`", there)
