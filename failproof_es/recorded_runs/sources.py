"""The files of a source: their sizes and digests."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from failproof_es.events import SourceFile
from failproof_es.problems import InvalidInput, Problem
from failproof_es.support.regular_file import open_regular

_PIECE = 2**20


def source_file(path: Path) -> SourceFile:
    """The file's name, size in bytes and SHA-256. Raises `InvalidInput` if it cannot be read."""
    try:
        with open_regular(path) as stream:
            sha256, size = hashlib.sha256(), 0
            while piece := stream.read(_PIECE):
                sha256.update(piece)
                size += len(piece)
            digest = sha256.hexdigest()
    except OSError as error:
        raise unreadable_file(path, error) from None
    name = path.name.encode("utf-8", "backslashreplace").decode()
    return SourceFile(name=name, sha256=digest, bytes=size)


def unreadable_file(path: Path, error: OSError) -> InvalidInput:
    """The error for a file that the operating system does not let this process read."""
    message = f"the file can't be read: {error.strerror or error}"
    remedy = "name one file in it" if path.is_dir() else "check the path"
    return InvalidInput(
        [
            Problem(
                "file-not-found" if isinstance(error, FileNotFoundError) else "file-unreadable",
                message,
                path=path,
                remedy=remedy,
            )
        ]
    )


def digest_of_files(files: Sequence[SourceFile]) -> str:
    """The SHA-256, in hexadecimal, of a source: of its only file, or of its files' digests.

    The digests are sorted.
    """
    if len(files) == 1:
        return files[0].sha256
    lines = "\n".join(sorted(file.sha256 for file in files))
    return hashlib.sha256(lines.encode()).hexdigest()
