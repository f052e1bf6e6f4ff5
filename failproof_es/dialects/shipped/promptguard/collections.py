"""The collections of specification 001 § 2.1, each with the SELECT that returns its documents."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import LiteralString


def _statement(collection: str) -> LiteralString:
    file = files(__package__).joinpath("sql", f"collected_{collection}.sql")
    return file.read_text("utf-8")


COLLECTIONS: Mapping[str, LiteralString] = {
    name: _statement(name) for name in ("prompts", "evaluations", "test_runs", "model_configs")
}
