"""Rules between the values of a configuration: what no schema of one value can say."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from failproof_es.configuration.schema import (
    Configuration,
    FileOutput,
    Model,
    ModelPrice,
    Prices,
    Prompts,
    TestRun,
)
from failproof_es.configuration.yaml_tree import Location, YamlTree, dotted
from failproof_es.problems import Problems

_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_VARIABLE = re.compile(r"\$\{[A-Za-z_]\w*[^}]*\}")
_HALF = re.compile("[\ud800-\udfff]")
"""Half a surrogate pair; what Python also makes of bytes in a path that are not UTF-8."""
_TIMESTAMP = "{timestamp}"
_PLACEHOLDERS = (_TIMESTAMP, "{test_name}")

Report = Callable[[Location, str, str | None], None]


def check_rules(
    path: Path, tree: YamlTree, configuration: Configuration, problems: Problems
) -> None:
    """Report every rule that the configuration breaks, each with its place in `tree`."""

    def error(location: Location, message: str, remedy: str | None) -> None:
        found_in, line = tree.place_of(location, path)
        problems.error(message, path=found_in, line=line, field=dotted(location), remedy=remedy)

    if _HALF.search(str(path)):
        problems.error(
            "the path is not UTF-8: no record can hold it", path=path, remedy="rename it"
        )
    _check_test_run(configuration.test_run, error)
    for index, model in enumerate(configuration.models):
        _check_model(model, ("models", index), error)
    _check_judges(configuration, error)
    _check_prompts(configuration.prompts, error)
    _check_prices(configuration.prices, error)
    check_price_tiers(path, tree, ("prices",), configuration.prices.models, problems)
    if configuration.output.file is not None:
        _check_file(configuration.output.file, error)
    for location, wrong in _not_json(tree.value):
        error(location, wrong, "take it out, or write it as text")
    for location, variable in _variables(tree.value):
        error(
            location,
            f"{variable} would be sent as it stands: environment variables are not filled in",
            "write the value; a key's variable is named in `api_key_env`",
        )


def _check_test_run(test_run: TestRun, error: Report) -> None:
    named = test_run.id
    if named is None:
        return
    if named == "latest" or (named.isascii() and named.isdigit()):
        said = "means another run on the command line: `latest` and numbers are taken"
        error(("test_run", "id"), said, "use a word or a UUID, or leave it out")
    elif not named.isprintable() or named != named.strip() or not named:
        said = "is empty, begins or ends with a space, or holds what cannot be printed"
        error(("test_run", "id"), said, "use a word or a UUID, or leave it out")


def _check_judges(configuration: Configuration, error: Report) -> None:
    if configuration.judge is not None:
        _check_model(configuration.judge, ("judge",), error)
    for index, judge in enumerate(configuration.judges or []):
        _check_model(judge, ("judges", index), error)
    if configuration.judge is not None and configuration.judges is not None:
        error(("judges",), "stands beside `judge`", "keep one of them: `judges` takes several")


def _check_prompts(prompts: Prompts, error: Report) -> None:
    wanted, other = ("path", "collection") if prompts.source == "file" else ("collection", "path")
    if getattr(prompts, wanted) is None:
        error(("prompts", wanted), f"is missing: source `{prompts.source}` needs it", None)
    if getattr(prompts, other) is not None:
        error(("prompts", other), f"means nothing to source `{prompts.source}`", "take it out")


def _check_prices(prices: Prices, error: Report) -> None:
    if prices.file is not None and (prices.version is not None or prices.models):
        error(("prices",), "names a file and lists prices", "keep one of them")
    elif prices.models and prices.version is None:
        error(("prices", "version"), "is missing", "add the day of the prices: YYYY-MM-DD")


def check_price_tiers(
    path: Path, tree: YamlTree, at: Location, models: Sequence[ModelPrice], problems: Problems
) -> None:
    """Report tiers of one model that begin at the same size: which one counts, nobody could say."""
    for number, model in enumerate(models):
        seen: set[int] = set()
        for place, tier in enumerate(model.tiers):
            if tier.over_input_tokens in seen:
                location = (*at, "models", number, "tiers", place, "over_input_tokens")
                found_in, line = tree.place_of(location, path)
                problems.error(
                    "is that of another tier, too", path=found_in, line=line,
                    field=dotted(location), remedy="keep one of them",
                )  # fmt: skip
            seen.add(tier.over_input_tokens)


def _check_file(output: FileOutput, error: Report) -> None:
    if output.enabled and _TIMESTAMP not in Path(output.path).name:
        error(
            ("output", "file", "path"),
            f"the file name holds no {_TIMESTAMP}: every run would write over it",
            "write it like ./outputs/{timestamp}_{test_name}.jsonl (specification 001 § 5.3)",
        )
    for placeholder in _PLACEHOLDER.findall(output.path):
        if placeholder not in _PLACEHOLDERS:
            error(
                ("output", "file", "path"),
                f"the placeholder {placeholder} is not known",
                f"use {' or '.join(_PLACEHOLDERS)}",
            )


def _variables(configuration: Any) -> Iterator[tuple[Location, str]]:
    """Where a text looks like a reference to an environment variable.

    Not in `prompts.options` and a model's `parameters`: what stands there is a dialect's and
    a provider's to read.
    """
    for at, value in _leaves(configuration):
        foreign = at[:2] == ("prompts", "options") or "parameters" in at[1:3]
        if isinstance(value, str) and not foreign and (found := _VARIABLE.search(value)):
            yield at, found[0]


def _not_json(configuration: Any) -> Iterator[tuple[Location, str]]:
    """What YAML knows and the record, which is JSON, can't hold."""
    for at, value in _leaves(configuration):
        if isinstance(value, float) and not math.isfinite(value):
            yield at, "is no number that can be sent or recorded"
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            yield at, "is too large a number to be sent or recorded"
        elif any(isinstance(text, str) and _HALF.search(text) for text in (*at, value)):
            yield at, "holds half a surrogate pair, which is no character"


def _leaves(value: Any, at: Location = ()) -> Iterator[tuple[Location, Any]]:
    """Every value that is no mapping and no list, with its place."""
    inside: Iterable[tuple[str | int, Any]]
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    else:
        yield at, value
        return
    for key, each in inside:
        yield from _leaves(each, (*at, key))


_TAKEN = {
    "openai": ("base_url", "api_key_env"),
    "anthropic": ("base_url", "api_key_env"),
    "local": (),
    "python": ("class", "api_key_env"),
}
_OWN_PLACE = frozenset({"model", "messages", "max_tokens", "temperature", "seed", "stream", "n"})
_NAMES_NO_VERSION = ("local", "python")
_FREE_FORM = ("anthropic", "python")
_NEEDED = {
    "openai": ("base_url",),
    "anthropic": ("api_key_env",),
    "local": (),
    "python": ("class",),
}


def _check_model(model: Model, at: Location, error: Report) -> None:
    for name, message, remedy in _model_problems(model):
        error((*at, name), message, remedy)


def _model_problems(model: Model) -> list[tuple[str, str, str | None]]:
    values = {
        "base_url": model.base_url,
        "class": model.class_,
        "api_key_env": model.api_key_env,
    }
    found: list[tuple[str, str, str | None]] = []
    for name, value in values.items():
        if value is None and name in _NEEDED[model.provider]:
            found.append((name, f"is missing: provider `{model.provider}` needs it", None))
        if value is not None and name not in _TAKEN[model.provider]:
            found.append((name, f"means nothing to provider `{model.provider}`", "take it out"))
    if model.stream and model.provider == "python":
        found.append(
            ("stream", "means nothing to provider `python`: it answers whole", "take it out")
        )
    if model.structured_output and model.provider in _FREE_FORM:
        nothing = f"means nothing to provider `{model.provider}`: it holds no reply to a schema"
        found.append(("structured_output", nothing, "take it out"))
    found += _version_problems(model)
    if model.provider == "anthropic":
        found += _anthropic_problems(model)
    for name in sorted(_OWN_PLACE & set(model.parameters)):
        found.append(
            ("parameters", f"may not hold `{name}`", "what is asked of whom stands in its own key")
        )
    if model.base_url is not None:
        found += [("base_url", *problem) for problem in _url_problems(model.base_url)]
    return found


def _version_problems(model: Model) -> list[tuple[str, str, str | None]]:
    """A version that nothing could show, and a check of none."""
    if model.version is None:
        if model.version_check == "version":
            return []
        return [("version_check", "means nothing without `version`", "take it out")]
    if model.provider in _NAMES_NO_VERSION and model.version_check == "version":
        cannot = f"cannot be checked: no answer of provider `{model.provider}` shows a version"
        remedy = "leave it out, or have it recorded unchecked with `version_check: name`"
        return [("version", cannot, remedy)]
    return []


def _anthropic_problems(model: Model) -> list[tuple[str, str, str | None]]:
    """What the Messages API does not take, or this program does not speak of it."""
    found: list[tuple[str, str, str | None]] = []
    if model.stream:
        found.append(("stream", "is not spoken to provider `anthropic`", "take it out"))
    if model.seed is not None:
        found.append(("seed", "means nothing to provider `anthropic`", "take it out"))
    if model.temperature > 1:
        found.append(("temperature", "may be at most 1 for provider `anthropic`", None))
    return found


def _url_problems(url: str) -> list[tuple[str, str | None]]:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return [("is not a URL", "write it like http://127.0.0.1:8000/v1")]
    if parts.username or parts.password:
        return [("holds a user name or a password", "name the key's variable in `api_key_env`")]
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return [("is not an http or https URL", "write it like http://127.0.0.1:8000/v1")]
    if parts.query or parts.fragment:  # would stand in every request on record
        return [("goes on after its path", "leave out `?` and `#`; a key goes by `api_key_env`")]
    return []
