"""How the console is set up: where it listens, whom it believes, how long a page may take."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from ipaddress import ip_address

from failproof_es.problems import InvalidInput

LEAST_TOKEN = 16
"""The characters that a token has at least."""
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(24)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSettings:
    """Everything that the console is told. Raises `InvalidInput` for what would be unsafe."""

    database_url: str
    """Whom pages read as: `failproof_auditor` where that user may become it."""
    follower_url: str | None = None
    """Who brings the projections up; nobody where there is none."""
    host: str = "127.0.0.1"
    port: int = 8321
    token: str | None = field(default_factory=new_token)
    """What a request must show; `None` demands nothing, on loopback alone: every user of this
    machine could read all runs."""
    ticket: str | None = None
    """What lets in the first one who shows it in place of the token, and nobody after."""
    trusted_hosts: tuple[str, ...] = ()
    """Names, without a port, under which browsers reach it, besides those of loopback."""
    statement_timeout_s: float = 10.0
    """How long one statement of a page may take."""
    connections: int = 4
    """How many pages read at the same moment; others wait."""
    warm_up: bool = False
    """Whether what only a first request would wait for is done when the server starts."""

    def __post_init__(self) -> None:
        if self.token is not None and not _is_token(self.token):
            raise InvalidInput.because(
                f"the console's token is shorter than {LEAST_TOKEN} characters, or has others than "
                "letters, digits and -._~",
                remedy="make one: python -c 'import secrets; print(secrets.token_urlsafe())'",
            )
        for name in self.trusted_hosts:
            if not _is_host(name):
                raise InvalidInput.because(
                    f"{name!r} is no host name", remedy="write it as example.org, without a port"
                )
        if self.is_loopback:
            return
        missing = [
            name
            for name, setting in (
                ("a token (--token-file)", self.token),
                ("the name that browsers use (--trusted-host)", self.trusted_hosts),
            )
            if not setting
        ]
        if missing:
            raise InvalidInput.because(
                f"the console would listen on {self.host}, which others can reach, without "
                f"{' and without '.join(missing)}",
                remedy="give both, and put a proxy with TLS before it; or listen on 127.0.0.1",
            )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    @property
    def url_host(self) -> str:
        """The name that stands in its URL: the first one that it trusts."""
        if not self.is_loopback:
            return self.trusted_hosts[0]
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def hosts(self) -> frozenset[str]:
        """The names that a request may ask for, in lower case."""
        own = LOOPBACK_NAMES if self.is_loopback else ()
        listening = f"[{self.host}]" if ":" in self.host else self.host
        return frozenset(
            name.lower() for name in (*own, *self.trusted_hosts, *((listening,) if own else ()))
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens on this host."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_token(token: str) -> bool:
    fit = all(sign.isascii() and (sign.isalnum() or sign in "-._~") for sign in token)
    return fit and len(token) >= LEAST_TOKEN


def _is_host(name: str) -> bool:
    bare = name[1:-1] if name[:1] == "[" and name[-1:] == "]" else name
    signs = "-.:" if bare is not name else "-."
    return bool(bare) and all(sign.isascii() and (sign.isalnum() or sign in signs) for sign in bare)
