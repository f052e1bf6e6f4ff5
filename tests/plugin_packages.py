"""Packages that are installed for a test: their modules, and what they offer by entry points."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from failproof_es.declared_gates import DECLARED
from failproof_es.dialects import registry, scorers
from failproof_es.exports.registry import EXPORTERS
from projections.installed import OFFERED

Offered = Mapping[str, Mapping[str, str]]
"""By entry-point group: name and value."""


def install(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    package: str,
    offered: Offered,
    modules: Mapping[str, str] | None = None,
    version: str = "1.0",
) -> None:
    """Put a package into `folder` as an installer does, and the folder on the path."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in (modules or {}).items():
        (folder / f"{name}.py").write_text(source)
    info = folder / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    lines = []
    for group, points in offered.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(str(folder))
    look_again()


def look_again() -> None:
    """Forget what was installed."""
    importlib.invalidate_caches()
    registry.forget()
    scorers.SCORERS.forget()
    DECLARED.forget()
    OFFERED.forget()
    EXPORTERS.forget()
