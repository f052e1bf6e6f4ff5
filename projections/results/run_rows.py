"""Converts a run to one JSON document: all of its own stream except the planned cases."""

from __future__ import annotations

from pydantic import TypeAdapter

from failproof_es.core.run import Run

_RUN = TypeAdapter(Run)


def run_document(run: Run) -> str:
    """The run as JSON; `run_of` is the inverse."""
    return _RUN.dump_json(run).decode()


def run_of(document: str) -> Run:
    """The run in a document of `run_document`. Raises pydantic's `ValidationError` for others."""
    return _RUN.validate_json(document)
