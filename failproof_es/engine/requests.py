"""Prepares the bytes of a run's requests, to send them or to compare them with recorded ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from failproof_es.configuration.prompt_template import apply_template
from failproof_es.configuration.schema import Model
from failproof_es.core.case import Case
from failproof_es.core.evaluation import Evaluation, Send, Transcript
from failproof_es.dialects.protocol import (
    Dialect,
    HasJudgeSchema,
    HasReplySchema,
    OffersTools,
)
from failproof_es.engine.limits.concurrency_limiter import ConcurrencyLimiter
from failproof_es.events import VOIDS_ANSWER, ErrorRecorded
from failproof_es.models.protocol import (
    DEFAULT_RESPONSE_OPTIONS,
    PreparedRequest,
    Provider,
    ResponseOptions,
)
from failproof_es.models.replies.model_name_check import require_model


@dataclass(slots=True)
class AnsweringModel:
    """Whether a model has answered under its own name in this run, as far as this process knows."""

    has_matched: bool = False

    def require(self, model: Model, answered: str | None) -> None:
        """Note that the requested model answered.

        Raises `ModelError` (`model_mismatch`) if another model did. `answered` is the model that
        the answer names, if it names one.
        """
        require_model(model.model, model.version, answered, model.version_check)
        self.has_matched = True

    def is_mistaken(self, error: ErrorRecorded) -> bool:
        """Whether this error shows that every answer would come from another model."""
        return error.kind == VOIDS_ANSWER and not self.has_matched


@dataclass(frozen=True, slots=True)
class Target:
    """A model of this run, ready to be asked."""

    model: Model
    provider: Provider
    limiter: ConcurrencyLimiter
    stuck_after_s: float = math.inf
    """Seconds that one attempt may take before its provider counts as stuck."""
    answering: AnsweringModel = field(default_factory=AnsweringModel)


@dataclass(frozen=True, slots=True)
class Requests:
    """Prepares the requests of one run, to send or to compare them.

    Pure: nothing is opened or sent.
    """

    dialect: Dialect
    targets: Mapping[str, Target]
    judges: Mapping[str, Target]
    _tools: OffersTools | None = field(init=False)
    """The dialect, if it offers tools. Checked once: a check takes longer than a preparation."""
    _judge_schema: HasJudgeSchema | None = field(init=False)
    _reply_schema: HasReplySchema | None = field(init=False)

    def __post_init__(self) -> None:
        dialect: object = self.dialect
        tools = dialect if isinstance(dialect, OffersTools) else None
        schema = dialect if isinstance(dialect, HasJudgeSchema) else None
        object.__setattr__(self, "_tools", tools)
        object.__setattr__(self, "_judge_schema", schema)
        own_schema = dialect if isinstance(dialect, HasReplySchema) else None
        object.__setattr__(self, "_reply_schema", own_schema)

    def target(self, model_key: str, action: Send) -> Target | None:
        """The model or judge that `action` asks; `None` if the dialect wants a judge and the run
        has none."""
        if action.purpose == "target":
            return self.targets[model_key]
        return None if action.judge is None else self.judges[action.judge]

    def prepare(
        self, state: Evaluation, case: Case, action: Send, target: Target
    ) -> PreparedRequest:
        """The request that `action` sends to `target`, as bytes.

        Raises `InvalidInput` if a user's own class refuses to prepare it.
        """
        messages = apply_template(target.model.prompt_template, action.messages)
        return target.provider.prepare(messages, self._options(state, case, action))

    def _options(self, state: Evaluation, case: Case, action: Send) -> ResponseOptions:
        """Demands on the answer: tools for the model under test, a schema for whoever judges."""
        if action.purpose == "target" and self._tools is not None:
            return ResponseOptions(tools=self._tools.tools(case))
        if action.purpose == "target" and self._reply_schema is not None:
            return ResponseOptions(schema=self._reply_schema.reply_schema(case))
        if action.purpose == "judge" and self._judge_schema is not None:
            return ResponseOptions(
                schema=self._judge_schema.judge_schema(case, Transcript(state.replies))
            )
        return DEFAULT_RESPONSE_OPTIONS
