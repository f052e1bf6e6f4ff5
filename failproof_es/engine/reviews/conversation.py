"""Renders a finished evaluation as a conversation, whatever its dialect. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from failproof_es.configuration.choices import PromptTemplate
from failproof_es.configuration.prompt_template import apply_template
from failproof_es.core import speakers
from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import Evaluation, ModelReply, Transcript
from failproof_es.dialects.protocol import Dialect


@dataclass(frozen=True, slots=True)
class AnswerNote:
    """A fact about an answer beside its text, shown apart from it, such as a tool call."""

    label: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """One turn of a conversation that is shown.

    `reply` is the last answer of the model under test; other turns were sent to it.
    """

    role: str
    text: str
    reply: ModelReply | None = None
    is_earlier_answer: bool = False
    """Whether it is an earlier answer of the model under test, sent back with a later question."""
    is_note: bool = False
    """Whether the turn is an `AnswerNote`, and nobody's words. Its role is the note's label."""
    number: int | None = None
    """Place of an answer in the conversation, from 1; `None` for the only words of an assistant."""
    notes: tuple[AnswerNote, ...] = ()
    """Facts about the answer, in order. A model can type such words, but makes no note by that."""

    @property
    def scripted(self) -> bool:
        """Whether the text is the case's, not an answer of the model under test."""
        return self.reply is None and not self.is_earlier_answer and not self.is_note

    @property
    def speaker(self) -> str:
        """The name to show for the turn: the model under test, a role that the case scripted, or a
        note's label."""
        if self.is_note:
            return self.role
        return speakers.speaker(self.role, scripted=self.scripted, turn=self.number)

    @property
    def parts(self) -> tuple[ConversationTurn, ...]:
        """The turn without its notes, then each note as a turn of its own."""
        notes = [ConversationTurn(note.label, note.text, is_note=True) for note in self.notes]
        own = replace(self, notes=())
        return (own, *notes) if self.text or not self.notes else tuple(notes)


def conversation(
    dialect: Dialect, case: Case, state: Evaluation, template: PromptTemplate | None = None
) -> list[ConversationTurn]:
    """The turns of an evaluation: all those sent to the model, system messages included, and its
    last answer. If the model never answered the last question, the question is the last turn.

    `template` is the model's prompt template. A system text of it alone has no number: judges count
    the case's turns.
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
        spoken.append(ConversationTurn("assistant", last.text, last, notes=tuple(_notes(last))))
    return _within(template, sent, numbered(spoken))


def _within(
    template: PromptTemplate | None, sent: Sequence[Turn], turns: Sequence[ConversationTurn]
) -> list[ConversationTurn]:
    """The turns, of which `sent` are the first, with the template around those."""
    texts = apply_template(template, sent)
    added = len(texts) - len(sent)
    return [
        *(ConversationTurn(turn.role, turn.content) for turn in texts[:added]),
        *(
            replace(turn, text=text.content)
            for turn, text in zip(turns, texts[added:], strict=False)
        ),
        *turns[len(sent) :],
    ]


def numbered(turns: Sequence[ConversationTurn]) -> list[ConversationTurn]:
    """The turns, each answer with its number if more than one turn is an assistant's."""
    if sum(turn.role == "assistant" for turn in turns) < 2:
        return list(turns)
    return [replace(turn, number=number) for number, turn in enumerate(turns, 1)]


def _places_of_replies(
    dialect: Dialect, case: Case, replies: Sequence[ModelReply], sent: Sequence[Turn]
) -> set[int]:
    """The indexes at which these earlier replies stand in `sent`, the messages of the last request.

    Each follows the messages of its own request.
    """
    places = set()
    for count in range(len(replies)):
        messages = dialect.messages(case, Transcript(tuple(replies[:count]))) or ()
        if len(messages) < len(sent) and sent[len(messages)].role == "assistant":
            places.add(len(messages))
    return places


def _notes(reply: ModelReply) -> Iterator[AnswerNote]:
    """A note for each part of the answer beside its text: the refusal, each tool call, the
    cut-off."""
    if reply.refusal:
        yield AnswerNote("refusal", reply.refusal)
    for call in reply.tool_calls:
        yield AnswerNote("tool call", f"[tool call: {call.name}({call.arguments})]")
    if reply.cut_off:
        yield AnswerNote("cut off at max_tokens")
