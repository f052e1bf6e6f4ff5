"""Events of runs that another tool recorded: imported, never asked by this program."""

from typing import Any, ClassVar

from failproof_es.events.base import Record, RunEvent
from failproof_es.events.evaluations import EvaluationEvent, ToolCall
from failproof_es.events.runs import Usage


class SourceFile(Record):
    """A file that was imported: its name without folders, its size, the SHA-256 of its bytes."""

    name: str
    sha256: str
    bytes: int


class Unmapped(Record):
    """A part of the source that was not imported: why, its first place, and number of places."""

    what: str
    why: str
    first: str
    count: int = 1


class RunImported(RunEvent):
    """The run was recorded by another tool, which asked; appended together with the plan.

    `source_sha256` names the source as a whole. `began_at` and `ended_at` are what the source
    says of its run, `claims` the results that it states: they are the source's, and never ours.
    `absent` counts planned evaluations that the source holds no answer for.
    """

    plan_place: ClassVar[int | None] = 4
    comes_once: ClassVar[bool] = True
    audited: ClassVar[bool] = True
    says: ClassVar[str] = "{kind} of {tool} {tool_version}, answers: {answers}"

    kind: str
    tool: str
    tool_version: str | None
    source_sha256: str
    files: tuple[SourceFile, ...]
    began_at: str | None = None
    ended_at: str | None = None
    answers: int
    absent: int
    unmapped: tuple[Unmapped, ...] = ()
    claims: dict[str, Any] = {}
    who: str
    where: str
    code_version: str


class ImportedReply(Record):
    """One reply of the model, as the source holds it."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    refusal: str | None = None
    finish_reason: str | None = None


class ImportedError(Record):
    """Why the source has no usable answer. `kind`: `source_error` or `not_in_source`."""

    kind: str
    message: str


class AnswerImported(EvaluationEvent):
    """An answer recorded by another tool, in place of a request and a response of ours.

    `source_place` says where it stands in the source, `sample_sha256` is over what stands there;
    it is empty where a program handed the answer over, which `source_place` then names.
    The replies, tokens, time and cost are as the source gives them. `source_scores` are verdicts
    of the source under its own names, `source_passed` what they come to there; nothing of ours
    is computed from either.
    """

    says: ClassVar[str] = "{source_place}"

    source_place: str
    sample_sha256: str
    replies: tuple[ImportedReply, ...]
    messages: tuple[dict[str, Any], ...] = ()
    """The conversation after the question where it is more than one reply, as the source has it."""
    model: str | None = None
    usage: Usage = Usage()
    latency_ms: float | None = None
    asked_at: str | None = None
    source_scores: dict[str, Any] = {}
    source_metadata: dict[str, Any] = {}
    source_passed: bool | None = None
    source_cost_usd: str | None = None
    error: ImportedError | None = None

    @property
    def given_by(self) -> str | None:
        """The program that handed over the answer in our run; `None` for imported answers."""
        return None if self.sample_sha256 else self.source_place
