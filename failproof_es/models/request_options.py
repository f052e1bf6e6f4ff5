"""Options of the OpenAI family: what a request leaves out, and how it calls its limit. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from failproof_es.configuration.schema import Model
from failproof_es.models.provider_type import EntryProblem

LEAVE_OUT = "leave_out"
"""Names what is not sent: reasoning models refuse a temperature."""
MAX_TOKENS_AS = "max_tokens_as"
"""What a request calls its limit of tokens: reasoning models refuse `max_tokens`."""
_MAY_BE_LEFT_OUT = ("temperature",)
_NAMES = ("max_tokens", "max_completion_tokens")


def left_out(model: Model) -> frozenset[str]:
    """The parameters that no request has, so that none is recorded."""
    return frozenset(model.options.get(LEAVE_OUT, ()))


def max_tokens_name(model: Model) -> str:
    """What requests call the limit of tokens."""
    return str(model.options.get(MAX_TOKENS_AS, _NAMES[0]))


def without_left_out(body: dict[str, Any], model: Model) -> dict[str, Any]:
    """The body of a request without them."""
    unsent = left_out(model)
    return {name: value for name, value in body.items() if name not in unsent}


def option_problems(model: Model) -> Iterator[EntryProblem]:
    """What is wrong with these two options."""
    names = model.options.get(LEAVE_OUT, [])
    if not (isinstance(names, list) and all(name in _MAY_BE_LEFT_OUT for name in names)):
        message = f"`{LEAVE_OUT}` is a list that may hold `temperature`"
        yield EntryProblem("options", message, f"write {LEAVE_OUT}: [temperature]")
    if model.options.get(MAX_TOKENS_AS, _NAMES[0]) not in _NAMES:
        alternatives = " or ".join(f"`{name}`" for name in _NAMES)
        yield EntryProblem("options", f"`{MAX_TOKENS_AS}` is neither {alternatives}")
    elif MAX_TOKENS_AS in model.options and max_tokens_name(model) in model.parameters:
        message = f"must not hold `{max_tokens_name(model)}`"
        yield EntryProblem(
            "parameters", message, "write `max_tokens`, which is sent under that name"
        )


def unknown_options(model: Model, supported: tuple[str, ...]) -> Iterator[EntryProblem]:
    """Options that there are not."""
    names = ", ".join(f"`{name}`" for name in supported)
    there = f"there {'is' if len(supported) == 1 else 'are'} {names}"
    for name in sorted(set(model.options) - set(supported)):
        yield EntryProblem("options", f"has no `{name}`", there)
