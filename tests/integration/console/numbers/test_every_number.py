"""Every number on every page is compared with SQL over the log, or it is explained why not.

A number that a page gets and that nobody compares fails in the test of its page: `Numbers.finish`.
"""

from __future__ import annotations

import pytest

from failproof_es.console.page import PageModel
from failproof_es.console.pages import all_pages
from tests.integration.console.numbers.comparing import Numbers, numeric_paths
from tests.integration.console.numbers.explained import EXPLAINED


def test_a_number_that_nobody_compares_is_found() -> None:
    class Inner(PageModel):
        seen: int
        rows: tuple[tuple[float, ...], ...]
        by_name: dict[str, int | None]

    assert numeric_paths(Inner) >= {"seen", "rows[][]", "by_name{}"}
    numbers = Numbers(Inner, {"seen": 1, "rows": [[1.0]], "by_name": {"a": 2}})
    numbers.one("seen", 1)
    with pytest.raises(AssertionError, match="rows"):
        numbers.finish({"as_of*": "not of this test", "by_name{}": "x"})
    numbers.one("rows[][]", [[1.0]])
    with pytest.raises(AssertionError, match="by_name"):
        numbers.one("by_name{}", {"a": 3})
    numbers.finish({"as_of*": "not of this test", "by_name{}": "x"})
    with pytest.raises(AssertionError, match="without need: seen"):
        numbers.finish({"as_of*": "", "by_name{}": "", "seen": "it is compared"})


def test_every_page_is_looked_at_here() -> None:
    assert {page.name for page in all_pages()} == set(EXPLAINED)
