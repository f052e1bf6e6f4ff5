"""One is one case, and everything else is cases."""

from __future__ import annotations

import pytest

from failproof_es.support.plurals import plural


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 replies"), (1, "1 reply"), (2, "2 replies"), (2000, "2,000 replies")]
)
def test_one_is_singular_and_thousands_are_told_apart(count: int, said: str) -> None:
    assert plural(count, "reply", "replies") == said


def test_a_plural_that_is_not_given_ends_in_s() -> None:
    assert (plural(1, "case"), plural(2, "case")) == ("1 case", "2 cases")
