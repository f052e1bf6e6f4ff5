"""The log's signing key: a file outside the database that only its owner can read.

`FAILPROOF_ES_LEDGER_KEY` names the file; otherwise it is in the user's configuration
folder, named after the log. `failproof-es db init` makes it, once.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from failproof_es.ledger.note import (
    ED25519,
    LOG_SIGNATURES,
    Kind,
    NoteError,
    PublicKey,
    SigningKey,
)
from failproof_es.problems import InvalidInput
from failproof_es.support.atomic_file import atomic_create, atomic_write, describe_write_error
from failproof_es.support.file_lock import lock_beside, locked
from failproof_es.support.machine.user_folder import HOME as HOME
from failproof_es.support.machine.user_folder import user_folder
from failproof_es.support.regular_file import open_regular, read_regular
from failproof_es.support.shipped import expand_home

KEY_FILE = "FAILPROOF_ES_LEDGER_KEY"

_MOST_BYTES = 1 << 16


def folder() -> Path:
    """The folder of this user's keys and trusted checkpoints: never the database's folder."""
    return user_folder() / "ledger"


def own_file(origin: str, suffix: str) -> Path:
    """The path of this user's file of a kind (key, checkpoint) for this log."""
    return folder() / f"{origin.rpartition('/')[2]}.{suffix}"


def key_path(origin: str) -> Path:
    """The file of the key that signs for this log."""
    path = os.environ.get(KEY_FILE)
    if path:
        return expand_home(path)
    return own_file(origin, "key")


def log_key(origin: str, *, create: bool = False) -> SigningKey:
    """The key that signs for this log. Raises `InvalidInput`.

    With `create`, a missing key is made. Only for a log that nobody has signed: a second key forks
    its history.
    """
    path = key_path(origin)
    if not has_key(path):
        if not create:
            raise InvalidInput.because(
                "no-signing-key",
                f"{origin} is signed with a key that is not in {path}",
                remedy=f"restore the file from its copy, or name it in {KEY_FILE}",
            )
        # Another process made it meanwhile: that one counts.
        with contextlib.suppress(_KeyFileExists):
            return _create(path, origin, ED25519)
    key = read_key(path, LOG_SIGNATURES)
    if key.name != origin:
        raise InvalidInput.because(
            "wrong-signing-key",
            f"the key in {path} is {key.name!r}, and this log is {origin!r}",
            remedy=f"name this log's key file in {KEY_FILE}",
        )
    return key


def signs_here(origin: str) -> bool:
    """Whether this host is to sign this log: its key file exists, or the environment names one.

    An empty file counts, and a file that cannot be read: signing then fails, with the reason.
    """
    if os.environ.get(KEY_FILE):
        return True
    try:
        key_path(origin).lstat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def has_key(path: Path) -> bool:
    """Whether the key file exists and is not empty. Raises `InvalidInput`.

    A file that is empty, or holds only zeros, was never written (a full disk, a power cut) and
    counts as no key.
    """
    try:
        return bool(read_regular(path, _MOST_BYTES).strip(b"\0 \r\n\t"))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _unusable_key_file(path, error) from None


def create_key(path: Path, name: str, kind: Kind) -> SigningKey:
    """Make a key and its file, which only its owner can read, and the `.pub` file.

    Raises `InvalidInput` when there is a key, or the file cannot be made.
    """
    try:
        return _create(path, name, kind)
    except _KeyFileExists:
        raise InvalidInput.because(
            "file-exists", f"{path} already holds a key", remedy="choose another file"
        ) from None


class _KeyFileExists(Exception):
    """The file already holds a key, which must not be replaced."""


def _create(path: Path, name: str, kind: Kind) -> SigningKey:
    """Make a key and write its file atomically. Raises `_KeyFileExists` and `InvalidInput`."""
    try:
        key = SigningKey.generate(name, kind)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(lock_beside(path)):
            if has_key(path):
                raise _KeyFileExists
            if path.is_file() and not path.is_symlink():
                path.unlink()  # it is empty
            public_path(path).unlink(missing_ok=True)
            atomic_create(path, [f"{key.dump()}\n".encode()], mode=0o600)
            with contextlib.suppress(OSError):  # where it is missing it is derived
                atomic_write(public_path(path), [f"{key.public}\n".encode()])
    except (OSError, NoteError) as error:
        why = describe_write_error(path, error) if isinstance(error, OSError) else str(error)
        raise InvalidInput.because(
            "file-unwritable",
            f"the key file {path} cannot be made: {why}",
            remedy=f"choose another file, or name one in {KEY_FILE}",
        ) from None
    return key


def read_key(path: Path, kinds: frozenset[Kind]) -> SigningKey:
    """The key of one of these kinds in a file.

    Raises `InvalidInput`, also when others can read the file.
    """
    try:
        with open_regular(path) as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            text = file.read(_MOST_BYTES).decode()
        if mode & 0o077:
            raise InvalidInput.because(
                "signing-key-exposed",
                f"the key file {path} can be read by others (mode {mode:o})",
                remedy=f"chmod 600 {path}, and think about who may have read it",
            )
        key = SigningKey.parse(text)
    except (OSError, UnicodeDecodeError, NoteError) as error:
        raise _unusable_key_file(path, error) from None
    _check_kind(key.public, kinds)
    return key


def read_public_key(text: str, kinds: frozenset[Kind]) -> PublicKey:
    """The public key in `text`, or in the file that `text` names. Raises `InvalidInput`."""
    try:
        key = _public_key(text)
    except (OSError, UnicodeDecodeError, NoteError, ValueError) as error:
        raise InvalidInput.because(
            "not-a-public-key",
            f"not a public key, nor a file that holds one: {error}",
            remedy="it looks like name+id+base64; `failproof-es ledger key -o log.pub` writes "
            "this log's",
        ) from None
    _check_kind(key, kinds)
    return key


def _public_key(text: str) -> PublicKey:
    try:
        return PublicKey.parse(text)
    except NoteError as error:
        no_key = error
    try:
        content = read_regular(expand_home(text), _MOST_BYTES)
    except (FileNotFoundError, ValueError):
        raise (no_key if "+" in text else FileNotFoundError(f"there is no file {text}")) from None
    return PublicKey.parse(content.decode())


def own_public_key(origin: str) -> PublicKey | None:
    """The public half of this user's key of the log, if there is one. Raises `InvalidInput`.

    Where the `.pub` file is missing or empty, it is derived from the key.
    """
    path = key_path(origin)
    if has_key(public_path(path)):
        return read_public_key(str(public_path(path)), LOG_SIGNATURES)
    return read_key(path, LOG_SIGNATURES).public if has_key(path) else None


def public_path(path: Path) -> Path:
    """The `.pub` file of a key file."""
    return path.with_name(path.name + ".pub")


def _check_kind(key: PublicKey, kinds: frozenset[Kind]) -> None:
    if key.kind not in kinds:
        is_own, own_wanted = key.kind in LOG_SIGNATURES, kinds == LOG_SIGNATURES
        raise InvalidInput.because(
            "wrong-signing-key",
            f"{key.name} is {_owner(is_own)}, and {_owner(own_wanted)} is wanted here",
            remedy="`ledger key` prints the log's own, `ledger cosign` makes a cosigner's",
        )


def _owner(is_own: bool) -> str:
    return "a log's own key" if is_own else "a cosigner's key"


def _unusable_key_file(path: Path, error: Exception) -> InvalidInput:
    reason = "it is not text" if isinstance(error, UnicodeDecodeError) else error
    return InvalidInput.because(
        "signing-key-unusable",
        f"the key file {path} cannot be used: {reason}",
        remedy="restore it from its copy",
    )
