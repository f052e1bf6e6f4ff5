"""Renders a finished evaluation as a conversation, whatever its dialect. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Evaluation, Reply, Transcript
from failproof_es.dialects.protocol import Dialect


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """One turn. `reply` is the last answer of the model under test; other turns were sent to it."""

    role: str
    text: str
    reply: Reply | None = None


def conversation(dialect: Dialect, case: Case, state: Evaluation) -> list[ConversationTurn]:
    """All turns sent to the model, system messages included, and its last answer.

    Where it never answered the last question, the question is the last turn.
    """
    replies = state.replies
    unanswered = dialect.messages(case, Transcript(replies))
    sent = unanswered or dialect.messages(case, Transcript(replies[:-1])) or case.turns
    spoken = [ConversationTurn(turn.role, turn.content) for turn in sent]
    if unanswered is None and replies:
        last = replies[-1]
        spoken.append(ConversationTurn("assistant", _said(last), last))
    return spoken


def _said(reply: Reply) -> str:
    """Text, refusal and tool calls: every part of the answer."""
    refusal = [f"[refusal: {reply.refusal}]"] if reply.refusal else []
    calls = [f"[tool call: {call.name}({call.arguments})]" for call in reply.tool_calls]
    cut_off = ["[cut off at max_tokens]"] if reply.cut_off else []
    return "\n".join([*([reply.text] if reply.text else []), *refusal, *calls, *cut_off])
