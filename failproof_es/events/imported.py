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
    """Another tool asked and recorded the run; appended together with the plan.

    `source_sha256` names the source as a whole. `began_at`, `ended_at` and `claims` (results) are
    statements of the source; no result of this program uses them. `absent` counts planned
    evaluations without an answer in the source.
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

    `source_place` is the answer's place in the source, `sample_sha256` the SHA-256 of the part at
    that place; the digest is empty if a program handed the answer over, and then `source_place`
    names the program. Replies, tokens, time and cost are copied from the source. `source_scores`
    are the source's verdicts under its own names, `source_passed` is the source's result; no score
    of this program uses them.
    """

    says: ClassVar[str] = "{source_place}"

    source_place: str
    sample_sha256: str
    replies: tuple[ImportedReply, ...]
    messages: tuple[dict[str, Any], ...] = ()
    """The conversation after the question, as in the source, if it has more than one reply."""
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
