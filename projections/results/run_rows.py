"""Converts a run to one JSON document: all of its own stream except the planned cases."""

from __future__ import annotations

from pydantic import TypeAdapter

from failproof_es.core.run import Run

_RUN = TypeAdapter(Run)


def run_document(run: Run) -> str:
    """The run as JSON, from which `run_of` makes it again."""
    return _RUN.dump_json(run).decode()


def run_of(document: str) -> Run:
    """The run that a document holds. Raises `ValidationError` where it holds none."""
    return _RUN.validate_json(document)
