"""The person whom a reverse proxy names in a header, beside a secret that only the proxy knows."""

from __future__ import annotations

import hmac
from http import HTTPStatus

from starlette.requests import Request

from failproof_es.console.security.posts import Refused
from failproof_es.console.settings import PROXY_SECRET_HEADER
from failproof_es.core.reviewers import reviewer_name


def name_from_proxy(request: Request, header: str, secret: str) -> str:
    """The name in the header.

    Raises `Refused` unless the request has the secret, and the header exactly once, with a name
    that reviewers can have. A comma may join two headers, so no name has one.
    """
    secrets = _values(request, PROXY_SECRET_HEADER)
    if len(secrets) != 1 or not hmac.compare_digest(secrets[0], secret.encode()):
        raise _refused(
            "the request did not come through the proxy that logs people in",
            "open the console under the address of its proxy",
        )
    names = _values(request, header)
    if len(names) != 1:
        raise _refused(
            f"the proxy sent the header {header} {len(names)} times",
            "the proxy has to log you in, and to replace the header that a client sends",
        )
    try:
        name = names[0].decode("utf-8")
        is_name = reviewer_name(name) == name and "," not in name
    except ValueError:
        is_name = False
    if not is_name:
        raise _refused(
            "the proxy sent a name that no reviewer can have",
            "a name has 1 to 200 visible characters in UTF-8, and no comma",
        )
    return name


def _values(request: Request, header: str) -> list[bytes]:
    name = header.lower().encode()
    return [value for key, value in request.scope["headers"] if key.lower() == name]


def _refused(message: str, remedy: str) -> Refused:
    return Refused(
        HTTPStatus.UNAUTHORIZED,
        "proxy-login-required",
        message,
        remedy,
        {"WWW-Authenticate": 'Proxy realm="failproof-es console"'},
    )
