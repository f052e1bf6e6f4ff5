"""Reads the configuration that a run recorded, whichever version wrote it.

`RunStarted` holds it as JSON, unchanged. It is read section by section, and only the sections that
are needed, so a run can be shown without the plugins that it was driven with. To resume a run,
`failproof_es.configuration.loading` checks all of it by the present rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import orjson
from pydantic import ValidationError

from failproof_es.configuration.choices import Matrix
from failproof_es.configuration.gates_section import Gates
from failproof_es.configuration.schema import (
    Execution,
    JudgingSection,
    Output,
    PromptsSection,
    Section,
    TestRun,
)
from failproof_es.core.history_errors import ImpossibleHistory
from failproof_es.events import RunStarted

S = TypeVar("S", bound=Section)

_GONE = "extra_forbidden"
"""A key that this version does not know: it does not affect known keys."""
LIMITS = frozenset(
    {
        "greater_than_equal", "greater_than", "less_than_equal", "less_than", "too_short",
        "too_long", "string_pattern_mismatch", "string_too_short", "string_too_long",
    }
)  # fmt: skip
"""A value that today's rules refuse, but that was allowed when the run began: it is kept."""


class RecordedConfiguration:
    """A run's recorded configuration. Each section raises `ImpossibleHistory` if it is invalid."""

    def __init__(self, resolved: Mapping[str, Any]) -> None:
        self._resolved = resolved

    @cached_property
    def test_run(self) -> TestRun:
        """The section `test_run`: the name, and the configured id, `None` if there was none."""
        return self._section("test_run", TestRun)

    @cached_property
    def prompts(self) -> PromptsSection:
        """The source and the selection of the cases."""
        return self._section("prompts", PromptsSection)

    @cached_property
    def execution(self) -> Execution:
        """The run's execution settings."""
        return self._section("execution", Execution)

    @cached_property
    def matrix(self) -> Matrix | None:
        """The matrix whose variants the run asked; `None` without one."""
        return None if self._resolved.get("matrix") is None else self._section("matrix", Matrix)

    @cached_property
    def judging(self) -> JudgingSection:
        """The judging settings."""
        return self._section("judging", JudgingSection)

    @cached_property
    def output(self) -> Output:
        """Files of results beside the log."""
        return self._section("output", Output)

    @cached_property
    def gates(self) -> Gates:
        """The run's gates."""
        return self._section("gates", Gates)

    def _section(self, name: str, kind: type[S]) -> S:
        values = self._resolved.get(name)
        values = {} if values is None else values
        try:
            return _parse_leniently(kind, values)
        except ValidationError as error:
            detail = error.errors(include_url=False)[0]
            where = ".".join(map(str, (name, *detail["loc"])))
            raise ImpossibleHistory(
                f"the run's configuration is invalid: {where}: {detail['msg']}"
            ) from None


def recorded_configuration(started: RunStarted) -> RecordedConfiguration:
    """The configuration that a run recorded. Calling this again is cheap: sections are parsed
    once."""
    try:
        return _parse_configuration(orjson.dumps(started.configuration))
    except TypeError:  # orjson: a section is nested too deeply, maybe not the one that is read
        return RecordedConfiguration(started.configuration)


def repetitions_of(started: RunStarted) -> int:
    """Number of times that a run asks each of its models each case.

    Raises `ImpossibleHistory` if that does not match the plan: otherwise reading the plan might
    not end.
    """
    repetitions = recorded_configuration(started).execution.repetitions
    of_each = started.planned_cases * len(started.models)
    if repetitions < 1 or repetitions * of_each > started.planned_evaluations:
        raise ImpossibleHistory(
            f"the run's configuration is invalid: execution.repetitions: {repetitions} of each are "
            f"not the {started.planned_evaluations} evaluations that the run planned"
        )
    return repetitions


@lru_cache(maxsize=256)
def _parse_configuration(encoded: bytes) -> RecordedConfiguration:
    return RecordedConfiguration(orjson.loads(encoded))


def _parse_leniently(kind: type[S], values: Any) -> S:
    """The parsed section. Keeps values beyond the limits of this version; drops unknown keys.

    Raises `ValidationError` for any other invalid value.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        details = error.errors(include_url=False)
        if any(detail["type"] != _GONE and detail["type"] not in LIMITS for detail in details):
            raise
    accepted = _copy_json(values)
    for detail in details:
        # A text may be required: a valid one replaces it until it is restored below.
        _remove_or_replace(
            accepted, detail["loc"], "a" if detail["type"].startswith("string_") else None
        )
    section = kind.model_validate(accepted)
    for detail in details:
        if detail["type"] in LIMITS:
            section = _restore(section, detail["loc"], detail["input"])
    return section


def _copy_json(values: Any) -> Any:
    try:
        return orjson.loads(orjson.dumps(values))
    except TypeError:
        raise ImpossibleHistory(
            "the run's configuration is invalid: it is nested too deeply"
        ) from None


def _remove_or_replace(values: Any, place: tuple[int | str, ...], instead: str | None) -> None:
    *above, last = place
    for name in above:
        values = values[name]
    if instead is None:
        del values[last]
    else:
        values[last] = instead


def _restore(section: Any, place: tuple[int | str, ...], value: Any) -> Any:
    """The section with the nested value at `place` restored to the recorded one, without
    validation."""
    name, *rest = place
    inner = _restore(getattr(section, str(name)), tuple(rest), value) if rest else value
    return section.model_copy(update={str(name): inner})
