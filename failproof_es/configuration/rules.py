"""Rules between the values of a configuration, which a schema of one value cannot express."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from failproof_es.configuration.choice_rules import (
    Report,
    check_keys,
    check_matrix,
    check_selection,
    check_templates,
)
from failproof_es.configuration.connection_rules import connection_problems, url_problems
from failproof_es.configuration.locations import Location, dotted
from failproof_es.configuration.providers import (
    Capabilities,
    EntryProblem,
    EntryRules,
    rules_of,
)
from failproof_es.configuration.schema import (
    FILE_SUFFIX,
    Configuration,
    FileOutput,
    Model,
    ModelPrice,
    Prices,
    PromptsSection,
    TestRun,
)
from failproof_es.configuration.yaml_tree import YamlTree
from failproof_es.problems import InvalidInput, Problems
from failproof_es.support.key_shapes import find_key
from failproof_es.support.untrusted_text import HALF_CHARACTER

_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_VARIABLE = re.compile(
    r"\$\{(?P<shell>[A-Za-z_]\w*)[^}]*\}"
    r"|\{\{-?\s*env\s*[.\[]['\"\s]{0,9}(?P<template>\w*)[^{}]*\}\}"
)
"""Forms of an environment variable in a shell, docker compose, promptfoo and others."""
_STOPS = frozenset({"stop", "stop_sequences", "stopSequences"})
"""Half a surrogate pair; what Python also makes of bytes in a path that are not UTF-8."""
_KEY = re.compile(
    r"(.*[-_])?(api|access|auth|bearer|refresh|secret|session|private|subscription)[-_]?"
    r"(key|token)s?"
    r"|(proxy[-_])?authorization|bearer|passw(or)?d|(.*[-_])?(client[-_]?)?secrets?|token"
    r"|(set[-_])?cookie",
    re.IGNORECASE,
)
"""Names of parameters whose value, if it is a text, is a secret."""
_USE_VARIABLE = "put it into an environment variable, named in `api_key_env` or under `headers`"
AS_TEXT = "remove it, or write it as text"
_TIMESTAMP = "{timestamp}"
_PLACEHOLDERS = (_TIMESTAMP, "{test_name}")


def check_rules(
    path: Path, tree: YamlTree, configuration: Configuration, problems: Problems
) -> None:
    """Add each rule that the configuration breaks to `problems`, with its place in the file.

    `path` is the file, and `tree` its content with the line of each value.
    """

    def report(code: str, location: Location, message: str, remedy: str | None) -> None:
        found_in, line = tree.place_of(location, path)
        problems.error(
            code, message, path=found_in, line=line, field=dotted(location), remedy=remedy
        )

    if HALF_CHARACTER.search(str(path)):
        problems.error(
            "path-not-utf8",
            "the path is not UTF-8, so it cannot be recorded",
            path=path,
            remedy="rename it",
        )
    _check_test_run(configuration.test_run, report)
    for index, model in enumerate(configuration.models):
        _check_model(model, ("models", index), report)
    _check_judges(configuration, report)
    _check_prompts(configuration.prompts, report)
    check_selection(configuration.selection, report)
    check_templates(configuration, report)
    check_matrix(configuration.matrix, report)
    check_keys(configuration, report)
    _check_prices(configuration.prices, report)
    check_price_tiers(path, tree, ("prices",), configuration.prices.models, problems)
    if configuration.output.file is not None:
        _check_file(configuration.output.file, report)
    for location, wrong in non_json_values(tree.value):
        report("not-storable", location, wrong, AS_TEXT)
    refused = {problem.field for problem in problems.errors}
    for location in _keys_in(tree.value):
        if refused.isdisjoint(map(dotted, _settings_of(location))):
            report(
                "key-exposed",
                location,
                "has the shape of a key: a configuration is recorded, and a key never is",
                _USE_VARIABLE,
            )
    for location, variable in _variable_references(tree.value):
        report(
            "placeholder-unresolved",
            location,
            f"${{{variable}}} would be sent literally: environment variables are not expanded",
            "write the value; a key's variable is named in `api_key_env`",
        )


def check_variants(
    path: Path, tree: YamlTree, configuration: Configuration, problems: Problems
) -> None:
    """Add the errors of a matrix's variants to `problems`, each message once.

    The variants are the models of `configuration`.
    """
    seen: set[str] = set()

    def report(code: str, location: Location, message: str, remedy: str | None) -> None:
        if message not in seen:
            seen.add(message)
            found_in, line = tree.place_of(("matrix",), path)
            field = f"matrix: {location[-1]}"
            problems.error(code, message, path=found_in, line=line, field=field, remedy=remedy)

    for index, model in enumerate(configuration.models):
        _check_model(model, ("models", index), report)
    check_keys(configuration, report)


def check_providers(path: Path, tree: YamlTree, problems: Problems) -> None:
    """Add each unknown provider to `problems`, also in a tree with other errors."""

    def report(code: str, location: Location, message: str, remedy: str | None) -> None:
        found_in, line = tree.place_of(location, path)
        problems.error(
            code, message, path=found_in, line=line, field=dotted(location), remedy=remedy
        )

    for at, entry in _entries(tree.value):
        if isinstance(entry, dict) and isinstance(name := entry.get("provider"), str) and name:
            check_provider(name, at, report)


def _entries(value: dict[str, Any]) -> Iterator[tuple[Location, Any]]:
    """The entries of models and judges in the raw configuration, each with its location.

    The last is `judge`, which is `None` if it is missing.
    """
    for key in ("models", "judges"):
        entries = value.get(key)
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            yield (key, index), entry
    yield ("judge",), value.get("judge")


def _check_test_run(test_run: TestRun, report: Report) -> None:
    test_run_id = test_run.id
    if test_run_id is None:
        return
    remedy = "use a word or a UUID, or leave it out"
    if test_run_id == "latest" or (test_run_id.isascii() and test_run_id.isdigit()):
        message = "is reserved on the command line: `latest` and numbers mean other runs"
        report("invalid-name", ("test_run", "id"), message, remedy)
    elif not test_run_id.isprintable() or test_run_id != test_run_id.strip() or not test_run_id:
        message = "is empty, begins or ends with a space, or holds what cannot be printed"
        report("invalid-name", ("test_run", "id"), message, remedy)


def _check_judges(configuration: Configuration, report: Report) -> None:
    if configuration.judge is not None:
        _check_model(configuration.judge, ("judge",), report)
    for index, judge in enumerate(configuration.judges or []):
        _check_model(judge, ("judges", index), report)
    if configuration.judge is not None and configuration.judges is not None:
        remedy = "keep one of them: `judges` takes several"
        report("options-conflict", ("judges",), "cannot be combined with `judge`", remedy)


def _check_prompts(prompts: PromptsSection, report: Report) -> None:
    needed_key, other_key = (
        ("path", "collection") if prompts.source == "file" else ("collection", "path")
    )
    if getattr(prompts, needed_key) is None:
        message = f"is missing: source `{prompts.source}` needs it"
        report("missing-field", ("prompts", needed_key), message, None)
    if getattr(prompts, other_key) is not None:
        message = f"has no effect with source `{prompts.source}`"
        report("no-effect", ("prompts", other_key), message, "remove it")


def _check_prices(prices: Prices, report: Report) -> None:
    if prices.file is not None and (prices.version is not None or prices.models):
        message = "names a file and lists prices"
        report("options-conflict", ("prices",), message, "keep one of them")
    elif prices.models and prices.version is None:
        remedy = "add the day of the prices: YYYY-MM-DD"
        report("missing-field", ("prices", "version"), "is missing", remedy)


def check_price_tiers(
    path: Path, tree: YamlTree, at: Location, models: Sequence[ModelPrice], problems: Problems
) -> None:
    """Add tiers of one model that begin at the same size to `problems`: they would be ambiguous.

    `at` is the location of the price list in `tree`.
    """
    for number, model in enumerate(models):
        seen: set[int] = set()
        for place, tier in enumerate(model.tiers):
            if tier.over_input_tokens in seen:
                location = (*at, "models", number, "tiers", place, "over_input_tokens")
                found_in, line = tree.place_of(location, path)
                problems.error(
                    "duplicate-value", "is the same as in another tier", path=found_in, line=line,
                    field=dotted(location), remedy="keep one of them",
                )  # fmt: skip
            seen.add(tier.over_input_tokens)


def _check_file(output: FileOutput, report: Report) -> None:
    if output.enabled and _TIMESTAMP not in Path(output.path).name:
        report(
            "missing-placeholder",
            ("output", "file", "path"),
            f"the file name has no {_TIMESTAMP}: every run would overwrite it",
            "write it like ./outputs/{timestamp}_{test_name}.jsonl (specification 001 § 5.3)",
        )
    if not output.path.endswith(FILE_SUFFIX):
        report(
            "wrong-suffix",
            ("output", "file", "path"),
            f"is not the name of a {FILE_SUFFIX} file, which is all that is written",
            "write it like ./outputs/{timestamp}_{test_name}.jsonl",
        )
    for placeholder in _PLACEHOLDER.findall(output.path):
        if placeholder not in _PLACEHOLDERS:
            report(
                "unknown-placeholder",
                ("output", "file", "path"),
                f"the placeholder {placeholder} is not known",
                f"use {' or '.join(_PLACEHOLDERS)}",
            )


def _keys_in(configuration: Any) -> Iterator[Location]:
    """The location of each text that has the shape of a key."""
    for at, value in _leaves(configuration):
        if isinstance(value, str) and find_key(value) is not None:
            yield at


def _settings_of(location: Location) -> Iterator[Location]:
    """The location of a value, and those of the settings around it, but of no whole entry."""
    yield location
    for length in range(2, len(location)):
        if isinstance(location[length - 1], str):
            yield location[:length]


def _variable_references(configuration: Any) -> Iterator[tuple[Location, str]]:
    """The location of each value that looks like `${VARIABLE}` or `{{env.VARIABLE}}`, and the name
    of the variable: a default beside it may be a key.

    Excludes `prompts.options` and a model's `options`, which dialects and classes interpret, and
    the texts that stop an answer, which may be anything.
    """
    for at, value in _leaves(configuration):
        foreign = "options" in at[1:3] or not _STOPS.isdisjoint(at)
        if isinstance(value, str) and not foreign and (match := _VARIABLE.search(value)):
            yield at, match["shell"] or match["template"]


def non_json_values(configuration: Any) -> Iterator[tuple[Location, str]]:
    """The location of each value that the recorded JSON cannot hold, and the error message."""
    for at, value in _leaves(configuration):
        if isinstance(value, float) and not math.isfinite(value):
            yield at, "is not a number that can be sent or recorded"
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            yield at, "is too large a number to be sent or recorded"
        elif any(isinstance(text, str) and HALF_CHARACTER.search(text) for text in (*at, value)):
            yield at, "holds half a surrogate pair, which is not a character"


def _leaves(value: Any, at: Location = ()) -> Iterator[tuple[Location, Any]]:
    """Every value that is not a mapping or list, with its location; `at` is the location of
    `value`."""
    inside: Iterable[tuple[str | int, Any]]
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list | tuple):
        inside = enumerate(value)
    else:
        yield at, value
        return
    for key, child in inside:
        yield from _leaves(child, (*at, key))


def check_provider(name: str, at: Location, report: Report) -> EntryRules | None:
    """The rules of this provider; `None` after reporting that it is missing or broken.

    `at` is the location of the entry that names the provider.
    """
    try:
        return rules_of(name)
    except InvalidInput as wrong:
        for problem in wrong.problems:
            report(problem.code, (*at, "provider"), problem.message, problem.remedy)
        return None


def without_broken_fields(model: Model) -> Model | None:
    """The entry with defaults in place of what breaks a rule; `None` if it breaks one even so."""
    try:
        rules = rules_of(model.provider)
    except InvalidInput:
        return None
    fields = {"class_" if p.field == "class" else p.field for p in entry_problems(model, rules)}
    defaults = {name: Model.model_fields[name].default for name in fields}
    sound = model.model_copy(update=defaults)
    return None if any(entry_problems(sound, rules)) else sound


def _check_model(model: Model, at: Location, report: Report) -> None:
    rules = check_provider(model.provider, at, report)
    for problem in entry_problems(model, rules):
        report(problem.code, (*at, problem.field), problem.message, problem.remedy)


def entry_problems(model: Model, rules: EntryRules | None) -> Iterator[EntryProblem]:
    """The errors in an entry of `models:`, by its provider's rules and those of connections.

    Without `rules` (an unknown provider) only those of connections.
    """
    if rules is not None:
        yield from _model_problems(model, rules)
    yield from url_problems(model.base_url)
    yield from connection_problems(model)


def _model_problems(model: Model, rules: EntryRules) -> Iterator[EntryProblem]:
    nothing = f"is not supported by provider `{rules.name}`"
    presence = {
        "base_url": model.base_url is not None,
        "class": model.class_ is not None,
        "api_key_env": model.api_key_env is not None,
        "options": bool(model.options),
        "headers": bool(model.headers),
        "proxy": model.proxy is not None,
        "ca_file": model.ca_file is not None,
    }
    for name, is_given in presence.items():
        if not is_given and name in rules.needs:
            missing = f"is missing: provider `{rules.name}` needs it"
            yield EntryProblem("missing-field", name, missing, None)
        if is_given and name not in rules.takes:
            yield EntryProblem("unsupported-feature", name, nothing, "remove it")
    can = rules.capabilities
    if model.stream and not can.streaming:
        yield EntryProblem(
            "unsupported-feature",
            "stream",
            f"is not supported by provider `{rules.name}`: it does not stream",
            "remove it",
        )
    if model.structured_output and not can.schema:
        free = f"{nothing}: it does not support schemas"
        yield EntryProblem("unsupported-feature", "structured_output", free, "remove it")
    if model.seed is not None and not can.seed:
        yield EntryProblem("unsupported-feature", "seed", nothing, "remove it")
    yield from _version_problems(model, can)
    yield from rules.problems(model)
    for name in sorted({*rules.reserved, "prompt_template"} & set(model.parameters)):
        own = "this has a key of its own"
        yield EntryProblem("reserved-field", "parameters", f"must not hold `{name}`", own)
    for at, value in _leaves(model.parameters):
        names = [step for step in at if isinstance(step, str)]
        if names and isinstance(value, str) and _KEY.fullmatch(names[-1]):
            message = f"must not hold `{names[-1]}`: parameters are recorded, and a key never is"
            yield EntryProblem("key-exposed", "parameters", message, _USE_VARIABLE)


def _version_problems(model: Model, can: Capabilities) -> Iterator[EntryProblem]:
    """The errors in `version` and `version_check`: no answer shows a version, or none is set.

    `can` are the capabilities of the entry's provider.
    """
    if model.version is None:
        if model.version_check != "version":
            yield EntryProblem(
                "no-effect", "version_check", "has no effect without `version`", "remove it"
            )
    elif model.version_check == "version" and not can.shows_version:
        cannot = f"cannot be checked: no answer of provider `{model.provider}` shows a version"
        remedy = "leave it out, or have it recorded unchecked with `version_check: name`"
        yield EntryProblem("unsupported-feature", "version", cannot, remedy)
