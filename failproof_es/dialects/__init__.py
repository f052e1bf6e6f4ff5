"""Dialects: each defines the case files, grading and results of one specification.

A new one is a folder here, or an installed package that names its class under the entry
point group `failproof_es.dialects`. The engine knows them by `protocol.Dialect` alone.
"""

from failproof_es.dialects.discovery import case_files
from failproof_es.dialects.registry import (
    configured,
    dialect_named,
    names,
    package_of_dialect,
    recognise,
    recognise_each,
    refuse_other_dialects,
)

__all__ = [
    "case_files",
    "configured",
    "dialect_named",
    "names",
    "package_of_dialect",
    "recognise",
    "recognise_each",
    "refuse_other_dialects",
]
