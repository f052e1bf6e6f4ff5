"""Opinions of a file: unchanged ones are no verdicts, and none replaces a verdict unseen."""

from __future__ import annotations

from typing import get_args
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.engine.reviews.people import (
    NewerVerdict,
    Reviewing,
    ReviewInput,
    new_opinions,
)
from failproof_es.events import Reviewed
from tests.unit.engine.test_review_comparison import review

ONE = UUID(int=1)
opinions = st.builds(
    ReviewInput, st.sampled_from(("pass", "fail", "unclear")), notes=st.sampled_from(("", "a b"))
)
histories = st.lists(opinions, max_size=4).map(lambda found: [review("ann", o) for o in found])


def chosen(
    opinion: ReviewInput, own: list[Reviewed], shown: int, newer: NewerVerdict
) -> tuple[bool, Reviewed | None]:
    """Whether it is recorded, and the verdict in its way."""
    reviewing = Reviewing(UUID(int=2), "ann", True, "ab", newer=newer)
    recorded, newest = new_opinions(
        reviewing, {ONE: opinion}, {ONE: own}, {ONE: own[:shown]} if shown else {}
    )
    return recorded == [ONE], newest.get(ONE)


@given(histories, st.integers(0, 4), st.sampled_from(get_args(NewerVerdict)))
def test_what_a_file_was_pre_filled_with_is_no_verdict(
    own: list[Reviewed], shown: int, newer: NewerVerdict
) -> None:
    if own[:shown]:
        assert chosen(ReviewInput.of(own[:shown][-1]), own, shown, newer) == (False, None)


@given(opinions, histories, st.integers(0, 4))
def test_a_verdict_that_a_file_does_not_show_is_never_replaced_unseen(
    opinion: ReviewInput, own: list[Reviewed], shown: int
) -> None:
    unseen = own[shown:]
    recorded, newest = chosen(opinion, own, shown, "refuse")
    assert not (recorded and unseen)
    same = ReviewInput.of(unseen[-1]) == opinion if unseen else True
    unchanged = bool(own[:shown]) and ReviewInput.of(own[:shown][-1]) == opinion
    assert newest == (None if same or unchanged else unseen[-1])
    assert chosen(opinion, own, shown, "keep") == (recorded, newest)
    assert chosen(opinion, own, shown, "overwrite") == (recorded or newest is not None, None)


@pytest.mark.parametrize("notes", ["a b", " a  b ", "a\r\nb", "a\tb"])
def test_spaces_that_a_spreadsheet_changes_make_no_verdict(notes: str) -> None:
    own = [review("ann", ReviewInput("pass", notes="a b"))]
    assert chosen(ReviewInput("pass", notes=notes), own, 1, "refuse") == (False, None)
    assert chosen(ReviewInput("pass", notes=f"{notes}c"), own, 1, "refuse") == (True, None)
