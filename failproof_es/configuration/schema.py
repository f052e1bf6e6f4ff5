"""The run configuration: specification 001 § 4.1 plus our additions, as frozen models.

It never holds secrets: `api_key_env` names an environment variable.
"""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, model_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from failproof_es.configuration.choices import (
    Matrix,
    PromptTemplate,
    ReuseSection,
    SelectionSection,
)
from failproof_es.configuration.gates_section import Gates
from failproof_es.configuration.place import EntryFolders
from failproof_es.configuration.providers import PROVIDERS, default_key_variable
from failproof_es.configuration.section import Section as Section
from failproof_es.support.shipped import resolve
from failproof_es.support.timestamps import parse_moment

_DAY_MS = 24 * 60 * 60 * 1000
_LARGEST = 2**63 - 1
"""The largest integer that every reader of the recorded JSON can hold."""


def _parse_timestamp(value: Any) -> Any:
    """The time in a text, by default in UTC; `None` for the placeholder of specification 001."""
    if value is None or value == "ISO-8601" or isinstance(value, datetime):
        return None if value == "ISO-8601" else value
    if not isinstance(value, str):
        raise PydanticCustomError("string_type", "must be a time, written as text")
    if (moment := parse_moment(value)) is None:
        raise PydanticCustomError("invalid-value", "is no time: write it as 2026-01-31T12:30:00Z")
    return moment


def _require_day(text: str) -> str:
    """The text, if it is a day of the calendar."""
    try:
        date.fromisoformat(text)
    except ValueError:
        raise PydanticCustomError("invalid-value", "is no day of the calendar") from None
    return text


_Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$"), AfterValidator(_require_day)]


class TestRun(Section):
    """The name of the run. `id` and `timestamp` are generated unless given."""

    __test__ = False  # not a test class: pytest would collect it by its name

    name: Annotated[str, Field(min_length=1)]
    """Any text. In names of output files, `-` replaces characters that a file name cannot hold."""
    id: str | None = None
    """A UUID, or any text. A UUID is derived from the text, and both find the run. Generated unless
    given."""
    timestamp: Annotated[
        datetime | None, Field(strict=False), BeforeValidator(_parse_timestamp)
    ] = None
    """The time in the names of its files. The default is the time of its start, also for the
    placeholder `ISO-8601` of specification 001."""
    folder: SkipJsonSchema[str | None] = None
    """The folder that relative paths start from: that of the file. The program records it."""


_Limit = Annotated[int | None, Field(ge=1, le=1_000_000_000)]


CREDENTIALS = "credentials"
"""The option of providers that take a token of the vendor's own library in place of a key."""


def _add_provider_examples(schema: dict[str, Any]) -> None:
    """Add the names of built-in providers as examples, which editors offer."""
    schema["examples"] = [name for name in PROVIDERS.names() if PROVIDERS.is_ours(name)]


class Model(Section):
    """One model to evaluate, named by its exact version string. Never substituted."""

    provider: Annotated[str, Field(min_length=1, json_schema_extra=_add_provider_examples)]
    """The way to reach the model. `openai` is OpenAI's chat completions, which most servers offer;
    `local` a model on this machine; `python` a class of your own. `docs/how-to/providers.md` has
    each. An installed package may offer more."""
    model: Annotated[str, Field(min_length=1)]
    """The exact model name sent; for `local`, `smollm2` or the path of a `.gguf` file."""
    version: str | None = None
    """The exact version. The model name in each answer must show it."""
    version_check: Literal["version", "name"] = "version"
    """`name` also accepts an answer with the model's name and no version, or without a name."""
    backend: Annotated[str | None, Field(min_length=1)] = None
    """The server software, for results that name it (`vllm`, `mlx`); else the provider."""
    base_url: str | None = None
    """The URL of the server, such as http://127.0.0.1:8000/v1."""
    api_key_env: Annotated[str | None, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] = None
    """The name of the environment variable that holds the key; never the key. Unless given, the
    vendor's own at the vendor's own URL, such as OPENAI_API_KEY or GEMINI_API_KEY;
    ANTHROPIC_API_KEY for `anthropic` anywhere."""
    headers: Annotated[dict[str, str], Field(examples=[{"X-Team": "TEAM_TOKEN"}])] = {}
    """Further headers of each request: the name of each, and the environment variable that holds
    its value; never the value."""
    proxy: str | None = None
    """The proxy through which the server is asked, such as http://proxy.example:3128. None is taken
    from the environment."""
    ca_file: Annotated[str | None, Field(min_length=1)] = None
    """A file of certificates (PEM) to trust beside the usual ones, for a server or a proxy with an
    authority of its own."""
    timeout_ms: Annotated[int | None, Field(ge=1, le=_DAY_MS)] = None
    """The longest time for one request to this model, in place of
    `execution.timeout_per_request_ms`; for the embedded model the longest time without progress."""
    class_: Annotated[str | None, Field(alias="class", pattern=r"^[\w.]+:\w+$")] = None
    """For `python`: `package.module:Name`, with a method `get_completion(prompt, params)`, and
    `stream_completion(prompt, params)` to stream. For `openai-sdk` and its like: with a method
    `ask(messages, params)`."""
    max_tokens: Annotated[int, Field(ge=1, le=10_000_000)] = 1000
    """The longest answer, in tokens; a reasoning model's thoughts count."""
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] = 0.0
    """The randomness of answers; 0 is the least that the server can do."""
    stream: bool = False
    """Stream the answer; the time to the first token is then recorded."""
    structured_output: bool = False
    """Constrain a judge's reply to its JSON Schema, if the dialect has one and the provider can."""
    seed: Annotated[int | None, Field(ge=-_LARGEST, le=_LARGEST)] = None
    """The sampling seed, sent if given: some servers then repeat the same answer."""
    parameters: dict[str, Any] = {}
    """Further provider parameters, sent as they are (`top_p`, `stop`, ...)."""
    options: dict[str, Any] = {}
    """Settings that only one provider has; the documentation of the provider describes them."""
    prompt_template: PromptTemplate | None = None
    """The text put around every case for this model; `matrix` makes variants of it."""
    key: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    """The name of this entry in results and on the command line; that of the model, unless given or
    shared with another entry."""
    concurrent_requests: _Limit = None
    """The most requests that its server may have at once, from all workers together, with this key.
    Of entries that share both, and of runs that do, the lowest counts; of the next two as well."""
    requests_per_minute: _Limit = None
    """The most requests in any minute, over all workers."""
    tokens_per_minute: _Limit = None
    """The most tokens in any minute, over all workers, read and written. A request counts with its
    bytes and the longest answer until it is answered."""

    _place: EntryFolders = PrivateAttr(default_factory=EntryFolders)

    @property
    def place(self) -> EntryFolders:
        """The folders of this entry, where its relative paths start and its class is looked for."""
        return self._place

    def placed(self, place: EntryFolders) -> Self:
        """A copy of this entry whose relative paths and class belong to those folders."""
        model = self.model_copy()
        model._place = place
        return model

    def path_of(self, path: str) -> Path:
        """`path`, which this entry names, resolved from the entry's folder."""
        return resolve(path, self._place.folder)

    @property
    def certificates(self) -> str | None:
        """The resolved path of `ca_file`; `None` if it is not set."""
        return None if self.ca_file is None else str(self.path_of(self.ca_file))

    @model_validator(mode="before")
    @classmethod
    def _set_vendor_key_variable(cls, entry: Any) -> Any:
        """Set a missing `api_key_env` to the vendor's variable; `null` means no key."""
        if not isinstance(entry, dict) or "api_key_env" in entry:
            return entry
        if isinstance(options := entry.get("options"), dict) and CREDENTIALS in options:
            return entry
        variable = default_key_variable(entry.get("provider"), entry.get("base_url"))
        return entry if variable is None else {**entry, "api_key_env": variable}


class Filters(Section):
    """The cases to run: OR within a list, AND across lists."""

    category: Annotated[list[str] | None, Field(min_length=1)] = None
    """The case's own `category`."""
    expected_label: Annotated[list[str] | None, Field(min_length=1)] = None
    """The label that people gave the case, in dialects that have it."""
    source: Annotated[list[str] | None, Field(min_length=1)] = None
    """The source of the case, in dialects that have it."""
    tags: Annotated[list[str] | None, Field(min_length=1)] = None
    """Tags; the case must have one of them."""


class PromptsSection(Section):
    """The cases to run, from files or from an imported collection."""

    source: Literal["file", "database"] = "file"
    """Files, or a collection in the log."""
    path: str | list[str] | None = None
    """For `file`: a file, a folder, a glob, `shipped:NAME`, or a list of them."""
    collection: Annotated[str | None, Field(min_length=1)] = None
    """For `database`: the name given to `failproof-es prompts import`."""
    filters: Filters = Filters()
    """The selection of cases; all, unless given."""
    dialect: str | None = None
    """The format and grading of the cases; detected from the files unless given."""
    on_invalid: Literal["error", "skip"] = "error"
    """Whether a defective case refuses the run, or is skipped and recorded."""
    options: dict[str, Any] = {}
    """Options of the dialect; its documentation describes them."""


class JudgingSection(Section):
    """Settings of the judges, where the dialect asks any."""

    rule: Literal["majority", "unanimous", "unanimous_or_people"] = "majority"
    """The agreement that several judges need; a judge without a verdict counts, too.
    `unanimous_or_people` leaves evaluations on which judges disagree to people."""
    attempts: Annotated[int, Field(ge=1, le=10)] = 2
    """The most times a judge is asked until its reply can be parsed."""
    begins: Literal["with_each_answer", "after_all_answers"] = "with_each_answer"
    """Time of judging: as answers come, or once every model has answered everything."""


class ChosenScorer(Section):
    """A scorer with options."""

    name: Annotated[str, Field(min_length=1)]
    """Its name."""
    options: dict[str, Any] = {}
    """Options of the scorer; its documentation describes them."""


class GradingSection(Section):
    """Settings of grading beyond the dialect's rules."""

    on_cut_off: Literal["unscored", "fail"] = "unscored"
    """What becomes of an evaluation whose reply was cut off at `max_tokens`, or made its own
    grading stop: it has no score, or it fails. A model controls both. So with `fail` no model can
    take its bad cases out of a rate by writing too much, and a correct answer that was too long
    fails, too."""
    scorers: list[Annotated[str, Field(min_length=1)] | ChosenScorer] = []
    """Installed scorers, each by its name or with options; `docs/how-to/extending.md` says how to
    write one. They do not decide whether a case passes."""


class Execution(Section):
    """Concurrency, retries, time-outs, and conditions for a pause."""

    parallel_workers: Annotated[int, Field(ge=1, le=1000)] = 4
    """The most requests in flight at once, over all models, of each process that drives the run.
    The models of one `local` file of weights get two for each core at most, and never more than
    8."""
    retry_attempts: Annotated[int, Field(ge=0, le=100)] = 3
    """Attempts after the first; 0 means none. A request that the server refuses for now, as
    with a 429, uses up none of them."""
    retry_delay_ms: Annotated[int, Field(ge=0, le=_DAY_MS)] = 1000
    """The first back-off; it doubles, with jitter, up to a minute."""
    timeout_per_request_ms: Annotated[int, Field(ge=1, le=_DAY_MS)] = 30_000
    """Time limit of a request, after which it counts as a transient error; for `local`, the
    limit of the time without progress."""
    rate_limit_wait_ms: Annotated[int, Field(ge=0, le=_DAY_MS)] = 900_000
    """How long a server may refuse everything (429, 498, 529, 503 with `Retry-After`), or be down,
    before the run is paused; it can be resumed. 15 minutes unless given."""
    pause_after_lost: Annotated[int | None, Field(ge=1, le=_LARGEST)] = 10
    """The run is paused after this many evaluations in a row without a usable reply of a model or
    of a judge; it can be resumed. 10 unless given; null never pauses it."""
    repetitions: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Number of times each model is asked each case."""
    allow_unlisted: bool = False
    """Whether a model is asked that its server does not list; else the run is refused."""
    max_spend_usd: Annotated[float | None, Field(gt=0.0, allow_inf_nan=False)] = None
    """The most that the run may spend, in US dollars, judges, retries and orphaned requests
    included. A request that could exceed it is not sent, and the run is paused. No ceiling, unless
    given; with one, every model and judge needs a price."""


FILE_SUFFIX = ".jsonl"
"""The end of a results file's name. No other file is ever written: a shell would run it."""


class FileOutput(Section):
    """A results file, written from the log when the run ends, and partial files before."""

    enabled: bool = True
    """Whether the file is written."""
    format: Literal["jsonl"] = "jsonl"
    """One object a line."""
    path: str = "./outputs/{timestamp}_{test_name}.jsonl"
    """The path; the file name must contain {timestamp}, and end in .jsonl. A relative one starts
    from the folder of the configuration, as every path in it, whichever process writes the file."""
    checkpoint_every: Annotated[int | None, Field(ge=1, le=_LARGEST)] = 100
    """The number of finished evaluations in each partial results file; null writes none."""


class DatabaseOutput(Section):
    """The log is always on: these two keys of specification 001 may only say so."""

    enabled: Literal[True] = True
    """Everything is recorded."""
    real_time: Literal[True] = True
    """Recording happens in real time."""


class Output(Section):
    """Files of results beside the log."""

    database: DatabaseOutput = DatabaseOutput()
    """The log."""
    file: FileOutput | None = None
    """The results file; none unless given."""


UsdPerMillion = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class ListedRates(Section):
    """Prices of tokens, in US dollars per million."""

    input_usd_per_million: UsdPerMillion
    """The price of input tokens."""
    output_usd_per_million: UsdPerMillion
    """The price of output tokens."""
    cached_input_usd_per_million: UsdPerMillion | None = None
    """The price of input tokens read from a cache; like other input, unless given."""
    cache_write_usd_per_million: UsdPerMillion | None = None
    """The price of input tokens written to a cache; like other input, unless given."""
    cache_write_1h_usd_per_million: UsdPerMillion | None = None
    """The price of tokens that a cache keeps for an hour; like other cache writes, unless given."""


class PriceTier(ListedRates):
    """The prices of all tokens of a long request."""

    over_input_tokens: Annotated[int, Field(ge=0)]
    """The tier applies to requests with more input tokens than this, cached ones included."""


class ModelPrice(ListedRates):
    """The prices of one model, in US dollars per million tokens."""

    model: Annotated[str, Field(min_length=1)]
    """The exact model name, as in `models`."""
    base_url: str | None = None
    """The server that the prices are for; any server, unless given."""
    tiers: list[PriceTier] = []
    """Other prices for long requests. The highest tier that a request reaches counts, for all of
    its tokens."""


class PriceList(Section):
    """The prices of a day: the content of a price file."""

    version: _Day
    """The day of the prices, as YYYY-MM-DD; recorded with every run that uses them."""
    models: Annotated[list[ModelPrice], Field(min_length=1)]
    """The prices."""


class Prices(Section):
    """Prices that take precedence over the installed price data."""

    file: Annotated[str | None, Field(min_length=1)] = None
    """A YAML or JSON file with `version` and `models`, read once, when the run begins."""
    version: _Day | None = None
    """The day of the prices written here, as YYYY-MM-DD."""
    models: list[ModelPrice] = []
    """Prices written here instead of in a file."""


class Configuration(Section):
    """A whole run configuration."""

    test_run: TestRun
    """The name of the run."""
    models: Annotated[list[Model], Field(min_length=1)]
    """The models to evaluate."""
    matrix: Matrix | None = None
    """Variants of every model: prompt templates and parameters, in all combinations."""
    judge: Model | None = None
    """The model that judges the answers, in dialects with judges. In red-team runs without one,
    people judge (`failproof-es review`)."""
    judges: Annotated[list[Model] | None, Field(min_length=1)] = None
    """Several judges, in place of `judge`."""
    judging: JudgingSection = JudgingSection()
    """Settings of the judges."""
    prompts: PromptsSection
    """The cases to ask."""
    selection: SelectionSection = SelectionSection()
    """A part of the cases and of the models, to ask only that."""
    reuse: ReuseSection = ReuseSection()
    """Recorded answers of another run, carried over where the requests are the same."""
    grading: GradingSection = GradingSection()
    """Settings of grading beyond the dialect's rules."""
    execution: Execution = Execution()
    """Concurrency, retries, time-outs and pauses."""
    output: Output = Output()
    """Files of results beside the log."""
    prices: Prices = Prices()
    """The prices of tokens."""
    gates: Gates = Gates()
    """The conditions for exit code 0."""

    @property
    def asked_judges(self) -> list[Model]:
        """The judges, from `judge` or `judges`; empty if there is none."""
        return self.judges or ([] if self.judge is None else [self.judge])
