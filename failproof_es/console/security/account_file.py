"""The file of local accounts: a line `name:hash` for each person; the hash is argon2id."""

from __future__ import annotations

import contextlib
import os
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

from argon2 import PasswordHasher, Type, extract_parameters, profiles
from argon2.exceptions import InvalidHashError

from failproof_es.core.reviewers import reviewer_name
from failproof_es.problems import InvalidInput, Problems
from failproof_es.support.atomic_file import atomic_write, describe_write_error
from failproof_es.support.file_lock import lock_beside, locked
from failproof_es.support.regular_file import open_regular

HASHER = PasswordHasher.from_parameters(profiles.RFC_9106_LOW_MEMORY)
LEAST_PASSWORD = 12
LONGEST_PASSWORD = 1_024
_LARGEST_FILE = 1_000_000
_MOST_MEMORY_KIB = 262_144
_MOST_PASSES = 16
_COMMAND = "failproof-es console-account"
FileVersion = tuple[int, ...]
"""Changes whenever a file is written or replaced, or its owner or mode changes."""


def file_version(path: Path) -> FileVersion:
    """The present version of the file. Raises `OSError` if there is none."""
    return _version_of(path.stat())


def read_accounts(path: Path) -> tuple[Mapping[str, str], FileVersion]:
    """The password hash of each account by its name, and the version of the file.

    Raises `InvalidInput` if other users can read or write the file, or a line is no account.
    """
    try:
        with open_regular(path) as file:
            status = os.fstat(file.fileno())
            _refuse_exposed(path, status)
            content = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise unreadable(path, error) from None
    if len(content) > _LARGEST_FILE:
        raise InvalidInput.because(
            "file-too-large", f"{path} has more than {_LARGEST_FILE:,} bytes", remedy="split it"
        )
    return _parse(path, content), _version_of(status)


def write_account(path: Path, name: str, password: str) -> bool:
    """Write the account with a new hash; return whether the account is a new one.

    Raises `InvalidInput` for an unusable name, password or file.
    """
    try:
        name = reviewer_name(name)
    except ValueError as error:
        raise InvalidInput.because("invalid-name", str(error), remedy="choose another") from None
    if not LEAST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise InvalidInput.because(
            "invalid-password",
            f"a password has {LEAST_PASSWORD} to {LONGEST_PASSWORD:,} characters",
            remedy="choose another, for example several words",
        )
    password_hash = HASHER.hash(normalized(password))
    with _changing(path) as hashes:
        is_new = name not in hashes
        hashes[name] = password_hash
    return is_new


def remove_account(path: Path, name: str) -> None:
    """Take the account out of the file. Raises `InvalidInput` if it is not there."""
    with _changing(path) as hashes:
        if hashes.pop(name, None) is None:
            raise InvalidInput.because(
                "unknown-name", f"{path} has no account {name!r}", remedy="correct the name"
            )


def normalized(password: str) -> str:
    """The password in one form of Unicode: keyboards send different ones of the same letter."""
    return unicodedata.normalize("NFC", password)


def unreadable(path: Path, error: OSError) -> InvalidInput:
    """The error of a file of accounts that cannot be read."""
    return InvalidInput.because(
        "file-unreadable",
        f"the accounts in {path} cannot be read: {error.strerror or error}",
        remedy=f"write a file of accounts: {_COMMAND} {path} NAME",
    )


@contextlib.contextmanager
def _changing(path: Path) -> Iterator[dict[str, str]]:
    """The accounts of the file as a dictionary, which is written when the context ends."""
    try:
        with locked(lock_beside(path)):
            hashes = dict(read_accounts(path)[0]) if path.exists() else {}
            yield hashes
            lines = (f"{name}:{password_hash}\n".encode() for name, password_hash in hashes.items())
            atomic_write(path, lines, 0o600)
    except OSError as error:
        raise InvalidInput.because(
            "file-unwritable",
            f"{path} cannot be written: {describe_write_error(path, error)}",
            remedy="name a file in a folder that you can write",
        ) from None


def _refuse_exposed(path: Path, status: os.stat_result) -> None:
    if stat.S_IMODE(status.st_mode) & 0o077 or status.st_uid not in (0, os.geteuid()):
        raise InvalidInput.because(
            "insecure-path",
            f"other users can read or write {path}, which has password hashes",
            remedy=f"chmod 600 {path}, as its owner",
        )


def _parse(path: Path, content: bytes) -> Mapping[str, str]:
    problems = Problems()
    hashes: dict[str, str] = {}
    for number, line in enumerate(content.splitlines(), 1):
        try:
            name, password_hash = _account_in(line)
        except ValueError as error:
            problems.error(
                "invalid-account",
                str(error),
                path=path,
                line=number,
                remedy=f"write it again with `{_COMMAND}`",
            )
            continue
        if name in hashes:
            problems.error(
                "duplicate-name",
                f"{name!r} has two accounts",
                path=path,
                line=number,
                remedy="delete one of the lines",
            )
        hashes[name] = password_hash
    if problems.problems:
        raise InvalidInput(problems.problems)
    return hashes


def _account_in(line: bytes) -> tuple[str, str]:
    """The name and the hash in a line. Raises `ValueError`, whose text has nothing of the line."""
    try:
        name, colon, password_hash = line.decode("utf-8").rpartition(":")
    except UnicodeDecodeError:
        raise ValueError("the line is not UTF-8") from None
    if not colon or reviewer_name(name) != name:
        raise ValueError("the line is not `name:hash`")
    try:
        parameters = extract_parameters(password_hash)
    except (InvalidHashError, ValueError):
        raise ValueError("the line has no argon2id hash") from None
    is_bounded = parameters.memory_cost <= _MOST_MEMORY_KIB and parameters.time_cost <= _MOST_PASSES
    if parameters.type is not Type.ID or not is_bounded:
        raise ValueError(
            f"the hash is not argon2id with at most {_MOST_MEMORY_KIB // 1024} MiB and "
            f"{_MOST_PASSES} passes"
        )
    return name, password_hash


def _version_of(status: os.stat_result) -> FileVersion:
    return (
        status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns,
        status.st_mode, status.st_uid,
    )  # fmt: skip
