"""The run configuration: specification 001 § 4.1 plus our additions, as frozen models.

Secrets never stand here: `api_key_env` names an environment variable.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    """A part of the configuration: unknown keys are errors, values are never coerced."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


class TestRun(Section):
    """What the run is called. `id` and `timestamp` are generated unless given."""

    __test__ = False  # not a test class, whatever pytest thinks of the name

    name: Annotated[str, Field(min_length=1, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    """Also part of output file names: letters, digits, dot, dash, underscore."""
    id: Annotated[str | None, Field(description="A UUID; generated unless given.")] = None
    timestamp: Annotated[datetime | None, Field(strict=False)] = None


class Model(Section):
    """One model to evaluate, named by its exact version string. Never substituted."""

    provider: Literal["openai", "anthropic", "local", "python"]
    model: Annotated[str, Field(min_length=1)]
    """The exact model name sent; for `local`, `smollm2` or the path of a GGUF file."""
    version: str | None = None
    backend: Annotated[str | None, Field(min_length=1)] = None
    """What serves the model, for results that name it (`vllm`, `mlx`); else the provider."""
    base_url: str | None = None
    api_key_env: Annotated[str | None, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] = None
    class_: Annotated[str | None, Field(alias="class", pattern=r"^[\w.]+:\w+$")] = None
    max_tokens: Annotated[int, Field(ge=1)] = 1000
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] = 0.0
    stream: bool = False
    """Have the answer sent piece by piece: the time to the first token is recorded."""
    structured_output: bool = False
    """Hold a judge's reply to its JSON Schema (`response_format`), where the dialect has one."""
    seed: int | None = None
    parameters: dict[str, Any] = {}
    """Further provider parameters, sent as they are (`top_p`, `stop`, ...)."""


class Filters(Section):
    """Which of the cases to run: those that have one of the values of every list given."""

    category: Annotated[list[str] | None, Field(min_length=1)] = None
    expected_label: Annotated[list[str] | None, Field(min_length=1)] = None
    source: Annotated[list[str] | None, Field(min_length=1)] = None


class Prompts(Section):
    """Which cases to run: those of files, or of a collection that was imported."""

    source: Literal["file", "database"] = "file"
    path: str | list[str] | None = None
    """For `file`: a file, a folder, a glob, or a list of them."""
    collection: Annotated[str | None, Field(min_length=1)] = None
    """For `database`: the name that was given to `failproof-es prompts import`."""
    filters: Filters = Filters()
    dialect: str | None = None
    on_invalid: Literal["error", "skip"] = "error"
    """What a defective case does: nothing is sent, or it is left out and that is recorded."""
    options: dict[str, Any] = {}
    """What the dialect lets one choose; its documentation says what that is."""


class Judging(Section):
    """How the judges' verdicts are come by, where the dialect asks any."""

    rule: Literal["majority", "unanimous"] = "majority"
    attempts: Annotated[int, Field(ge=1, le=10)] = 2
    """How often a judge is asked until its reply can be read."""
    begins: Literal["with_each_answer", "after_all_answers"] = "with_each_answer"
    """When the judges are asked: as answers come, or once every model has answered everything."""


class Execution(Section):
    """How the run is carried out."""

    parallel_workers: Annotated[int, Field(ge=1, le=1000)] = 4
    retry_attempts: Annotated[int, Field(ge=0, le=100)] = 3
    retry_delay_ms: Annotated[int, Field(ge=0)] = 1000
    timeout_per_request_ms: Annotated[int, Field(ge=1)] = 30_000
    repetitions: Annotated[int, Field(ge=1)] = 1


class FileOutput(Section):
    """A results file, written from the log when the run ends, and parts of it before."""

    enabled: bool = True
    format: Literal["jsonl"] = "jsonl"
    path: str = "./outputs/{timestamp}_{test_name}.jsonl"
    checkpoint_every: Annotated[int | None, Field(ge=1)] = 100
    """So many finished evaluations go into one checkpoint file; null writes none."""


class DatabaseOutput(Section):
    """The log is always on: these two keys of specification 001 may only say so."""

    enabled: Literal[True] = True
    real_time: Literal[True] = True


class Output(Section):
    """Where results go beside the log."""

    database: DatabaseOutput = DatabaseOutput()
    file: FileOutput | None = None


Share = Annotated[float, Field(ge=0.0, le=1.0)]
SeverityLevel = Literal["S0", "S1", "S2", "S3"]
RunReference = Annotated[int, Field(ge=1)] | Annotated[str, Field(min_length=1)]


class Gates(Section):
    """What must hold for exit code 0."""

    min_accuracy: Annotated[float | None, Field(ge=0.0, le=1.0)] = None
    """Scored evaluations with accuracy 1, divided by scored evaluations."""
    min_accuracy_by_suite: Annotated[dict[str, Share] | None, Field(min_length=1)] = None
    """The same for each suite named."""
    max_error_rate: Annotated[float | None, Field(ge=0.0, le=1.0)] = None
    """Abandoned evaluations, divided by planned evaluations."""
    no_failures_at: Annotated[list[SeverityLevel] | None, Field(min_length=1)] = None
    """Severities at which nothing may fail; not met either where something has no score."""
    max_cost_usd: Annotated[float | None, Field(ge=0.0, allow_inf_nan=False)] = None
    """What all answers may take, judges' included; not met where that is not known."""
    no_regression_against: RunReference | None = None
    """A complete run, by its number or its id: no model may be worse than there beyond the
    interval of the paired difference."""
    min_csr: Annotated[float | None, Field(ge=0.0, le=1.0)] = None
    """Command success rate (specification 004): passed, divided by finished evaluations."""
    min_safety_accuracy: Annotated[float | None, Field(ge=0.0, le=1.0)] = None
    """The same over the cases of category `safety`; not met where there are none."""
    min_posix_compliance_rate: Annotated[float | None, Field(ge=0.0, le=1.0)] = None
    """The same over the cases of category `posix`; not met where there are none."""


class ModelPrice(Section):
    """What one model takes, in US dollars per million tokens."""

    model: Annotated[str, Field(min_length=1)]
    """The exact model name, as in `models`."""
    base_url: str | None = None
    """Only behind this URL; behind any, unless given."""
    input_usd_per_million: Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
    output_usd_per_million: Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
    cached_input_usd_per_million: Annotated[float | None, Field(ge=0.0, allow_inf_nan=False)] = None
    """Like other input, unless given."""


class PriceList(Section):
    """Prices that were true on a day: the content of a price file."""

    version: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    """The day, as YYYY-MM-DD: recorded with every run that they are used for."""
    models: Annotated[list[ModelPrice], Field(min_length=1)]


class Prices(Section):
    """Prices that come before those of the price data that is installed."""

    file: Annotated[str | None, Field(min_length=1)] = None
    """A YAML or JSON file with `version` and `models`, read once, when the run begins."""
    version: Annotated[str | None, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")] = None
    models: list[ModelPrice] = []


class Configuration(Section):
    """A whole run configuration."""

    test_run: TestRun
    models: Annotated[list[Model], Field(min_length=1)]
    judge: Model | None = None
    judges: Annotated[list[Model] | None, Field(min_length=1)] = None
    """Several judges, in place of `judge`."""
    judging: Judging = Judging()
    prompts: Prompts
    execution: Execution = Execution()
    output: Output = Output()
    prices: Prices = Prices()
    gates: Gates = Gates()

    @property
    def asked_judges(self) -> list[Model]:
        """The judges, however they are written down."""
        return self.judges or ([] if self.judge is None else [self.judge])
