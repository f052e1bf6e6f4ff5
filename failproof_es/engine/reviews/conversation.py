"""Renders a finished evaluation as a conversation, whatever its dialect. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from failproof_es.core import speakers
from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import Evaluation, Reply, Transcript
from failproof_es.dialects.protocol import Dialect


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """One turn. `reply` is the last answer of the model under test; other turns were sent to it."""

    role: str
    text: str
    reply: Reply | None = None
    is_earlier_answer: bool = False
    """Whether the model under test said it, and it was sent back with a later question."""

    @property
    def scripted(self) -> bool:
        """Whether the case says it, and not the model under test."""
        return self.reply is None and not self.is_earlier_answer

    @property
    def speaker(self) -> str:
        """Who speaks: the model under test, or a role that the case scripted."""
        return speakers.speaker(self.role, scripted=self.scripted)


def conversation(dialect: Dialect, case: Case, state: Evaluation) -> list[ConversationTurn]:
    """All turns sent to the model, system messages included, and its last answer.

    Where it never answered the last question, the question is the last turn.
    """
    replies = state.replies
    unanswered = dialect.messages(case, Transcript(replies))
    sent = unanswered or dialect.messages(case, Transcript(replies[:-1])) or case.turns
    answered = replies if unanswered is not None else replies[:-1]
    own = _places_of_replies(dialect, case, answered, sent)
    spoken = [
        ConversationTurn(turn.role, turn.content, is_earlier_answer=place in own)
        for place, turn in enumerate(sent)
    ]
    if unanswered is None and replies:
        last = replies[-1]
        spoken.append(ConversationTurn("assistant", _said(last), last))
    return spoken


def _places_of_replies(
    dialect: Dialect, case: Case, replies: Sequence[Reply], sent: Sequence[Turn]
) -> set[int]:
    """The places of these replies in what was sent: each follows its own request's messages."""
    places = set()
    for count in range(len(replies)):
        asked = dialect.messages(case, Transcript(tuple(replies[:count]))) or ()
        if len(asked) < len(sent) and sent[len(asked)].role == "assistant":
            places.add(len(asked))
    return places


def _said(reply: Reply) -> str:
    """Text, refusal and tool calls: every part of the answer."""
    refusal = [f"[refusal: {reply.refusal}]"] if reply.refusal else []
    calls = [f"[tool call: {call.name}({call.arguments})]" for call in reply.tool_calls]
    cut_off = ["[cut off at max_tokens]"] if reply.cut_off else []
    return "\n".join([*([reply.text] if reply.text else []), *refusal, *calls, *cut_off])
