"""Thoughts that open a text are no answer; tags anywhere else are part of it."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from failproof_es.core.thoughts import split_thoughts
from tests.every import every

TAGS = [
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "thought", "thoughts")),
    *((f"<{name}>", f"</{name}>") for name in ("reasoning", "THINK", "Thinking", "seed:think")),
    ('<thinking time="3">', "</thinking >"),
    ("<think\n>", "</think >"),
    ("< think >", "</ think >"),
    ("＜think＞", "＜/think＞"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<unused94>thought", "<unused95>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|channel>thought", "<channel|>"),
]
ASIDES = [
    *((f"<{name}>", f"</{name}>") for name in ("analysis", "Reflection", "scratchpad", "reason")),
    ("< deliberation >", "</deliberation\n>"),
    ("＜analysis＞", "＜/analysis＞"),
    ("[thinking]", "[/thinking]"),
]
ORPHANS = [closing for _, closing in TAGS if closing not in ("<unused95>", "<channel|>")]
DRAFT = "It could be Bergen.\nI can't say; {no}."


@every(("opening", "closing"), TAGS)
@every("before", ["", "\n ", "\ufeff", "\u200b", "\u2060\n\u00ad"])
@every("after", ["", "\n\n"])
def test_a_thought_that_opens_a_text_is_set_apart(
    opening: str, closing: str, before: str, after: str
) -> None:
    text = f"{before}{opening}{DRAFT}{closing}{after}Oslo\n"
    split = split_thoughts(text)
    assert (split.text.strip(), split.is_closed) == ("Oslo", True)
    assert split.text.startswith("Oslo"), "a pattern may be anchored"
    assert split.thoughts == f"{before}{opening}{DRAFT}{closing}"


@every(("opening", "closing"), TAGS)
def test_a_thought_that_nothing_closes_leaves_no_answer(opening: str, closing: str) -> None:
    split = split_thoughts(f"{opening}{DRAFT} Oslo")
    assert (split.text, split.is_closed) == ("", False)


@every(("opening", "closing"), ASIDES)
def test_an_aside_is_set_apart_where_an_answer_follows(opening: str, closing: str) -> None:
    aside = f"\u200b{opening}{DRAFT}{closing}"
    assert split_thoughts(f"{aside}\nOslo") == (aside, "Oslo", True)
    assert split_thoughts(f"<think>a</think>{aside}Oslo").text == "Oslo"
    asked_for = (aside, f"{aside}\n", f"{opening}{DRAFT} Oslo", f"{DRAFT}{closing}Oslo")
    for text in asked_for:
        assert split_thoughts(text) == ("", text, True)


@every("closing", ORPHANS)
@every("joint", ["", "\n", "\n\n"])
def test_a_thought_may_begin_before_the_text(closing: str, joint: str) -> None:
    assert split_thoughts(f"{DRAFT}{joint}{closing}{joint}Oslo").text == "Oslo"


@every(
    ("text", "answer"),
    [
        ("<think>a</think><think>b</think>Oslo", "Oslo"),
        ("<think>a</think>\n<reasoning>b</reasoning>\nOslo", "Oslo"),
        ("<think>I could <think> more</think> here</think>Oslo", "Oslo"),
        ("<think>a</thinking>Oslo", "Oslo"),
        ("<think>the tag `</think>` ends it</think>Oslo", "Oslo"),
        ("<think></think>Oslo", "Oslo"),
        ("<think>\n</think>\n\nOslo", "Oslo"),
        ("<think>a</think>", ""),
        ("a</think>b</think>Oslo", "Oslo"),
        ("<|channel|>final<|message|>Oslo<|return|>", "Oslo"),
        (
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary"
            "<|message|>b<|end|><|start|>assistant<|channel|>final<|message|>Oslo<|return|>",
            "Oslo",
        ),
        ("analysisWe need the capital.assistantfinalOslo", "Oslo"),
        ("We think.<|end|><|start|>assistant<|channel|>final<|message|>Oslo", "Oslo"),
    ],
)
def test_how_thoughts_follow_each_other_changes_nothing(text: str, answer: str) -> None:
    assert split_thoughts(text).text == answer


@every(
    "text",
    [
        "Oslo",
        "",
        " \n",
        "Models write <think> before they answer.",
        "Wrap it in <think>...</think> tags.",
        "Use `</think>` to end a thought.",
        'The closing tag is "</think>".',
        "The tag </think> ends a thought, and <think> begins one.",
        "```\na\n</think>\nb\n```",
        "~~~xml\n<think>x</think>\n~~~\nThat is it.",
        "```\n<think>a</think>\n```",
        "echo </think>",
        "sed 's|</think>||g' log.txt",
        "sed s#</think>## log.txt",
        "Oslo. <think>Or Bergen?</think>",
        "<thinker>x</thinker> is no such tag",
        "<b>think</b>",
        "analysis of the question: Oslo",
        "analysisOfVariance(x)",
        "The token `<|channel|>final<|message|>` begins the answer.",
        "a < think > b",
    ],
)
def test_a_tag_that_is_mentioned_is_part_of_the_answer(text: str) -> None:
    assert split_thoughts(text) == ("", text, True)


pieces = st.sampled_from(
    [
        *(tag for pair in [*TAGS, *ASIDES] for tag in pair),
        "Oslo",
        " ",
        "\n",
        "```\n",
        "`",
        ".",
        "analysis",
        "x",
    ]
)


@given(st.lists(pieces, max_size=12).map("".join))
def test_the_two_parts_are_all_of_the_text_in_its_order(text: str) -> None:
    split = split_thoughts(text)
    assert text.startswith(split.thoughts)
    assert split.text in text[len(split.thoughts) :]
    assert split.is_closed or split.text == ""


@given(st.lists(pieces, max_size=12).map("".join), st.sampled_from(TAGS[:8]))
def test_a_second_look_finds_no_thought_that_the_first_one_left(
    text: str, tags: tuple[str, str]
) -> None:
    opening, closing = tags
    answer = "Oslo is the capital."
    if "<" in text or "[" in text or "◁" in text or "`" in text:
        return
    assert split_thoughts(f"{opening}{text}{closing}{answer}").text == answer


@every(("outer", "inner"), list(product(["<think>", "[THINK]"], ["<reasoning>", "◁think▷"])))
def test_a_thought_that_mentions_another_tag_goes_to_its_own_end(outer: str, inner: str) -> None:
    closing = outer.replace("<", "</").replace("[", "[/")
    assert split_thoughts(f"{outer}say {inner} first{closing}Oslo").text == "Oslo"
