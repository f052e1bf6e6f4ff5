"""Puts a model's prompt template around the messages of a case. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from failproof_es.configuration.choices import PROMPT, PromptTemplate
from failproof_es.core.case import Turn
from failproof_es.core.history_errors import ImpossibleHistory
from failproof_es.events import RunStarted

RECORDED_AS = "prompt_template"
"""The name under which a run records the template among a model's parameters; never sent."""


def apply_template(template: PromptTemplate | None, messages: Sequence[Turn]) -> tuple[Turn, ...]:
    """The messages as sent: the template's system text, and its user text around each user turn.

    Without a template (`None`) the messages are unchanged.
    """
    if template is None:
        return tuple(messages)
    turns = [
        turn.model_copy(update={"content": template.user.replace(PROMPT, turn.content)})
        if turn.role == "user"
        else turn
        for turn in messages
    ]
    if template.system is None:
        return tuple(turns)
    if turns and turns[0].role == "system":
        both = f"{template.system}\n\n{turns[0].content}"
        return (Turn(role="system", content=both), *turns[1:])
    return (Turn(role="system", content=template.system), *turns)


def recorded_template(parameters: Mapping[str, Any]) -> PromptTemplate | None:
    """The prompt template among a model's recorded parameters; `None` without one.

    Raises `ImpossibleHistory` if it is malformed.
    """
    if RECORDED_AS not in parameters:
        return None
    try:
        return PromptTemplate.model_validate(parameters[RECORDED_AS])
    except ValidationError:
        raise ImpossibleHistory("the prompt template of a model is malformed") from None


def templates_of(started: RunStarted) -> dict[str, PromptTemplate]:
    """The prompt template of each model of the run that has one, by the model's key.

    Raises like `recorded_template`.
    """
    recorded = {model.key: recorded_template(model.parameters) for model in started.models}
    return {key: template for key, template in recorded.items() if template is not None}


def text_as_sent(parameters: Mapping[str, Any], messages: Sequence[Turn]) -> str:
    """The messages as a model with these recorded parameters is sent them, system text first.

    With an empty line between two messages. Raises like `recorded_template`. Change
    `failproof_es/store/views/evaluations.sql`, the same in SQL, with it.
    """
    sent = apply_template(recorded_template(parameters), messages)
    return "\n\n".join(turn.content for turn in sent)
