"""Reads whole files that a user named."""

from __future__ import annotations

from pathlib import Path

from failproof_es.problems import InvalidInput
from failproof_es.support.regular_file import read_regular


def read_file(path: Path, most: int) -> bytes:
    """The content of a file.

    Raises `InvalidInput` if it cannot be read, is not a regular file, or is larger than `most`
    bytes.
    """
    try:
        return read_regular(path, most)
    except OSError as error:
        raise InvalidInput.because(
            "file-unreadable",
            f"{path} cannot be read: {error.strerror or error}",
            remedy="name a file that can be read",
        ) from None
