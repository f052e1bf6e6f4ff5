"""The options of this dialect under `prompts.options`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, field_validator
from pydantic_core import PydanticCustomError

from failproof_es.core.case import Turn
from failproof_es.dialects.kit.schemas import read_options
from failproof_es.dialects.shipped.command.prompt_template import DEFAULT_TEMPLATE, PLACEHOLDER


class CommandOptions(BaseModel):
    """The template of a prompt and the grading of its answer.

    Their effect is stored in every loaded case, so that a run needs the options only once.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    template: tuple[Turn, ...] = DEFAULT_TEMPLATE
    """The messages that ask for a command; `{{prompt}}` is replaced by the case's prompt."""
    extraction: Literal["lenient", "strict"] = "lenient"
    """`strict`: the whole reply is the command; only white space around it is ignored."""
    posix_edition: Literal["2017", "2024"] = "2017"
    """The edition of POSIX that commands are checked against."""

    @field_validator("template", mode="before")
    @classmethod
    def _tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("template")
    @classmethod
    def _asks_for_the_prompt(cls, value: tuple[Turn, ...]) -> tuple[Turn, ...]:
        if sum(turn.content.count(PLACEHOLDER) for turn in value) != 1:
            message = f"must hold {PLACEHOLDER} exactly once"
            raise PydanticCustomError("invalid-template", message)
        if value[-1].role != "user" or PLACEHOLDER not in value[-1].content:
            message = f"must end with a turn of the user that holds {PLACEHOLDER}"
            raise PydanticCustomError("invalid-template", message)
        return value


def parse_options(options: Mapping[str, Any]) -> CommandOptions:
    """The dialect's options from the `prompts.options` of a configuration.

    Options that are left out have their defaults. Raises `InvalidInput` with every defect.
    """
    return read_options(CommandOptions, options, {3: Turn})
