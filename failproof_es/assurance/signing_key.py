"""The log's signing key: a file outside the database that only its owner can read.

`FAILPROOF_ES_LEDGER_KEY` names the file; otherwise it stands in the user's configuration
folder, named after the log, and is made when the log is signed for the first time.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import platformdirs

from failproof_es.ledger.note import ED25519, Kind, NoteError, PublicKey, SigningKey
from failproof_es.problems import InvalidInput

KEY_FILE = "FAILPROOF_ES_LEDGER_KEY"
HOME = "FAILPROOF_ES_HOME"


def folder() -> Path:
    """Where keys and trusted checkpoints of this user stand: never in the database's folder."""
    home = os.environ.get(HOME)
    base = Path(home) if home else platformdirs.user_config_path("failproof-es", appauthor=False)
    return base / "ledger"


def own_file(origin: str, suffix: str) -> Path:
    """Where this user keeps something of this log, by what it is."""
    return folder() / f"{origin.rpartition('/')[2]}.{suffix}"


def key_path(origin: str) -> Path:
    """The file of the key that signs for this log."""
    given = os.environ.get(KEY_FILE)
    if given:
        return Path(given).expanduser()
    return own_file(origin, "key")


def log_key(origin: str, *, create: bool = False) -> SigningKey:
    """The key that signs for this log, made where there is none. Raises `InvalidInput`.

    Only for a log that nobody has signed may one be made: a second key forks its history.
    """
    path = key_path(origin)
    if not path.exists():
        if create:
            return create_key(path, origin)
        raise InvalidInput.because(
            f"{origin} is signed with a key that is not in {path}",
            remedy=f"restore the file from its copy, or name it in {KEY_FILE}",
        )
    key = read_key(path)
    if key.name != origin:
        raise InvalidInput.because(
            f"the key in {path} is {key.name!r}, and this log is {origin!r}",
            remedy=f"name this log's key file in {KEY_FILE}",
        )
    return key


def create_key(path: Path, name: str, kind: Kind = 0x01) -> SigningKey:
    """Make a key and its file, which nobody else can read, and `.pub` beside it.

    Raises `InvalidInput` when there is a file, or it cannot be made.
    """
    try:
        key = SigningKey.generate(name, kind)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(key.dump() + "\n")
            file.flush()
            os.fsync(file.fileno())
        public_path(path).write_text(f"{key.public}\n")
    except (OSError, NoteError) as error:
        raise InvalidInput.because(
            f"the key file {path} cannot be made: {error}",
            remedy=f"choose another file, or name one in {KEY_FILE}",
        ) from None
    return key


def read_key(path: Path) -> SigningKey:
    """The key in a file. Raises `InvalidInput`, also when others can read the file."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            raise InvalidInput.because(
                f"the key file {path} can be read by others (mode {mode:o})",
                remedy=f"chmod 600 {path}, and think about who may have read it",
            )
        return SigningKey.parse(path.read_text("ascii"))
    except (OSError, UnicodeDecodeError, NoteError) as error:
        reason = "it is not text" if isinstance(error, UnicodeDecodeError) else error
        raise InvalidInput.because(
            f"the key file {path} cannot be used: {reason}", remedy="restore it from its copy"
        ) from None


def read_public_key(text: str, kind: Kind = ED25519) -> PublicKey:
    """A public key given as itself, or as a file that holds it: a log's, or a cosigner's.

    Raises `InvalidInput`.
    """
    try:
        if "+" not in text or os.path.isfile(text):  # noqa: PTH113 - this one never raises
            text = Path(text).expanduser().read_text("utf-8")
        key = PublicKey.parse(text)
        if key.kind != kind:
            wanted = "a log's" if kind == ED25519 else "a cosigner's"
            raise NoteError(f"the key {key.name!r} is not {wanted}")
        return key
    except (OSError, UnicodeDecodeError, NoteError, ValueError) as error:
        raise InvalidInput.because(
            f"not a public key, nor a file that holds one: {error}",
            remedy="it looks like name+id+base64; `failproof-es ledger key -o log.pub` writes "
            "this log's",
        ) from None


def own_public_key(origin: str) -> PublicKey | None:
    """The public half of this user's key of the log, if there is one. Raises `InvalidInput`."""
    path = public_path(key_path(origin))
    return read_public_key(str(path)) if path.exists() else None


def public_path(path: Path) -> Path:
    """Where the public half stands."""
    return path.with_name(path.name + ".pub")
