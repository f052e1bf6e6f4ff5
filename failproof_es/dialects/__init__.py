"""Dialects: each defines the case files, grading and results of one specification.

A new one is a folder in `shipped`, or an installed package that names its class under the entry
point group `failproof_es.dialects`. Ours are named there, too, in `pyproject.toml`. The engine
knows them by `protocol.Dialect` alone. `docs/architecture.md`, "Walks", has every step to a new
one.
"""

from failproof_es.dialects.discovery import case_files
from failproof_es.dialects.registry import (
    all_suffixes,
    configured,
    dialect_named,
    names,
    package_of_dialect,
    recognise,
    recognise_each,
    refuse_other_dialects,
)

__all__ = [
    "all_suffixes",
    "case_files",
    "configured",
    "dialect_named",
    "names",
    "package_of_dialect",
    "recognise",
    "recognise_each",
    "refuse_other_dialects",
]
