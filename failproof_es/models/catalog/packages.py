"""Finds the installed package that a class comes from."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata


@cache
def package_of(class_name: str) -> tuple[str, str] | None:
    """Name and version of the package with `package.module:Name`; `None` for a loose file."""
    top = class_name.partition(":")[0].partition(".")[0]
    packages = _distributions(tuple(sys.path)).get(top)
    return (packages[0], metadata.version(packages[0])) if packages else None


@cache
def _distributions(folders: tuple[str, ...]) -> Mapping[str, Sequence[str]]:
    """The packages of each module in these folders. Slow: reads all file lists of all packages."""
    return metadata.packages_distributions()


def describe_class(class_name: str) -> str:
    """The class as error messages name it: with its package and version, if it has a package."""
    package = package_of(class_name)
    return class_name if package is None else f"{class_name} of the package {' '.join(package)}"
