"""The red-team cases that ship: what they cover, and that each can be read as it is meant."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Judgement, ModelReply, Transcript
from failproof_es.dialects import case_files
from failproof_es.dialects.kit.judging import Item, checklist, decide
from failproof_es.dialects.shipped.redteam import RedTeam
from failproof_es.dialects.shipped.redteam.checks.reply_language import check
from failproof_es.dialects.shipped.redteam.conversation import asked_turns
from failproof_es.events import ToolCall
from failproof_es.problems import Problems
from tests.every import every
from tests.unit.dialects.kit.judging.labelled import DIALECT, Entry, Labelled

SUITES = Path(__file__).parents[4] / "suites" / "redteam"
PREFIXES = {
    "Safety/Policy": "RT-SAFETY-",
    "Grounding": "RT-GROUND-",
    "InstructionHierarchy": "RT-HIER-",
    "Hallucination": "RT-HALL-",
    "ToolUse": "RT-TOOL-",
}
LISTS = ("must_do", "must_not_do", "pass_criteria")


def shipped() -> list[Case]:
    problems = Problems()
    cases = list(RedTeam().load(case_files(str(SUITES), [".jsonl"]), problems))
    assert [str(each) for each in problems] == []
    return cases


CASES = shipped()
ANSWERS: dict[str, dict[str, Any]] = YAML(typ="safe", pure=True).load(
    Path(__file__).with_name("shipped_answers.yaml").read_text("utf-8")
)
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.case_id)


def of_tag(tag: str) -> list[Case]:
    return [case for case in CASES if tag in case.tags]


def asked(case: Case) -> list[str]:
    return [turn["content"] for turn in case.document["turns"] if turn["role"] == "user"]


def groups() -> dict[str, list[Case]]:
    found: defaultdict[str, list[Case]] = defaultdict(list)
    for case in CASES:
        for tag in case.tags:
            if tag.startswith("paraphrase:"):
                found[tag].append(case)
    return found


def test_every_category_has_ten_cases_or_more_of_three_severities_or_more() -> None:
    severities: defaultdict[str, Counter[str | None]] = defaultdict(Counter)
    for case in CASES:
        severities[str(case.category)][case.severity] += 1
    assert set(severities) == set(PREFIXES)
    for counted in severities.values():
        assert counted.total() >= 10
        assert len(counted) >= 3
    assert sum(severities.values(), Counter()).keys() == {"S0", "S1", "S2", "S3"}


def test_the_kinds_that_are_promised_are_there() -> None:
    roles = [[turn["role"] for turn in case.document["turns"]] for case in CASES]
    assert len(CASES) >= 60
    assert sum(each.count("user") > 1 for each in roles) >= 18
    assert sum("assistant" in each for each in roles) >= 4
    assert sum("sources" in case.document for case in CASES) >= 15
    assert sum("tools_expected" in case.document for case in CASES) >= 9
    languages = Counter(case.document.get("language", "en") for case in CASES)
    assert languages.keys() >= {"en", "de", "fr", "es", "it", "pt-BR", "ja"}
    assert languages.total() - languages["en"] >= 12
    assert len(of_tag("judge_injection")) >= 4
    assert len(of_tag("over_refusal")) >= 2


def test_the_page_about_the_cases_counts_what_ships() -> None:
    file = SUITES.parents[1] / "docs" / "how-to" / "redteam-cases.md"
    page = " ".join(file.read_text("utf-8").split())
    questions = sum(len(asked_turns([turn.role for turn in case.turns])) for case in CASES)
    items = sum(len(checklist(case.expectation)) for case in CASES)
    assert f"holds {len(CASES)} cases of our own" in page
    assert f"asks the model {questions} questions, and each judge has {items} items" in page
    assert f"`paraphrase:<group>` ({len(groups())} groups)" in page
    for category, prefix in PREFIXES.items():
        of_it = [case for case in CASES if case.case_id.startswith(prefix)]
        severities = Counter(case.severity for case in of_it)
        cells = [str(severities[each] or "-") for each in ("S0", "S1", "S2", "S3")]
        assert f"| {category} | {len(of_it)} | {' | '.join(cells)} |" in page


def test_paraphrases_ask_the_same_in_other_words_and_are_judged_alike() -> None:
    assert len(groups()) >= 6
    for cases in groups().values():
        assert len(cases) >= 2
        assert len({tuple(asked(case)) for case in cases}) == len(cases)
        alike = {(case.category, case.severity, str(expected(case)["must_do"])) for case in cases}
        assert len(alike) == 1


def expected(case: Case) -> dict[str, list[str]]:
    found: dict[str, list[str]] = case.document["expected_behavior"]
    return found


@every_case
def test_a_case_is_complete_and_each_item_is_a_sentence_of_its_own(case: Case) -> None:
    assert case.case_id.startswith(PREFIXES[str(case.category)])
    assert case.tags == tuple(dict.fromkeys(case.tags))
    for name in LISTS:
        items = expected(case)[name]
        assert items, "a reader should find something under each heading"
        for item in items:
            assert item[0].isupper() and item.endswith("."), item
            assert item == " ".join(item.split())


@every(
    "case",
    [case for case in CASES if "translation" not in case.tags],
)
def test_somebody_speaks_the_language_that_the_answer_is_expected_in(case: Case) -> None:
    language = case.document.get("language", "en")
    found = [check([turn["content"]], language)["agrees"] for turn in case.document["turns"]]
    assert True in found or set(found) == {None}


@every_case
def test_a_tool_that_is_expected_is_named_in_what_is_to_be_checked(case: Case) -> None:
    tools: list[str] = case.document.get("tools_expected", [])
    items = [item for name in LISTS for item in expected(case)[name]]
    assert [name for name in tools if not any(name in item for item in items)] == []


# -- answers, and what a judge that does its work says of them ------------------------------


def judged(case: Case, replies: list[Any], entries: list[Entry], label: str) -> Labelled:
    transcript = Transcript(tuple(reply(n, each) for n, each in enumerate(replies)))
    assert DIALECT.messages(case, transcript) is None, "there are as many answers as questions"
    return Labelled(case.case_id, case, transcript, tuple(entries), label, to_judges=False)


def reply(turn: int, written: str | dict[str, str]) -> ModelReply:
    if isinstance(written, str):
        return ModelReply(turn, written, "stop")
    call = ToolCall(id=None, name=written["call"], arguments=written["arguments"])
    return ModelReply(turn, "", "tool_calls", tool_calls=(call,), tools=(call.name,))


def test_there_are_answers_to_exactly_the_cases_that_ship() -> None:
    assert sorted(ANSWERS) == sorted(case.case_id for case in CASES)


@every_case
def test_a_good_answer_passes_with_words_to_quote_for_every_item(case: Case) -> None:
    answer = ANSWERS[case.case_id]
    quotes = iter(answer["quotes"])
    entries = [
        {
            "item": item.key,
            "verdict": item.words.passes,
            "quote": next(quotes) if item.words.passes in item.words.quoted else "",
        }
        for item in checklist(case.expectation)
    ]
    assert next(quotes, None) is None
    bed = judged(case, answer["good"], entries, "passed")
    verdict = bed.read(bed.good())
    assert verdict.verdict is not None, verdict.problem
    void = {each["item"]: each["void"] for each in verdict.verdict["items"] if each["void"]}
    assert void == {}
    assert bed.outcome(verdict) == "passed"
    findings = DIALECT.classify(case, bed.transcript).details
    assert findings["language"]["agrees"] is not False
    assert not findings.get("citations", {}).get("unknown")
    assert not findings.get("citations", {}).get("false_quotations")
    assert not findings.get("tools", {}).get("missing")


@every_case
def test_a_bad_answer_fails_by_the_item_that_it_offends(case: Case) -> None:
    answer = ANSWERS[case.case_id]
    (item,) = [each for each in checklist(case.expectation) if each.key == answer["because"]]
    assert (item.words.fails in item.words.quoted) == ("words" in answer)
    entry = {"item": item.key, "verdict": item.words.fails, "quote": answer.get("words", "")}
    others = [
        {"item": other.key, "verdict": _unquoted(other), "quote": ""}
        for other in checklist(case.expectation)
        if other != item
    ]
    bed = judged(case, answer["bad"], [entry, *others], "failed")
    verdict = bed.read(bed.good())
    (decision,) = [
        each
        for each in decide(checklist(case.expectation), Judgement("majority", (verdict,)))
        if each.item == item
    ]
    assert decision.passes is False
    assert bed.outcome(verdict) == "failed"


def _unquoted(item: Item) -> str:
    """The verdict on the item that needs no quotation."""
    (word,) = {item.words.passes, item.words.fails} - item.words.quoted
    return word
