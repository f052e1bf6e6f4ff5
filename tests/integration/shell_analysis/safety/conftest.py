"""The commands of a module's parameters are parsed by a few processes, not by one each."""

from __future__ import annotations

import pytest

from failproof_es.shell_analysis import parse_commands


@pytest.fixture(scope="module", autouse=True)
def parsed_together(request: pytest.FixtureRequest) -> None:
    """The parser remembers them. `test_many_commands.py` holds that to parsing each alone."""
    tests = [
        item
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.module is request.module
    ]
    parameters = [test.callspec.params for test in tests if hasattr(test, "callspec")]
    commands = [values.get("command") for values in parameters]
    parse_commands([command for command in commands if isinstance(command, str)])
