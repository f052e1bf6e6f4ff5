"""The commands of a module's parameters are parsed by a few processes, not by one each."""

from __future__ import annotations

import pytest

from failproof_es.shell_analysis import parse_commands

TOGETHER = (".equivalence.", ".safety.")
"""Whose tests ask nothing about how commands are parsed."""
MOST = 1_000
"""The parser remembers hardly more."""


@pytest.fixture(scope="module", autouse=True)
def parsed_together(request: pytest.FixtureRequest) -> None:
    """The parser remembers them. `test_many_commands.py` holds that to parsing each alone."""
    if not any(each in request.module.__name__ for each in TOGETHER):
        return
    tests = [
        item
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.module is request.module
    ]
    parameters = [test.callspec.params for test in tests if hasattr(test, "callspec")]
    texts = [text for each in parameters for text in each.values() if isinstance(text, str)]
    parse_commands(list(dict.fromkeys(texts))[:MOST])
