"""Finds the installed package that a class comes from."""

from __future__ import annotations

from functools import cache
from importlib import metadata


@cache
def package_of(class_name: str) -> tuple[str, str] | None:
    """Name and version of the package that has `package.module:Name`; `None` for a loose file."""
    top = class_name.partition(":")[0].partition(".")[0]
    found = metadata.packages_distributions().get(top)
    return (found[0], metadata.version(found[0])) if found else None


def describe_class(class_name: str) -> str:
    """The class as an error names it: with its package and version, where it is of one."""
    package = package_of(class_name)
    return class_name if package is None else f"{class_name} of the package {' '.join(package)}"
