"""Atomic file writes: a file has its new content or its old one, even after a power cut.

What is written goes to a temporary file beside it, which then takes its name. The temporary
file's name is drawn at random, so that neither another writer nor a planted link has it. Its
writer locks it while it works: one of this host that nobody locks is a dead writer's, and the
next writer removes it.
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
"""In the name of a temporary file: on a shared folder another host's lock may not be seen."""

_NAME_CHARACTERS = 40
"""So much of a file's name stands in its temporary file's: that may not get too long."""

_NEVER_LOCKED = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL})
"""What a file system says that has no locks. Nothing is ever taken for left over there."""

_OF_THE_FOLDER = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""What a folder refuses in which a file is to be made."""

_AS_IT_IS = os.O_RDWR | os.O_NOFOLLOW


class WrittenFile(NamedTuple):
    """What a file holds now."""

    bytes: int
    sha256: str


def atomic_write(path: Path, pieces: Iterable[bytes], mode: int = 0o666) -> WrittenFile:
    """Write the pieces, one after the other, in the place of what the file holds.

    Folders that are missing are made. The file has `mode`, less what the umask takes. Raises
    `OSError`, and whatever `pieces` raises; nothing
    half-written stays behind. What a process left that was killed goes with the next write.
    """
    check_replaceable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _partial(path, mode) as (partial, file):
        written_file = _write(file, pieces)
        partial.replace(path)
    sync_folder(path.parent)
    return written_file


def describe_write_error(path: Path, error: OSError) -> str:
    """Why `path` could not be written: the reason, and the folder it is of where that is another.

    The temporary file beside it is nobody's concern.
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
    """Write a file that must not be there yet: raises `FileExistsError` where it is."""
    with _partial(path, mode) as (partial, file):
        written_file = _write(file, pieces)
        path.hardlink_to(partial)
        partial.unlink()
    sync_folder(path.parent)
    return written_file


@contextlib.contextmanager
def _partial(path: Path, mode: int) -> Iterator[tuple[Path, BinaryIO]]:
    """A temporary file for `path`, locked until this ends and removed when it breaks off."""
    _remove_leftovers(path)
    partial, file = _begin(path, mode)
    with file:
        try:
            yield partial, file
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def _begin(path: Path, mode: int) -> tuple[Path, BinaryIO]:
    while True:
        partial = path.with_name(f".{path.name[:_NAME_CHARACTERS]}.{HOST}-{token_hex(6)}.partial")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            file = os.fdopen(os.open(partial, flags, mode), "wb")
        except OSError as error:
            error.filename = str(path)  # what was asked for; the other name is nobody's concern
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
    """Lock a file that was just made; false when somebody else locked it first."""
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
    """What writers of this host that are gone had begun to write."""
    name = re.escape(path.name[:_NAME_CHARACTERS])
    ours = re.compile(rf"\.{name}\.{HOST}-[0-9a-f]{{12}}\.partial")
    for partial_file in path.parent.glob(f".*.{HOST}-*.partial"):
        if ours.fullmatch(partial_file.name):
            # Somebody else's, or gone meanwhile, or no file at all: it stays.
            with contextlib.suppress(OSError), open_regular(partial_file, _AS_IT_IS) as leftover:
                fcntl.flock(leftover, fcntl.LOCK_EX | fcntl.LOCK_NB)
                partial_file.unlink()


def sync_folder(folder: Path) -> None:
    """Make the new name itself durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
