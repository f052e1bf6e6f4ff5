"""Redacts the secrets of database URLs, alone and in messages.

`failproof_es.engine.drive.redaction` redacts the keys of a run.
"""

from __future__ import annotations

import re
from urllib.parse import quote, urlencode

from psycopg.conninfo import make_conninfo

from failproof_es.problems import InvalidInput
from failproof_es.store.connecting import parameters_of

HARMLESS = frozenset(
    {
        "user", "host", "hostaddr", "port", "dbname", "application_name", "channel_binding",
        "client_encoding", "connect_timeout", "gssencmode", "keepalives", "keepalives_count",
        "keepalives_idle", "keepalives_interval", "load_balance_hosts", "require_auth", "sslmode",
        "sslnegotiation", "target_session_attrs", "tcp_user_timeout",
    }
)  # fmt: skip
"""Parameters that are shown. Any other may be secret, in this libpq or a later one."""
_HIDDEN = "***"
_IN_AUTHORITY = ("user", "password", "host", "port", "dbname")
_URL = re.compile(r"\bpostgres(?:ql)?://\S+")
_OTHER_AUTHORITY = re.compile(r"(\w+://[^\s/@:]*):[^\s@]*@")
_AS_PARAMETER = re.compile(  # `--allow` has a variable's name and a host, no secret
    r"(?i)(?<!--allow )\b(\w*(?:password|passfile|secret|sslkey))\s*=\s*('(?:[^'\\]|\\.)*'|[^\s&]*)"
)


def redact_url(url: str) -> str:
    """A database URL or connection string with `***` for everything that may be secret.

    Raises `InvalidInput`, without quoting it, if it cannot be parsed.
    """
    parts = {name: _redact_value(name, value) for name, value in parameters_of(url).items()}
    if not url.startswith(("postgresql://", "postgres://")):
        return make_conninfo("", **parts)
    password = ":" + _HIDDEN if "password" in parts else ""
    user = quote(parts.get("user", "")) + password
    query = {name: value for name, value in parts.items() if name not in _IN_AUTHORITY}
    host, port = parts.get("host", ""), parts.get("port", "")
    if "/" in host or "," in host + port:  # a socket's folder, or several servers
        query |= {name: parts[name] for name in ("host", "port") if name in parts}
        host = port = ""
    return "".join(
        (
            url.partition("://")[0],
            "://",
            user + "@" if user else "",
            f"[{host}]" if ":" in host else quote(host, safe="*"),
            ":" + port if port else "",
            "/" + quote(parts["dbname"], safe=":") if "dbname" in parts else "",
            "?" + urlencode(query, safe="/*,", quote_via=quote) if query else "",
        )
    )


def redact_message(message: str, url: str | None = None) -> str:
    """The message with `***` for the secrets in the URLs and connection strings that it quotes.

    With `url`, wherever its password occurs, too.
    """
    password = parameters_of(url).get("password") if url else None
    # First, while it stands there whole: a pattern ends at a blank of it, or at its `@`.
    redacted = message.replace(password, _HIDDEN) if password else message
    redacted = _OTHER_AUTHORITY.sub(rf"\1:{_HIDDEN}@", _URL.sub(_redact_match, redacted))
    return _AS_PARAMETER.sub(rf"\1={_HIDDEN}", redacted)


def _redact_value(name: str, value: str) -> str:
    # A password with an unescaped @ (not written %40) reaches into the host.
    return value if name in HARMLESS and not ("@" in value[1:] and name == "host") else _HIDDEN


def _redact_match(match: re.Match[str]) -> str:
    try:
        return redact_url(match[0])
    except InvalidInput:
        return match[0].partition("://")[0] + "://" + _HIDDEN
