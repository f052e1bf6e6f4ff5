"""Opens the socket of a console, without loading the server."""

from __future__ import annotations

import socket

from failproof_es.console.settings import ConsoleSettings
from failproof_es.problems import InvalidInput


def listen(settings: ConsoleSettings, port_option: str = "--port") -> socket.socket:
    """A socket that listens on the settings' host and port; port 0 is any free one.

    Raises `InvalidInput` where it cannot listen; `port_option` names the option for another port.
    """
    host = settings.host.strip("[]")
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(128)
        except BaseException:
            listening.close()
            raise
    except OSError as error:
        raise InvalidInput.because(
            "cannot-listen",
            f"the console cannot listen on {settings.host} port {settings.port}: "
            f"{error.strerror or error}",
            remedy=f"choose another with {port_option}, or stop what listens there",
        ) from None
    return listening
