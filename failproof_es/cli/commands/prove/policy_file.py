"""Reads a policy: which logs and witnesses count."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from failproof_es.cli.app.input_files import read_file
from failproof_es.ledger import tlog_policy
from failproof_es.ledger.tlog_policy import Policy, PolicyError
from failproof_es.problems import InvalidInput, Problem


def read_policy(file: Path) -> Policy:
    """The policy in a file. Raises `InvalidInput` with every problem."""
    with told_policy(file):
        return tlog_policy.parse(read_file(file, tlog_policy.MOST_BYTES))


@contextmanager
def told_policy(file: Path | None = None) -> Iterator[None]:
    """Raise `InvalidInput` in place of `PolicyError`."""
    try:
        yield
    except PolicyError as error:
        raise InvalidInput(
            [
                Problem("invalid-policy", message, path=file, line=line)
                for line, message in error.problems
            ]
        ) from None
