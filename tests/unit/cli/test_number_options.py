"""Options that take a number refuse what is none."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from failproof_es.cli import main
from failproof_es.cli.app.options import FiniteRange


def parameters(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Parameter]]:
    """Every parameter below this command, with the path of its command."""
    for parameter in command.params:
        yield f"{path} {parameter.name}", parameter
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from parameters(below, f"{path} {name}")


def test_no_option_takes_a_number_that_is_none() -> None:
    fractions = [
        (path, parameter)
        for path, parameter in parameters(main)
        if isinstance(parameter.type, click.FloatRange | click.types.FloatParamType)
    ]
    assert len(fractions) > 5
    assert [path for path, parameter in fractions if type(parameter.type) is not FiniteRange] == []


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "NaN", "infinity", "one"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        FiniteRange(min=0.0).convert(text, None, None)
    assert FiniteRange(min=0.0).convert("0.5", None, None) == 0.5
