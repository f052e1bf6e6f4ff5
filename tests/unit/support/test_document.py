"""A document copies what its sources have under the names of its fields."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from failproof_es.support.document import Document


class Answer(Document):
    text: str
    class_: str
    tokens: int | None = None


def test_a_field_is_that_of_the_first_source_that_has_it_unless_it_is_given() -> None:
    first, second = SimpleNamespace(text="a", other=1), SimpleNamespace(text="b", class_="c")
    assert Answer.copy_of(first, None, second) == Answer(text="a", class_="c")
    assert Answer.copy_of(first, second, text="d", tokens=2) == Answer(
        text="d", class_="c", tokens=2
    )
    with pytest.raises(ValidationError, match="class"):
        Answer.copy_of(first)
    with pytest.raises(ValidationError, match="other"):
        Answer.copy_of(second, other=1)
