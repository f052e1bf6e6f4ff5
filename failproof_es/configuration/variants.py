"""The models of a run: their keys, the variants of a matrix, and which of them are asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, product
from math import prod
from pathlib import Path
from typing import Any

import orjson

from failproof_es.configuration.choices import MOST_VARIANTS, Matrix, PromptTemplate, fits
from failproof_es.configuration.locations import dotted
from failproof_es.configuration.schema import Configuration, Model
from failproof_es.configuration.yaml_tree import YamlTree
from failproof_es.problems import Problems
from failproof_es.support.plurals import plural


def model_keys(models: Sequence[Model]) -> list[str]:
    """The key of each entry of `models:`, in order; unique unless entries set the same `key`.

    The entry's `key`. Without one, the model's name; where two entries share it,
    `provider:model`; where they share that too, numbered `#1`, `#2` in order.
    """
    keyless = [model for model in models if model.key is None]
    names = Counter(model.model for model in keyless)
    by_model = [m.model if names[m.model] == 1 else f"{m.provider}:{m.model}" for m in keyless]
    shared = Counter(by_model)
    seen: Counter[str] = Counter()
    unique = []
    for name in by_model:
        seen[name] += 1
        unique.append(name if shared[name] == 1 else f"{name}#{seen[name]}")
    remaining = iter(unique)
    return [next(remaining) if model.key is None else model.key for model in models]


OWN = frozenset({"temperature", "max_tokens", "seed", "stream"})
"""The parameters that are keys of a model's entry; all others stand in its `parameters`."""
_LONGEST_KEY = 200


def exceeds_most(
    path: Path, tree: YamlTree, configuration: Configuration, problems: Problems
) -> bool:
    """Whether the matrix makes more variants than `matrix.most`; then an error in `problems`."""
    matrix = configuration.matrix
    if matrix is None:
        return False
    count = len(configuration.models) * prod(_sizes(matrix))
    if count <= matrix.most:
        return False
    found_in, line = tree.place_of(("matrix",), path)
    problems.error(
        "limit-exceeded",
        f"makes {count:,} variants ({_factors(len(configuration.models), matrix)}), "
        f"and matrix.most is {matrix.most:,}",
        path=found_in,
        line=line,
        field="matrix",
        remedy="leave some out, or raise matrix.most",
    )
    return True


def with_matrix(
    path: Path, tree: YamlTree, configuration: Configuration, problems: Problems
) -> Configuration:
    """The configuration with the variants of its matrix in place of its models.

    `check_matrix` and `exceeds_most` must have accepted it. Too long a key is an error in
    `problems`; the configuration is then unchanged.
    """
    matrix = configuration.matrix
    if matrix is None:
        return configuration
    variants = []
    for key, model in zip(model_keys(configuration.models), configuration.models, strict=True):
        for changes in _variants(key, model, matrix):
            if len(changes["key"]) > _LONGEST_KEY:
                found_in, line = tree.place_of(("matrix",), path)
                message = f"a key has more than {_LONGEST_KEY} characters"
                problems.error("out-of-range", message, path=found_in, line=line, field="matrix")
                return configuration
            variant = Model.model_validate({**model.model_dump(by_alias=True), **changes})
            variants.append(variant.placed(model.place))
    return configuration.model_copy(update={"models": variants})


def _variants(key: str, model: Model, matrix: Matrix) -> Iterator[dict[str, Any]]:
    """For each variant of a model, the changed keys of its entry, including `key`."""
    for label, template, combination in _labelled_variants(matrix):
        parameters = {n: value for n, value in combination if n not in OWN}
        yield {
            **{n: value for n, value in combination if n in OWN},
            **({} if template is None else {"prompt_template": template.model_dump()}),
            "parameters": {**model.parameters, **parameters},
            "key": f"{key}@{label}" if label else key,
        }


def _labelled_variants(
    matrix: Matrix,
) -> Iterator[tuple[str, PromptTemplate | None, tuple[tuple[str, Any], ...]]]:
    """The label of each variant, its prompt template and its parameters."""
    templates: list[tuple[str | None, PromptTemplate | None]] = [(None, None)]
    if matrix.prompts is not None:
        templates = [*matrix.prompts.items()]
    for name, template in templates:
        for combination in _combinations(matrix):
            labels = [
                *([] if name is None else [name]),
                *(f"{n}={_format_value(v)}" for n, v in combination),
            ]
            yield ",".join(labels), template, combination


def split_variants(matrix: Matrix, keys: Sequence[str]) -> list[tuple[str, str]]:
    """The key of each variant's model, and the variant's label; empty where a key has none."""
    labels = {label for label, _, _ in islice(_labelled_variants(matrix), MOST_VARIANTS)}
    return [_split_variant(key, labels) for key in keys]


def _split_variant(key: str, labels: set[str]) -> tuple[str, str]:
    at = key.find("@")
    while at >= 0:
        if key[at + 1 :] in labels:
            return key[:at], key[at + 1 :]
        at = key.find("@", at + 1)
    return key, ""


def describe_matrix(configuration: Configuration, of_models: int) -> str | None:
    """The numbers of variants, models and values, as text; `None` without a matrix.

    `of_models` is the number of models before the matrix was applied.
    """
    matrix = configuration.matrix
    if matrix is None:
        return None
    variants = plural(of_models * prod(_sizes(matrix)), "variant")
    return f"matrix: {variants} ({_factors(of_models, matrix)})"


def _factors(models: int, matrix: Matrix) -> str:
    return ", ".join([plural(models, "model"), *_dimensions(matrix)])


def _dimensions(matrix: Matrix) -> list[str]:
    prompts = [] if matrix.prompts is None else [plural(len(matrix.prompts), "prompt")]
    return prompts + [
        f"{name} {len(values):,}" for name, values in (matrix.parameters or {}).items()
    ]


def _sizes(matrix: Matrix) -> list[int]:
    return [len(matrix.prompts or {None: None}), *map(len, (matrix.parameters or {}).values())]


def _combinations(matrix: Matrix) -> Iterator[tuple[tuple[str, Any], ...]]:
    """Every combination of the parameters' values, the last one changing fastest."""
    alternatives = [
        [(name, value) for value in values] for name, values in (matrix.parameters or {}).items()
    ]
    return product(*alternatives)


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def with_selected_models(
    path: Path, tree: YamlTree, configuration: Configuration, problems: Problems
) -> Configuration:
    """The configuration with only the models that `selection.models` chooses; by default all.

    Each keeps the key that it has among all models. A pattern that fits no key is an error in
    `problems`.
    """
    patterns = configuration.selection.models
    if patterns is None:
        return configuration
    keys = model_keys(configuration.models)
    for at, pattern in enumerate(patterns):
        if not any(fits(key, pattern) for key in keys):
            location = ("selection", "models", at)
            found_in, line = tree.place_of(location, path)
            problems.error(
                "unknown-model", f"no model has the key {pattern!r}", path=found_in, line=line,
                field=dotted(location), remedy=f"there are: {', '.join(keys)}",
            )  # fmt: skip
    selected = [
        (key, model)
        for key, model in zip(keys, configuration.models, strict=True)
        if any(fits(key, pattern) for pattern in patterns)
    ]
    without = model_keys([model for _, model in selected])
    models = [
        model if key == alone else model.model_copy(update={"key": key})
        for (key, model), alone in zip(selected, without, strict=True)
    ]
    return configuration.model_copy(update={"models": models})
