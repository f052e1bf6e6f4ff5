"""Checks names and passwords against local accounts, which are read again when they change."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from secrets import token_urlsafe
from threading import Lock

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import VerificationError

from failproof_es.console.security.account_file import (
    HASHER,
    FileVersion,
    file_version,
    normalized,
    read_accounts,
    unreadable,
)
from failproof_es.problems import InvalidInput


class Accounts:
    """The accounts in a file. Every method reads files and may be called by several threads."""

    def __init__(self, path: Path) -> None:
        """Raises `InvalidInput` if the file cannot be used, or has no account."""
        self._path = path
        self._lock = Lock()
        self._version: FileVersion | None = None
        self._hashes: Mapping[str, str] = {}
        self._unknown = ""
        if not self._refresh():
            raise InvalidInput.because(
                "no-account",
                f"{path} has no account, so nobody could log in",
                remedy=f"write one: failproof-es console-account {path} NAME",
            )

    def credential(self, name: str) -> str | None:
        """Fingerprint of the account's present password hash; `None` without an account.

        Raises `InvalidInput` if the file became unusable.
        """
        password_hash = self._refresh().get(name)
        return None if password_hash is None else _fingerprint(password_hash)

    def check(self, name: str, password: str) -> str | None:
        """The account's `credential` if the password is right, else `None`; in about 0.1 s.

        An unknown name takes as long as a wrong password: it is compared with a hash that nothing
        fits. Raises `InvalidInput` if the file became unusable.
        """
        password_hash = self._refresh().get(name)
        try:
            HASHER.verify(password_hash or self._unknown, normalized(password))
        except VerificationError:
            return None
        return None if password_hash is None else _fingerprint(password_hash)

    def _refresh(self) -> Mapping[str, str]:
        """The hashes by name; the file is read if it is another one than before."""
        with self._lock:
            try:
                version = file_version(self._path)
            except OSError as error:
                raise unreadable(self._path, error) from None
            if version != self._version:
                self._hashes, self._version = read_accounts(self._path)
                self._unknown = _comparable_to(self._hashes, self._unknown)
            return self._hashes


def _comparable_to(hashes: Mapping[str, str], unknown: str) -> str:
    """A hash that nothing fits, which takes as long as the file's first one."""
    if not hashes:
        return unknown
    parameters = extract_parameters(next(iter(hashes.values())))
    if unknown and parameters == extract_parameters(unknown):
        return unknown
    return PasswordHasher.from_parameters(parameters).hash(token_urlsafe())


def _fingerprint(password_hash: str) -> str:
    return sha256(password_hash.encode()).hexdigest()
