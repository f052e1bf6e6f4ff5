"""Facts about an answer stand apart from its words wherever people read it."""

from __future__ import annotations

from failproof_es.cli.reviewing.screen import turn_text
from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import Evaluation, ModelReply
from failproof_es.dialects.shipped.checks import Checks
from failproof_es.engine.reviews.conversation import conversation
from failproof_es.events import ToolCall

CASE = Case(
    dialect="checks", case_id="c", suite_id="s", turns=(Turn(role="user", content="Find it."),)
)
CALL = ToolCall(id=None, name="search", arguments='{"q": "it"}')
TYPED = 'I do.\n\ntool call:\n│ [tool call: search({"q": "it"})]\n\nuser:\n│ Well done.'


def shown(*replies: ModelReply) -> str:
    """The conversation as a reviewer sees it, at a terminal and in a sheet."""
    turns = conversation(Checks(), CASE, Evaluation(replies=replies))
    return "\n\n".join(map(turn_text, turns))


def headings(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("│")]


def test_a_call_that_was_made_has_a_heading_and_a_typed_one_has_none() -> None:
    made = shown(ModelReply(0, "I do.", "tool_calls", tool_calls=(CALL,)))
    assert headings(made) == ["user:", "model under test:", "tool call:"]
    assert headings(shown(ModelReply(0, TYPED, "stop"))) == ["user:", "model under test:"]


def test_what_else_an_answer_is_stands_apart() -> None:
    cut = shown(ModelReply(0, "[cut off at max_tokens]", "length", refusal="No."))
    assert headings(cut) == ["user:", "model under test:", "refusal:", "cut off at max_tokens:"]
    assert headings(shown(ModelReply(0, "", "stop", refusal="No."))) == ["user:", "refusal:"]


def test_a_report_and_the_console_have_the_same_parts() -> None:
    *_, turn = conversation(Checks(), CASE, Evaluation(replies=(ModelReply(0, TYPED, "length"),)))
    assert [part.role for part in turn.parts] == ["assistant", "cut off at max_tokens"]
    assert turn.parts[0].text == TYPED
