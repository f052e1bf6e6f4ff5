"""From a YAML file to a checked configuration, or to every reason why not."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import orjson
from pydantic import ValidationError

from failproof_es import shipped
from failproof_es.configuration.explain import explain
from failproof_es.configuration.overrides import override
from failproof_es.configuration.schema import Configuration, Model, PriceList
from failproof_es.configuration.yaml_tree import Location, YamlTree, dotted, located, read_yaml
from failproof_es.problems import InvalidInput, Problem, Problems

_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_VARIABLE = re.compile(r"\$\{[A-Za-z_]\w*[^}]*\}")
_PLACEHOLDERS = ("{timestamp}", "{test_name}")


@dataclass(frozen=True, slots=True)
class LoadedConfiguration:
    """A configuration, the file it came from, and where in it everything stands."""

    configuration: Configuration
    path: Path
    tree: YamlTree

    def placed(self, problem: Problem) -> Problem:
        """The problem with the file and line of its field, where it has none of its own."""
        if problem.field is None or problem.path is not None:
            return problem
        path, line = self.tree.place_of(located(problem.field), self.path)
        return replace(problem, path=path, line=line)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where relative paths in it are looked for, in this order."""
        return (Path.cwd(), self.path.absolute().parent, shipped.folder())

    def resolved(self) -> dict[str, Any]:
        """The whole configuration as JSON, defaults filled in. Holds no secret."""
        return self.configuration.model_dump(mode="json", by_alias=True)

    def digest(self) -> str:
        """SHA-256 of what determines the run: everything but `test_run.id` and `timestamp`."""
        resolved = self.resolved()
        for name in ("id", "timestamp"):
            resolved["test_run"].pop(name)
        return hashlib.sha256(orjson.dumps(resolved, option=orjson.OPT_SORT_KEYS)).hexdigest()


def configuration_from_resolved(resolved: dict[str, Any]) -> Configuration:
    """The configuration that `RunStarted` recorded."""
    return Configuration.model_validate(resolved)


def load_configuration(path: Path, settings: Sequence[str] = ()) -> LoadedConfiguration:
    """Read and check a configuration file, with `key.path=value` settings put over it.

    A configuration that ships can be given by its name. Raises `InvalidInput` with every
    problem in all of them.
    """
    problems = Problems()
    path = shipped.configuration(path)
    if not path.exists():
        names = ", ".join(shipped.configuration_names())
        remedy = f"check the path, or name one that ships: {names}"
        raise InvalidInput([Problem("does not exist", path=path, remedy=remedy)])
    tree = read_yaml(path, problems)
    if tree is None:
        raise InvalidInput(problems.errors)
    if not isinstance(tree.value, dict):
        problems.error(
            "is not a configuration: a mapping is expected at the top",
            path=path,
            remedy="see configs/quickstart.yaml",
        )
        problems.raise_errors()
    override(tree, settings, problems)
    configuration = None
    try:
        configuration = Configuration.model_validate(tree.value)
    except ValidationError as error:
        explain(error, path, tree, Configuration, problems)
    else:
        _check_rules(path, tree, configuration, problems)
        configuration = _with_price_file(path, tree, configuration, problems)
    problems.raise_errors()
    assert configuration is not None
    return LoadedConfiguration(configuration, path, tree)


def _with_price_file(
    path: Path, tree: YamlTree, configuration: Configuration, problems: Problems
) -> Configuration:
    """The configuration with the content of its price file: a run never reads a file again."""
    prices = configuration.prices
    if prices.file is None:
        return configuration
    named = Path(prices.file).expanduser()
    folders = (Path.cwd(), path.absolute().parent)
    file = next((found for folder in folders if (found := folder / named).is_file()), None)
    if file is None:
        found_in, line = tree.place_of(("prices", "file"), path)
        looked_in = ", ".join(str(folder) for folder in folders)
        problems.error(
            f"there is no file {prices.file} (looked in {looked_in})",
            path=found_in, line=line, field="prices.file", remedy="check the path",
        )  # fmt: skip
        return configuration
    listed = read_yaml(file, problems)
    if listed is None:
        return configuration
    try:
        price_list = PriceList.model_validate(listed.value)
    except ValidationError as error:
        explain(error, file, listed, PriceList, problems)
        return configuration
    content = {"version": price_list.version, "models": price_list.models}
    return configuration.model_copy(update={"prices": prices.model_copy(update=content)})


# -- rules between values ------------------------------------------------------------------


def _check_rules(
    path: Path, tree: YamlTree, configuration: Configuration, problems: Problems
) -> None:
    def error(location: Location, message: str, remedy: str | None = None) -> None:
        found_in, line = tree.place_of(location, path)
        problems.error(message, path=found_in, line=line, field=dotted(location), remedy=remedy)

    if (given := configuration.test_run.id) is not None and not _is_uuid(given):
        error(("test_run", "id"), "is not a UUID", "leave it out to have one generated")
    for index, model in enumerate(configuration.models):
        for name, message, remedy in _model_problems(model):
            error(("models", index, name), message, remedy)
    if configuration.judge is not None:
        for name, message, remedy in _model_problems(configuration.judge):
            error(("judge", name), message, remedy)
    prompts = configuration.prompts
    wanted, other = ("path", "collection") if prompts.source == "file" else ("collection", "path")
    if getattr(prompts, wanted) is None:
        error(("prompts", wanted), f"is missing: source `{prompts.source}` needs it")
    if getattr(prompts, other) is not None:
        error(("prompts", other), f"means nothing to source `{prompts.source}`", "take it out")
    prices = configuration.prices
    if prices.file is not None and (prices.version is not None or prices.models):
        error(("prices",), "names a file and lists prices", "keep one of them")
    elif prices.models and prices.version is None:
        error(("prices", "version"), "is missing", "add the day of the prices: YYYY-MM-DD")
    for location, variable in _variables(tree.value):
        error(
            location,
            f"{variable} would be sent as it stands: environment variables are not filled in",
            "write the value; a key's variable is named in `api_key_env`",
        )
    if configuration.output.file is not None:
        for placeholder in _PLACEHOLDER.findall(configuration.output.file.path):
            if placeholder not in _PLACEHOLDERS:
                error(
                    ("output", "file", "path"),
                    f"the placeholder {placeholder} is not known",
                    f"use {' or '.join(_PLACEHOLDERS)}",
                )


def _variables(value: Any, at: Location = ()) -> Iterator[tuple[Location, str]]:
    """Where a text looks like a reference to an environment variable.

    Not in `prompts.options` and a model's `parameters`: what stands there is a dialect's and
    a provider's to read.
    """
    if isinstance(value, str):
        if found := _VARIABLE.search(value):
            yield at, found[0]
        return
    if at == ("prompts", "options") or (at[:1] == ("models",) and at[2:] == ("parameters",)):
        return
    inside: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict | list):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in inside:
        yield from _variables(each, (*at, key))


_TAKEN = {
    "openai": ("base_url", "api_key_env"),
    "local": (),
    "python": ("class", "api_key_env"),
}
_OWN_PLACE = frozenset({"model", "messages", "max_tokens", "temperature", "seed", "stream", "n"})
_NEEDED = {"openai": ("base_url",), "local": (), "python": ("class",)}


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
    for name in sorted(_OWN_PLACE & set(model.parameters)):
        found.append(
            ("parameters", f"may not hold `{name}`", "what is asked of whom stands in its own key")
        )
    if model.base_url is not None:
        found += [("base_url", *problem) for problem in _url_problems(model.base_url)]
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
    return []


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
