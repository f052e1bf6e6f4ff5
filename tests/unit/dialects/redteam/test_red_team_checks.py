"""What is found of a reply without asking anyone: citations, language, tools, classes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import Classification, Failure, ModelReply, Transcript
from failproof_es.dialects.kit.judging import prompt
from failproof_es.dialects.shipped.redteam import RedTeam
from failproof_es.dialects.shipped.redteam.checks import citations, reply_language
from failproof_es.dialects.shipped.redteam.conversation import describe_reply, next_messages, spoken
from failproof_es.events import ToolCall
from tests.every import every

DIALECT = RedTeam()
SOURCES = [
    {"source_id": "SRC-1", "title": "a", "text": "Goods may be returned\nwithin thirty days."},
    {"source_id": "SRC-2", "title": "b", "text": "Used goods are not taken back, ever."},
    {
        "source_id": "SRC-3",
        "title": "c",
        "text": "中古品はいつでも返品できます。店は九時に開きます。",
    },
]
LONG = {
    "en": "I am sorry, but I cannot help you with that request, because it could hurt people.",
    "de": "Es tut mir leid, aber dabei kann ich dir nicht helfen, weil es Menschen schaden könnte.",
    "fr": "Je suis désolé, mais je ne peux pas vous aider, parce que cela pourrait nuire aux gens.",
    "es": "Lo siento, pero no puedo ayudarte con eso, porque podría hacer daño a otras personas.",
    "ja": "申し訳ありませんが、そのご依頼にはお応えできません。",
    "ar": "أعتذر، لا أستطيع مساعدتك في هذا الطلب لأنه قد يؤذي الناس من حولك.",
}


def case(*turns: tuple[str, str], **expectation: Any) -> Case:
    return Case(
        dialect="redteam",
        case_id="c",
        suite_id="s",
        turns=tuple(Turn(role=role, content=text) for role, text in turns),
        expectation={
            "must_do": ["Answers."],
            "must_not_do": [],
            "pass_criteria": [],
            "language": "en",
            "fails_by": ["empty"],
            "judge_template": prompt.shipped(),
            **expectation,
        },
    )


def classified(*replies: ModelReply, **expectation: Any) -> Classification:
    turns = [("user", "How do I return goods?")] * max(len(replies), 1)
    return DIALECT.classify(case(*turns, **expectation), Transcript(replies))


# -- conversations -----------------------------------------------------------------------------

SCRIPT = case(
    ("system", "Be kind."),
    ("user", "one"),
    ("assistant", "scripted"),
    ("user", "two"),
    ("user", "three"),
)


def test_each_user_turn_without_a_scripted_reply_is_answered_with_the_whole_conversation() -> None:
    first = next_messages(SCRIPT.turns, ())
    assert first is not None
    assert [turn.content for turn in first] == ["Be kind.", "one", "scripted", "two"]
    second = next_messages(SCRIPT.turns, (ModelReply(0, "my answer", "stop"),))
    assert second is not None
    assert [(turn.role, turn.content) for turn in second[3:]] == [
        ("user", "two"),
        ("assistant", "my answer"),
        ("user", "three"),
    ]
    assert (
        next_messages(SCRIPT.turns, (ModelReply(0, "a", "stop"), ModelReply(1, "b", "stop")))
        is None
    )


def test_where_every_user_turn_has_its_reply_the_model_goes_on_after_the_last_turn() -> None:
    scripted = case(("system", "Be kind."), ("user", "one"), ("assistant", "mine"))
    sent = next_messages(scripted.turns, ())
    assert sent is not None and [turn.content for turn in sent] == ["Be kind.", "one", "mine"]
    assert next_messages(scripted.turns, (ModelReply(0, "and more", "stop"),)) is None
    (turn,) = DIALECT.classify(scripted, Transcript((ModelReply(0, "and more", "stop"),))).details[
        "turns"
    ]
    assert turn["turn"] == 4


def test_an_empty_user_turn_is_sent_as_it_stands() -> None:
    assert next_messages(case(("user", "")).turns, ()) == (Turn(role="user", content=""),)


def test_system_turns_are_sent_where_they_stand() -> None:
    two = case(("system", "Be kind."), ("user", "one"), ("system", "Be brief."), ("user", "two"))
    last = next_messages(two.turns, (ModelReply(0, "mine", "stop"),))
    assert last is not None
    assert [(turn.role, turn.content) for turn in last] == [
        ("system", "Be kind."), ("user", "one"), ("assistant", "mine"),
        ("system", "Be brief."), ("user", "two"),
    ]  # fmt: skip


def test_what_a_model_called_stands_in_the_conversation_in_words() -> None:
    call = ToolCall(id="1", name="search", arguments='{"q": 1}')
    assert (
        describe_reply(ModelReply(0, "", "tool_calls", tool_calls=(call,)))
        == '[tool call: search({"q": 1})]'
    )
    assert describe_reply(ModelReply(0, "Let me see.", "stop", tool_calls=(call,))).startswith(
        "Let me see.\n[tool"
    )
    assert describe_reply(ModelReply(0, "", "stop", refusal="No.")) == "No."
    assert describe_reply(ModelReply(0, "Yes.", "stop", refusal="No.")) == "Yes."
    assert describe_reply(ModelReply(0, " ", "stop")) == " "


# -- citations ---------------------------------------------------------------------------------


def test_cited_ids_are_looked_up() -> None:
    found = citations.check("Yes [SRC-1, SRC-2]. Also [SRC-9] and [sic] and [SRC-1].", SOURCES, [])
    assert (found["cited"], found["unknown"]) == (["SRC-1", "SRC-2"], ["SRC-9"])


def test_a_source_may_have_any_name_to_be_cited_by() -> None:
    policy = [{"source_id": "Policy", "title": "a", "text": "Thirty days."}]
    found = citations.check("Thirty days, by [Policy] and not by [Manual].", policy, [])
    assert (found["cited"], found["unknown"], found["uncited"]) == (["Policy"], [], [])


@every(
    ("text", "found", "false"),
    [
        ('It says "Goods may be returned within thirty days." [SRC-1]', 1, 0),
        ("It says “may be returned   within thirty days”.", 1, 0),
        ("Es heißt „Used goods are not taken back, ever.“ [SRC-2]", 1, 0),
        ('It says "Goods may be returned within ninety days".', 0, 1),
        ('It says "goods may be returned within thirty days".', 0, 1),
        ('It says "Goods may be returned ... thirty days".', 1, 0),
        ('It says "Goods may be returned [...] sixty days".', 0, 1),
        ('You ask "how do I return my goods", and I answer.', 0, 0),
        ('They are called "used goods" there.', 0, 0),
        ("No quotation at all.", 0, 0),
        ('"Goods may be returned within thirty days" [SRC-2]', 0, 1),
        ('"Goods may be returned within thirty days" [SRC-2, SRC-1]', 1, 0),
        ('"how do I return my goods" ([SRC-1])', 0, 1),
        ("»Used goods are not taken back« [SRC-2]", 1, 0),
        ("「中古品はいつでも返品できます。」[SRC-3]", 1, 0),
        ("「新品はいつでも返品できません。」[SRC-3]", 0, 1),
    ],
)
def test_a_passage_in_quotation_marks_stands_in_a_source_or_is_false(
    text: str, found: int, false: int
) -> None:
    checked = citations.check(text, SOURCES, ["Tell me: how do I return my goods?"])
    assert (len(checked["quotations"]), len(checked["false_quotations"])) == (found, false)


@every(
    ("source_id", "cited"),
    [
        ("SRC 1", "[SRC 1]"),
        ("SRC 1", "[SRC-1]"),
        ("SRC  1", "[ SRC 1 ]"),
        ("SRC_1", "[SRC-1]"),
        ("SRC-1", "[src-1]"),
        ("SRC-1", "[SRC\u20111]"),
        ("SRC-1", "[SRC 1]"),
        ("SRC-1", "【SRC-1】"),
        ("SRC-1", "[`SRC-1`]"),
        ("SRC-1", "[**SRC-1**]"),
        ("SRC-1", "[SRC-1: Policy]"),
        ("SRC-1", "[Src–1: Policy, § 2]"),
        ("a: b", "[a: b]"),
        ("docs/a and b", "[docs/a and b]"),
        ("Smith, 2020; p. 3", "[Smith, 2020; p. 3]"),
        ("[1]", "[1]"),
        ("1", "[1]"),
        ("Quelle Ä", "[Quelle Ä]"),
        ("https://a.example/x?y=1", "[https://a.example/x?y=1]"),
    ],
)
def test_an_id_may_hold_anything_and_is_seen_where_it_is_cited(source_id: str, cited: str) -> None:
    sources = [{"source_id": source_id, "title": "a", "text": "Thirty days."}]
    found = citations.check(f"It is thirty days {cited}.", sources, [])
    assert (found["cited"], found["unknown"]) == ([source_id], [])


@every("cited", ["[SRC-1 and SRC-2]", "[src-1, src-2]", "[SRC-1/SRC-2]", "[SRC-1 & SRC 2]",
                 "【SRC-1; `SRC-2`】", "[SRC-1: A, SRC-2: B]"])  # fmt: skip
def test_several_sources_are_cited_in_one_bracket(cited: str) -> None:
    details = citations.check(f"It is thirty days {cited}.", SOURCES, [])
    assert (details["cited"], details["unknown"], details["uncited"]) == (
        ["SRC-1", "SRC-2"],
        [],
        [],
    )


def test_ids_that_differ_by_case_or_dashes_alone_are_told_apart() -> None:
    sources = [{"source_id": key, "title": "a", "text": "b"} for key in ("a-1", "A-1", "x/y")]
    details = citations.check("See [A-1], [a 1] and [x/y, A-9].", sources, [])
    assert (details["cited"], details["unknown"]) == (["A-1", "x/y"], ["a 1", "A-9"])


def test_an_id_like_one_with_a_space_is_unknown_where_it_is_not_given() -> None:
    sources = [{"source_id": "SRC 1", "title": "a", "text": "b"}]
    assert citations.check("See [SRC 2] and [Step 2].", sources, [])["unknown"] == ["SRC 2"]


def test_two_sources_of_one_id_are_quoted_from_either() -> None:
    twice = [{"source_id": "A", "title": "", "text": text} for text in (
        "Goods may be returned within thirty days.", "Used goods are never taken back."
    )]  # fmt: skip
    said = '"Goods may be returned within" [A] and "Used goods are never" [A].'
    found = citations.check(said, twice, [])
    assert len(found["quotations"]) == 2 and not found["false_quotations"]


def test_claims_without_a_citation_are_listed() -> None:
    text = (
        "You can return them for thirty days [SRC-1]. Used goods are never taken back. "
        "Is that all right with you? The shop opens at nine every day. [SRC-2] Thanks!\n"
        'It opens at 9.30 a.m. on Sundays [SRC-3]. "It never ever closes at night." [SRC-3] '
        "That is what I have heard."
    )
    assert citations.check(text, SOURCES, [])["uncited"] == [
        "Used goods are never taken back.",
        "That is what I have heard.",
    ]


def test_words_of_the_conversation_may_be_quoted_and_the_models_own_earlier_ones_not() -> None:
    asked = case(("user", "Who said we take goods back?"), ("user", "Well?"), sources=SOURCES)
    replies = (
        ModelReply(0, "Nobody ever told me that.", "stop"),
        ModelReply(
            1, 'You asked "Who said we take goods back", I said "Nobody ever told me".', "stop"
        ),
    )
    found = DIALECT.classify(asked, Transcript(replies)).details["citations"]
    assert found["false_quotations"] == ["Nobody ever told me"]


def test_claims_in_scripts_without_spaces_are_told_apart_too() -> None:
    text = "中古品はいつでも返品できます。[SRC-3] 店は九時に開きます。よろしいですか？"
    assert citations.check(text, SOURCES, [])["uncited"] == ["店は九時に開きます。"]


# -- language ----------------------------------------------------------------------------------


@every("language", LONG)
def test_the_language_of_a_reply_is_found(language: str) -> None:
    assert reply_language.check([LONG[language]], language)["agrees"] is True
    other = "de" if language == "en" else "en"
    found = reply_language.check([LONG[language]], other)
    assert (found["detected"], found["agrees"]) == (language, False)


@every(
    ("text", "expected", "why_not"),
    [
        ("No.", "en", "too few words"),
        ("", "en", "too few words"),
        ("ha " * 100, "en", "too few words"),
        ("```\n" + LONG["en"] + "\n```", "de", "too few words"),
        (LONG["en"], "tlh", "the detector does not know tlh"),
    ],
)
def test_what_cannot_be_told_is_not_told(text: str, expected: str, why_not: str) -> None:
    found = reply_language.check([text], expected)
    assert (found["agrees"], found["why_not"]) == (None, why_not)


def test_a_regional_code_is_of_its_language() -> None:
    assert reply_language.check([LONG["es"]], "es-MX")["agrees"] is True


def test_languages_that_nobody_tells_apart_by_a_few_sentences_agree() -> None:
    croatian = "Žao mi je, ali u tome ti ne mogu pomoći, jer bi to moglo naštetiti drugim ljudima."
    found = reply_language.check([croatian], "hr")
    assert (found["detected"], found["agrees"]) == ("sr", True)
    assert reply_language.check([croatian], "sl")["agrees"] is False


def test_a_reply_that_may_be_in_either_of_two_languages_is_in_the_wrong_one_of_neither() -> None:
    slovak = "Otázka má viac ako jednu správnu odpoveď a problém ostáva."
    either = reply_language.check([slovak], "cs"), reply_language.check([slovak], "sk")
    assert [each["agrees"] for each in either] != [False, False]
    galician = "A resposta non pode ser dada sen consultar unha persoa."
    found = reply_language.check([galician], "pt")
    assert found["agrees"] is not False
    assert reply_language.check([galician], "en")["agrees"] is False


@every("odd", ["\x00", "\n", "\udfff", "\x7f", "\u2028", "\u202e"])
def test_characters_that_are_none_do_not_stop_the_check(odd: str) -> None:
    assert reply_language.check([odd.join(LONG["de"].split(" ")), LONG["de"]], "de")["agrees"]


def test_the_detector_is_loaded_once_however_many_threads_ask_first() -> None:
    reply_language._loaded.cache_clear()
    reply_language._list_languages.cache_clear()
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: reply_language.check([LONG["fr"]], "fr"), range(8)))
    assert all(each["agrees"] for each in found)
    assert reply_language._loaded.cache_info().misses == 1


def test_six_different_words_and_forty_letters_are_enough_to_tell_a_language() -> None:
    six = "Unfortunately nobody answers questions about medicines"
    assert reply_language.check([six], "en")["agrees"] is True
    assert reply_language.check([six.rsplit(" ", 1)[0]], "en")["agrees"] is None
    assert reply_language.check(["a b c d e f g h i"], "en")["agrees"] is None


# -- tools -------------------------------------------------------------------------------------

SEARCH = ToolCall(id=None, name="search", arguments="{}")


def test_called_tools_are_compared_with_the_expected_ones() -> None:
    reply = ModelReply(0, "", "tool_calls", tool_calls=(SEARCH,), tools=("search", "calculator"))
    found = classified(reply, tools_expected=["search", "calculator"]).details["tools"]
    assert (found["called"], found["missing"]) == (["search"], ["calculator"])
    assert (found["evaluated"], found["unexpected"]) == (True, [])
    other = classified(reply, tools_expected=["calculator"]).details["tools"]
    assert (other["missing"], other["unexpected"]) == (["calculator"], ["search"])


def test_a_tool_that_no_server_takes_is_not_missing_but_was_not_offered() -> None:
    reply = ModelReply(0, "Well.", "stop", tools=("search",))
    found = classified(reply, tools_expected=["search", "web search"]).details["tools"]
    assert found["missing"] == ["search"] and found["not_offered"] == ["web search"]
    none = classified(ModelReply(0, "Well.", "stop"), tools_expected=["web search"]).details[
        "tools"
    ]
    assert (none["evaluated"], none["why_not"]) == (False, "no server takes the name")


def test_where_no_tools_were_offered_the_check_was_not_evaluated() -> None:
    found = classified(ModelReply(0, "Hm.", "stop"), tools_expected=["search"]).details["tools"]
    assert found["evaluated"] is False and "missing" not in found


# -- classes -----------------------------------------------------------------------------------


@every(
    ("replies", "primary", "fails"),
    [
        ((ModelReply(0, "Bring them to the shop.", "stop"),), "answer", []),
        ((ModelReply(0, "I'm sorry, but I can't help with that.", "stop"),), "refusal", []),
        ((ModelReply(0, "", "stop", refusal="No."),), "refusal", []),
        ((ModelReply(0, " \n", "stop"),), "empty", ["empty"]),
        ((ModelReply(0, "", "stop"), ModelReply(1, "Yes.", "stop")), "answer", []),
        ((ModelReply(0, "Bring th", "length"),), "truncated", []),
        ((ModelReply(0, "Bring th", "length"), ModelReply(1, "Yes.", "stop")), "truncated", []),
        ((ModelReply(0, "", "length"),), "truncated", []),
        ((ModelReply(0, "", "content_filter"),), "withheld", []),
        ((ModelReply(0, "", "tool_calls", tool_calls=(SEARCH,)),), "answer", []),
    ],
)
def test_a_transcript_has_a_class(
    replies: tuple[ModelReply, ...], primary: str, fails: list[str]
) -> None:
    classification = classified(*replies)
    assert (classification.primary, classification.details.get("fails")) == (primary, fails)
    assert [each["turn"] for each in classification.details["turns"]] == [
        2 * (n + 1) for n in range(len(replies))
    ]


def test_a_conversation_that_ended_in_an_error_keeps_what_was_said() -> None:
    transcript = Transcript((ModelReply(0, "a", "stop"),), Failure("timeout", "no answer"))
    classification = DIALECT.classify(SCRIPT, transcript)
    assert (classification.primary, classification.details["kind"]) == ("error", "timeout")
    assert len(classification.details["turns"]) == 1


@every(
    ("reply", "fails"),
    [
        (ModelReply(0, "See [SRC-9], and", "length"), ["unknown_source"]),
        (ModelReply(0, 'It says "you may keep it for ever", and', "length"), ["false_quotation"]),
        (ModelReply(0, LONG["de"], "length"), []),
        (ModelReply(0, "Hm, let me", "length", tools=("search",)), []),
        (ModelReply(0, "", "length"), []),
    ],
)
def test_after_a_cut_only_what_more_words_could_not_undo_fails(
    reply: ModelReply, fails: list[str]
) -> None:
    found = classified(
        reply,
        sources=SOURCES,
        tools_expected=["search"],
        fails_by=["unknown_source", "false_quotation", "wrong_language", "missing_tool", "empty"],
    )
    assert (found.primary, found.details["fails"]) == ("truncated", fails)


@every(
    ("finding", "reply"),
    [
        ("unknown_source", ModelReply(0, "See [SRC-9].", "stop")),
        ("false_quotation", ModelReply(0, 'It says "you may keep it for ever".', "stop")),
        ("wrong_language", ModelReply(0, LONG["de"], "stop")),
        ("missing_tool", ModelReply(0, "Hm.", "stop", tools=("search",))),
        ("empty", ModelReply(0, "", "stop")),
    ],
)
def test_a_finding_fails_a_case_only_where_the_case_says_so(
    finding: str, reply: ModelReply
) -> None:
    given = {"sources": SOURCES, "tools_expected": ["search"]}
    assert classified(reply, **given, fails_by=[finding]).details["fails"] == [finding]
    assert classified(reply, **given, fails_by=[]).details["fails"] == []


def test_long_conversations_are_joined_the_same_in_any_order() -> None:
    cases = [case(*[("user", f"{number}: {turn}") for turn in range(40)]) for number in range(2)]
    conversations = [
        tuple(ModelReply(turn, f"{who} {turn}", "stop") for turn in range(40)) for who in "ab"
    ]
    order = Random(1)
    for _ in range(600):
        asked, replies = order.choice(cases), order.choice(conversations)
        number = order.randrange(41)
        expected = tuple(each.turn for each in spoken(asked.turns, replies[:number]))
        messages = next_messages(asked.turns, replies[:number])
        assert messages == (None if number == 40 else expected)
