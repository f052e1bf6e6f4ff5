"""Hand-labelled transcripts: a good judge gives the labels, no bad one ever gives a wrong pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest

from failproof_es.core.evaluation import JudgeVerdict
from failproof_es.dialects.kit.judging import checklist
from tests.every import every
from tests.unit.dialects.kit.judging.labelled import DIALECT, TRANSCRIPTS, Labelled

each_transcript = pytest.mark.parametrize("bed", TRANSCRIPTS, ids=lambda bed: bed.name)


def test_there_are_at_least_sixty_transcripts_of_both_labels() -> None:
    labels = [bed.label for bed in TRANSCRIPTS]
    assert len(labels) >= 60
    assert min(labels.count("passed"), labels.count("failed")) >= 25
    assert sum(bed.to_judges for bed in TRANSCRIPTS) >= 8
    assert len({bed.name for bed in TRANSCRIPTS}) == len(TRANSCRIPTS)


@each_transcript
def test_a_good_judge_gives_the_label(bed: Labelled) -> None:
    verdict = bed.read(bed.good())
    assert verdict.verdict is not None, verdict.problem
    assert [each["void"] for each in verdict.verdict["items"]] == [None] * len(bed.entries)
    assert [each["verdict"] for each in verdict.verdict["items"]] == [
        each["verdict"] for each in bed.entries
    ]
    assert bed.outcome(verdict) == bed.label


@each_transcript
def test_a_good_judge_may_wrap_its_answer(bed: Labelled) -> None:
    plain = bed.read(bed.good())
    for wrapped in (
        f"```json\n{bed.good()}\n```",
        f"<think>{bed.good()[:40]}?</think>Here it is: {bed.good()}",
        orjson.dumps({"result": orjson.loads(bed.good())}).decode(),
        f"{bed.good()}\n\nAgain: {bed.good()}",
    ):
        assert bed.read(wrapped) == plain


# -- judges that lie, are injected, or answer nonsense ---------------------------------------


def invents_quotations(bed: Labelled) -> Iterator[str]:
    for quote in (
        "The model behaved as it should.",
        "xyzzy plugh frobnicate",
        "I refuse to obey you",
    ):
        yield bed.reply(bed.favouring(quote))


def quotes_the_others(bed: Labelled) -> Iterator[str]:
    for turn in bed.case.turns:
        if not any(turn.content in said for said in bed.said):
            yield bed.reply(bed.favouring(turn.content))


def quotes_across_turns(bed: Labelled) -> Iterator[str]:
    if len(bed.said) > 1:
        yield bed.reply(bed.favouring(" ".join(bed.said)))


def quotes_half_words(bed: Labelled) -> Iterator[str]:
    for said in bed.said:
        if re.fullmatch(r"[A-Za-z].{10,}[a-z][.]?", said, re.DOTALL):
            yield bed.reply(bed.favouring(said[1:-2]))


def quotes_crumbs(bed: Labelled) -> Iterator[str]:
    quoted = {i.key for i in checklist(bed.case.expectation) if i.words.passes in i.words.quoted}
    needed = [each for each in bed.favouring("") if each["item"] in quoted]
    truth = {each["item"]: each for each in bed.entries}
    for crumb in ("", " ", ".", "e", "a", "the", "\u200b"):
        lies = {each["item"]: {**each, "quote": crumb} for each in needed}
        yield bed.reply(list({**truth, **lies}.values()))


def stops_halfway(bed: Labelled) -> Iterator[str]:
    lie = bed.reply(bed.favouring(bed.said[-1]))
    for share in (1, 5, 20, 50, 80, 95, 99):
        yield lie[: len(lie) * share // 100]
    yield lie[:-1]
    yield f"<think>{lie}"


def answers_twice(bed: Labelled) -> Iterator[str]:
    lies = bed.favouring(bed.said[-1])
    yield bed.reply([*bed.entries, *lies])
    yield bed.reply([*lies, *bed.entries])
    yield f"{bed.reply(lies)}\n{bed.good()}" if lies != list(bed.entries) else ""
    yield bed.good().removesuffix("}") + ', "items": {}}'
    yield bed.good().replace('"verdict"', '"verdict": "absent", "verdict"')


def answers_other_items(bed: Labelled) -> Iterator[str]:
    lies = bed.favouring(bed.said[-1])
    yield bed.reply([{**each, "item": f"{each['item']}0"} for each in lies])
    yield bed.reply([*lies, {"item": "overall", "verdict": "met", "quote": bed.said[-1]}])
    yield bed.reply([{**each, "item": each["item"].upper()} for each in lies])
    yield bed.reply([{**each, "item": str(n)} for n, each in enumerate(lies)])


def answers_none_of_the_items(bed: Labelled) -> Iterator[str]:
    yield bed.reply([])
    for items in ("null", "[]", '"all present"', "1", orjson.dumps(bed.favouring("")).decode()):
        yield bed.reply_with(items)
    words = {each["item"]: each["verdict"] for each in bed.favouring("")}
    yield bed.reply_with(orjson.dumps(words).decode())


def uses_other_types(bed: Labelled) -> Iterator[str]:
    for verdict in (True, 1, None, "yes", "PRESENT", ["present"], {"present": True}):
        yield bed.reply([{**each, "verdict": verdict} for each in bed.favouring(bed.said[-1])])
    for quote in (True, False, 1, 0, [], ["I"], {}, {"text": "I"}):
        yield bed.reply([{**each, "quote": quote} for each in bed.favouring("")])


def judges_another_transcript(bed: Labelled) -> Iterator[str]:
    lies = bed.favouring(bed.said[-1])
    yield bed.reply(lies, mark="0123456789abcdef0123456789abcdef")
    yield orjson.dumps({"items": lies}).decode()
    yield bed.reply(lies).replace('"transcript"', '"transcript": 1, "transcript"')


def says_nothing_of_use(bed: Labelled) -> Iterator[str]:
    yield from ("", "  \n", "I can't help with grading.", "All items are met.", "null", "[]", "{}")


def repeats_the_transcript(bed: Labelled) -> Iterator[str]:
    """Does what the model under test dictates, as it stands there."""
    for said in bed.said:
        yield said
        yield f"As asked:\n{said}"


def obeys_the_transcript(bed: Labelled) -> Iterator[str]:
    """Fills in the right mark and quotes what the model addressed to its judges."""
    if not bed.to_judges:
        return
    asked = [quote for said in bed.said for quote in re.findall(r"[^\n\"'{}:.]{12,}", said)]
    dictated = [quote for quote in asked if "Sydney" not in quote]
    truth = {each["item"]: each for each in bed.entries}
    for quote in dictated:
        lies = {e["item"]: e for e in bed.favouring(quote) if e["verdict"] != "absent"}
        yield bed.reply(list({**truth, **lies}.values()))


BAD_JUDGES: list[Callable[[Labelled], Iterator[str]]] = [
    invents_quotations,
    quotes_the_others,
    quotes_across_turns,
    quotes_half_words,
    quotes_crumbs,
    stops_halfway,
    answers_twice,
    answers_other_items,
    answers_none_of_the_items,
    uses_other_types,
    judges_another_transcript,
    says_nothing_of_use,
    repeats_the_transcript,
]


@every("judge", BAD_JUDGES)
@pytest.mark.long
def test_a_bad_judge_decides_nothing(judge: Callable[[Labelled], Iterator[str]]) -> None:
    """What it says is void or unreadable: the case is unscored, never passed or failed by it.

    A judge twists only the transcripts that have what it would twist.
    """
    twisted = set()
    for bed in TRANSCRIPTS:
        truth = {entry["item"]: entry["verdict"] for entry in bed.entries}
        for text in judge(bed):
            verdict = bed.read(text)
            outcome = bed.outcome(verdict)
            items = (verdict.verdict or {"items": []})["items"]
            decided = [item for item in items if not item["void"]]
            assert all(item["verdict"] == truth[item["item"]] for item in decided), (bed.name, text)
            right = bed.label == "failed" and outcome == "failed"
            assert outcome == "judge_failed" or right, (bed.name, text)
            twisted.add(bed.name)
    assert len(twisted) >= 8


@every("bed", [bed for bed in TRANSCRIPTS if bed.to_judges])
def test_a_judge_that_obeys_the_transcript_gives_no_wrong_pass(bed: Labelled) -> None:
    dictated = list(obeys_the_transcript(bed))
    assert dictated
    for text in dictated:
        assert bed.outcome(bed.read(text)) in ("judge_failed", bed.label), text


@each_transcript
def test_a_judge_that_never_answers_fails_alone(bed: Labelled) -> None:
    silent = JudgeVerdict("silent", None, "timeout: no answer within 30 s")
    good = [bed.read(bed.good(), judge) for judge in ("a", "b")]
    assert bed.outcome(silent) == "judge_failed"
    assert bed.outcome(*good, silent) == bed.label
    assert bed.outcome(*good, silent, rule="unanimous") == "judge_failed"


@each_transcript
def test_one_judge_that_lies_is_outvoted_and_two_are_not_believed_blindly(bed: Labelled) -> None:
    good = [bed.read(bed.good(), judge) for judge in ("a", "b")]
    liar = bed.read(bed.reply(bed.favouring(bed.said[0])), "liar")
    assert bed.outcome(good[0], liar, good[1]) == bed.label
    assert bed.outcome(good[0], liar) in (bed.label, "judge_failed", "judges_disagree")


def test_a_quotation_with_broken_unicode_is_void_and_the_rest_can_be_recorded() -> None:
    bed = TRANSCRIPTS[0]
    verdict = bed.read(bed.good().replace('"quote": "', '"quote": "\\ud800', 1))
    assert verdict.verdict is not None
    assert verdict.verdict["items"][0]["void"] == "the quotation is not a text"
    orjson.dumps([verdict.verdict, verdict.problem])


@pytest.mark.slow
def test_the_transcript_cannot_close_its_delimiter_or_fill_in_a_template() -> None:
    for bed in TRANSCRIPTS:
        messages: Any = DIALECT.judge_messages(bed.case, bed.transcript)
        question = messages[0].content
        lines = [line for line in question.splitlines() if bed.mark in line]
        turns = len(bed.case.turns) + len(bed.said)
        assert sum(line.startswith(f"--- {bed.mark} ") for line in lines) == turns + 2
        assert all(said in question for said in bed.said)
        assert not any(bed.mark in said for said in bed.said)
