"""The plugin of a mutant's tests: the files run in the order of the command line.

`copies` puts it into the environment of the copy as `failproof_mutants_ordering`.
"""

from __future__ import annotations

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """After the order that `tests/conftest.py` gives the files of a whole run."""
    order = {path: number for number, path in enumerate(config.args)}
    items.sort(key=lambda item: order.get(item.nodeid.partition("::")[0], len(order)))
