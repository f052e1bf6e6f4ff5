"""A judged conversation: a case, and the replies that its judges read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Self

from pydantic import BaseModel, ConfigDict

from failproof_es.core.case import FAMILY, Case, Turn
from failproof_es.core.evaluation import ModelReply, Transcript
from failproof_es.dialects.protocol import Dialect, HasReferenceAnswer

_WRONG_ANSWER = "The train leaves at noon, and the tickets are sold at the counter."
"""An answer to no question of any case."""


class JudgedConversation(BaseModel):
    """A case of a dialect with judges, and the replies to it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    judged_case: Case
    replies: tuple[ModelReply, ...]
    origin: str
    """`wrong` and `reference` for a made answer, else the key of the model that replied."""

    @property
    def transcript(self) -> Transcript:
        """The replies as a dialect reads them."""
        return Transcript(self.replies)

    @property
    def name(self) -> str:
        """The name of the conversation among those of its suite."""
        return f"{self.judged_case.case_id}/{self.origin}"

    @property
    def family(self) -> str:
        """The tag that all probes of the case share: they are one cluster of statistics."""
        suite, name = self.judged_case.family
        return f"{FAMILY}{suite}/{name}"

    @property
    def answer(self) -> str:
        """The last reply as it is graded."""
        return self.replies[-1].answer_or_refusal

    def question(self, dialect: Dialect) -> tuple[Turn, ...] | None:
        """The question that the dialect asks each judge; `None` if it asks none."""
        return dialect.judge_messages(self.judged_case, self.transcript)

    def with_answer(self, change: Callable[[str], str]) -> Self:
        """The conversation with a changed text of the last reply."""
        last = replace(self.replies[-1], text=change(self.answer), refusal=None)
        return self.model_copy(update={"replies": (*self.replies[:-1], last)})

    def with_case(self, case: Case) -> Self:
        """The conversation with another case."""
        return self.model_copy(update={"judged_case": case})


def made_conversations(dialect: Dialect, case: Case) -> Iterator[JudgedConversation]:
    """The case with a wrong answer, and with its reference answer if it has one.

    The wrong answer is one to no question. None where the dialect asks no judge.
    """
    answers = {"wrong": _WRONG_ANSWER}
    if isinstance(dialect, HasReferenceAnswer):
        answers["reference"] = dialect.reference_answer(case)
    for origin, answer in answers.items():
        replies: list[ModelReply] = []
        while dialect.messages(case, Transcript(tuple(replies))) is not None:
            replies.append(ModelReply(len(replies), answer, "stop"))
        conversation = JudgedConversation(judged_case=case, replies=tuple(replies), origin=origin)
        if replies and conversation.question(dialect) is not None:
            yield conversation
