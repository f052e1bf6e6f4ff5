"""Finds out who sends a request: by a session of a local account, or by a proxy's header."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar

from starlette.requests import Request

from failproof_es.console.security.accounts import Accounts
from failproof_es.console.security.cookies import SESSION, cookie_of
from failproof_es.console.security.form_tokens import FormTokens
from failproof_es.console.security.login_limits import LoginLimits
from failproof_es.console.security.posts import Refused
from failproof_es.console.security.proxy_login import name_from_proxy
from failproof_es.console.security.sessions import Sessions
from failproof_es.console.settings import PeopleSettings

MOST_LOGINS = 16
"""Most passwords that are compared or wait for it. Each comparison takes 64 MiB."""
_COMPARED_AT_ONCE = 2
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who sends a request."""

    name: str
    binding: str
    """What the tokens of the person's forms are bound to: the session, or with a proxy the name."""


class Identities:
    """Knows the people of one console. Files are read and passwords compared in threads."""

    def __init__(self, settings: PeopleSettings) -> None:
        """Raises `InvalidInput` if the accounts or the file of sessions cannot be used."""
        self._settings = settings
        self._accounts = None if settings.accounts is None else Accounts(settings.accounts)
        self._sessions = Sessions(settings.sessions)
        self.form_tokens = FormTokens(self._sessions.form_key)
        self._limits = LoginLimits()
        # Not the server's threads, which pages may occupy for seconds.
        self._files = ThreadPoolExecutor(1, "console-sessions")
        self._hashing = ThreadPoolExecutor(_COMPARED_AT_ONCE, "console-passwords")
        self._logins = 0

    @property
    def has_accounts(self) -> bool:
        """Whether people log in here, and not at a proxy."""
        return self._accounts is not None

    async def identify(self, request: Request, *, secure: bool) -> Identity | None:
        """Who sends the request; `None` if nobody is logged in.

        Raises `Refused` for a request that did not pass the proxy, and `InvalidInput` if the
        accounts cannot be read.
        """
        settings = self._settings
        if settings.login_header is not None and settings.proxy_secret is not None:
            name = name_from_proxy(request, settings.login_header, settings.proxy_secret)
            return Identity(name, f"proxy {name}")
        value = cookie_of(request, SESSION, secure=secure)
        return None if value is None else await self._in_files(lambda: self._find(value))

    async def log_in(self, name: str, password: str, address: str, ended: str | None) -> str | None:
        """Begin a session and return its cookie's value; `None` for a wrong name or password.

        The session with the cookie `ended`, which the browser had before, ends. Raises `Refused`
        after too many attempts.
        """
        if wait_s := self._limits.seconds_to_wait(name, address):
            raise _too_many(wait_s)
        credential = await self._check(name, password)
        if credential is None:
            return None
        self._limits.forget(name)
        if ended is not None:
            await self.log_out(ended)
        return await self._in_files(lambda: self._sessions.begin(name, credential))

    async def log_out(self, value: str) -> None:
        """End the session of a cookie."""
        await self._in_files(lambda: self._sessions.end(value))

    def close(self) -> None:
        """Close the file of sessions; passwords that wait are not compared."""
        self._hashing.shutdown(cancel_futures=True)
        self._files.shutdown()
        self._sessions.close()

    def _find(self, value: str) -> Identity | None:
        session = self._sessions.find(value)
        if session is None or self._accounts is None:
            return None
        if self._accounts.credential(session.name) != session.credential:
            return None  # the account was removed, or its password changed
        return Identity(session.name, f"session {session.id}")

    async def _check(self, name: str, password: str) -> str | None:
        accounts = self._accounts
        if accounts is None:
            return None
        if self._logins >= MOST_LOGINS:
            raise _too_many(1)
        self._logins += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._hashing, lambda: accounts.check(name, password))
        finally:
            self._logins -= 1

    async def _in_files(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._files, call)


def _too_many(wait_s: int) -> Refused:
    return Refused(
        HTTPStatus.TOO_MANY_REQUESTS,
        "too-many-logins",
        "too many logins were tried",
        f"try again in {wait_s} s",
        {"Retry-After": str(wait_s)},
    )
