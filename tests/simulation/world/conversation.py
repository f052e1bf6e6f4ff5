"""The dialect of simulated runs whose replies are judged: two questions a case, then the judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import (
    Classification,
    Evaluation,
    Failure,
    Judgement,
    ModelReply,
    Score,
    Transcript,
)
from failproof_es.dialects.protocol import JudgeReading
from failproof_es.problems import Problems

NAME = "conversation"
_GRADER = (f"{NAME}.judge", "1")


class Conversation:
    """Asks every turn of a case, then each judge whether the last reply will do."""

    name = NAME
    suffixes: tuple[str, ...] = ()

    def recognises(self, path: Path) -> bool:
        return False

    def load(self, files: Sequence[Path], problems: Problems) -> Iterator[Case]:
        return iter(())

    def messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """What was said so far, and the next question."""
        replies = transcript.replies
        if len(replies) == len(case.turns):
            return None
        said = [
            each
            for question, reply in zip(case.turns, replies, strict=False)
            for each in (question, Turn(role="assistant", content=reply.text))
        ]
        return (*said, case.turns[len(replies)])

    def classify(self, case: Case, transcript: Transcript) -> Classification:
        if transcript.failure is not None:
            return Classification("error", {"kind": transcript.failure.kind}, f"{NAME}.class", "1")
        last = transcript.replies[-1].text
        return Classification("answered" if last else "empty", {}, f"{NAME}.class", "1")

    def grading_is_bounded(self, case: Case, transcript: Transcript) -> bool:
        return True

    def judge_messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        last = transcript.replies[-1].text
        if not last:
            return None
        asked = f"{case.turns[0].content} Does this answer it, yes or no? {last}"
        return (Turn(role="user", content=asked),)

    def read_judgement(self, case: Case, transcript: Transcript, reply: ModelReply) -> JudgeReading:
        """What is neither yes nor no is no verdict: the judge is asked again."""
        if reply.text not in ("yes", "no"):
            return JudgeReading(None, "it says neither yes nor no", *_GRADER)
        return JudgeReading({"answers": reply.text == "yes"}, None, *_GRADER)

    def score(
        self, case: Case, classification: Classification, judgement: Judgement | None
    ) -> Score | Failure:
        verdicts = [] if judgement is None else [each.verdict for each in judgement.verdicts]
        passed = [verdict for verdict in verdicts if verdict is not None and verdict["answers"]]
        value = len(passed) / (len(verdicts) or 1)
        return Score({"accuracy": value}, "judged", f"{NAME}.score", "1", passed=value > 0.5)

    def result(self, case: Case, evaluation: Evaluation) -> dict[str, Any]:
        return {}
