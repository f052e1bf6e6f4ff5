"""Reports that the temporary folder has no free space."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from failproof_es.problems import InvalidInput


@contextmanager
def room_said(what: str, source: str) -> Iterator[None]:
    """Raise `InvalidInput` for an `OSError` of writing `what` to a temporary file.

    `what` and `source`, from which it is made, are nouns of the message. The context is the
    writing; the remedy is a folder with space.
    """
    try:
        yield
    except OSError as error:
        raise InvalidInput.because(
            "file-unwritable",
            f"can't write {what} to a temporary file in {tempfile.gettempdir()}: {error.strerror}",
            remedy=f"set TMPDIR to a folder with free space of twice the size of {source}",
        ) from None
