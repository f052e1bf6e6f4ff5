"""One HTTP/1.1 connection. `httptools` (llhttp, Node's parser) frames the replies."""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
import sys
import time

import httptools
import httpx

from failproof_es.web.reply import (
    MOST_UNREAD_BYTES,
    MOST_UNREAD_TLS_BYTES,
    PIECE_BYTES,
    ReplyStream,
    RequestBody,
)

MOST_HEAD_BYTES = 2**16
"""The most bytes of a reply's headers, trailers included."""
MOST_INTERIM_REPLIES = 100
"""The most 1xx replies before the final one."""

_LAST_RECEIVED = slice(52, 56)
"""`tcpi_last_data_recv` in Linux's `struct tcp_info`: milliseconds since data arrived."""
_COARSE_CLOCK = 6
"""Linux's `CLOCK_MONOTONIC_COARSE`."""
_TICK_S = time.clock_getres(_COARSE_CLOCK) if sys.platform == "linux" else 0.0
"""The resolution of `tcpi_last_data_recv`, which may be too high by one tick."""


class InvalidHttp(httpx.RemoteProtocolError):
    """A reply that is not HTTP, or is truncated. The message quotes nothing of the reply."""


class Connection(asyncio.Protocol):
    """Carries HTTP/1.1 requests to a server, each after the reply to the previous one."""

    def __init__(self) -> None:
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the connection is closed."""
        self.idle_since = 0.0
        """The time of the last reply's end, by the event loop's clock; set by the pool."""
        self._parser = httptools.HttpResponseParser(self)
        # As lenient as most clients. Wrong lengths and chunks stay errors.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )
        self._reply: ReplyStream | None = None
        """The reply in progress."""
        self._is_sent = True
        """Whether the latest request was written completely."""
        self._keeps_alive = True
        self._head_bytes = 0
        """Bytes of this reply's headers so far."""
        self._unframed_bytes = 0
        """Bytes since the latest header or body piece: many mean a line without an end."""
        self._writable: asyncio.Future[None] | None = None
        """Done when writing may go on; `None` while it may."""
        self._is_reading = True
        self._interim_replies = 0
        self._arrivals = select.poll()

    # -- for its pool ------------------------------------------------------------------------

    async def send(self, head: bytes, request: RequestBody) -> ReplyStream:
        """Write a request; return its reply, which then arrives.

        `head` is the request line with the headers.
        """
        reply = ReplyStream(request, self._set_reading, self._most_unread_bytes)
        self._reply, self._is_sent, self._interim_replies = reply, False, 0
        request.written_at = time.perf_counter()
        if len(request.content) <= PIECE_BYTES:
            self._transport.write(head + request.content)
            self._is_sent = True
            return reply
        self._transport.write(head)
        for piece in request.pieces():
            if self._writable is not None:
                await self._writable
            if reply.status or reply.has_ended or self._transport.is_closing():
                return reply  # a server that refuses a long request does not read the rest
            self._transport.write(piece)
        self._is_sent = True
        return reply

    @property
    def is_free(self) -> bool:
        """Whether the connection can carry another request.

        Unread bytes exclude that: they are the end of the connection, or an unrequested reply.
        """
        return (
            self._reply is None
            and self._keeps_alive
            and self._is_sent
            and not self._transport.is_closing()
            and self._transport.get_write_buffer_size() == 0
            and not self._arrivals.poll(0)
        )

    def close(self) -> None:
        """Close the connection at once. A reply in progress ends with an error."""
        self._end_reply(httpx.CloseError("the connection was closed here"))
        self._transport.abort()

    # -- for the event loop ------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]
        opened = transport.get_extra_info("socket")
        self._arrivals.register(opened, select.POLLIN)
        self._socket = opened if _TICK_S else None
        over_tls = transport.get_extra_info("ssl_object") is not None
        self._most_unread_bytes = MOST_UNREAD_TLS_BYTES if over_tls else MOST_UNREAD_BYTES

    def data_received(self, data: bytes) -> None:
        reply = self._reply
        if reply is None:  # no request is in progress
            self.close()
            return
        reply.request.add_arrival(time.perf_counter() - self._waited_s())
        self._unframed_bytes += len(data)
        try:
            self._parser.feed_data(data)
            _require_short_head(self._unframed_bytes)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade, InvalidHttp) as error:
            self._refuse(error)
        reply.wake()

    def eof_received(self) -> None:
        self._end_with_connection(None)
        self._transport.abort()  # `close` would wait until the request is sent

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.lost.done():
            self.lost.set_result(None)
        self._end_with_connection(exc)
        self.resume_writing()

    def pause_writing(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        writable, self._writable = self._writable, None
        if writable is not None and not writable.done():
            writable.set_result(None)

    # -- for the parser ----------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._reply is None:
            raise InvalidHttp("a reply although no request was open")
        self._reply.raw_headers.clear()  # those of an interim reply
        self._head_bytes = self._unframed_bytes = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        assert self._reply is not None
        # The parser frames the reply by such a name, and others read another name.
        if name.endswith((b" ", b"\t")):
            raise InvalidHttp("its HTTP is wrong: the name of a header ends in white space")
        self._unframed_bytes = 0
        self._head_bytes += len(name) + len(value)
        _require_short_head(self._head_bytes)
        if not self._reply.status:
            self._reply.raw_headers.append((name, value))

    def on_headers_complete(self) -> None:
        assert self._reply is not None
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != 101:
            self._interim_replies += 1
        if status < 100 or self._interim_replies > MOST_INTERIM_REPLIES:
            raise InvalidHttp("its HTTP is wrong: a reply without a final status")
        if status >= 200 or status == 101:
            self._reply.status = status
            self.resume_writing()  # the server may have stopped reading the request

    def on_body(self, body: bytes) -> None:
        assert self._reply is not None
        self._unframed_bytes = 0
        self._reply.unread += body

    def on_message_complete(self) -> None:
        assert self._reply is not None
        if self._reply.status:
            self._keeps_alive = self._reply.status != 101 and self._parser.should_keep_alive()
            self._end_reply(None)

    # -- inside ------------------------------------------------------------------------------

    def _end_reply(self, error: Exception | None) -> None:
        """End the reply in progress, if there is one; `error` is why it is incomplete, if it is."""
        reply, self._reply = self._reply, None
        if reply is not None:
            reply.end(error)
            reply.wake()

    def _end_with_connection(self, exc: Exception | None) -> None:
        """End the reply in progress because its connection has ended.

        `exc` is the connection's error, `None` if the server closed it.
        """
        reply = self._reply
        if reply is None:
            return
        if exc is None and reply.status and self._is_reading and _ends_with_its_connection(reply):
            self._end_reply(None)
        elif isinstance(exc, ssl.SSLError):  # a TLS alert holds the server's reason
            self._end_reply(exc)
        elif reply.status:
            self._end_reply(InvalidHttp("the connection ended before the reply did"))
        else:
            self._end_reply(ConnectionResetError("it closed the connection without an answer"))

    def _refuse(self, error: Exception) -> None:
        """End an invalid reply with its `error`, and close the connection."""
        if isinstance(error.__context__, InvalidHttp):
            error = error.__context__
        elif not isinstance(error, InvalidHttp):
            error = InvalidHttp(
                f"its HTTP is wrong: {error}"
                if self._parser.get_status_code()
                else "what listens there speaks no HTTP"
            )
        self._end_reply(error)
        self._transport.abort()

    def _set_reading(self, reads: bool) -> None:
        if reads is not self._is_reading and not self._transport.is_closing():
            self._is_reading = reads
            if reads:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    def _waited_s(self) -> float:
        """Seconds that the latest data waited in the kernel; 0 if unknown."""
        if self._socket is None:
            return 0.0
        try:
            info = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 56)
        except OSError:
            return 0.0
        ago_s = int.from_bytes(info[_LAST_RECEIVED], sys.byteorder) / 1000
        return max(0.0, ago_s - _TICK_S)


def _require_short_head(head_bytes: int) -> None:
    """Raises `InvalidHttp` if a reply's headers have more than `MOST_HEAD_BYTES` bytes."""
    if head_bytes > MOST_HEAD_BYTES:
        raise InvalidHttp(f"its head is longer than {MOST_HEAD_BYTES // 2**10} KiB")


def _ends_with_its_connection(reply: ReplyStream) -> bool:
    """Whether the end of the connection is the end of the reply (RFC 9112, section 6.3)."""
    headers = {name.lower(): value.lower().rstrip() for name, value in reply.raw_headers}
    coding = headers.get(b"transfer-encoding")
    if coding is not None:
        return not coding.endswith(b"chunked")
    return b"content-length" not in headers
