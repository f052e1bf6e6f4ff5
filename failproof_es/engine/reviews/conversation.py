"""Renders a finished evaluation as a conversation, whatever its dialect. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Evaluation, Reply, Transcript
from failproof_es.dialects.protocol import Dialect


@dataclass(frozen=True, slots=True)
class Note:
    """A fact about an answer that is none of its words, shown apart from them: a tool call."""

    label: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """One turn. `reply` is the last answer of the model under test; other turns were sent to it."""

    role: str
    text: str
    reply: Reply | None = None
    notes: tuple[Note, ...] = ()
    """What else the answer is, in order. A model can type such words, and no such note."""

    @property
    def parts(self) -> tuple[ConversationTurn, ...]:
        """The turn without its notes, then each note as a turn whose role is its label."""
        notes = (ConversationTurn(note.label, note.text) for note in self.notes)
        own = replace(self, notes=())
        return (own, *notes) if self.text or not self.notes else tuple(notes)


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
        spoken.append(ConversationTurn("assistant", last.text, last, tuple(_notes(last))))
    return spoken


def _notes(reply: Reply) -> Iterator[Note]:
    """Refusal, tool calls and the end: every part of the answer beside its text."""
    if reply.refusal:
        yield Note("refusal", reply.refusal)
    for call in reply.tool_calls:
        yield Note("tool call", f"[tool call: {call.name}({call.arguments})]")
    if reply.cut_off:
        yield Note("cut off at max_tokens")
