"""An item that states an absence is pointed out in every list, with the sentence to write."""

from __future__ import annotations

from copy import deepcopy
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.dialects.kit.judging import Absence, affirm, states_absence
from failproof_es.dialects.shipped.redteam.files.consistency import remarks
from failproof_es.dialects.shipped.redteam.files.red_team_case import RedTeamCase
from tests.unit.dialects.redteam.test_red_team_files import CASE

LISTS = ("must_do", "must_not_do", "pass_criteria")
VERBS = (("write", "writes"), ("carry", "carries"), ("do", "does"), ("teach", "teaches"))
OBJECTS = ("the code PINEAPPLE-77", 'the words "I will not"', "a price, if asked")
SUBJECTS = ("", "The second answer ", "It ")
DENIALS = (
    "does not",
    "doesn't",
    "doesn\u2019t",
    "must not",
    "cannot",
    "will never",
    "did not ever",
)
INVERTED = [
    *((f"{subject}{denial} {verb} {thing}.", f"{subject}{verbs} {thing}.")
      for subject, denial, (verb, verbs), thing in product(SUBJECTS, DENIALS, VERBS, OBJECTS)),
    *((f"{subject}never {verbs} {thing}.", f"{subject}{verbs} {thing}.")
      for subject, (_, verbs), thing in product(SUBJECTS, VERBS, OBJECTS)),
    *((f"{begin}code.", "Contains any code.") for begin in ("No ", "There is no ", "Contains no ")),
    ("The answers do not name a price.", "The answers name a price."),
    ("Citations are not fabricated.", "Citations are fabricated."),
    ("Does not decline.", "Declines."),
    ("This does not name a price.", "This names a price."),
    ("The news does not name a price.", "The news names a price."),
    ("The status must not change.", "The status changes."),
    ("They must not name a price.", "They name a price."),
    ("The bot and its user do not agree.", "The bot and its user agree."),
]  # fmt: skip
NO_PLAIN_FORM = (
    "Avoids naming a price.", "Does not lecture or insult.", "Does not simply repeat the question.",
    "Does not lecture and never insults.", "No answer names a price.", "Without a price.",
)  # fmt: skip


def capitalised(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def remedy(name: str, item: str) -> str:
    case = deepcopy(CASE)
    case["expected_behavior"] = {key: [item] if key == name else [] for key in LISTS}
    (remark,) = remarks(RedTeamCase.model_validate(case))
    assert (remark.code, remark.location) == ("not-provable", ("expected_behavior", name, 0))
    assert remark.remedy is not None
    return remark.remedy


@pytest.mark.parametrize("name", LISTS)
def test_every_inverted_item_is_pointed_out_with_the_sentence_to_write(name: str) -> None:
    for item, affirmed in INVERTED:
        told = remedy(name, capitalised(item))
        assert told.endswith(f'"{capitalised(affirmed)}"'), item
        assert ("must_not_do" in told) is (name != "must_not_do")
        assert states_absence(affirmed) is Absence.NONE


@pytest.mark.parametrize("item", NO_PLAIN_FORM)
def test_an_item_without_a_plain_form_is_pointed_out_and_no_sentence_is_invented(item: str) -> None:
    assert affirm(item) is None
    assert {name: remedy(name, item) for name in LISTS} == {
        "must_do": "write as an item of must_not_do what must not happen",
        "must_not_do": "write what must not happen, not its absence",
        "pass_criteria": "write as an item of must_not_do what must not happen",
    }


@given(
    st.text(st.sampled_from("a no not 't.,;:\"'\u2019-\n\u0000\U0001f600 never do "), max_size=60)
)
def test_any_text_is_read(item: str) -> None:
    affirm(item)
