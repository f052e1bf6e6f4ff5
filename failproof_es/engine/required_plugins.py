"""Finds the plugins that a recorded run needs, and those that are missing or of another version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import metadata
from typing import Any

from failproof_es.configuration.gates_section import Gates
from failproof_es.configuration.providers import PROVIDERS
from failproof_es.declared_gates import DECLARED
from failproof_es.dialects.protocol import Dialect
from failproof_es.dialects.registry import DIALECTS
from failproof_es.dialects.scorers import SCORERS, names_of_scorers
from failproof_es.engine.identity import OUR_PACKAGES
from failproof_es.engine.usable_dialect import usable_dialect
from failproof_es.events import RunStarted
from failproof_es.problems import InvalidInput, Problem
from failproof_es.support.entry_points import EntryPoints


def packages_beside_ours(packages: Mapping[str, str]) -> dict[str, str]:
    """The recorded packages that are neither Python nor dependencies of this program, with their
    versions. These are plugins, and packages of users' own classes."""
    ours = {"python", *OUR_PACKAGES}
    return {name: version for name, version in packages.items() if name not in ours}


def installed_version(package: str) -> str | None:
    """The installed version of a package; `None` if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def describe_packages(started: RunStarted) -> list[str]:
    """A phrase about each plugin and user's package that a run began with: its version then, and
    the one installed here if that differs."""
    descriptions = []
    for package, version in packages_beside_ours(started.packages).items():
        here = installed_version(package)
        if here == version:
            descriptions.append(f"{package} {version}")
        else:
            now = "not installed here" if here is None else f"{here} is installed here"
            descriptions.append(f"{package} {version}, {now}")
    return descriptions


def other_versions(started: RunStarted) -> list[str]:
    """A warning for each plugin and user's package whose installed version is not the one that the
    run began with. Packages that are not installed are left out."""
    return [
        f"{package} {here} is installed; the run began with {version}"
        for package, version in packages_beside_ours(started.packages).items()
        if (here := installed_version(package)) not in (None, version)
    ]


def require_plugins(started: RunStarted) -> None:
    """Raise `InvalidInput` with every plugin that the run needs and that is not installed: its
    dialect, its scorers, its providers, its gates."""
    configuration = started.configuration
    models = [*configuration["models"], configuration.get("judge")]
    models += configuration.get("judges") or ()
    providers = [model["provider"] for model in models if model is not None]
    gates = [
        name
        for name, limit in (configuration.get("gates") or {}).items()
        if name not in Gates.model_fields and limit is not None
    ]
    _raise_missing(
        started,
        *_missing(PROVIDERS, "provider", providers),
        *_missing_grading(started),
        *_missing(DECLARED, "gate", gates),
    )


def require_grading(started: RunStarted) -> Dialect:
    """The dialect of the run, to grade with.

    Raises `InvalidInput` if it, an extra that it needs, or a scorer is not installed.
    """
    _raise_missing(started, *_missing_grading(started))
    return usable_dialect(started.dialect)


def require_dialect(started: RunStarted) -> Dialect:
    """The dialect of the run.

    Raises `InvalidInput` if it, or an extra that it needs, is not installed.
    """
    _raise_missing(started, *_missing(DIALECTS, "dialect", [started.dialect]))
    return usable_dialect(started.dialect)


def _missing_grading(started: RunStarted) -> Iterator[str]:
    yield from _missing(DIALECTS, "dialect", [started.dialect])
    yield from _missing(SCORERS, "scorer", names_of_scorers(started.configuration))


def _missing(offered: EntryPoints[Any], noun: str, names: list[str]) -> Iterator[str]:
    for name in dict.fromkeys(names):
        if name not in offered:
            yield (
                f"the run needs the {noun} {name!r} (entry point group {offered.group}), which no "
                "installed package offers"
            )


def _raise_missing(started: RunStarted, *missing: str) -> None:
    if missing:
        packages = "; ".join(describe_packages(started))
        remedy = f"the run began with {packages}" if packages else "install the package with it"
        raise InvalidInput(
            [Problem("plugin-not-installed", message, remedy=remedy) for message in missing]
        )
