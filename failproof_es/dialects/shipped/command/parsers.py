"""Reports missing shell parsers: they are an optional extra of the installation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from failproof_es.problems import InvalidInput
from failproof_es.shell_analysis import ProgramMissing


@contextmanager
def parsers() -> Iterator[None]:
    """Raise `InvalidInput` if the code of the `with` block lacks a shell parser."""
    try:
        yield
    except ProgramMissing as error:
        raise InvalidInput.because(
            "program-not-installed", error.missing, remedy=error.remedy
        ) from error
