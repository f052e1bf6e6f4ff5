"""Proxies before the embedded PostgreSQL: one that cuts connections, one that pools sessions.

Both listen on a Unix socket and pass on what the real server says, message by message.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import struct
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict

from failproof_es.store.embedded.server import EmbeddedServer

_SSL_REQUESTS = (80877103, 80877104)
_SOCKET = ".s.PGSQL.5432"


class _Proxy:
    """Listens on a socket of its own for as long as the context lasts."""

    def __init__(self, server: EmbeddedServer) -> None:
        host = conninfo_to_dict(server.url)["host"]
        self._server_socket = str(Path(str(host)) / _SOCKET)
        self._server_host = quote(str(host), safe="/")
        self._folder = tempfile.mkdtemp(prefix="failproof-es-proxy-")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(Path(self._folder) / _SOCKET))
        self._listener.listen(50)
        self._open: list[socket.socket] = []

    def url_of(self, url: str) -> str:
        """The same database and user, through the proxy."""
        assert self._server_host in url
        return url.replace(self._server_host, self._folder)

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._open.append(client)
                threading.Thread(target=self._serve_quietly, args=(client,), daemon=True).start()

    def _serve_quietly(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            self._serve(client)

    def _serve(self, client: socket.socket) -> None:
        raise AssertionError("a proxy says how it serves")

    def _connect(self) -> socket.socket:
        server = socket.socket(socket.AF_UNIX)
        self._open.append(server)  # it is closed in any case
        server.connect(self._server_socket)
        return server


class HalfOpenProxy(_Proxy):
    """A session for each client; `cut` ends the clients' side and leaves the server's open.

    With `made_up_pids` clients are told process numbers of the proxy's own, as poolers do.
    """

    def __init__(self, server: EmbeddedServer, *, made_up_pids: bool = False) -> None:
        super().__init__(server)
        self._made_up_pids = made_up_pids
        self._pairs: list[tuple[socket.socket, socket.socket]] = []

    def cut(self, *, both_ends: bool = False) -> None:
        """Cut every connection that stands now."""
        pairs, self._pairs = self._pairs, []
        for client, server in pairs:
            client.shutdown(socket.SHUT_RDWR)
            if both_ends:
                server.shutdown(socket.SHUT_RDWR)

    def _serve(self, client: socket.socket) -> None:
        startup = _startup(client)
        server = self._connect()
        self._pairs.append((client, server))
        server.sendall(startup)
        threading.Thread(target=self._answer, args=(client, server), daemon=True).start()
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                server.sendall(data)
        if (client, server) in self._pairs:  # not cut: the client went by itself
            server.shutdown(socket.SHUT_RDWR)

    def _answer(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                kind, message = _message(server)
                if kind == b"K" and self._made_up_pids:
                    message = message[:5] + struct.pack(">i", 1 << 30) + message[9:]
                with contextlib.suppress(OSError):
                    client.sendall(message)


class Cable(HalfOpenProxy):
    """Passes on what both sides say, and their ends, too.

    While it is held nothing comes through, and nobody is told.
    """

    def __init__(self, server: EmbeddedServer) -> None:
        super().__init__(server)
        self._passes = threading.Event()
        self._passes.set()

    def hold(self) -> None:
        """Let nothing through from now on."""
        self._passes.clear()

    def let_go(self) -> None:
        """Let through what was held, and all that follows."""
        self._passes.set()

    def _serve(self, client: socket.socket) -> None:
        try:
            server = self._connect()
        except OSError:
            client.close()
            return
        pair = client, server
        self._pairs.append(pair)
        threading.Thread(target=self._relay, args=(server, client, pair), daemon=True).start()
        self._relay(client, server, pair)

    def _relay(
        self, source: socket.socket, to: socket.socket, pair: tuple[socket.socket, socket.socket]
    ) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._passes.wait()
                to.sendall(data)
        if pair in self._pairs:  # not cut: one side went by itself
            with contextlib.suppress(OSError):
                to.shutdown(socket.SHUT_RDWR)


class Outage(HalfOpenProxy):
    """A server that can be taken away: connections end, and nobody can connect until it is back."""

    def __init__(self, server: EmbeddedServer) -> None:
        super().__init__(server)
        self._is_away = False

    def begin(self) -> None:
        """Take the server away."""
        self._is_away = True
        self.cut(both_ends=True)

    def end(self) -> None:
        """Give it back."""
        self._is_away = False

    def _serve(self, client: socket.socket) -> None:
        if self._is_away:
            client.close()
            return
        super()._serve(client)


class LosesACommit(_Proxy):
    """Cuts the first connection that commits what has `mark` in it, once the server has committed.

    Without `passed_on` the server never hears of the commit. With `then_away` nobody can
    connect from then on.
    """

    def __init__(
        self,
        server: EmbeddedServer,
        mark: bytes,
        *,
        passed_on: bool = True,
        then_away: bool = False,
    ) -> None:
        super().__init__(server)
        self._mark = mark
        self._passed_on = passed_on
        self._then_away = then_away
        self.lost = threading.Event()

    def _serve(self, client: socket.socket) -> None:
        if self._then_away and self.lost.is_set():
            client.close()
            return
        server = self._connect()
        server.sendall(_startup(client))
        commits, marked = threading.Event(), False
        answers = (client, server, commits)
        threading.Thread(target=self._answer, args=answers, daemon=True).start()
        while data := client.recv(65536):
            marked = marked or self._mark in data
            if marked and b"COMMIT" in data and not self.lost.is_set():
                self.lost.set()
                commits.set()
                if not self._passed_on:
                    break
            server.sendall(data)
        if not commits.is_set() or not self._passed_on:
            server.shutdown(socket.SHUT_RDWR)
            client.shutdown(socket.SHUT_RDWR)

    def _answer(
        self, client: socket.socket, server: socket.socket, commits: threading.Event
    ) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                _, message = _message(server)
                if commits.is_set():  # what it says of the commit, and nobody hears
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(message)


class RefusesOptions(_Proxy):
    """Refuses whoever names one of `names` in the packet that asks for the connection.

    `refusal` says so; a `{}` in it is for the name. `asked` counts the connections asked for,
    `refused` those that were not made. `version` is what clients hear of the server's.
    """

    def __init__(
        self, server: EmbeddedServer, refusal: str, names: Sequence[str], version: str = ""
    ) -> None:
        super().__init__(server)
        self._refusal = refusal
        self._names = names
        self._version = version
        self.asked = self.refused = 0

    def _serve(self, client: socket.socket) -> None:
        startup = _startup(client)
        self.asked += 1
        for name in self._names:
            if b" %b=" % name.encode() in startup:
                self.refused += 1
                said = f"SFATAL\0C08P01\0M{self._refusal.format(name)}\0\0".encode()
                client.sendall(b"E" + struct.pack(">i", len(said) + 4) + said)
                client.close()
                return
        server = self._connect()
        server.sendall(startup)
        if self._version:
            for message in _until_ready(server):
                client.sendall(self._older(message))
        threading.Thread(target=_pass_on, args=(server, client), daemon=True).start()
        _pass_on(client, server)

    def _older(self, message: bytes) -> bytes:
        name = b"server_version\0"
        if message[:1] != b"S" or message[5 : 5 + len(name)] != name:
            return message
        body = name + self._version.encode() + b"\0"
        return b"S" + struct.pack(">i", len(body) + 4) + body


class TransactionPooler(_Proxy):
    """Shares `sessions` of the server among its clients, transaction by transaction."""

    def __init__(self, server: EmbeddedServer, url: str, *, sessions: int) -> None:
        super().__init__(server)
        settings = conninfo_to_dict(url)
        fields = (("user", settings["user"]), ("database", settings["dbname"]))
        body = b"".join(f"{name}\0{value}\0".encode() for name, value in fields) + b"\0"
        startup = struct.pack(">ii", len(body) + 8, 196608) + body
        self._free: list[socket.socket] = []
        self._room = threading.Condition()
        for _ in range(sessions):
            session = self._connect()
            session.sendall(startup)
            self._hello = _until_ready(session)
            self._free.append(session)

    def _serve(self, client: socket.socket) -> None:
        _startup(client)
        client.sendall(b"".join(_disguised(each) for each in self._hello))
        while True:
            kind, message = _message(client)
            if kind == b"X":
                client.close()
                return
            with self._room:
                self._room.wait_for(lambda: self._free)
                session = self._free.pop(0)  # in turn: the hardest to notice
            session.sendall(message)
            while True:
                if kind in (b"Q", b"S"):
                    for answer in (answers := _until_ready(session)):
                        client.sendall(answer)
                    if answers[-1][5:6] == b"I":
                        break
                kind, message = _message(client)
                session.sendall(message)
            with self._room:
                self._free.append(session)
                self._room.notify()


def _pass_on(source: socket.socket, to: socket.socket) -> None:
    """Until one of them goes; then the other one hears of it."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            to.sendall(data)
        to.shutdown(socket.SHUT_RDWR)


def _exactly(source: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        if not (more := source.recv(size - len(data))):
            raise EOFError
        data += more
    return data


def _message(source: socket.socket) -> tuple[bytes, bytes]:
    """The next message of the protocol: its kind, and all of its bytes."""
    head = _exactly(source, 5)
    return head[:1], head + _exactly(source, struct.unpack(">i", head[1:])[0] - 4)


def _until_ready(server: socket.socket) -> list[bytes]:
    messages = []
    while True:
        kind, message = _message(server)
        messages.append(message)
        if kind == b"Z":
            return messages


def _startup(client: socket.socket) -> bytes:
    """A client's first packet; encryption, which it may ask for before, is declined."""
    while True:
        head = _exactly(client, 8)
        size, code = struct.unpack(">ii", head)
        rest = _exactly(client, size - 8)
        if code not in _SSL_REQUESTS:
            return head + rest
        client.sendall(b"N")


def _disguised(message: bytes) -> bytes:
    """The process number of the session is not the clients' to know."""
    if message[:1] == b"K":
        return message[:5] + os.urandom(3) + b"\0" + message[9:]
    return message
