"""A scripted conversation with gaps that the model under test fills, one request for each.

A user turn without a scripted reply directly after it is a gap. Where no user turn is left
open, the gap is after the last turn: everything before it is scripted. What the model answers
stands in the conversation from there on; scripted turns are context, and no turn is altered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from failproof_es.core.case import Turn
from failproof_es.core.evaluation import Reply


@dataclass(frozen=True, slots=True)
class Spoken:
    """One turn of the conversation as it went. `reply` is `None` for a scripted turn."""

    turn: Turn
    reply: Reply | None = None


def asked_turns(roles: Sequence[str]) -> list[int]:
    """The positions of the turns that the model answers: at least one."""
    following = [*roles[1:], "end"]
    unanswered = [
        n
        for n, (role, after) in enumerate(zip(roles, following, strict=True))
        if role == "user" and after != "assistant"
    ]
    return unanswered or [len(roles) - 1]


def spoken(turns: Sequence[Turn], replies: Sequence[Reply]) -> Iterator[Spoken]:
    """The conversation up to the first gap that no reply fills."""
    asked = set(asked_turns([turn.role for turn in turns]))
    given = iter(replies)
    for position, turn in enumerate(turns):
        yield Spoken(turn)
        if position in asked:
            reply = next(given, None)
            if reply is None:
                return
            yield Spoken(Turn(role="assistant", content=said(reply)), reply)


def next_messages(turns: Sequence[Turn], replies: Sequence[Reply]) -> tuple[Turn, ...] | None:
    """The next request's messages; `None` when every gap is filled."""
    asked = asked_turns([turn.role for turn in turns])
    if len(replies) >= len(asked):
        return None
    return tuple(each.turn for each in spoken(turns, replies))


def said(reply: Reply) -> str:
    """What the model said, in words: its text, else its refusal, and each call that it made."""
    calls = [f"[tool call: {call.name}({call.arguments})]" for call in reply.tool_calls]
    text = reply.text if reply.text.strip() else reply.refusal or reply.text
    return "\n".join([*([text] if text or not calls else []), *calls])
