"""Events of an evaluation: its questions, its replies, and the grading."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal
from uuid import UUID

from failproof_es.events.base import LONG, Event, Record, Stream
from failproof_es.events.runs import Usage

Purpose = Literal["target", "judge"]
Encoding = Literal["utf-8", "base64"]
Disposition = Literal["transient", "deferred", "final", "halting"]


class EvaluationEvent(Event):
    """The base of an evaluation's events, with its key: run x case x model x repetition."""

    stream: ClassVar[Stream] = "evaluation"

    prompt_id: UUID
    model_key: str
    repetition: int


class CarriedOver(EvaluationEvent):
    """The run was branched from one that had finished this evaluation; nothing follows.

    The history is in the first `source_events` events of the stream `source_evaluation_id`, never
    by another `CarriedOver`. `source_sha256` (hexadecimal) is over their leaf hashes, in version
    order, as in a run's seal.
    """

    ends_stream: ClassVar[bool] = True
    tells_progress: ClassVar[bool] = True
    says: ClassVar[str] = "from run {source_run_id}"

    source_run_id: UUID
    source_evaluation_id: UUID
    source_events: int
    source_sha256: str


class Continuation(Record):
    """The parts that a request's body shares with the body of an earlier request.

    The earlier request is the evaluation's last one of the same purpose. `version` is the stream
    version of its event, `sha256` its `body_sha256`; `prefix` and `suffix` are
    the numbers of bytes taken from the beginning and the end of its body, as it was sent whole.
    """

    version: int
    sha256: str
    prefix: int
    suffix: int


class RequestSent(EvaluationEvent):
    """A complete request, committed before its connection is used.

    `judge` is the key of the asked judge, `None` for the model under test. `tools` are the names of
    the tools that the request offers. `body` is the whole body, or, where the request `continues`
    an earlier one, the part between its prefix and its suffix; `body_sha256` is always over the
    whole body as it is sent. `failproof_es.core.request_body` writes and rebuilds bodies.
    """

    audited: ClassVar[bool] = True
    audited_as: ClassVar[str | None] = "RetrySent"
    not_in_trail: ClassVar[frozenset[str]] = LONG
    tells_progress: ClassVar[bool] = True
    says: ClassVar[str] = "attempt {attempt}"

    purpose: Purpose
    judge: str | None = None
    turn: int
    attempt: int
    model: str
    parameters: dict[str, Any]
    tools: tuple[str, ...] = ()
    endpoint: str
    body: str
    body_sha256: str
    continues: Continuation | None = None

    @property
    def body_bytes(self) -> int:
        """The length of the whole body."""
        here, continues = len(self.body.encode("utf-8", "surrogatepass")), self.continues
        return here if continues is None else continues.prefix + here + continues.suffix

    @classmethod
    def is_audited(cls, payload: Mapping[str, Any]) -> bool:
        """Whether the request repeats a failed one; the trail leaves out first attempts."""
        return bool(payload["attempt"] != 1)


class Redaction(Record):
    """Echoes of a variable's secret value in a field, replaced by the variable's name."""

    field: str
    variable: str
    count: int


class Withheld(Record):
    """The length and the SHA-256 (hexadecimal) of a reply's body that is not recorded whole.

    `long`: `body` holds its beginning. `secret`: the reply contained a key, and `body` names its
    variable. `unsearchable`: the reply is no text, so a key in it could not be found; `body` says
    so.
    """

    why: Literal["long", "secret", "unsearchable"]
    length: int
    sha256: str


class ToolCall(Record):
    """A call that a model wants made. `arguments` is the JSON text that the model wrote."""

    id: str | None
    name: str
    arguments: str


class ResponseReceived(EvaluationEvent):
    """The complete raw response as received, and the values read from it.

    `failproof_es.core.reply_body` writes and reads the body.
    """

    tells_progress: ClassVar[bool] = True
    says: ClassVar[str] = "{text}"

    purpose: Purpose
    judge: str | None = None
    turn: int
    attempt: int
    status: int | None
    headers: dict[str, str]
    body: str
    body_encoding: Encoding = "utf-8"
    withheld: Withheld | None = None
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    refusal: str | None = None
    finish_reason: str | None = None
    model: str | None = None
    provider_request_id: str | None = None
    usage: Usage = Usage()
    latency_ms: float
    first_token_ms: float | None = None
    redactions: tuple[Redaction, ...] = ()


class ErrorRecorded(EvaluationEvent):
    """An attempt failed. A `transient` error is retried up to `retry_attempts` times, a `deferred`
    one (the server refuses for now, or is down) until `rate_limit_wait_ms` is over, a `final` one
    never; a `halting` one (a wrong key, an unknown model) pauses the run, which can be resumed.

    Of a long body, message or stack trace only the beginning is recorded, marked as such.
    """

    audited: ClassVar[bool] = True
    not_in_trail: ClassVar[frozenset[str]] = LONG
    tells_progress: ClassVar[bool] = True
    says: ClassVar[str] = "{kind}: {message}"

    purpose: Purpose
    judge: str | None = None
    turn: int
    attempt: int
    kind: str
    message: str
    disposition: Disposition
    stack_trace: str
    status: int | None = None
    headers: dict[str, str] = {}
    body: str | None = None
    body_encoding: Encoding = "utf-8"
    withheld: Withheld | None = None
    retry_after_s: float | None = None
    latency_ms: float | None = None
    redactions: tuple[Redaction, ...] = ()


VOIDS_ANSWER = "model_mismatch"
"""The kind of error that follows an answer to the same request, and voids it: another model gave
it. Any other error came in place of an answer."""


class AttemptOrphaned(EvaluationEvent):
    """A recorded request has no outcome: its process died, or stopped before it was sent."""

    audited: ClassVar[bool] = True
    tells_progress: ClassVar[bool] = True
    throws_away: ClassVar[bool] = True
    says: ClassVar[str] = "{reason}"

    purpose: Purpose
    judge: str | None = None
    turn: int
    attempt: int
    reason: str


class Classified(EvaluationEvent):
    """The deterministic class of the reply (specification 000 § 2)."""

    tells_progress: ClassVar[bool] = True
    says: ClassVar[str] = "answer classed as {class_words}"

    primary: str
    details: dict[str, Any]
    classifier: str
    classifier_version: str


class Judged(EvaluationEvent):
    """A judge's verdict or the problem with its reply.

    `final`: this judge is not asked about this evaluation again. Only a final event may have both a
    verdict on some items and the problem with the others.
    """

    audited: ClassVar[bool] = True
    tells_progress: ClassVar[bool] = True
    says: ClassVar[str] = "{judge} says {verdict_words} {problem}"

    judge: str
    verdict: dict[str, Any] | None
    problem: str | None
    final: bool
    grader: str
    grader_version: str

    @classmethod
    def is_audited(cls, payload: Mapping[str, Any]) -> bool:
        """Whether a person or another program gave the verdict, not a judge of the run."""
        return bool(payload["grader"] == payload["judge"])


class Scored(EvaluationEvent):
    """The evaluation's scores, and whether it passed; nothing follows.

    `passed` is the dialect's decision, which every count of passes uses; `None` if the dialect
    decides neither. `graders` holds the version of each installed scorer by the name of the score
    it added.
    """

    ends_stream: ClassVar[bool] = True
    tells_progress: ClassVar[bool] = True
    says: ClassVar[str] = "{outcome}, {score_words}: {reason}"

    scores: dict[str, float]
    passed: bool | None
    graders: dict[str, str] = {}
    reason: str
    scorer: str
    scorer_version: str


class EvaluationAbandoned(EvaluationEvent):
    """The evaluation ends without a score; nothing follows.

    `kind` is the kind of the error, or names the decision that the dialect or the judges did not
    make. `grading_stopped`: the grading needed more time, work or memory than it may use.
    """

    ends_stream: ClassVar[bool] = True
    audited: ClassVar[bool] = True
    tells_progress: ClassVar[bool] = True
    throws_away: ClassVar[bool] = True
    says: ClassVar[str] = "{kind}: {reason}"

    kind: str
    reason: str
