"""Trusted hosts: protection against DNS rebinding."""

from __future__ import annotations

from collections.abc import Collection
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from failproof_es.console.security.refusals import Refusal, refusal


def refuse_other_hosts(trusted: Collection[str]) -> Refusal:
    """421 unless the request names one of these hosts (in lower case), once.

    In DNS rebinding, an attacker's name that resolves to 127.0.0.1 is not among them.
    """

    def refuse(request: Request) -> Response | None:
        hosts = request.headers.getlist("host")
        if len(hosts) == 1 and host_of(hosts[0]) in trusted:
            return None
        return refusal(
            request,
            HTTPStatus.MISDIRECTED_REQUEST,
            "untrusted-host",
            "the request names a host that this console does not trust",
            "open it as http://127.0.0.1:PORT, or start it with --trusted-host NAME",
        )

    return refuse


def host_of(header: str) -> str:
    """The host of a `Host` header, in lower case, without its port; empty for an invalid port."""
    host, colon, port = header.strip().lower().rpartition(":")
    if header.strip().endswith("]") or not colon:
        return header.strip().lower()
    return host if port.isascii() and port.isdigit() else ""
