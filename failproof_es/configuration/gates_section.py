"""The section `gates` of a configuration."""

from __future__ import annotations

from enum import Enum, auto
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AliasChoices,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError

from failproof_es.configuration.choices import RunReference
from failproof_es.configuration.section import Section
from failproof_es.configuration.shares import Share
from failproof_es.declared_gates import DECLARED

_SHARE: TypeAdapter[float | None] = TypeAdapter(Share | None)
SeverityLevel = Literal["S0", "S1", "S2", "S3"]
_OTHER_NAME = "min_pass_rate"
_GIVEN_TWICE = PydanticCustomError(
    "options-conflict", "is another name of `min_accuracy`, which is given, too"
)
_BY_PEOPLE = PydanticCustomError(
    "options-conflict",
    "`people` cannot be combined with `no_regression_against`, which compares what the engine "
    "scored",
)
MOST_UNSCORED = 0.1
"""The share of a model's evaluations that may end without a score where no gate says another."""


class GateSubject(Enum):
    """What a gate judges. Each gate of `Gates` declares it; fields without one are settings."""

    RESULTS = auto()
    """Scores: of this run, which with `by: people` people decide, or compared with another run."""
    REST = auto()
    """Missing scores, or a cost: no wrong answer misses it."""
    JUDGES = auto()
    """How good the judges are, by a calibration (`failproof-es calibrate`)."""


class Gates(Section):
    """Limits that must hold for exit code 0."""

    model_config = ConfigDict(extra="allow")

    by: Literal["people"] | None = None
    """`people`: their verdicts decide the gates on rates (accuracies, `no_failures_at`, and those
    of dialects). These are judged by `failproof-es review close RUN`, not when the run ends. It
    cannot be combined with `no_regression_against`, which compares what the engine scored."""
    min_accuracy: Annotated[
        Share | None,
        GateSubject.RESULTS,
        Field(validation_alias=AliasChoices("min_accuracy", _OTHER_NAME)),
    ] = None
    """The least mean accuracy, over evaluations that have one, as a share (`0.95`) or in per cent
    (`95%`), as every share here. `min_pass_rate` is another name of it: of the mean,
    not of the share that passed."""
    min_accuracy_by_suite: Annotated[
        dict[str, Share] | None, GateSubject.RESULTS, Field(min_length=1)
    ] = None
    """The same, for each suite named."""
    judge: Literal["point", "lower"] = "point"
    """What of an accuracy these two judge: the mean, or the lower end of its 95 % interval, so that
    few cases do not pass by luck."""
    max_unscored_rate: Annotated[Share | None, GateSubject.REST] = MOST_UNSCORED
    """For each model: evaluations that ended without a score, whatever the cause, divided by all of
    its own. What awaits review by people is not counted. `null` judges no such gate."""
    no_failures_at: Annotated[
        list[SeverityLevel] | None, GateSubject.RESULTS, Field(min_length=1)
    ] = None
    """Severities at which no case may fail. The gate is also not met if such a case has no score
    that passes or fails."""
    max_cost_usd: Annotated[float | None, GateSubject.REST, Field(ge=0.0, allow_inf_nan=False)] = (
        None
    )
    """The most that all answers may cost, judges' included; not met if one cost is unknown."""
    no_regression_against: Annotated[RunReference | None, GateSubject.RESULTS] = None
    """A complete run, by its number or id. Met if the interval of the paired difference excludes
    that a model lost more than `regression_margin` since."""
    regression_margin: Share = 0.05
    """The loss of mean accuracy that `no_regression_against` tolerates."""
    min_judge_agreement: Annotated[
        float | None, GateSubject.JUDGES, Field(ge=-1.0, le=1.0, allow_inf_nan=False)
    ] = None
    """The least agreement of the judges with people's labels, as Cohen's kappa, by a calibration
    that holds for this run; not met without one. `judge: lower` takes the lower end of its 95 %
    interval."""
    min_corrected_accuracy: Annotated[Share | None, GateSubject.JUDGES] = None
    """For each model: the least share of passed evaluations among those that judges scored,
    corrected for the errors of the judges; not met without a calibration that holds for this run.
    `judge: lower` takes the lower end of its interval."""
    max_judge_age: Annotated[
        float | None, GateSubject.JUDGES, Field(gt=0.0, allow_inf_nan=False)
    ] = None
    """The greatest age in days of the calibration of the judges; 90 unless given."""

    @model_validator(mode="after")
    def _check_declared(self) -> Self:
        """Check the gates that are not built in, and convert their percentages to shares.

        A dialect must declare each, and its limit must be a share from 0 to 1 or `None`. Raises
        `ValidationError` for any other.
        """
        wrong: list[InitErrorDetails] = []
        limits = self.__pydantic_extra__ or {}
        for name, limit in self.declared().items():
            if name not in DECLARED:
                kind = _GIVEN_TWICE if name == _OTHER_NAME else "extra_forbidden"
                wrong.append({"type": kind, "loc": (name,), "input": limit})
                continue
            if limit is not None:
                DECLARED.load(name)  # raises `InvalidInput` if the declaration is broken
            try:
                limits[name] = _SHARE.validate_python(limit, strict=True)
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

    @model_validator(mode="after")
    def _check_people(self) -> Self:
        """Refuse `by: people` together with `no_regression_against`."""
        if self.by == "people" and self.no_regression_against is not None:
            detail: InitErrorDetails = {"type": _BY_PEOPLE, "loc": ("by",), "input": self.by}
            raise ValidationError.from_exception_data("Gates", [detail])
        return self

    @property
    def need_scores(self) -> bool:
        """Whether a gate needs each evaluation's score; the other gates need only sums of
        scores."""
        return self.no_regression_against is not None or self.judges_lower_end

    @property
    def judges_lower_end(self) -> bool:
        """Whether a gate judges the lower end of an interval."""
        accuracies = (self.min_accuracy, self.min_accuracy_by_suite)
        return self.judge == "lower" and accuracies != (None, None)

    @property
    def on_judges(self) -> bool:
        """Whether a gate needs a calibration of the judges."""
        return any(getattr(self, name) is not None for name in self.on(GateSubject.JUDGES))

    def declared(self) -> dict[str, Any]:
        """The limits, as shares, of the gates that dialects declare, by name."""
        return dict(self.__pydantic_extra__ or {})

    @classmethod
    def on(cls, subject: GateSubject) -> tuple[str, ...]:
        """The names of the gates on this subject, without those that dialects declare."""
        return tuple(name for name, field in cls.model_fields.items() if subject in field.metadata)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The JSON Schema with the gates of installed dialects; other keys are not allowed."""
        schema = handler.resolve_ref_schema(
            super().__get_pydantic_json_schema__(core_schema, handler)
        )
        schema["additionalProperties"] = False
        accuracy = schema["properties"]["min_accuracy"]
        schema["properties"][_OTHER_NAME] = accuracy | {
            "title": "Min Pass Rate", "description": "Another name of `min_accuracy`."
        }  # fmt: skip
        for name in DECLARED.names():
            gate = DECLARED.load(name)
            schema["properties"][name] = {
                **_SHARE.json_schema(),
                "default": None,
                "description": gate.help,
                "title": name.replace("_", " ").title(),
            }
        return schema
