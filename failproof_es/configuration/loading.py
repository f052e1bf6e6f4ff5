"""Loads a YAML file as a checked configuration, or reports every problem in it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from failproof_es.configuration.explain import report_schema_errors
from failproof_es.configuration.locations import Location, dotted, nearest_location
from failproof_es.configuration.other_tools import problem_of_content, problem_of_file
from failproof_es.configuration.overrides import override, place_of_model, set_folder
from failproof_es.configuration.place import EntryFolders
from failproof_es.configuration.recorded import LIMITS
from failproof_es.configuration.rules import (
    check_price_tiers,
    check_providers,
    check_rules,
    check_variants,
)
from failproof_es.configuration.schema import Configuration, Model, PriceList
from failproof_es.configuration.usable_part import UsablePart, is_about, usable_part
from failproof_es.configuration.variants import (
    describe_matrix,
    exceeds_most,
    with_matrix,
    with_selected_models,
)
from failproof_es.configuration.yaml_tree import YamlTree, read_yaml
from failproof_es.problems import InvalidInput, Problem, Problems, unreadable_problem
from failproof_es.support import shipped
from failproof_es.support.near_names import did_you_mean
from failproof_es.support.shipped import resolve


@dataclass(frozen=True, slots=True)
class LoadedConfiguration:
    """A configuration, its file, and the line of each value."""

    configuration: Configuration
    path: Path
    folder: Path
    """The folder that its relative paths start from."""
    tree: YamlTree
    of_models: int
    """Number of models in the file with all variants of a matrix; `selection.models` may leave
    fewer."""
    matrix: str | None = None
    """Number of variants that the matrix makes, and of what, in words."""
    cases_by_result: Mapping[str, AbstractSet[tuple[str, str]]] = field(default_factory=dict)
    """By pattern of its selection such as `failed:3`, the (suite, id) of the cases with such a
    result in that run. `reading.cases_by_result` reads them."""
    results_by_pattern: Mapping[str, int] = field(default_factory=dict)
    """The number of results of each of these patterns, over all models."""

    def placed(self, problem: Problem) -> Problem:
        """The problem with the file and line of its field; unchanged if it has a file or no
        field."""
        if problem.field is None or problem.path is not None:
            return problem
        path, line = self.tree.place_of(nearest_location(problem.field), self.path)
        return replace(problem, path=path, line=line)

    @property
    def price_file(self) -> Path | None:
        """The resolved path of `prices.file`; `None` if it is not set."""
        file = self.configuration.prices.file
        return None if file is None else resolve(file, self.folder)

    def resolved(self) -> dict[str, Any]:
        """The whole configuration as JSON, with defaults. Holds no secret."""
        return self.configuration.model_dump(mode="json", by_alias=True)

    def digest(self) -> str:
        """SHA-256 in hex of the resolved configuration without its values that belong to one run
        alone (`test_run.id`, `timestamp` and `folder`)."""
        return digest_of(self.resolved())


class InvalidConfiguration(InvalidInput):
    """The error for a configuration with problems, of which a part can be checked further."""

    def __init__(
        self, problems: Problems, usable: LoadedConfiguration, left_out: tuple[str, ...]
    ) -> None:
        super().__init__(problems.errors, problems.warnings)
        self.usable = usable
        """The part that its schema accepts, in which rules may be broken."""
        self.left_out = left_out
        """The fields where something else stands than in the file."""


_OF_ONE_RUN = ("id", "timestamp", "folder")
"""Keys of `test_run` that identify the run and its place, not its questions."""


def digest_of(resolved: dict[str, Any]) -> str:
    """SHA-256 in hex of a resolved configuration, without `test_run.id`, `timestamp` and
    `folder`."""
    test_run = {k: v for k, v in resolved["test_run"].items() if k not in _OF_ONE_RUN}
    content = orjson.dumps({**resolved, "test_run": test_run}, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(content).hexdigest()


def configuration_from_resolved(resolved: dict[str, Any]) -> Configuration:
    """The configuration from the JSON object that `RunStarted` recorded.

    Raises `InvalidInput` if a value is not valid for this version or a package is missing.
    """
    try:
        configuration = Configuration.model_validate(resolved)
    except ValidationError as error:
        if all(detail["type"] in LIMITS for detail in error.errors()):
            refused = ", ".join(
                f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in error.errors()
            )
            raise InvalidInput.because(
                "configuration-outdated",
                f"the recorded configuration has values that are not valid any more: {refused}",
                remedy="start a new run with valid values; the recorded results can still be read",
            ) from None
        wrong = ", ".join(".".join(map(str, detail["loc"])) for detail in error.errors())
        raise InvalidInput.because(
            "configuration-unsupported",
            f"the recorded configuration is not supported by this installation: {wrong}",
            remedy="install the packages that it was started with; `failproof-es show` names them",
        ) from None
    place = EntryFolders(configuration.test_run.folder)
    return _with_models(configuration, lambda model, location: model.placed(place))


def _with_models(
    configuration: Configuration, change: Callable[[Model, Location], Model]
) -> Configuration:
    """The configuration with each model and judge replaced by `change(entry, location)`."""
    models = [change(model, ("models", at)) for at, model in enumerate(configuration.models)]
    changed: dict[str, Any] = {"models": models}
    if configuration.judge is not None:
        changed["judge"] = change(configuration.judge, ("judge",))
    if configuration.judges is not None:
        judges = enumerate(configuration.judges)
        changed["judges"] = [change(judge, ("judges", at)) for at, judge in judges]
    return configuration.model_copy(update=changed)


def load_configuration(
    path: Path, settings: Sequence[str] = (), folder: Path | None = None
) -> LoadedConfiguration:
    """Read and check a configuration file, with `key.path=value` settings applied.

    `path` may be the name of a shipped configuration. Relative paths in the file start from
    `folder`, by default the folder of the file, or the current folder for a shipped
    configuration. Raises `InvalidInput` with all problems of the file and the settings.
    """
    problems = Problems()
    if (ships := shipped.configuration(path)) is not None:
        path, folder = ships, folder or Path.cwd()
    folder = (path.parent if folder is None else folder).resolve()
    if not _exists(path):
        names = shipped.configuration_names()
        hint = did_you_mean(path.stem, names)
        remedy = f"{hint}check the path, or name one that ships: {', '.join(names)}"
        raise InvalidInput([Problem("file-not-found", "does not exist", path=path, remedy=remedy)])
    if (problem := problem_of_file(path)) is not None:
        raise InvalidInput([problem])
    tree = read_yaml(path, problems)
    if tree is None:
        raise InvalidInput(problems.errors)
    if (problem := problem_of_content(path, tree.value)) is not None:
        raise InvalidInput([problem])
    if not isinstance(tree.value, dict):
        problems.error(
            "not-a-configuration",
            "is not a configuration: a mapping is expected at the top",
            path=path,
            remedy="see configs/quickstart.yaml",
        )
        problems.raise_errors()
    override(tree, settings, problems)
    set_folder(tree, path, folder, problems)
    part = usable_part(tree.value, partial(_report_schema_errors, path, tree, problems))
    if part is None:
        raise InvalidInput(problems.errors)
    loaded = _check_part(path, folder, tree, part, problems)
    if problems.errors:
        left_out = tuple(map(dotted, part.left_out))
        raise InvalidConfiguration(problems, loaded, left_out)
    return loaded


def _report_schema_errors(
    path: Path,
    tree: YamlTree,
    problems: Problems,
    error: ValidationError,
    value: dict[str, Any],
    left_out: tuple[Location, ...],
) -> None:
    """Add the errors of `value`, a part of the tree, to `problems`, unless they follow from what
    was left out of it."""
    more = Problems()
    report_schema_errors(error, path, replace(tree, value=value), Configuration, more)
    if not left_out:
        check_providers(path, tree, more)
    _add_unless_about(map(dotted, left_out), more, problems)


def _add_unless_about(places: Iterable[str], more: Problems, problems: Problems) -> None:
    """Add each of `more` to `problems` that is new, and not about one of the places."""
    places = list(places)
    problems.problems += [
        problem
        for problem in more
        if not is_about(problem.field, places) and problem not in problems.problems
    ]


def _exists(path: Path) -> bool:
    """Whether there is a file or folder. Raises `InvalidInput` if the system refuses to look."""
    try:
        return path.exists()
    except OSError as error:
        raise InvalidInput([unreadable_problem(path, error)]) from None


def _check_part(
    path: Path, folder: Path, tree: YamlTree, part: UsablePart, problems: Problems
) -> LoadedConfiguration:
    """Check the rules on the part of a tree that the schema accepts, so that all problems of a file
    are reported at once. Errors go to `problems`."""
    more = Problems()
    test_run = part.configuration.test_run.model_copy(update={"folder": str(folder)})
    configuration = part.configuration.model_copy(update={"test_run": test_run})
    check_rules(path, tree, configuration, more)
    configuration = _with_files(path, folder, tree, configuration, more)
    entry_count = len(configuration.models)
    if part.counts_variants:
        expands = part.names_models
        configuration = _with_matrix(path, tree, configuration, more, expands=expands)
    matrix = describe_matrix(configuration, entry_count)
    of_models = len(configuration.models)
    if part.names_models:
        configuration = with_selected_models(path, tree, configuration, more)
    _add_unless_about(map(dotted, part.left_out), more, problems)
    return LoadedConfiguration(configuration, path, folder, tree, of_models, matrix)


def _with_files(
    path: Path, folder: Path, tree: YamlTree, configuration: Configuration, problems: Problems
) -> Configuration:
    """The configuration with the content of its price file and the folders of each model.

    Errors of the price file go to `problems`; the prices are then unchanged.
    """
    configuration = _with_price_file(path, tree, configuration, problems)

    def place(model: Model, location: Location) -> Model:
        return model.placed(place_of_model(tree, path, folder, location))

    return _with_models(configuration, place)


def _with_matrix(
    path: Path, tree: YamlTree, configuration: Configuration, problems: Problems, *, expands: bool
) -> Configuration:
    """The configuration with its matrix applied; unchanged if matrix or models have errors.

    Errors of the variants go to `problems`; unless it `expands`, only their number is checked.
    """
    if configuration.matrix is None or _concern("matrix", problems):
        return configuration
    if exceeds_most(path, tree, configuration, problems) or _concern("models", problems):
        return configuration
    if expands:
        configuration = with_matrix(path, tree, configuration, problems)
        check_variants(path, tree, configuration, problems)
    return configuration


def _concern(section: str, problems: Problems) -> bool:
    """Whether an error is about this section, so that variants can't be made."""
    return any((problem.field or "").startswith(section) for problem in problems.errors)


def _with_price_file(
    path: Path, tree: YamlTree, configuration: Configuration, problems: Problems
) -> Configuration:
    """The configuration with the content of its price file, so that a run never reads the file.

    Errors of the file go to `problems`; the configuration is then unchanged.
    """
    prices = configuration.prices
    if prices.file is None:
        return configuration
    file = resolve(prices.file, configuration.test_run.folder)
    found_in, line = tree.place_of(("prices", "file"), path)
    try:
        is_file = file.is_file()
    except OSError as error:
        problem = unreadable_problem(file, error, field="prices.file")
        problems.problems.append(replace(problem, path=found_in, line=line))
        return configuration
    if not is_file:
        problems.error(
            "file-not-found", f"there is no file {file}",
            path=found_in, line=line, field="prices.file", remedy="check the path",
        )  # fmt: skip
        return configuration
    price_tree = read_yaml(file, problems, quoting=False)
    if price_tree is None:
        return configuration
    try:
        price_list = PriceList.model_validate(price_tree.value)
    except ValidationError as error:
        report_schema_errors(error, file, price_tree, PriceList, problems)
        return configuration
    check_price_tiers(file, price_tree, (), price_list.models, problems)
    content = {"version": price_list.version, "models": price_list.models}
    return configuration.model_copy(update={"prices": prices.model_copy(update=content)})
