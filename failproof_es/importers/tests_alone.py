"""Refuses a file of promptfoo's tests that is imported without their configuration."""

from __future__ import annotations

from pathlib import Path

from failproof_es.problems import InvalidInput, Problem

CONFIGURATION_NAMES = ("promptfooconfig.yaml", "promptfooconfig.yml", "promptfooconfig.json")
"""The names by which promptfoo finds its configuration in a folder."""


def tests_alone(path: Path, evidence: str) -> InvalidInput:
    """The error for a file of promptfoo's tests that no configuration names."""
    message = f"holds promptfoo's tests, not their configuration{evidence}"
    remedy = (
        f"write {CONFIGURATION_NAMES[0]} beside it, with `prompts:` and "
        f"`tests: file://{path.name}`, and import that as promptfoo"
    )
    return InvalidInput([Problem("wrong-file-kind", message, path, remedy=remedy)])
