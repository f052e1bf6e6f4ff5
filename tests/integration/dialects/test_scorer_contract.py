"""The contract of scorers holds for one that keeps it, and names what one breaks that does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from failproof_es.testing.scorer_contract import SampleAnswer, ScorerContract
from tests.plugin_packages import install, look_again

SCORERS = """
from failproof_es.problems import InvalidInput

class Good:
    name = "good"
    version = "1"
    def __init__(self, times=1):
        self.times = times
    def with_options(self, options):
        if options.keys() != {"times"}:
            raise InvalidInput.because("invalid-option", "one option: times")
        return type(self)(options["times"])
    def score(self, case, transcript, classification):
        return {"words": len(transcript.replies[-1].text.split()) * self.times}

class Raising(Good):
    name = "raising"
    def score(self, case, transcript, classification):
        return {"words": int(transcript.replies[-1].text)}

class Random(Good):
    name = "random"
    asked = 0
    def score(self, case, transcript, classification):
        Random.asked += 1
        return {"words": Random.asked}

class Infinite(Good):
    name = "infinite"
    def score(self, case, transcript, classification):
        text = transcript.replies[-1].text
        return {"words": float("inf") if len(text) > 1000 else len(text.split())}

class Changing(Good):
    name = "changing"
    def score(self, case, transcript, classification):
        classification.details.clear()
        return super().score(case, transcript, classification)

class Careless(Good):
    name = "careless"
    def with_options(self, options):
        return type(self)()

class Nameless(Good):
    name = "nameless"
    version = " "

class Memorising(Good):
    name = "memorising"
    seen = {}
    def score(self, case, transcript, classification):
        text = transcript.replies[-1].text
        number = self.seen.setdefault(text, len(self.seen))
        return {"words": len(text.split()) + (number > 20)}

class Shuffling(Good):
    name = "shuffling"
    def score(self, case, transcript, classification):
        text = transcript.replies[-1].text
        return {"words": len(text.split()) + hash(text) % 1000 * (text == "yes")}

class Shared(Good):
    name = "shared"
    def with_options(self, options):
        self.times = super().with_options(options).times
        return self
shared = Shared(times=2)
"""
NUMBERS = "test_an_answer_gets_the_numbers_that_are_said_of_it"
ANY = "test_whatever_is_answered_it_gives_finite_numbers_and_the_same_each_time"
CHANGED = "test_it_changes_nothing_of_what_it_is_given"
OPTIONS = "test_options_that_it_does_not_take_are_refused_before_anything_is_sent"
FOUND = "test_it_is_found_under_its_name_and_says_its_version"
ELSEWHERE = "test_another_process_gives_the_same_numbers"
OTHERS = "test_options_of_one_run_do_not_show_in_another"
PROMISES = (NUMBERS, ANY, ELSEWHERE, OTHERS, CHANGED, OPTIONS, FOUND)
BROKEN = {
    "good": (),
    "raising": (NUMBERS, ANY),
    "random": (NUMBERS, ANY, ELSEWHERE, OTHERS),
    "infinite": (ANY,),
    "changing": (CHANGED,),
    "careless": (OPTIONS,),
    "nameless": (FOUND,),
    "memorising": (ELSEWHERE,),
    "shuffling": (ELSEWHERE,),
    "shared": (OTHERS,),
}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    points = {name: f"contract_scorers:{name.capitalize()}" for name in BROKEN}
    points["shared"] = "contract_scorers:shared"
    offered = {"failproof_es.scorers": points}
    install(monkeypatch, tmp_path, "contract-scorers", offered, {"contract_scorers": SCORERS})
    yield
    monkeypatch.undo()
    look_again()


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.thinned(fast=2, whole=4)
def test_what_a_scorer_breaks_is_found(name: str) -> None:
    contract = type(
        "Contract",
        (ScorerContract,),
        {
            "scorer": name,
            "options": {} if name == "nameless" else {"times": 1},
            "refused": ({"time": 1},),
            "answers": (
                SampleAnswer("three short words", {f"{name}:words": 3.0}),
                SampleAnswer("", {f"{name}:words": 0.0}),
            ),
        },
    )()
    broken = []
    for promise in PROMISES:
        try:
            getattr(contract, promise)()
        except AssertionError:
            broken.append(promise)
    assert tuple(broken) == BROKEN[name]
    assert set(PROMISES) == {each for each in dir(ScorerContract) if each.startswith("test_")}
