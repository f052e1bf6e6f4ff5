"""Results as a data frame of pandas or polars, each column with its type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from failproof_es.catalogue.result import RecordedResult
from failproof_es.problems import InvalidInput
from failproof_es.support.columns import Kind, columns_of

FrameLibrary = Literal["pandas", "polars"]
_PANDAS: Mapping[Kind, str] = {
    "text": "string", "texts": "object", "integer": "Int64", "number": "Float64",
    "boolean": "boolean", "timestamp": "datetime64[us, UTC]",
}  # fmt: skip


def frame_of(results: Iterable[RecordedResult], library: FrameLibrary | None = None) -> Any:
    """A data frame with one row for each result. Costs are floating-point numbers.

    `library` is by default the installed one, pandas first. Raises `InvalidInput` if none is
    installed, or `library` is not.
    """
    module_name = library or next(
        (n for n in ("pandas", "polars") if find_spec(n) is not None), None
    )
    if module_name not in ("pandas", "polars"):
        reason = "none is installed here" if module_name is None else f"it is not {module_name!r}"
        raise InvalidInput.because(
            "package-not-installed" if module_name is None else "invalid-option",
            f"a data frame is one of pandas or polars, and {reason}",
            remedy="pip install 'failproof-es[notebook]'",
        )
    if find_spec(module_name) is None:
        raise InvalidInput.because(
            "package-not-installed",
            f"{module_name} is not installed here",
            remedy=f"pip install {module_name}",
        )
    kinds, values = _columns(results)
    module = import_module(module_name)
    if module_name == "pandas":
        return module.DataFrame(
            {name: module.Series(values[name], dtype=_PANDAS[kind]) for name, kind in kinds.items()}
        )
    return module.DataFrame(values, schema={n: _polars(module, kind) for n, kind in kinds.items()})


def _columns(results: Iterable[RecordedResult]) -> tuple[dict[str, Kind], dict[str, list[Any]]]:
    """The kind of each column, and its cells, by column name.

    Each named score becomes a column `score:NAME`, after the others; a result without it has
    `None`.
    """
    columns = [column for column in columns_of(RecordedResult) if column.kind != "numbers"]
    kinds: dict[str, Kind] = {column.name: column.kind for column in columns}
    values: dict[str, list[Any]] = {name: [] for name in kinds}
    scores: dict[str, list[float | None]] = {}
    for count, result in enumerate(results):
        for column in columns:
            values[column.name].append(_plain_value(getattr(result, column.attribute), column.kind))
        for name in result.scores:
            scores.setdefault(name, [None] * count)
        for name, numbers in scores.items():
            numbers.append(result.scores.get(name))
    for name, numbers in sorted(scores.items()):
        kinds[f"score:{name}"], values[f"score:{name}"] = "number", numbers
    return kinds, values


def _plain_value(value: Any, kind: Kind) -> Any:
    if value is None:
        return None
    match kind:
        case "number":
            return float(value)
        case "text":
            return str(value)
        case "texts":
            return list(value)
        case _:
            return value


def _polars(module: Any, kind: Kind) -> Any:
    return {
        "text": module.String,
        "texts": module.List(module.String),
        "integer": module.Int64,
        "number": module.Float64,
        "boolean": module.Boolean,
        "timestamp": module.Datetime("us", "UTC"),
    }[kind]
