"""The run configuration: specification 001 § 4.1 plus our additions, as frozen models.

It never holds secrets: `api_key_env` names an environment variable.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import CoreSchema, InitErrorDetails

from failproof_es.configuration.providers import rules_of
from failproof_es.declared_gates import DECLARED
from failproof_es.problems import InvalidInput

_DAY_MS = 24 * 60 * 60 * 1000
_LARGEST = 2**63 - 1
"""The largest whole number that a record of JSON holds for every reader of it."""


def default_key_variable(provider: Any, base_url: Any) -> str | None:
    """The environment variable that the provider's vendor has its key in.

    A provider that there isn't, or that is broken, has none: the rules say what is wrong.
    """
    if not isinstance(provider, str) or not isinstance(base_url, str | None):
        return None
    try:
        return rules_of(provider).default_key_variable(base_url)
    except InvalidInput:
        return None


class Section(BaseModel):
    """A part of the configuration: unknown keys are errors, values are never coerced."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        populate_by_name=True,
    )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The JSON Schema with what each key means, from the text under it."""
        from failproof_es.configuration.meanings import describe  # a run makes no schema

        schema = handler(core_schema)
        describe(cls, handler.resolve_ref_schema(schema))
        return schema


def _unless_placeholder(written: Any) -> Any:
    """Nothing, where the specification's own example says what would stand there."""
    return None if written == "ISO-8601" else written


class TestRun(Section):
    """What the run is called. `id` and `timestamp` are generated unless given."""

    __test__ = False  # not a test class, whatever pytest thinks of the name

    name: Annotated[str, Field(min_length=1, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    """Also part of output file names: letters, digits, dot, dash, underscore."""
    id: str | None = None
    """A UUID, or any text: a UUID is made of it, and the run is found by both. Generated unless
    given."""
    timestamp: Annotated[
        datetime | None, Field(strict=False), BeforeValidator(_unless_placeholder)
    ] = None
    """The time in the names of its files; that of its start unless given, and where the word
    `ISO-8601` stands, as in specification 001."""


class Model(Section):
    """One model to evaluate, named by its exact version string. Never substituted."""

    provider: Annotated[
        str,
        Field(min_length=1, examples=["openai", "anthropic", "ollama", "local", "python"]),
    ]
    """How the model is reached. `openai`: OpenAI's chat completions, which most servers offer.
    `anthropic`: its Messages API. `ollama`: Ollama's own API. `local`: a model on this machine.
    `python`: a class of your own. An installed package may offer more."""
    model: Annotated[str, Field(min_length=1)]
    """The exact model name sent; for `local`, `smollm2` or the path of a GGUF file."""
    version: str | None = None
    """The exact version: the name of the model that answers has to show it."""
    version_check: Literal["version", "name"] = "version"
    """`name` also takes an answer that shows the model's name and no version, or no name."""
    backend: Annotated[str | None, Field(min_length=1)] = None
    """What serves the model, for results that name it (`vllm`, `mlx`); else the provider."""
    base_url: str | None = None
    """Where the server is, like http://127.0.0.1:8000/v1."""
    api_key_env: Annotated[str | None, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] = None
    """The name of the environment variable that holds the key; never the key. Unless given,
    ANTHROPIC_API_KEY for `anthropic`, OPENAI_API_KEY where `base_url` is https://api.openai.com."""
    class_: Annotated[str | None, Field(alias="class", pattern=r"^[\w.]+:\w+$")] = None
    """For `python`: `package.module:Name`, with a method `get_completion(prompt, params)`."""
    max_tokens: Annotated[int, Field(ge=1, le=10_000_000)] = 1000
    """Where the server cuts an answer off; a reasoning model's thoughts count."""
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] = 0.0
    """How much chance there is in an answer; with 0 there is as little as the server can."""
    stream: bool = False
    """Have the answer sent piece by piece: the time to the first token is recorded."""
    structured_output: bool = False
    """Hold a judge's reply to its JSON Schema where the dialect has one and the provider can."""
    seed: Annotated[int | None, Field(ge=-_LARGEST, le=_LARGEST)] = None
    """Sent where given: some servers then draw the same answer again."""
    parameters: dict[str, Any] = {}
    """Further provider parameters, sent as they are (`top_p`, `stop`, ...)."""
    options: dict[str, Any] = {}
    """Settings of a provider that an installed package offers, which says what they are."""

    @model_validator(mode="before")
    @classmethod
    def _key_of_the_vendor(cls, written: Any) -> Any:
        """The vendor's own variable where none is named; `null` names none."""
        if not isinstance(written, dict) or "api_key_env" in written:
            return written
        variable = default_key_variable(written.get("provider"), written.get("base_url"))
        return written if variable is None else {**written, "api_key_env": variable}


class Filters(Section):
    """Which of the cases to run: OR within a list, AND across lists."""

    category: Annotated[list[str] | None, Field(min_length=1)] = None
    """The case's own `category`."""
    expected_label: Annotated[list[str] | None, Field(min_length=1)] = None
    """What people said the case is, in dialects that have it."""
    source: Annotated[list[str] | None, Field(min_length=1)] = None
    """Where the case comes from, in dialects that have it."""
    tags: Annotated[list[str] | None, Field(min_length=1)] = None
    """The tags of the case, one of which has to be among these."""


class Prompts(Section):
    """Which cases to run: those of files, or of a collection that was imported."""

    source: Literal["file", "database"] = "file"
    """Files, or a collection in the log."""
    path: str | list[str] | None = None
    """For `file`: a file, a folder, a glob, or a list of them."""
    collection: Annotated[str | None, Field(min_length=1)] = None
    """For `database`: the name that was given to `failproof-es prompts import`."""
    filters: Filters = Filters()
    """Which of them; all, unless given."""
    dialect: str | None = None
    """How they are written and graded; told from the files unless given."""
    on_invalid: Literal["error", "skip"] = "error"
    """What a defective case does: nothing is sent, or it is left out and that is recorded."""
    options: dict[str, Any] = {}
    """What the dialect lets one choose; its documentation says what that is."""


class Judging(Section):
    """How the judges reach their verdicts, where the dialect asks any."""

    rule: Literal["majority", "unanimous"] = "majority"
    """How many of several judges have to agree; one that says nothing counts among them."""
    attempts: Annotated[int, Field(ge=1, le=10)] = 2
    """How often a judge is asked until its reply can be read."""
    begins: Literal["with_each_answer", "after_all_answers"] = "with_each_answer"
    """When the judges are asked: as answers come, or once every model has answered everything."""


class ChosenScorer(Section):
    """A scorer that is told more than to score."""

    name: Annotated[str, Field(min_length=1)]
    """Its name."""
    options: dict[str, Any] = {}
    """What it lets one choose; its documentation says what that is."""


class Grading(Section):
    """Which numbers an evaluation gets beside those of its dialect."""

    scorers: list[Annotated[str, Field(min_length=1)] | ChosenScorer] = []
    """Installed scorers, each by its name or with options; `docs/how-to/extending.md` says how one
    is made. They decide nothing about passing."""


class Execution(Section):
    """How the run is carried out."""

    parallel_workers: Annotated[int, Field(ge=1, le=1000)] = 4
    """The most requests in flight at once, over all models. The models of one `local` file of
    weights get two for each core at most, and never more than 8."""
    retry_attempts: Annotated[int, Field(ge=0, le=100)] = 3
    """Attempts after the first; 0 means none. A server that turns a request away for now, as
    with a 429, uses up none of them."""
    retry_delay_ms: Annotated[int, Field(ge=0, le=_DAY_MS)] = 1000
    """The first back-off; it doubles, with jitter, up to a minute."""
    timeout_per_request_ms: Annotated[int, Field(ge=1, le=_DAY_MS)] = 30_000
    """How long a request may take before it counts as an error that passes; for `local`, how
    long the model may make no progress, however long the answer takes."""
    rate_limit_wait_ms: Annotated[int, Field(ge=0, le=_DAY_MS)] = 900_000
    """How long a server may turn everything away (429, 529, 503 with `Retry-After`) before the
    run is paused, to be resumed; 15 minutes unless given."""
    repetitions: Annotated[int, Field(ge=1, le=10_000)] = 1
    """How often each model is asked each case."""


class FileOutput(Section):
    """A results file, written from the log when the run ends, and parts of it before."""

    enabled: bool = True
    """Whether it is written."""
    format: Literal["jsonl"] = "jsonl"
    """One object a line."""
    path: str = "./outputs/{timestamp}_{test_name}.jsonl"
    """Where; the name has to hold {timestamp}."""
    checkpoint_every: Annotated[int | None, Field(ge=1, le=_LARGEST)] = 100
    """The number of finished evaluations in each partial results file; null writes none."""


class DatabaseOutput(Section):
    """The log is always on: these two keys of specification 001 may only say so."""

    enabled: Literal[True] = True
    """Everything is recorded."""
    real_time: Literal[True] = True
    """As it happens."""


class Output(Section):
    """Where results go beside the log."""

    database: DatabaseOutput = DatabaseOutput()
    """The log."""
    file: FileOutput | None = None
    """The results file; none unless given."""


_SHARE: TypeAdapter[float | None] = TypeAdapter(Annotated[float, Field(ge=0.0, le=1.0)] | None)
Share = Annotated[float, Field(ge=0.0, le=1.0)]
SeverityLevel = Literal["S0", "S1", "S2", "S3"]
RunReference = Annotated[int, Field(ge=1)] | Annotated[str, Field(min_length=1)]


class Gates(Section):
    """What must hold for exit code 0."""

    model_config = ConfigDict(extra="allow")

    min_accuracy: Annotated[float | None, Field(ge=0.0, le=1.0)] = None
    """The mean accuracy of the evaluations that have one."""
    min_accuracy_by_suite: Annotated[dict[str, Share] | None, Field(min_length=1)] = None
    """The same for each suite named."""
    max_error_rate: Annotated[float | None, Field(ge=0.0, le=1.0)] = None
    """Abandoned evaluations, divided by planned ones; what awaits review is no error."""
    max_lost_rate: Annotated[float | None, Field(ge=0.0, le=1.0)] = None
    """For each model: evaluations to which no usable answer came, divided by all of its own.
    0.1, or `max_error_rate` where that is more, unless given; with 1 everything may be lost."""
    no_failures_at: Annotated[list[SeverityLevel] | None, Field(min_length=1)] = None
    """Severities at which nothing may fail, as its dialect says; not met either where something
    has no score that passes or fails."""
    max_cost_usd: Annotated[float | None, Field(ge=0.0, allow_inf_nan=False)] = None
    """What all answers may take, judges' included; not met where that of one is not known."""
    no_regression_against: RunReference | None = None
    """A complete run, by its number or its id: no model may be worse than there beyond the
    interval of the paired difference."""

    @model_validator(mode="after")
    def _check_declared(self) -> Self:
        """What is no gate of every run has to be one that a dialect declares."""
        wrong: list[InitErrorDetails] = []
        for name, limit in self.declared().items():
            if name not in DECLARED:
                wrong.append({"type": "extra_forbidden", "loc": (name,), "input": limit})
                continue
            if limit is not None:
                DECLARED.load(name)  # raises `InvalidInput` where it is broken
            try:
                _SHARE.validate_python(limit, strict=True)
            except ValidationError as error:
                for detail in error.errors(include_url=False):
                    wrong.append(
                        {
                            "type": detail["type"],
                            "loc": (name,),
                            "input": limit,
                            "ctx": detail.get("ctx", {}),
                        }
                    )
        if wrong:
            raise ValidationError.from_exception_data("Gates", wrong)
        return self

    def declared(self) -> dict[str, Any]:
        """The limits of gates that dialects declare, by their names, as they are written."""
        return dict(self.__pydantic_extra__ or {})

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Beside its own keys those that installed dialects declare, and no others."""
        schema = handler.resolve_ref_schema(
            super().__get_pydantic_json_schema__(core_schema, handler)
        )
        schema["additionalProperties"] = False
        for name in DECLARED.names():
            gate = DECLARED.load(name)
            schema["properties"][name] = {
                **_SHARE.json_schema(),
                "default": None,
                "description": gate.help,
                "title": name.replace("_", " ").title(),
            }
        return schema


UsdPerMillion = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class ListedRates(Section):
    """What tokens cost, in US dollars per million."""

    input_usd_per_million: UsdPerMillion
    """Of what is asked."""
    output_usd_per_million: UsdPerMillion
    """Of what is answered."""
    cached_input_usd_per_million: UsdPerMillion | None = None
    """Of what is asked and comes from a cache; like other input, unless given."""
    cache_write_usd_per_million: UsdPerMillion | None = None
    """Of what is asked and written to a cache; like other input, unless given."""
    cache_write_1h_usd_per_million: UsdPerMillion | None = None
    """Of what a cache keeps for an hour; like other cache writes, unless given."""


class PriceTier(ListedRates):
    """What all tokens of a long request cost."""

    over_input_tokens: Annotated[int, Field(ge=0)]
    """It holds for requests with more input tokens than this, cached ones counted in."""


class ModelPrice(ListedRates):
    """What one model takes, in US dollars per million tokens."""

    model: Annotated[str, Field(min_length=1)]
    """The exact model name, as in `models`."""
    base_url: str | None = None
    """Only behind this URL; behind any, unless given."""
    tiers: list[PriceTier] = []
    """Other prices of long requests: of each request the last tier that it reaches counts, for
    all of its tokens."""


class PriceList(Section):
    """Prices that were true on a day: the content of a price file."""

    version: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    """The day, as YYYY-MM-DD: recorded with every run that they are used for."""
    models: Annotated[list[ModelPrice], Field(min_length=1)]
    """The prices."""


class Prices(Section):
    """Prices that come before those of the price data that is installed."""

    file: Annotated[str | None, Field(min_length=1)] = None
    """A YAML or JSON file with `version` and `models`, read once, when the run begins."""
    version: Annotated[str | None, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")] = None
    """The day of the prices that stand here, as YYYY-MM-DD."""
    models: list[ModelPrice] = []
    """Prices written here instead of in a file."""


class Configuration(Section):
    """A whole run configuration."""

    test_run: TestRun
    """What it is called."""
    models: Annotated[list[Model], Field(min_length=1)]
    """Which models are evaluated."""
    judge: Model | None = None
    """The model that judges the answers, in dialects that have them judged; without one, in
    red-team runs, people do (`failproof-es review`)."""
    judges: Annotated[list[Model] | None, Field(min_length=1)] = None
    """Several judges, in place of `judge`."""
    judging: Judging = Judging()
    """How the judges reach their verdicts."""
    prompts: Prompts
    """Which cases are asked."""
    grading: Grading = Grading()
    """Which numbers an evaluation gets beside those of its dialect."""
    execution: Execution = Execution()
    """How the run is carried out."""
    output: Output = Output()
    """Where results go beside the log."""
    prices: Prices = Prices()
    """What tokens cost."""
    gates: Gates = Gates()
    """When the run is good enough."""

    @property
    def asked_judges(self) -> list[Model]:
        """The judges, however they are written down."""
        return self.judges or ([] if self.judge is None else [self.judge])
