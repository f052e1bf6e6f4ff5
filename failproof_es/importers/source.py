"""The source of an import: its files, read within bounds and each with its digest.

References in files, `file://` and symbolic links included, are followed only inside the source's
folder. Nothing is fetched and nothing is run.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

from failproof_es.problems import InvalidInput, Problem, unreadable_problem
from failproof_es.support.regular_file import open_regular

MAX_FILES = 1_000
MAX_FILE_BYTES = 4 * 1024**3
MAX_TEXT_BYTES = 16 * 1024**2
"""The most bytes of a file that is read into memory as a whole: a configuration, a prompt."""
MAX_ENTRIES = 10_000
"""The most files that are looked at in a folder."""
_PIECE = 1024 * 1024


class DigestedFile(NamedTuple):
    """A file that was read: its path as displayed, its size, the SHA-256 of its bytes."""

    path: str
    bytes: int
    sha256: str


class OutsideSource(Exception):
    """A reference leads out of the source's folder, or to a missing file. `str` is the reason."""


@dataclass(slots=True)
class Source:
    """A file or a folder to be imported."""

    path: Path
    folder: Path = field(init=False)
    """The folder that bounds all reading."""
    _files: dict[Path, DigestedFile] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises `InvalidInput` if the path does not exist."""
        try:
            if not self.path.exists():
                raise InvalidInput(
                    [
                        Problem(
                            "file-not-found", "does not exist", self.path, remedy="check the path"
                        )
                    ]
                )
            self.folder = (self.path if self.path.is_dir() else self.path.parent).resolve()
        except OSError as error:  # a name that is too long, or a folder without permission
            raise _unreadable(self.path, error) from None

    @property
    def name(self) -> str:
        """The name of the file without its suffix, or of the folder."""
        resolved = self.path.resolve()
        return resolved.name if self.path.is_dir() else resolved.stem

    @property
    def files(self) -> list[DigestedFile]:
        """The files that were read, in the order of reading."""
        return list(self._files.values())

    def within(self, reference: str, base: Path | None = None) -> Path:
        """The file that a reference, relative to `base`, names.

        `base` is the source's folder by default. Raises `OutsideSource` if the reference leads out
        of the source's folder, or to no file.
        """
        if "\x00" in reference:
            raise OutsideSource("is no path")
        try:
            file = ((base or self.folder) / reference).resolve()
            inside = file.is_relative_to(self.folder)
            there = inside and file.is_file()
        except (OSError, ValueError, RuntimeError):
            raise OutsideSource("is no path") from None
        if not inside:
            raise OutsideSource("leads out of the folder of the source: it is not read")
        if not there:
            raise OutsideSource("is not in the folder of the source")
        return file

    def matching(self, pattern: str, base: Path | None = None) -> list[Path]:
        """The files that a pattern with `*`, relative to `base`, matches, sorted.

        `base` is the source's folder by default. Raises `OutsideSource` if the pattern leads out of
        the source's folder, matches no file, or too many.
        """
        parts = Path(pattern).parts
        if ".." in parts or Path(pattern).is_absolute() or "\x00" in pattern:
            raise OutsideSource("leads out of the folder of the source: it is not read")
        files = []
        for number, path in enumerate((base or self.folder).glob(pattern)):
            if number >= MAX_ENTRIES:
                raise OutsideSource(f"matches more than {MAX_ENTRIES:,} files")
            resolved = path.resolve()
            if resolved.is_relative_to(self.folder) and resolved.is_file():
                files.append(resolved)
        if not files:
            raise OutsideSource("is not in the folder of the source")
        return sorted(files)

    def all_files(self, *suffixes: str) -> list[Path]:
        """A folder's files with one of these suffixes, sorted; the source itself if it is a file.

        Ignores names that begin with a dot. Raises `InvalidInput` for a link that leads out or to
        a folder, for a folder that cannot be read, and for too many files.
        """
        if not self.path.is_dir():
            return [self.path]
        files: list[Path] = []
        seen = 0
        for folder, folders, names in os.walk(self.path, onerror=_raise_unreadable):
            folders[:] = sorted(subfolder for subfolder in folders if not subfolder.startswith("."))
            if linked := [
                subfolder for subfolder in folders if (Path(folder) / subfolder).is_symlink()
            ]:
                remedy = "put the folder itself there, as `cp -rL` does"
                message = "is a link to a folder: it is not followed"
                raise InvalidInput(
                    [Problem("link-not-followed", message, Path(folder) / linked[0], remedy=remedy)]
                )
            for name in sorted(names):
                seen += 1
                if seen > MAX_ENTRIES:
                    message = f"holds more than {MAX_ENTRIES:,} files"
                    raise InvalidInput(
                        [
                            Problem(
                                "limit-exceeded", message, self.path, remedy="name a folder in it"
                            )
                        ]
                    )
                path = Path(folder) / name
                if path.suffix.lower() in suffixes and not name.startswith("."):
                    if not path.resolve().is_relative_to(self.folder):
                        remedy = "put the file itself there, as `cp -rL` does"
                        message = "is a link out of the folder"
                        raise InvalidInput(
                            [Problem("link-not-followed", message, path, remedy=remedy)]
                        )
                    files.append(path)
        return files

    def display_path(self, path: Path) -> str:
        """A file's path as the user would write it: the source's path, then the path in it."""
        resolved = path.resolve()
        if not self.path.is_dir():
            if resolved == self.path.resolve():
                return str(self.path)
            return str(self.path.parent / resolved.relative_to(self.folder))
        return str(self.path / resolved.relative_to(self.folder))

    def check(self, path: Path, most: int = MAX_FILE_BYTES) -> DigestedFile:
        """Record a file as read, with its size and SHA-256.

        Raises `InvalidInput` if it cannot be read, is longer than `most` bytes, or is one file too
        many.
        """
        resolved = path.resolve()
        if resolved not in self._files:
            if len(self._files) >= MAX_FILES:
                message = f"more than {MAX_FILES:,} files would be read"
                raise InvalidInput(
                    [Problem("limit-exceeded", message, self.path, remedy="import them in parts")]
                )
            self._files[resolved] = self._digest(path, most)
        return self._files[resolved]

    def _digest(self, path: Path, most: int) -> DigestedFile:
        size, digest = 0, hashlib.sha256()
        with self._open_file(path) as file:
            while piece := file.read(_PIECE):
                size += len(piece)
                if size > most:
                    raise InvalidInput(
                        [Problem("file-too-large", f"is larger than {most:,} bytes", path)]
                    )
                digest.update(piece)
        return DigestedFile(self.display_path(path), size, digest.hexdigest())

    def text(self, path: Path) -> str:
        """The text of a file. Raises `InvalidInput` if it is too large or not UTF-8."""
        self.check(path, MAX_TEXT_BYTES)
        with self._open_file(path) as file:
            raw = file.read(MAX_TEXT_BYTES + 1)
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw[: error.start].count(b"\n") + 1
            remedy = "save it as UTF-8"
            raise InvalidInput(
                [Problem("not-utf8", "is not UTF-8", path, line, remedy=remedy)]
            ) from None

    def _open_file(self, path: Path) -> BinaryIO:
        try:
            return open_regular(path)
        except OSError as error:
            raise _unreadable(path, error) from None

    def require_unchanged(self) -> None:
        """Raises `InvalidInput` if a file has changed since it was first read."""
        changed = [
            Problem(
                "file-changed",
                "changed while it was read",
                Path(was.path),
                remedy="import it again",
            )
            for path, was in self._files.items()
            if self._digest(path, MAX_FILE_BYTES) != was
        ]
        if changed:
            raise InvalidInput(changed)

    def lines(self, path: Path) -> Iterator[tuple[int, bytes]]:
        """Yield number, from 1, and bytes of each line, without a byte order mark."""
        self.check(path)
        with self._open_file(path) as file:
            for number, line in enumerate(file, 1):
                yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line


def _unreadable(path: Path, error: OSError) -> InvalidInput:
    return InvalidInput([unreadable_problem(path, error)])


def _raise_unreadable(error: OSError) -> None:
    raise _unreadable(Path(error.filename), error) from None
