"""Settings of the console: where it listens, who gets in, how long a page may take."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from failproof_es.problems import InvalidInput

LEAST_TOKEN = 16
"""Fewest characters of a token."""
_TOKEN = re.compile(rf"[A-Za-z0-9._~-]{{{LEAST_TOKEN},}}")
_HOST = re.compile(r"[A-Za-z0-9.-]+|\[[A-Za-z0-9.:-]+\]")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
PROXY_SECRET_HEADER = "X-Failproof-Proxy-Secret"  # noqa: S105 - the name of a header
_NO_LOGIN_HEADERS = (
    "accept", "authorization", "connection", "content-", "cookie", "host", "origin", "sec-",
    "transfer-", PROXY_SECRET_HEADER.lower(),
)  # fmt: skip
"""Beginnings of headers that browsers or protocols use, in lower case."""
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


def new_token() -> str:
    """A random token of 192 bits."""
    return secrets.token_urlsafe(24)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleSettings:
    """How people log in: at a proxy, or with local accounts. Raises `InvalidInput` for both."""

    sessions: Path
    """File of SQLite with the sessions and the key of forms; made if it is missing."""
    accounts: Path | None = None
    """File of local accounts."""
    login_header: str | None = None
    """Header in which a proxy sends the name of the person."""
    proxy_secret: str | None = None
    """Secret that the proxy sends in the header `PROXY_SECRET_HEADER`."""
    reads: Path | None = None
    """File in which every request of a person is recorded; `None`: none is."""

    def __post_init__(self) -> None:
        if (self.accounts is None) == (self.login_header is None):
            raise InvalidInput.because(
                "missing-option" if self.accounts is None else "options-conflict",
                "people log in either at a proxy (--login-header) or with accounts (--accounts)",
                remedy="give one of both",
            )
        if (self.login_header is None) != (self.proxy_secret is None):
            raise InvalidInput.because(
                "missing-option",
                "--login-header and --proxy-secret-file need each other",
                remedy="give both: without the secret, everybody could send the header",
            )
        header = self.login_header
        if header is not None and (
            not _HEADER.fullmatch(header) or header.lower().startswith(_NO_LOGIN_HEADERS)
        ):
            raise InvalidInput.because(
                "invalid-header",
                f"{header!r} cannot be the header of a login",
                remedy="name a header of your proxy's own, such as X-Remote-User",
            )
        if self.proxy_secret is not None and not _TOKEN.fullmatch(self.proxy_secret):
            raise InvalidInput.because(
                "invalid-token",
                f"the secret of the proxy is shorter than {LEAST_TOKEN} characters, or has others "
                "than letters, digits and -._~",
                remedy="make one: python -c 'import secrets; print(secrets.token_urlsafe())'",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSettings:
    """The settings of a console. Raises `InvalidInput` for unsafe ones."""

    database_url: str
    """URL that pages read with, as `failproof_auditor` where its user may become that role."""
    follower_url: str | None = None
    """URL that brings the projections up; `None`: they are not brought up."""
    host: str = "127.0.0.1"
    port: int = 8321
    token: str | None = field(default_factory=new_token)
    """Token that a request must show. `None` demands none, on loopback alone: every user of this
    machine can then read all runs."""
    ticket: str | None = None
    """Accepted once in place of the token, from the first request that shows it."""
    people: PeopleSettings | None = None
    """Who can log in, and then write. Opens all pages in place of the token; a token then opens
    `/metrics` alone."""
    trusted_hosts: tuple[str, ...] = ()
    """Host names, without a port, by which browsers reach it, besides those of loopback."""
    statement_timeout_s: float = 10.0
    """Seconds that one statement of a page may take."""
    connections: int = 4
    """Number of pages that read at the same time; others wait."""
    warm_up: bool = False
    """Whether to warm up at the start, so that the first requests need not wait."""

    def __post_init__(self) -> None:
        if self.token is not None and not _TOKEN.fullmatch(self.token):
            raise InvalidInput.because(
                "invalid-token",
                f"the console's token is shorter than {LEAST_TOKEN} characters, or has others than "
                "letters, digits and -._~",
                remedy="make one: python -c 'import secrets; print(secrets.token_urlsafe())'",
            )
        for name in self.trusted_hosts:
            if not _HOST.fullmatch(name):
                raise InvalidInput.because(
                    "invalid-host",
                    f"{name!r} is no host name",
                    remedy="write it as example.org, without a port",
                )
        if self.is_loopback:
            return
        missing = [
            name
            for name, setting in (
                ("a token (--token-file)", self.token or self.people),
                ("the name that browsers use (--trusted-host)", self.trusted_hosts),
            )
            if not setting
        ]
        if missing:
            raise InvalidInput.because(
                "insecure-address",
                f"the console would listen on {self.host}, which others can reach, without "
                f"{' and without '.join(missing)}",
                remedy="give both, and put a proxy with TLS before it; or listen on 127.0.0.1",
            )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the console."""
        return is_loopback(self.host)

    @property
    def url_host(self) -> str:
        """Host in the console's URL: the first trusted one, on loopback the one it listens on."""
        if not self.is_loopback:
            return self.trusted_hosts[0]
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def hosts(self) -> frozenset[str]:
        """Hosts that a request may name, in lower case."""
        own = (*LOOPBACK_NAMES, self.url_host) if self.is_loopback else ()
        return frozenset(name.lower() for name in (*own, *self.trusted_hosts))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens on this host."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
