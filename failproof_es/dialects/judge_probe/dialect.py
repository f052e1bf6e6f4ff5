"""The dialect `judge_probe`: asks a judge the question of another dialect, and reads its verdict.

A file holds one judged conversation a line, from which `load` makes a case for each probe. The
class of a judge's reply is its verdict, as the other dialect reads and scores it with this judge
alone: `passes`, `fails`, or `undecided` if the verdict does not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import (
    JUDGE_FAILED,
    Classification,
    Evaluation,
    Failure,
    Judgement,
    JudgeVerdict,
    ModelReply,
    Score,
    Transcript,
)
from failproof_es.dialects.judge_probe.conversation import JudgedConversation
from failproof_es.dialects.judge_probe.probes import ProbedConversation, probe
from failproof_es.dialects.kit import schemas, unusable
from failproof_es.dialects.kit.json_lines import read_objects
from failproof_es.dialects.kit.looking import first_lines_contain
from failproof_es.dialects.protocol import (
    Dialect,
    HasJudgeSchema,
    JudgeReading,
    ReadsJudges,
)
from failproof_es.dialects.registry import dialect_named
from failproof_es.problems import Problems

NAME = "judge_probe"
VERSION = "1"


class ProbeOptions(BaseModel):
    """The seed of all draws, and how often a judge is asked until its reply is readable."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    seed: int = 0
    attempts: int = 1


class JudgeProbe:
    """The dialect of probes. Its cases are made by this program alone."""

    name = NAME
    suffixes: tuple[str, ...] = (".jsonl",)

    def __init__(self, options: ProbeOptions | None = None) -> None:
        self._options = options or ProbeOptions()

    def with_options(self, options: Mapping[str, Any]) -> Self:
        """The dialect with these `prompts.options`. Raises `InvalidInput` with every defect."""
        return type(self)(schemas.read_options(ProbeOptions, options))

    def recognises(self, path: Path) -> bool:
        """Whether one of the file's first lines has a judged case."""
        return first_lines_contain(path, (b'"judged_case"',), self.suffixes)

    def load(self, files: Sequence[Path], problems: Problems) -> Iterator[Case]:
        """Yield a case for each probe of each conversation; every defect goes to `problems`."""
        for path in files:
            for line, document in read_objects(path, problems):
                try:
                    conversation = JudgedConversation.model_validate(document)
                except ValidationError as error:
                    schemas.report_defects(error, problems, path=path, line=line)
                else:
                    yield from self.cases_of(conversation)

    def messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """The question to the judge, as often as a run asks it; `None` once a reply counts."""
        replies = transcript.replies
        if replies and (
            len(replies) >= case.expectation["attempts"] or _is_complete(case, replies[-1])
        ):
            return None
        return case.turns

    def reply_schema(self, case: Case) -> dict[str, Any] | None:
        """The JSON Schema of the judge's reply; `None` if the judged dialect has none."""
        conversation = _conversation(case)
        dialect = dialect_named(conversation.judged_case.dialect)
        if not isinstance(dialect, HasJudgeSchema):
            return None
        return dialect.judge_schema(conversation.judged_case, conversation.transcript)

    def classify(self, case: Case, transcript: Transcript) -> Classification:
        """The verdict of the last reply, as the judged dialect decides by it alone."""
        last = Transcript(transcript.replies[-1:], transcript.failure)
        if (ended := unusable.ungraded_class(last)) is not None:
            return Classification(*ended, NAME, VERSION)
        reading = _read_reply(case, transcript.replies[-1])
        decision = _decide(case, reading)
        details = {
            "verdict": reading.verdict,
            "problem": reading.problem or reading.missing,
            "reason": decision.message if isinstance(decision, Failure) else decision.reason,
        }
        version = f"{VERSION}+{reading.grader}.{reading.version}"
        return Classification(_class_of(decision), details, NAME, version)

    def judge_messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """Always `None`: the judge is the model under test."""
        return None

    def score(
        self, case: Case, classification: Classification, judgement: Judgement | None
    ) -> Score | Failure:
        """`accuracy`: 1 if the judge passes the answer, else 0; no score without its verdict."""
        if (failure := unusable.unscored(classification)) is not None:
            return failure
        details = classification.details
        if classification.primary not in ("passes", "fails"):
            return Failure(JUDGE_FAILED, str(details.get("problem") or details.get("reason")))
        passed = classification.primary == "passes"
        scores = {"accuracy": float(passed)}
        return Score(scores, str(details["reason"]), NAME, VERSION, passed=passed)

    def result(self, case: Case, evaluation: Evaluation) -> dict[str, Any]:
        """The probe, its variant, and the judge's verdict."""
        classification = evaluation.classification
        return {
            "case_id": case.case_id,
            "probe": case.category,
            "judge": evaluation.model_key,
            "verdict": classification.primary if classification else None,
            "compared_with": case.expectation["compared_with"],
        }

    def cases_of(self, conversation: JudgedConversation) -> Iterator[Case]:
        """A case for each probe of the conversation; the judged dialect has to be installed."""
        dialect = dialect_named(conversation.judged_case.dialect)
        for probed in probe(dialect, conversation, self._options.seed):
            question = probed.conversation.question(dialect)
            if question is not None:
                yield self._case_of(probed, question)

    def _case_of(self, probed: ProbedConversation, question: tuple[Turn, ...]) -> Case:
        conversation = probed.conversation
        compared_with = probed.compared_with and f"{conversation.name}/{probed.compared_with}"
        return Case(
            dialect=NAME,
            case_id=f"{conversation.name}/{probed.key}",
            suite_id=conversation.judged_case.suite_id,
            turns=question,
            expectation={
                "compared_with": compared_with,
                "attempts": self._options.attempts,
                "conversation": conversation.model_dump(mode="json"),
            },
            category=probed.probe,
            tags=(conversation.family,),
        )


def _conversation(case: Case) -> JudgedConversation:
    return JudgedConversation.model_validate(case.expectation["conversation"])


def _read_reply(case: Case, reply: ModelReply) -> JudgeReading:
    conversation = _conversation(case)
    dialect: object = dialect_named(conversation.judged_case.dialect)
    assert isinstance(dialect, ReadsJudges)
    return dialect.read_judgement(conversation.judged_case, conversation.transcript, reply)


def _is_complete(case: Case, reply: ModelReply) -> bool:
    """Whether the judge's reply has every vote, so that it is not asked again."""
    reading = _read_reply(case, reply)
    return reading.verdict is not None and reading.missing is None


def _decide(case: Case, reading: JudgeReading) -> Score | Failure:
    """The result of the judged case if this judge alone judges it."""
    if reading.verdict is None:
        return Failure(JUDGE_FAILED, reading.problem or "the reply holds no verdict")
    conversation = _conversation(case)
    judged_case = conversation.judged_case
    dialect: Dialect = dialect_named(judged_case.dialect)
    classification = dialect.classify(judged_case, conversation.transcript)
    verdict = JudgeVerdict(NAME, reading.verdict, reading.missing)
    return dialect.score(judged_case, classification, Judgement("majority", (verdict,)))


def _class_of(decision: Score | Failure) -> str:
    if isinstance(decision, Failure) or decision.passed is None:
        return "undecided"
    return "passes" if decision.passed else "fails"
