"""Resolves the escapes in which data may hold a key. All data here is in lower case."""

from __future__ import annotations

import html.entities
import re
from collections.abc import Iterator

_ESCAPES = re.compile(rb"\\u00([2-7][0-9a-f])")
"""The JSON escapes of printable characters, in lower case."""
_PIECE_BYTES = 2**20
_ESCAPED = {b"%02x" % code: bytes([code]).lower() for code in range(0x20, 0x80)}
_HTML_ENTITIES = {
    name.rstrip(";").lower().encode(): sign.encode()
    for name, sign in html.entities.html5.items()
    if len(sign) == 1 and "!" <= sign <= "~"
}
_REFERENCES = re.compile(
    rb"%([2-7][0-9a-f])|&#x0{0,6}([2-7][0-9a-f]);?|&#0{0,6}(3[2-9]|[4-9][0-9]|1[01][0-9]|12[0-7]);?|&("
    + b"|".join(_HTML_ENTITIES)
    + rb");"
)
"""The URL and HTML escapes of printable characters, in lower case."""
_LONGEST_REFERENCE = max(map(len, _HTML_ENTITIES)) + 2
WHITE_SPACE = b" \t\r\n\v\f"
_ESCAPED_WHITE_SPACE = re.compile(rb"\\(?:[nrt]|u000[ad9]|u0020)")


def iterate_views(data: bytes, *, dense_holds_plain: bool) -> Iterator[bytes]:
    """Up to three rewritings of lower-case data in which a plain search finds escaped keys.

    They are: without the escapes of JSON; also without those of HTML and URLs; without JSON escapes
    and white space (dense). The last two are left out if they are no shorter. `dense_holds_plain`
    says that no text to search for contains white space: then the dense rewriting of data without
    escapes stands for the first one, too.
    """
    unescaped, dense = unescape(data), _dense(data)
    is_shorter = len(dense) < len(unescaped)
    if not (dense_holds_plain and is_shorter and len(unescaped) == len(data)):
        yield unescaped
    if b"%" in unescaped or b"&" in unescaped:
        resolved = _resolve_references(unescaped)
        if len(resolved) < len(unescaped):
            yield resolved
    if is_shorter:
        yield dense


def _resolve_references(data: bytes) -> bytes:
    """Lower-case data with HTML and URL escapes resolved."""
    pieces, at = [], 0
    while at < len(data):
        end = at + _PIECE_BYTES
        tail = max(at + 1, end - _LONGEST_REFERENCE)
        cut = max(data.rfind(b"%", end - 2, end), data.rfind(b"&", tail, end))
        end = end if cut <= at else cut  # no reference is cut in two
        pieces.append(_REFERENCES.sub(_decode_reference, data[at:end]))
        at = end
    return b"".join(pieces)


def _decode_reference(reference: re.Match[bytes]) -> bytes:
    in_hex = reference[1] or reference[2]
    if in_hex:
        return _ESCAPED[in_hex]
    return bytes([int(reference[3])]).lower() if reference[3] else _HTML_ENTITIES[reference[4]]


def _dense(data: bytes) -> bytes:
    """Lower-case data without JSON escapes and without white space, whether it is plain or
    escaped."""
    if b"\\" not in data:
        return data.translate(None, WHITE_SPACE)
    while b"\\\\" in data:
        data = data.replace(b"\\\\", b"\\")
    data, taken_out = _ESCAPED_WHITE_SPACE.subn(b"", data)
    if b"\\u00" in data:
        if taken_out and _ESCAPED_WHITE_SPACE.search(data):
            data = _without_escaped_white_space(data)
        data = unescape(data)
    return data.translate(None, b"\\" + WHITE_SPACE)


def _without_escaped_white_space(data: bytes) -> bytes:
    """Lower-case data without escaped white space, even where a removal creates more.

    One pass from the end: the text after a backslash holds none when the backslash is reached.
    """
    tail, end = bytearray(), len(data)  # `tail` is the text behind `end`, reversed
    while (at := data.rfind(b"\\", 0, end)) >= 0:
        tail += data[at + 1 : end][::-1]
        if tail.endswith((b"n", b"r", b"t")):
            del tail[-1:]
        elif tail.endswith((b"a000u", b"d000u", b"9000u", b"0200u")):
            del tail[-5:]
        else:
            tail += b"\\"
        end = at
    tail += data[:end][::-1]
    tail.reverse()
    return bytes(tail)


def unescape(data: bytes) -> bytes:
    """Lower-case data with the escapes of JSON resolved, also of JSON within JSON."""
    if b"\\" not in data:
        return data
    if b"\\u00" not in data:
        return data.replace(b"\\", b"")
    pieces, at = [], 0
    while at < len(data):
        end = at + _PIECE_BYTES
        cut = data.rfind(b"\\", max(at + 1, end - 6), end)  # no escape is cut in two
        end = end if cut < 0 else cut
        plain = _ESCAPES.sub(lambda escape: _ESCAPED[escape[1]], data[at:end])
        pieces.append(plain.replace(b"\\", b""))
        at = end
    return b"".join(pieces)
