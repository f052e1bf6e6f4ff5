"""Signed notes (C2SP signed-note): a text with its signatures below it.

    <text, ending in a newline>
    <empty line>
    — <key name> <base64 of key id || signature>

A log's own signature is plain Ed25519. A witness's cosignature (C2SP tlog-cosignature) includes the
time of signing, and is Ed25519 or ML-DSA-44. Lines of other keys are kept, but not checked.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from failproof_es.ledger.errors import NotSigned

ED25519: Final = 0x01
COSIGNATURE: Final = 0x04
ML_DSA_COSIGNATURE: Final = 0x06
Kind = Literal[0x01, 0x04, 0x06]
LOG_SIGNATURES: Final[frozenset[Kind]] = frozenset({ED25519})
"""The kinds of signature of a log's own key."""
COSIGNATURES: Final[frozenset[Kind]] = frozenset({COSIGNATURE, ML_DSA_COSIGNATURE})
"""The kinds of signature of a cosigner's key."""

_MARK = "— "
MOST_BYTES = 512 << 10
"""Of a note in the database."""
_MAX_SIGNATURES = 100
KEY_ID_BYTES = 4
_TIME = struct.Struct(">Q")
_TREE = struct.Struct(">QQ32s")
"""Of a subtree, which a whole tree is: its first leaf, the one after its last, its root."""
_ML_DSA_PREFIX = b"subtree/v1\n\0"
_LATEST = (1 << 63) - 1
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_NAME = re.compile(r"[^\s+\x00-\x1f\x7f]+")
_HEX_ID = re.compile(r"[0-9a-f]{8}")
_LONGEST_QUOTE = 40
"""Maximum characters of a text that an error quotes: untrusted text can have any length."""
_FIELD = 2**255 - 19
_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER = frozenset({0, 1, _FIELD - 1, _ORDER_8, _FIELD - _ORDER_8})
"""y coordinates of the eight points of small order on Ed25519's curve, invalid as public keys."""


class NoteError(NotSigned):
    """The text is not a signed note, not a key, or not signed by the expected key."""


@dataclass(frozen=True, slots=True)
class _Algorithm:
    """The sizes and the functions of an algorithm. Keys are raw bytes; a secret one is its seed."""

    public_bytes: int
    signature_bytes: int
    load_public: Callable[[bytes], Any]
    load_secret: Callable[[bytes], Any]
    generate: Callable[[], Any]


def _ml_dsa(name: str) -> Callable[..., Any]:
    """A function of ML-DSA-44. It is looked up when it is used: older packages have none."""

    def call(*parameters: bytes) -> Any:
        try:
            from cryptography.hazmat.primitives.asymmetric import mldsa

            kind = mldsa.MLDSA44PublicKey if "public" in name else mldsa.MLDSA44PrivateKey
            return getattr(kind, name)(*parameters)
        except (ImportError, UnsupportedAlgorithm):
            raise NoteError("ML-DSA-44 needs a newer version of the package cryptography") from None

    return call


_ED25519 = _Algorithm(
    32, 64, Ed25519PublicKey.from_public_bytes, Ed25519PrivateKey.from_private_bytes,
    Ed25519PrivateKey.generate,
)  # fmt: skip
_ALGORITHMS: Mapping[Kind, _Algorithm] = {
    ED25519: _ED25519,
    COSIGNATURE: _ED25519,
    ML_DSA_COSIGNATURE: _Algorithm(
        1312, 2420, _ml_dsa("from_public_bytes"), _ml_dsa("from_seed_bytes"), _ml_dsa("generate")
    ),
}
_SECRET_BYTES = 32
"""Of the seed of each algorithm."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key's name and its public half. `kind` is the kind of signature it verifies."""

    name: str
    public: bytes
    kind: Kind = ED25519

    @property
    def key_id(self) -> bytes:
        """The four bytes by which a signature line identifies its key."""
        identity = self.name.encode() + b"\n" + bytes([self.kind]) + self.public
        return hashlib.sha256(identity).digest()[:KEY_ID_BYTES]

    def __str__(self) -> str:
        """The key as text: `name+id+base64`."""
        material = base64.b64encode(bytes([self.kind]) + self.public).decode("ascii")
        return f"{self.name}+{self.key_id.hex()}+{material}"

    @classmethod
    def parse(cls, text: str) -> PublicKey:
        """Parse `name+id+base64`. Raises `NoteError`."""
        name, key_id, kind, public = _read_key(
            text.strip(), lambda algorithm: algorithm.public_bytes
        )
        y = int.from_bytes(public, "little") & (1 << 255) - 1
        if kind != ML_DSA_COSIGNATURE and (y >= _FIELD or y in _SMALL_ORDER):
            raise NoteError(f"the key {_quote_text(name)} is not a valid point for a key")
        key = cls(name, public, kind)
        if key.key_id.hex() != key_id:
            raise NoteError(f"the key {_quote_text(name)} does not have the id {key_id}")
        return key


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key's name and its secret half, which `repr` does not show."""

    name: str
    secret: Any
    """The private key of the kind's algorithm, as the package cryptography has it."""
    kind: Kind = ED25519

    def __repr__(self) -> str:
        return f"SigningKey({self.public})"

    @property
    def public(self) -> PublicKey:
        """The public key that verifies its signatures."""
        return PublicKey(self.name, self.secret.public_key().public_bytes_raw(), self.kind)

    @classmethod
    def generate(cls, name: str, kind: Kind = ED25519) -> SigningKey:
        """A new key. Raises `NoteError` for a name that a note can't carry."""
        if kind == ML_DSA_COSIGNATURE:
            _length_and(name.encode())
        return cls(_checked_name(name), _ALGORITHMS[kind].generate(), kind)

    def dump(self) -> str:
        """The secret key as text, for a file that only its owner can read."""
        material = base64.b64encode(bytes([self.kind]) + self.secret.private_bytes_raw())
        return f"PRIVATE+KEY+{self.name}+{self.public.key_id.hex()}+{material.decode('ascii')}"

    @classmethod
    def parse(cls, text: str) -> SigningKey:
        """Parse the text of `dump`. Raises `NoteError`, which never quotes the secret."""
        prefix, marker, rest = text.strip().partition("PRIVATE+KEY+")
        if prefix or not marker:
            raise NoteError("a signing key begins with PRIVATE+KEY+")
        name, key_id, kind, seed = _read_key(rest, lambda _: _SECRET_BYTES)
        key = cls(name, _ALGORITHMS[kind].load_secret(seed), kind)
        if key.public.key_id.hex() != key_id:
            raise NoteError(f"the signing key {name!r} does not have the id {key_id}")
        return key

    def sign(self, text: str, *, at: int | None = None) -> Signature:
        """Sign `text`. A cosignature includes the time `at`, in seconds since 1970."""
        if (at is not None) != (self.kind in COSIGNATURES):
            raise NoteError("a cosignature says when it was made, a plain signature does not")
        payload = self.secret.sign(_message(text, self.name, self.kind, at))
        packed_time = b"" if at is None else _TIME.pack(at)
        return Signature(self.name, self.public.key_id, packed_time + payload)


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature line. `payload` has a cosigner's time, if any, and the signature."""

    name: str
    key_id: bytes
    payload: bytes

    def __str__(self) -> str:
        encoded = base64.b64encode(self.key_id + self.payload).decode("ascii")
        return f"{_MARK}{self.name} {encoded}"


@dataclass(frozen=True, slots=True)
class Note:
    """A text and the signatures below it, none of them checked yet."""

    text: str
    signatures: tuple[Signature, ...]

    def __str__(self) -> str:
        return self.text + "\n" + "".join(f"{signature}\n" for signature in self.signatures)

    def signed(self, *signatures: Signature) -> Note:
        """The note with these signatures added; they replace earlier ones of the same keys."""
        keys = {(signature.name, signature.key_id) for signature in signatures}
        remaining = tuple(s for s in self.signatures if (s.name, s.key_id) not in keys)
        return replace(self, signatures=(*remaining, *signatures))

    def verify(self, key: PublicKey) -> int | None:
        """Verify `key`'s signature; return a cosignature's time in seconds since 1970, else `None`.

        Raises `NoteError` if the key did not sign this text.
        """
        of_key = [s for s in self.signatures if (s.name, s.key_id) == (key.name, key.key_id)]
        if not of_key:
            raise NoteError(f"not signed by {key.name}+{key.key_id.hex()}")
        at: int | None = None
        for signature in of_key:
            packed_time, payload = _split_payload(signature.payload, key.kind)
            at = None if packed_time is None else _TIME.unpack(packed_time)[0]
            try:
                _ALGORITHMS[key.kind].load_public(key.public).verify(
                    payload, _message(self.text, key.name, key.kind, at)
                )
            except InvalidSignature:
                raise NoteError(f"the signature of {key.name} does not match this text") from None
        return at


def sign(text: str, *signatures: Signature) -> Note:
    """A note of `text` with these signatures. Raises `NoteError` for an invalid text."""
    return Note(_checked_text(text), signatures)


def parse(document: str) -> Note:
    """Parse a document that is exactly one note in canonical form. Raises `NoteError`."""
    body, separator, below = document.rpartition("\n\n")
    if not separator or not below.endswith("\n"):
        raise NoteError("a signed note ends in an empty line and its signature lines")
    lines = below[:-1].split("\n")
    if len(lines) > _MAX_SIGNATURES:
        raise NoteError(f"more than {_MAX_SIGNATURES} signatures")
    note = Note(_checked_text(body + "\n"), tuple(_parse_signature(line) for line in lines))
    if str(note) != document:
        raise NoteError("the note is not written in its one canonical form")
    return note


def require_storable(signed: Note) -> Note:
    """The note. Raises `NoteError` if it has too many signatures or bytes for the database."""
    document = str(signed)
    if len(document.encode()) > MOST_BYTES:
        raise NoteError(f"the note has more than {MOST_BYTES:,} bytes")
    return parse(document)


def _message(text: str, name: str, kind: Kind, at: int | None) -> bytes:
    """The signed bytes. Raises `NoteError` for a time, or a tree, that they cannot hold."""
    if at is not None and not 0 < at <= _LATEST:
        raise NoteError("a cosignature says a time that there is not")
    if kind == ML_DSA_COSIGNATURE:
        origin, size, root = _tree_of(text)
        return b"".join((
            _ML_DSA_PREFIX, _length_and(name.encode()), _TIME.pack(at or 0),
            _length_and(origin.encode()), _TREE.pack(0, size, root),
        ))  # fmt: skip
    header = "" if at is None else f"cosignature/v1\ntime {at}\n"
    return (header + text).encode()


def _length_and(content: bytes) -> bytes:
    if not 1 <= len(content) < 256:
        raise NoteError("a name in a cosignature by ML-DSA-44 has 1 to 255 bytes")
    return bytes([len(content)]) + content


def _tree_of(text: str) -> tuple[str, int, bytes]:
    """The origin, size and root in the text of a checkpoint (`failproof_es.ledger.checkpoint`)."""
    lines = text.split("\n")
    try:
        origin, size, root = lines[0], int(lines[1]), _decode_base64(lines[2])
        _TREE.pack(0, size, root)
    except (ValueError, IndexError, struct.error):
        raise NoteError("a cosignature by ML-DSA-44 is of a checkpoint alone") from None
    if len(root) != 32:
        raise NoteError("a cosignature by ML-DSA-44 is of a root of 32 bytes")
    return origin, size, root


def _split_payload(payload: bytes, kind: Kind) -> tuple[bytes | None, bytes]:
    """The timestamp of a payload (`None` for a plain signature), and its signature."""
    time_bytes = _TIME.size if kind in COSIGNATURES else 0
    if len(payload) != time_bytes + _ALGORITHMS[kind].signature_bytes:
        raise NoteError("a signature has the wrong length")
    return payload[:time_bytes] or None, payload[time_bytes:]


def _parse_signature(line: str) -> Signature:
    if not line.startswith(_MARK):
        raise NoteError(f"not a signature line: {_quote_text(line)}")
    name, space, encoded = line[len(_MARK) :].partition(" ")
    if not space:
        raise NoteError(f"not a signature line: {_quote_text(line)}")
    payload = _decode_base64(encoded)
    if len(payload) <= KEY_ID_BYTES:
        raise NoteError("a signature is too short")
    return Signature(_checked_name(name), payload[:KEY_ID_BYTES], payload[KEY_ID_BYTES:])


def _read_key(text: str, length: Callable[[_Algorithm], int]) -> tuple[str, str, Kind, bytes]:
    """Parse the text of a key into its name, id, kind, and as many bytes as `length` says."""
    parts = text.split("+", 2)
    if len(parts) != 3 or not _HEX_ID.fullmatch(parts[1]):
        raise NoteError("a key is written name+id+base64, the id being eight hexadecimal digits")
    material = _decode_base64(parts[2])
    for kind, algorithm in _ALGORITHMS.items():
        if material[:1] == bytes([kind]) and len(material) == 1 + length(algorithm):
            return _checked_name(parts[0]), parts[1], kind, material[1:]
    raise NoteError(f"the key {_quote_text(parts[0])} is not of a kind that is known here")


def _decode_base64(encoded: str) -> bytes:
    """Decode canonical base64. Raises `NoteError`."""
    try:
        decoded = base64.b64decode(encoded, validate=True)
    except (ValueError, binascii.Error):
        raise NoteError("base64 is damaged") from None
    if base64.b64encode(decoded).decode("ascii") != encoded:
        raise NoteError("base64 is not in its canonical form")
    return decoded


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise NoteError(f"a key's name has no space, no plus and is not empty: {_quote_text(name)}")
    return _require_unicode(name)


def _checked_text(text: str) -> str:
    if not text.endswith("\n") or _CONTROL.search(text):
        raise NoteError("a note's text ends in a newline and holds no control character")
    return _require_unicode(text)


def _require_unicode(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NoteError("a note must be valid Unicode") from None
    return text


def _quote_text(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "…")
