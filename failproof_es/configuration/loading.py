"""Loads a YAML file as a checked configuration, or reports every problem in it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from failproof_es.configuration.explain import report_schema_errors
from failproof_es.configuration.overrides import override
from failproof_es.configuration.recorded import LIMITS
from failproof_es.configuration.rules import (
    check_price_tiers,
    check_providers,
    check_rules,
    check_variants,
)
from failproof_es.configuration.schema import Configuration, Model, PriceList
from failproof_es.configuration.variants import (
    describe_matrix,
    with_matrix,
    with_selected_models,
)
from failproof_es.configuration.yaml_tree import YamlTree, located, read_yaml
from failproof_es.problems import InvalidInput, Problem, Problems
from failproof_es.support import shipped


@dataclass(frozen=True, slots=True)
class LoadedConfiguration:
    """A configuration, its file, and the line of each value."""

    configuration: Configuration
    path: Path
    tree: YamlTree
    of_models: int
    """How many models the file names, variants of a matrix counted each; `selection.models` may
    have left fewer."""
    matrix: str | None = None
    """How many variants its matrix makes of what, in words."""

    def placed(self, problem: Problem) -> Problem:
        """The problem, with the file and line of its field if it has none of its own."""
        if problem.field is None or problem.path is not None:
            return problem
        path, line = self.tree.place_of(located(problem.field), self.path)
        return replace(problem, path=path, line=line)

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that relative paths start from, in this order."""
        beside = self.path.absolute().parent
        return tuple(dict.fromkeys((Path.cwd(), beside, shipped.folder())))

    def resolved(self) -> dict[str, Any]:
        """The whole configuration as JSON, with defaults. Holds no secret."""
        return self.configuration.model_dump(mode="json", by_alias=True)

    def digest(self) -> str:
        """SHA-256 of what determines the run."""
        return digest_of(self.resolved())


def digest_of(resolved: dict[str, Any]) -> str:
    """SHA-256 of a resolved configuration: everything but `test_run.id` and `timestamp`."""
    kept = {k: v for k, v in resolved["test_run"].items() if k not in ("id", "timestamp")}
    told = orjson.dumps({**resolved, "test_run": kept}, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(told).hexdigest()


def configuration_from_resolved(resolved: dict[str, Any]) -> Configuration:
    """The configuration that `RunStarted` recorded.

    A run that is older than `version_check` keeps its original rule: a matching name is enough.
    Raises `InvalidInput` if a package that it needs is missing.
    """
    models = [*resolved["models"], resolved.get("judge"), *(resolved.get("judges") or ())]
    older = any(model is not None and "version_check" not in model for model in models)
    try:
        configuration = Configuration.model_validate(resolved)
    except ValidationError as error:
        if all(each["type"] in LIMITS for each in error.errors()):
            refused = ", ".join(
                f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()
            )
            raise InvalidInput.because(
                f"the recorded configuration has values that are not valid any more: {refused}",
                remedy="start a new run with valid values; the recorded results can still be read",
            ) from None
        wrong = ", ".join(".".join(map(str, each["loc"])) for each in error.errors())
        raise InvalidInput.because(
            f"the recorded configuration is not supported by this installation: {wrong}",
            remedy="install the packages that it was started with; `failproof-es show` names them",
        ) from None
    return _checked_by_name(configuration) if older else configuration


def _checked_by_name(configuration: Configuration) -> Configuration:
    def by_name(model: Model) -> Model:
        return model.model_copy(update={"version_check": "name"})

    changed: dict[str, Any] = {"models": [by_name(model) for model in configuration.models]}
    if configuration.judge is not None:
        changed["judge"] = by_name(configuration.judge)
    if configuration.judges is not None:
        changed["judges"] = [by_name(judge) for judge in configuration.judges]
    return configuration.model_copy(update=changed)


def load_configuration(path: Path, settings: Sequence[str] = ()) -> LoadedConfiguration:
    """Read and check a configuration file, with `key.path=value` settings applied.

    A shipped configuration can be given by its name. Raises `InvalidInput` with all problems of
    the file and the settings.
    """
    problems = Problems()
    path = shipped.configuration(path)
    if not path.exists():
        names = shipped.configuration_names()
        close = get_close_matches(path.name, names, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        remedy = f"{hint}check the path, or name one that ships: {', '.join(names)}"
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
    configuration, of_models, matrix = None, 0, None
    try:
        configuration = Configuration.model_validate(tree.value)
    except ValidationError as error:
        report_schema_errors(error, path, tree, Configuration, problems)
        check_providers(path, tree, problems)
    else:
        check_rules(path, tree, configuration, problems)
        configuration = _with_price_file(path, tree, configuration, problems)
        written = len(configuration.models)
        if configuration.matrix is not None and not problems.errors:
            configuration = with_matrix(path, tree, configuration, problems)
            check_variants(path, tree, configuration, problems)
        matrix = describe_matrix(configuration, written)
        of_models = len(configuration.models)
        configuration = with_selected_models(path, tree, configuration, problems)
    problems.raise_errors()
    assert configuration is not None
    return LoadedConfiguration(configuration, path, tree, of_models, matrix)


def _with_price_file(
    path: Path, tree: YamlTree, configuration: Configuration, problems: Problems
) -> Configuration:
    """The configuration with the content of its price file, so that a run never reads it again."""
    prices = configuration.prices
    if prices.file is None:
        return configuration
    named = Path(prices.file).expanduser()
    folders = tuple(dict.fromkeys((Path.cwd(), path.absolute().parent)))
    file = next((found for folder in folders if (found := folder / named).is_file()), None)
    if file is None:
        found_in, line = tree.place_of(("prices", "file"), path)
        looked_in = ", ".join(str(folder) for folder in folders)
        problems.error(
            f"there is no file {prices.file} (looked in {looked_in})",
            path=found_in, line=line, field="prices.file", remedy="check the path",
        )  # fmt: skip
        return configuration
    listed = read_yaml(file, problems, quoting=False)
    if listed is None:
        return configuration
    try:
        price_list = PriceList.model_validate(listed.value)
    except ValidationError as error:
        report_schema_errors(error, file, listed, PriceList, problems)
        return configuration
    check_price_tiers(file, listed, (), price_list.models, problems)
    content = {"version": price_list.version, "models": price_list.models}
    return configuration.model_copy(update={"prices": prices.model_copy(update=content)})
