"""Results in the shape that a run's own dialect gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from failproof_es.case import Case
from failproof_es.cli.recorded_run import RecordedRun
from failproof_es.dialects import dialect_named
from failproof_es.evaluation import Evaluation
from failproof_es.problems import InvalidInput

Shape = Callable[[Case, Evaluation], dict[str, Any]]


def shape_of(dialect_name: str, shape: str | None) -> Shape:
    """The function that turns an evaluation into a result: the dialect's own, or `shape`.

    Raises `InvalidInput` when the dialect has no such shape.
    """
    dialect = dialect_named(dialect_name)
    shapes: dict[str, Shape] = {dialect_name: dialect.result, **getattr(dialect, "shapes", {})}
    chosen = shapes.get(shape or dialect_name)
    if chosen is None:
        raise InvalidInput.because(
            f"dialect {dialect_name!r} has no result shape {shape!r}",
            remedy=f"use one of: {', '.join(sorted(shapes))}",
        )
    return chosen


def result_rows(run: RecordedRun, shape: str | None = None) -> Iterator[dict[str, Any]]:
    """Every evaluation that has begun, in plan order, in the dialect's own JSON shape."""
    as_result = shape_of(run.started.dialect, shape)
    for recorded in run.evaluations():
        if recorded.history:
            yield as_result(recorded.case, recorded.state())
