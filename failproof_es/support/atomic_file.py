"""Atomic file writes: a file has its new content or its old one, even after a power cut.

The content goes to a temporary file in the same folder, which is then renamed. Its name is random,
so that neither another writer nor a planted link can have it. The writer holds a lock on it: an
unlocked temporary file of this host is a dead writer's, and the next writer removes it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import platform
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, NamedTuple

from failproof_es.support.regular_file import check_replaceable, open_regular

HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:6]
"""Part of a temporary file's name: on a shared folder, locks of other hosts may be invisible."""

_NAME_CHARACTERS = 40
"""Characters of a file's name in its temporary file's name, which must not get too long."""

_NEVER_LOCKED = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL})
"""Errors of a file system without locks. There, no temporary file counts as left over."""

_OF_THE_FOLDER = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""Errors of a folder that does not allow new files."""

_AS_IT_IS = os.O_RDWR | os.O_NOFOLLOW


class WrittenFile(NamedTuple):
    """The size and SHA-256 of a written file."""

    bytes: int
    sha256: str


def atomic_write(path: Path, pieces: Iterable[bytes], mode: int = 0o666) -> WrittenFile:
    """Replace the content of a file by these pieces; return its size and digest.

    Missing folders are created. The file has `mode`, less the umask. Raises `OSError`, also if
    `path` is no regular file, and whatever `pieces` raises; no partial file stays behind. The next
    write removes the partial file of a killed process.
    """
    check_replaceable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _open_partial(path, mode) as (partial, file):
        written_file = _write(file, pieces)
        partial.replace(path)
    sync_folder(path.parent)
    return written_file


def describe_write_error(path: Path, error: OSError) -> str:
    """The reason why `path` could not be written, without the temporary file's name.

    It names the folder if the folder is the cause. `path` is the file that was to be written.
    """
    reason = (error.strerror or str(error)).lower()
    folder = path.absolute().parent
    while not folder.is_dir() and folder != folder.parent:
        if folder.exists() or folder.is_symlink():
            return f"{folder} is no folder"
        folder = folder.parent
    if error.errno in _OF_THE_FOLDER:
        return f"{reason} in the folder {folder}"
    return reason


def atomic_create(path: Path, pieces: Iterable[bytes], mode: int) -> WrittenFile:
    """Write a new file and return its size and digest. Missing folders are not created.

    The file has `mode`, less the umask. Raises `FileExistsError` if the file exists, and `OSError`
    if it cannot be written; no partial file stays behind.
    """
    with _open_partial(path, mode) as (partial, file):
        written_file = _write(file, pieces)
        path.hardlink_to(partial)
        partial.unlink()
    sync_folder(path.parent)
    return written_file


@contextlib.contextmanager
def _open_partial(path: Path, mode: int) -> Iterator[tuple[Path, BinaryIO]]:
    """A temporary file for `path`, locked until the context ends and removed on an exception.

    Yields its path and the open file. The caller renames or links it to `path`.
    """
    _remove_leftovers(path)
    partial, file = _create_partial(path, mode)
    with file:
        try:
            yield partial, file
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def _create_partial(path: Path, mode: int) -> tuple[Path, BinaryIO]:
    while True:
        partial = path.with_name(f".{path.name[:_NAME_CHARACTERS]}.{HOST}-{token_hex(6)}.partial")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            file = os.fdopen(os.open(partial, flags, mode), "wb")
        except OSError as error:
            error.filename = str(path)  # the caller's path, not the temporary one
            raise
        # Another writer may have taken it for left over before it was locked.
        if _lock(file) and _is_still(partial, file):
            return partial, file
        file.close()
        partial.unlink(missing_ok=True)


def _write(file: BinaryIO, pieces: Iterable[bytes]) -> WrittenFile:
    size, digest = 0, hashlib.sha256()
    for piece in pieces:
        size += file.write(piece)
        digest.update(piece)
    file.flush()
    os.fsync(file.fileno())
    return WrittenFile(size, digest.hexdigest())


def _lock(file: BinaryIO) -> bool:
    """Lock a new file; false if another process locked it first.

    True on file systems without locks.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NEVER_LOCKED:
            raise
    return True


def _is_still(path: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _remove_leftovers(path: Path) -> None:
    """Remove temporary files for `path` whose writers were processes of this host and are gone."""
    name = re.escape(path.name[:_NAME_CHARACTERS])
    ours = re.compile(rf"\.{name}\.{HOST}-[0-9a-f]{{12}}\.partial")
    for partial_file in path.parent.glob(f".*.{HOST}-*.partial"):
        if ours.fullmatch(partial_file.name):
            # Locked by a living writer, gone already, or no regular file: it stays.
            with contextlib.suppress(OSError), open_regular(partial_file, _AS_IT_IS) as leftover:
                fcntl.flock(leftover, fcntl.LOCK_EX | fcntl.LOCK_NB)
                partial_file.unlink()


def sync_folder(folder: Path) -> None:
    """Make created, renamed and removed names in a folder durable (fsync). Raises `OSError`."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
