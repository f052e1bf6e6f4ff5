"""The conversation of an evaluation, as pages show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from failproof_es.configuration.prompt_template import templates_of
from failproof_es.console.links import to
from failproof_es.console.texts import (
    Quotation,
    TextShown,
    text_shown,
    with_quotations,
)
from failproof_es.core.transcript import text_or_refusal
from failproof_es.dialects import dialect_named
from failproof_es.engine.history import UNREADABLE, RecordedEvaluation
from failproof_es.engine.reviews.conversation import ConversationTurn, conversation, numbered
from failproof_es.events import AnswerImported, ResponseReceived, RunStarted
from failproof_es.problems import InvalidInput
from failproof_es.support.document import Document
from failproof_es.support.untrusted_text import shortened

LINE = 300


class TurnShown(Document):
    """A turn of the conversation."""

    number: int
    role: str
    scripted: bool
    """Whether the case says it, and not the model under test."""
    speaker: str
    """The speaker, in words."""
    text: TextShown


def read_conversation(
    recorded: RecordedEvaluation, started: RunStarted
) -> tuple[list[ConversationTurn], str | None]:
    """The conversation; where the dialect fails, the case's turns and the replies, and why.

    `started` is the event of its run.
    """
    try:
        template = templates_of(started).get(recorded.key.model_key)
        dialect = dialect_named(recorded.case.dialect)
        turns = conversation(dialect, recorded.case, recorded.state(), template)
        return [part for turn in turns for part in turn.parts], None
    except InvalidInput as error:
        why = error.problems[0].message
    except UNREADABLE as error:
        why = str(error)
    texts = []
    for event in recorded.history:
        if isinstance(event, ResponseReceived) and event.judge is None:
            texts.append(text_or_refusal(event.text, event.refusal))
        elif isinstance(event, AnswerImported):
            texts += [text_or_refusal(reply.text, reply.refusal) for reply in event.replies]
    turns = [
        *(ConversationTurn(turn.role, turn.content) for turn in recorded.case.turns),
        *(ConversationTurn("assistant", text, is_earlier_answer=True) for text in texts),
    ]
    return numbered(turns), shortened(why, LINE)


def shown_turns(
    evaluation_id: UUID,
    turns: Iterable[ConversationTurn],
    quotes: Sequence[tuple[str, str]] = (),
) -> tuple[tuple[TurnShown, ...], tuple[Quotation, ...]]:
    """The turns with judges' quotations marked in answers, and where each quotation was found."""
    quotations: dict[tuple[str, str], Quotation] = {}
    shown = []
    for number, turn in enumerate(turns, 1):
        whole = to("evaluations", evaluation_id, "texts", f"turn-{number}")
        text = text_shown(turn.text, whole)
        if not turn.scripted:
            text, turn_quotations = with_quotations(turn.text, quotes, whole)
            for one in turn_quotations:
                if one.found != "not found" or (one.judge, one.quote) not in quotations:
                    quotations[one.judge, one.quote] = one
        shown.append(TurnShown.copy_of(turn, number=number, text=text))
    return tuple(shown), tuple(quotations.values())
