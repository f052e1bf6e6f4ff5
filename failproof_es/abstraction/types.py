"""The data types of specification 003 § 3."""

from dataclasses import dataclass

from failproof_es.abstraction.enums import TaskStatus


@dataclass(frozen=True)
class ExpectedAnswer:
    """Sample answers of three grades, the best first."""

    most_expected: str
    good_answer: str
    pass_option: str


@dataclass(frozen=True)
class BenchmarkTask:
    """One question and the criteria for grading its answer."""

    task_id: str
    question: str
    expected_answer: ExpectedAnswer
    incorrect_direction: str


@dataclass
class Result:
    """One model's answer to one task, with its score from 0 to 1; -1.0 means no score."""

    result_id: int | None = None
    run_id: int | None = None
    model_name: str = ""
    task_id: str = ""
    llm_response: str = ""
    time_taken_ms: int = 0
    tokens_generated: int = 0
    status: TaskStatus = TaskStatus.NEW
    evaluation_score: float = -1.0
    evaluation_reason: str = ""
    error_message: str | None = None


@dataclass(frozen=True)
class BenchmarkConfig:
    """The configuration that a run was created with."""

    run_id: int
    model_names: list[str]
    judge_model_name: str
    concurrency: int
    timeout_sec: int
    dataset_path: str


@dataclass(frozen=True)
class BenchmarkProgress:
    """Number of final results of a run; `percent_complete` from 0 to 100."""

    total_tasks: int
    completed_tasks: int
    percent_complete: float
