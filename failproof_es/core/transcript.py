"""The transcript of an evaluation, and the verdicts on it. Pure values.

Import them from `failproof_es.core.evaluation`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from failproof_es.core.finish_reasons import Meaning, meaning_of
from failproof_es.core.thoughts import split_thoughts
from failproof_es.events import ToolCall

Rule = Literal["majority", "unanimous", "unanimous_or_people"]
"""`unanimous_or_people`: as `unanimous`, and where judges disagree, people decide."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's reply in one turn, counted from 0."""

    turn: int
    text: str
    finish_reason: str | None
    refusal: str | None = None
    model: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tools: tuple[str, ...] = ()
    """The tools that the model was offered."""

    @property
    def answer(self) -> str:
        """The text that is graded: without the thoughts that open it (`core.thoughts`)."""
        return split_thoughts(self.text).text

    @property
    def text_or_refusal(self) -> str:
        """The text; if that is blank, the words that the provider marks as a refusal."""
        return text_or_refusal(self.text, self.refusal)

    @property
    def answer_or_refusal(self) -> str:
        """The `answer`; if that is blank, the words that the provider marks as a refusal."""
        return text_or_refusal(self.answer, self.refusal)

    @property
    def ended(self) -> Meaning:
        """The meaning of its finish reason (`core.finish_reasons`)."""
        return meaning_of(self.finish_reason)

    @property
    def cut_off(self) -> bool:
        """Whether the server cut the answer off, at max_tokens or another limit."""
        return self.ended == "cut_off"


def text_or_refusal(text: str, refusal: str | None) -> str:
    """The text of a reply; if that is blank, its refusal, if it has one."""
    return text if text.strip() else refusal or text


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no usable answer: the kind of error, and its message."""

    kind: str
    message: str


WITHHELD: Literal["withheld"] = "withheld"
"""The class of a reply that a filter of the provider blocked."""
BROKEN_OFF = "broken"
"""The kind of an evaluation whose answer its server broke off."""
UNKNOWN_END = "unknown_finish_reason"
"""The kind of an evaluation whose answer has an unknown finish reason."""
_UNUSABLE: dict[Meaning, Failure] = {
    WITHHELD: Failure("content_filter", "the provider withheld a reply: nothing to be graded"),
    "broken": Failure(
        BROKEN_OFF, "a reply was broken off, or its server could not use it: {reason}"
    ),
    "unknown": Failure(
        UNKNOWN_END,
        "nobody knows whether a reply is whole: its finish reason {reason} is none that is known",
    ),
}


@dataclass(frozen=True, slots=True)
class UnusableReply:
    """A reply that no dialect grades, whatever its text."""

    primary: str
    """Its class: `withheld`, `broken` or `unknown`."""
    failure: Failure


def unusable_reply(replies: Iterable[ModelReply]) -> UnusableReply | None:
    """The first reply that no dialect grades: withheld, broken off, or of unknown finish reason.

    `None` if every reply can be graded.
    """
    for reply in replies:
        if (failure := _UNUSABLE.get(reply.ended)) is not None:
            message = failure.message.replace("{reason}", repr(reply.finish_reason))
            return UnusableReply(reply.ended, Failure(failure.kind, message))
    return None


JUDGE_FAILED = "judge_failed"
"""The kind of an evaluation that is undecided because votes of its judges are missing."""
JUDGES_DISAGREE = "judges_disagree"
"""The kind of an evaluation that too few of its judges agree about."""
AWAITING_REVIEW = "awaiting_review"
"""The kind of an evaluation with an answer that only people can judge."""

GRADING_STOPPED = "grading_stopped"
"""The kind of an evaluation whose grading exceeded its limit of time, work or memory."""
CUT_OFF = "truncated"
"""The kind of an evaluation whose answer was cut off before its decisive part."""
WITHHELD_KINDS = frozenset({"content_filter", WITHHELD})
"""The kinds of an evaluation whose answer the provider withheld."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """The replies so far, in turn order; `failure` if the conversation ended in an error."""

    replies: tuple[ModelReply, ...] = ()
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class JudgeVerdict:
    """The result of one judge: its verdict, or the problem why there is none.

    With both, the verdict is partial: the problem says which votes are missing in it.
    """

    judge: str
    verdict: dict[str, Any] | None
    problem: str | None = None
    words: str | None = field(default=None, compare=False)
    """The judge's last reply, if there is a problem with it; `None` for one that never came."""

    @property
    def is_whole(self) -> bool:
        """Whether the judge gave every vote that it was asked for."""
        return self.verdict is not None and self.problem is None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of each judge, in the order of the configuration, and the rule to combine them."""

    rule: Rule
    verdicts: tuple[JudgeVerdict, ...]

    @property
    def needed(self) -> int:
        """How many judges have to agree."""
        judges = len(self.verdicts)
        return judges // 2 + 1 if self.rule == "majority" else judges

    def disagreement(self, message: str) -> Failure:
        """The failure of judges that disagree: people decide, if the rule says so."""
        if self.rule == "unanimous_or_people":
            return Failure(AWAITING_REVIEW, f"{message}: people decide (`failproof-es review`)")
        return Failure(JUDGES_DISAGREE, message)


@dataclass(frozen=True, slots=True)
class Judging:
    """The judges to ask, by key, and the rule that combines their verdicts.

    `attempts` is how often each is asked, at most, until its reply is readable.
    """

    judges: tuple[str, ...] = ()
    rule: Rule = "majority"
    attempts: int = 1


NO_JUDGES = Judging()


@dataclass(frozen=True, slots=True)
class Classification:
    """A reply's class (`primary`), the details that decided it, and the classifier's version."""

    primary: str
    details: dict[str, Any]
    classifier: str
    version: str


@dataclass(frozen=True, slots=True)
class Score:
    """Named numbers, whether the case passed, why, and the scorer's version."""

    scores: dict[str, float]
    reason: str
    scorer: str
    version: str
    passed: bool | None = field(kw_only=True)
    """Whether the case passed, by the dialect alone; `None` if it grades without a pass mark."""
    graders: dict[str, str] = field(default_factory=dict, kw_only=True)
    """The version of each installed scorer, by the name of the score that it added."""
