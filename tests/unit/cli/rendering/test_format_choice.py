from __future__ import annotations

import click
import pytest

from failproof_es.cli.rendering.format_choice import FormatChoice
from failproof_es.exports.registry import shape_names


def test_the_name_of_a_shape_as_a_format_is_answered_with_the_command_that_writes_it() -> None:
    for shape in shape_names():
        with pytest.raises(click.BadParameter) as caught:
            FormatChoice(["table", "json"]).convert(shape, None, None)
        assert f"`failproof-es export RUN --shape {shape} -o FOLDER`" in caught.value.message


def test_another_name_is_answered_with_the_formats() -> None:
    with pytest.raises(click.BadParameter) as caught:
        FormatChoice(["table", "json"]).convert("xml", None, None)
    assert caught.value.message == "'xml' is not one of 'table', 'json'."
