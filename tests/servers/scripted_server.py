"""A server on loopback that answers by a script, a thread for each connection."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator


class Server:
    """Serves each connection in a thread of its own, by a script, whatever our event loop does."""

    def __init__(self, script: Callable[[Server, socket.socket], None]) -> None:
        self.script = script
        self.requests: list[bytes] = []
        self.connections = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def read(self, connection: socket.socket) -> bytes:
        """The next request, or nothing where no more comes."""
        came = b""
        while b"\r\n\r\n" not in came:
            if not (piece := connection.recv(2**16)):
                return b""
            came += piece
        head, _, body = came.partition(b"\r\n\r\n")
        [length] = [
            int(line.partition(b":")[2])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length:")
        ]
        while len(body) < length:
            if not (piece := connection.recv(2**16)):
                return b""
            body += piece
        self.requests.append(head + b"\r\n\r\n" + body)
        return self.requests[-1]

    def wait_for(self, requests: int) -> None:
        """Until so many have come."""
        while len(self.requests) < requests:
            time.sleep(0.005)

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            self.script(self, connection)


@contextlib.contextmanager
def serving(script: Callable[[Server, socket.socket], None]) -> Iterator[Server]:
    server = Server(script)
    try:
        yield server
    finally:
        server.close()


def once(*pieces: bytes) -> Callable[[Server, socket.socket], None]:
    """Answers one request with these bytes and closes the connection."""

    def script(server: Server, connection: socket.socket) -> None:
        server.read(connection)
        for piece in pieces:
            connection.sendall(piece)

    return script
