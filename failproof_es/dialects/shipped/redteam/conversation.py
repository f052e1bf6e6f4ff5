"""A scripted conversation with gaps that the model under test fills, one request for each.

A user turn without a scripted reply directly after it is a gap. If there is none, the gap is after
the last turn: everything before it is scripted. The model's answer is part of the conversation from
there on; scripted turns are context, and no turn is altered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from failproof_es.core.case import Turn
from failproof_es.core.evaluation import ModelReply


@dataclass(frozen=True, slots=True)
class GradedTurn:
    """One turn of the conversation as it is graded. `reply` is `None` for a scripted turn."""

    turn: Turn
    reply: ModelReply | None = None


def asked_turns(roles: Sequence[str]) -> list[int]:
    """The positions, from 0, of the turns that the model answers; at least one.

    `roles` are the roles of the scripted turns. They are the user turns without a scripted answer,
    or else the last turn.
    """
    following = [*roles[1:], "end"]
    unanswered = [
        n
        for n, (role, after) in enumerate(zip(roles, following, strict=True))
        if role == "user" and after != "assistant"
    ]
    return unanswered or [len(roles) - 1]


def spoken(turns: Sequence[Turn], replies: Sequence[ModelReply]) -> Iterator[GradedTurn]:
    """The conversation with each reply after the turn that it answers.

    It ends at the first turn that awaits an answer, or with the last scripted turn.
    """
    asked_positions = set(asked_turns([turn.role for turn in turns]))
    remaining = iter(replies)
    for position, turn in enumerate(turns):
        yield GradedTurn(turn)
        if position in asked_positions:
            reply = next(remaining, None)
            if reply is None:
                return
            yield GradedTurn(Turn(role="assistant", content=describe_answer(reply)), reply)


@dataclass(frozen=True, slots=True)
class _JoinedConversation:
    """The last joined messages of a conversation, cached.

    `messages` contain `replies` and end with the turn that the next reply answers.
    """

    turns: Sequence[Turn]
    asked_positions: list[int]
    replies: tuple[ModelReply, ...]
    messages: tuple[Turn, ...]


_LONG = 16
"""Number of replies from which on the messages are cached: joining them anew for each turn takes
quadratic time."""
_MOST_HELD = 32
_held: dict[int, _JoinedConversation] = {}
"""Cache by the identity of the case's turns, which it keeps alive until the conversation ends."""


def next_messages(turns: Sequence[Turn], replies: Sequence[ModelReply]) -> tuple[Turn, ...] | None:
    """The next request's messages: the conversation up to the turn to answer next.

    `None` if the model has answered every turn that it is asked.
    """
    joined = _held.get(id(turns))
    if joined is None or joined.turns is not turns or not _continues(joined, replies):
        asked_positions = asked_turns([turn.role for turn in turns])
        joined = _JoinedConversation(
            turns, asked_positions, (), tuple(turns[: asked_positions[0] + 1])
        )
    if len(replies) >= len(joined.asked_positions):
        _held.pop(id(turns), None)
        return None
    messages, asked_positions = list(joined.messages), joined.asked_positions
    for number in range(len(joined.replies), len(replies)):
        messages.append(Turn(role="assistant", content=describe_reply(replies[number])))
        messages += turns[asked_positions[number] + 1 : asked_positions[number + 1] + 1]
    joined = _JoinedConversation(turns, asked_positions, tuple(replies), tuple(messages))
    if len(replies) >= _LONG:
        if len(_held) >= _MOST_HELD:
            _held.clear()
        _held[id(turns)] = joined
    return joined.messages


def _continues(joined: _JoinedConversation, replies: Sequence[ModelReply]) -> bool:
    """Whether the replies begin with those that were joined, so that the cache is of use."""
    return tuple(replies[: len(joined.replies)]) == joined.replies


def describe_reply(reply: ModelReply) -> str:
    """The reply's words and tool calls as text, as sent in the next request."""
    return _with_calls(reply, reply.text_or_refusal)


def describe_answer(reply: ModelReply) -> str:
    """The reply's words and tool calls as text, without its opening thoughts, as graded."""
    return _with_calls(reply, reply.answer_or_refusal)


def calls(reply: ModelReply) -> tuple[str, ...]:
    """Each tool call of the reply as text: `[tool call: name(arguments)]`."""
    return tuple(f"[tool call: {call.name}({call.arguments})]" for call in reply.tool_calls)


def _with_calls(reply: ModelReply, text: str) -> str:
    return "\n".join([*([text] if text or not reply.tool_calls else []), *calls(reply)])
