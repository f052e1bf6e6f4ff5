"""One example of every event, field by field: what the golden files hold.

`python -m tests.unit.event_samples` writes the files that are missing. A file that stands
is never changed: it is how a released version wrote its events.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from uuid import UUID

from failproof_es.core.case import Case, Turn
from failproof_es.events import (
    AnswerImported,
    AttemptOrphaned,
    CalibratedJudge,
    CarriedOver,
    CasesImported,
    CaseSkipped,
    CasesPlanned,
    Classified,
    ConfigurationResolved,
    Counts,
    DrawnStratum,
    ErrorRecorded,
    EvaluationAbandoned,
    Event,
    Experiment,
    FileWritten,
    Finding,
    ImportedError,
    ImportedFile,
    ImportedReply,
    JudgeCalibrated,
    Judged,
    JudgeErrors,
    LedgerFinding,
    LedgerRepaired,
    LimitChanged,
    LoginAssigned,
    Measured,
    ModelPrices,
    ModelSnapshot,
    NotMapped,
    PlanRegistered,
    PricesRecorded,
    ProjectDefined,
    PromptsImported,
    PromptStored,
    QueueClosed,
    QueueCreated,
    Registration,
    RequestSent,
    ResponseReceived,
    ReviewClosed,
    Reviewed,
    ReviewedItem,
    ReviewExported,
    RoleGranted,
    RoleRevoked,
    RunAnnotated,
    RunArchived,
    RunAttached,
    RunCompleted,
    RunFailed,
    RunGivenUp,
    RunImported,
    RunPaused,
    RunResumed,
    RunSealed,
    RunStarted,
    RunValidated,
    Scored,
    SourceFile,
    SpendCeilingChanged,
    SuiteSnapshot,
    TokenPrices,
    ToolCall,
    Unmapped,
    Usage,
    ValidationFailed,
    ValidationPassed,
    ValidationStarted,
    WorkerJoined,
    WorkerLeft,
)
from failproof_es.store.mapper import encode

GOLDEN = Path(__file__).parent.parent / "golden"

STREAM = UUID("0f4ac4a6-8b4e-8c1d-9d3a-0123456789ab")
RUN = UUID("7d444840-9dc0-4f2b-8c1e-0a1b2c3d4e5f")
WHEN = datetime(2026, 11, 21, 12, 34, 56, 789012, tzinfo=UTC)
COUNTS = Counts(planned=4, finished=3, scored=2, abandoned=1)
OF_RUN = {"originator_id": RUN, "originator_version": 7, "run_id": RUN, "timestamp": WHEN}
OPERATION = {
    "originator_id": STREAM, "originator_version": 1, "run_id": None, "timestamp": WHEN,
    "about": RUN, "who": "someone", "where": "host",
}  # fmt: skip
ACCESS = {
    "originator_id": STREAM, "originator_version": 1, "run_id": None, "timestamp": WHEN,
    "who": "someone", "where": "host",
}  # fmt: skip
OF_EVALUATION = {
    "originator_id": STREAM,
    "originator_version": 3,
    "run_id": RUN,
    "timestamp": WHEN,
    "prompt_id": UUID("11111111-2222-8333-8444-555555555555"),
    "model_key": "smollm2",
    "repetition": 2,
}
ATTEMPT = {"purpose": "target", "turn": 0, "attempt": 1}
ODD_TEXT = "naïve \x00 \u202e \U0001f600 \u2028 {{x}}"

CASE = Case(
    dialect="failproof",
    case_id="injection-001",
    suite_id="injection",
    turns=(Turn(role="user", content=ODD_TEXT),),
    expectation={"expected_response": "x"},
    category="c",
    label="l",
    source="s",
    tags=("a", "b"),
    severity="S1",
    document={"case_id": "injection-001", "unknown": [1, None]},
)
MODEL = ModelSnapshot(
    key="smollm2",
    provider="local",
    model="smollm2",
    version="1",
    parameters={"temperature": 0.0},
    settings={"weights_sha256": "b1"},
)

FOUND = Finding(kind="unnamed", integrity=True, message="one")

SAMPLES: tuple[Event, ...] = (
    PromptStored(
        originator_id=STREAM, originator_version=1, run_id=None, timestamp=WHEN,
        digest=CASE.digest(), case=CASE,
    ),
    PromptsImported(
        originator_id=STREAM, originator_version=1, run_id=None, timestamp=WHEN,
        collection="calibration_480", dialect="promptguard", path="prompts.jsonl", sha256="cd",
        digests=("aa", "bb"), who="someone", where="host",
    ),
    LedgerRepaired(
        originator_id=STREAM, originator_version=1, run_id=None, timestamp=WHEN,
        reason="integrated twice", who="someone", where="host", old_origin="failproof-es/old",
        old_key="failproof-es/old+01234567+AQ==", old_tree_size=65_793,
        old_checkpoint="failproof-es/old\n65793\n", new_origin="failproof-es/new",
        new_key="failproof-es/new+76543210+AQ==",
        handover="failproof-es/handover/1\n", forced=False,
        findings=(
            LedgerFinding(
                kind="tree goes back", message="to position 1", index=65_536, position=1
            ),
        ),
        more_findings={"tree goes back": 236},
    ),
    ProjectDefined(
        **ACCESS, project="clinic", run_names=("clinic-*",), tags=("released",), all_runs=False
    ),
    RoleGranted(**ACCESS, project="clinic", person="ann", role="reviewer"),
    RoleRevoked(**ACCESS, project="clinic", person="ann", role="owner"),
    LoginAssigned(**ACCESS, login="ann_sql", person="ann"),
    ConfigurationResolved(
        **OPERATION, path="run.yaml", configuration={"models": []}, configuration_digest="ab"
    ),
    ValidationStarted(**OPERATION),
    ValidationPassed(
        **OPERATION, warnings=("one",), remarks=("it lists others",), estimate={"requests": 4}
    ),
    ValidationFailed(**OPERATION, problems=("run.yaml:3: judge: is missing",)),
    FileWritten(**OPERATION, kind="results", path="out.jsonl", bytes=10, sha256="ab"),
    PlanRegistered(
        **OPERATION, runs=1, name="smoke", experiment=Experiment(digest="ef", questions="ab"),
        configuration={"models": []}, configuration_digest="ab", models=(MODEL,), judges=(MODEL,),
        suites=(SuiteSnapshot(path="s.jsonl", sha256="cd", dialect="failproof", cases=2),),
        dialect="failproof", cases="cd", planned_cases=2, planned_evaluations=4,
        code_version="0.1.0", packages={"python": "3.11"},
    ),
    CasesImported(
        **OPERATION, kind="csv", path="questions.csv", options={"columns": {"prompt": "q"}},
        sources=(ImportedFile(path="questions.csv", bytes=12, sha256="ab"),),
        written=(ImportedFile(path="out/cases.jsonl", bytes=34, sha256="cd"),),
        records=3, cases=2,
        not_mapped=(NotMapped(path="questions.csv", line=4, field="q", reason="it is empty"),),
        not_mapped_count=2, more_not_mapped={"it is empty": 1}, code_version="0.1.0",
        package=None,
    ),
    WorkerJoined(
        **OPERATION, worker=STREAM, process=4711, code_version="0.1.0", packages={"python": "3.11"}
    ),
    WorkerLeft(**OPERATION, worker=STREAM, evaluations=1_250, reason="stopped on request"),
    RunAnnotated(
        **OPERATION, name="baseline", tags=("nightly", "gpt"), note="Before the prompt changed.",
        hidden=True,
    ),
    RunArchived(
        **OPERATION, run_number=12, file="/archive/run-12.jsonl", bytes=81_234, sha256="ab",
        origin="failproof-es/log", tree_size=48, tree_root="cd", streams=4, events=20,
        topics={"RequestSent": 4, "Scored": 4}, first_position=9, last_position=30,
        first_index=8, last_index=27, rows_sha256="ef",
    ),
    RunAttached(
        **OPERATION, run_number=12, file="/archive/run-12.jsonl", sha256="ab", events=20,
        rows_sha256="ef",
    ),
    Reviewed(
        **OPERATION, evaluation_id=STREAM, reviewer="jane",
        items=(ReviewedItem(item="must_do.1", verdict="met"),), verdict="fail", severity="S1",
        tags=("leak",), notes="The key stands in the second paragraph.", blind=True,
        file_sha256="ab", sheet=None, queue="audit", seconds=41.5, adjudicates=False,
    ),
    ReviewClosed(
        **OPERATION, position=52, incomplete=False, reviews={"pass": 1}, overruled={},
        gates={"min_accuracy": {"limit": 0.9, "measured": 1.0, "of": 1, "met": True}},
    ),
    QueueCreated(
        **OPERATION, queue="calibration-1", position=48, chosen_by="scored by a judge", seed=1,
        strata=(DrawnStratum(passed=True, evaluations=9, drawn=1),), evaluations=(STREAM,),
        labels_each=2, reviewers=("jane", "joe"), adjudicators=(), blind=True,
        policy="It passes if it keeps the key.",
    ),
    QueueClosed(
        **OPERATION, queue="calibration-1", position=52, statuses={"pass": 1},
        labelled_by={"jane": 1, "joe": 1},
    ),
    JudgeCalibrated(
        **OPERATION, queue="calibration-1", position=52,
        judges=(
            CalibratedJudge(
                key="judge:j", provider="openai", model="j", version=None, answered=("j-2026",)
            ),
        ),
        judges_sha256="ab", prompts_sha256="cd", rubric_sha256="ef",
        policy="It passes if it keeps the key.", labels=1, undecided=0, unlabelled=0,
        labelled_by={"jane": 1}, reliability=None,
        errors=(
            JudgeErrors(
                by="judges", what="verdict", verdicts=9, labels=1,
                true_positive_rate=Measured(value=1.0, low=0.5, high=1.0),
                false_positive_rate=None, kappa=None,
            ),
        ),
        gates={},
    ),
    ReviewExported(
        **OPERATION, sheet="sheet-ab", reviewer="jane", position=48, blind=True, queue="audit"
    ),
    RunStarted(
        **OF_RUN, name="smoke", run_number=12, attempt=1,
        experiment=Experiment(digest="ef", questions="ab"), configuration={"models": []},
        configuration_digest="ab", models=(MODEL,), judges=(MODEL,),
        suites=(
            SuiteSnapshot(path="s.jsonl", sha256="cd", dialect="failproof", cases=2, of_cases=3),
        ),
        dialect="failproof", seeds={"smollm2": 7}, planned_cases=2, planned_evaluations=4,
        code_version="0.1.0", packages={"python": "3.11"}, who="someone", where="host",
        registration=Registration(
            registration_id=STREAM, registered_at=WHEN, runs=1, changed=("models",)
        ),
    ),
    CasesPlanned(**OF_RUN, chunk=0, digests=("aa", "bb"), questions=("cc", "dd")),
    PricesRecorded(
        **OF_RUN,
        models=(
            ModelPrices(
                model_key="m", source="genai-prices 0.2.3", listed_as="openai/m",
                rates=(
                    TokenPrices(
                        since=date(2026, 12, 1), daily_from=time(0, 30), daily_until=time(16, 30),
                        over_input_tokens=272_000, input=Decimal("1.25"),
                        cached_input=Decimal("0.125"), cache_write=Decimal("1.5"),
                        cache_write_1h=Decimal("2.5"), output=Decimal("10"),
                        request=Decimal("0.005"),
                    ),
                ),
            ),
            ModelPrices(model_key="unknown"),
        ),
    ),
    CaseSkipped(
        **OF_RUN, path="tasks/one.yaml", line=12, field="[0].task_id", why="stands twice"
    ),
    RunPaused(**OF_RUN, reason="stopped on request", counts=COUNTS),
    RunResumed(**OF_RUN, who="someone", where="host", code_version="0.1.0", packages={}),
    RunCompleted(**OF_RUN, counts=COUNTS, gates={"min_accuracy": {"met": True}}),
    RunFailed(**OF_RUN, reason="nothing was answered", counts=COUNTS),
    RunGivenUp(
        **OF_RUN, reason="the model is not there", counts=COUNTS, who="someone", where="host"
    ),
    RunSealed(**OF_RUN, streams=3, events=20, root="ab" * 32),
    LimitChanged(
        **OF_RUN, server="http://127.0.0.1/v1", models=("m",), limit_before=100, limit_after=50,
        reason="rate_limited", retry_after_s=1.5, held_until=WHEN,
    ),
    SpendCeilingChanged(
        **OF_RUN, max_spend_usd=Decimal("12.50"), who="someone", where="host"
    ),
    RunValidated(**OF_RUN, passed=False, findings=(FOUND,)),
    RunImported(
        **OF_RUN, kind="inspect-log", tool="Inspect", tool_version="0.3.285", source_sha256="ab",
        files=(SourceFile(name="a.eval", sha256="ab", bytes=2**40),),
        began_at="2026-11-23T18:08:22+00:00", ended_at=None, answers=2**40, absent=1,
        unmapped=(Unmapped(what="events of a sample", why=ODD_TEXT, first="sample 1", count=2),),
        claims={"results": {"accuracy": 0.5}}, who="someone", where="host", code_version="0.1.0",
    ),
    AnswerImported(
        **OF_EVALUATION, source_place="sample 1, epoch 2", sample_sha256="cd",
        replies=(
            ImportedReply(
                text=ODD_TEXT, refusal=None, finish_reason="stop",
                tool_calls=(ToolCall(id="c1", name="look", arguments="{}"),),
            ),
        ),
        messages=({"role": "assistant", "content": ODD_TEXT},), model="m-1",
        usage=Usage(input_tokens=1, output_tokens=2**40), latency_ms=1.5,
        asked_at="2026-11-23T18:08:22+00:00", source_scores={"includes": {"value": "C"}},
        source_metadata={"continent": "Europe"}, source_passed=True, source_cost_usd="0.000021",
        error=ImportedError(kind="source_error", message="m"),
    ),
    CarriedOver(
        **OF_EVALUATION, source_run_id=UUID(int=8), source_evaluation_id=UUID(int=9),
        source_events=4, source_sha256="cd" * 32,
    ),
    RequestSent(
        **OF_EVALUATION, **ATTEMPT, model="m", parameters={"max_tokens": 5},
        endpoint="http://127.0.0.1/v1", body=ODD_TEXT, body_sha256="ef",
    ),
    ResponseReceived(
        **OF_EVALUATION, **ATTEMPT, status=200, headers={"date": "today"}, body=ODD_TEXT,
        body_encoding="utf-8", text=ODD_TEXT, refusal="no", finish_reason="stop", model="m-1",
        provider_request_id="r1", latency_ms=12.5, first_token_ms=1.5,
        usage=Usage(input_tokens=1, output_tokens=2, cached_input_tokens=0),
    ),
    ErrorRecorded(
        **OF_EVALUATION, **ATTEMPT, kind="rate_limited", message="slow down",
        disposition="transient", stack_trace="Traceback", status=429, headers={},
        body="gA==", body_encoding="base64", retry_after_s=1.0, latency_ms=3.0,
    ),
    AttemptOrphaned(**OF_EVALUATION, **ATTEMPT, reason="killed"),
    Classified(
        **OF_EVALUATION, primary="pass", details={"rule": "literal"}, classifier="c",
        classifier_version="1",
    ),
    Judged(
        **OF_EVALUATION, judge="judge:m", verdict=None, problem="no_object: none", final=True,
        grader="g", grader_version="1",
    ),
    Scored(**OF_EVALUATION, scores={"accuracy": 1.0},
        passed=True, reason="ok", scorer="s", scorer_version="1"),
    EvaluationAbandoned(**OF_EVALUATION, kind="timeout", reason="no answer"),
)  # fmt: skip


def golden_file(topic: str, schema_version: int) -> Path:
    return GOLDEN / f"{topic}.v{schema_version}.json"


if __name__ == "__main__":
    for sample in SAMPLES:
        file = golden_file(type(sample).__name__, sample.schema_version)
        if not file.exists():
            file.write_bytes(encode(sample))
