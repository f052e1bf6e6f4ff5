"""Trust policies (C2SP tlog-policy): which logs count, and which witnesses have to have cosigned.

log <key> [<URL>]
witness <name> <key> [<URL>]
group <name> all|any|<k> <name>...
quorum <name>|none
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from failproof_es.ledger import checkpoint
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.errors import NotSigned
from failproof_es.ledger.note import COSIGNATURES, LOG_SIGNATURES, Kind, Note, NoteError, PublicKey

MOST_BYTES = 1 << 20
_NO_QUORUM = "none"
_EVERYONE = "all of them"
_FORBIDDEN = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
_BLANK = re.compile(r"[ \t]+")
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


class PolicyError(NotSigned):
    """The text is no policy, or a checkpoint does not satisfy one.

    `problems` are all of them, each with the number of its line, if it has one.
    """

    def __init__(self, *problems: tuple[int | None, str]) -> None:
        super().__init__("; ".join(message for _, message in problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class _Threshold:
    """`k` of the members, which are names of witnesses and groups."""

    k: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Policy:
    """Logs, witnesses by their names here, groups, and the witness or group that has to agree.

    `quorum` is `None` where no cosignature is needed.
    """

    logs: tuple[PublicKey, ...]
    witnesses: Mapping[str, PublicKey]
    groups: Mapping[str, _Threshold]
    quorum: str | None
    urls: Mapping[str, str] = field(default_factory=dict)
    """Where witnesses are asked, by their names here: the prefix of C2SP tlog-witness."""

    @classmethod
    def of(cls, log: PublicKey, cosigners: Sequence[PublicKey] = ()) -> Policy:
        """This log counts, and every one of these has to have cosigned. Raises `PolicyError`."""
        reader = _Reader()
        try:
            reader.logs.append(reader.checked(log, LOG_SIGNATURES, "a log's own"))
            for place, cosigner in enumerate(cosigners):
                reader.witnesses[str(place)] = reader.checked(
                    cosigner, COSIGNATURES, "a cosigner's"
                )
        except ValueError as error:
            raise PolicyError((None, str(error))) from None
        everyone = {_EVERYONE: _Threshold(len(cosigners), tuple(reader.witnesses))}
        return cls((log,), reader.witnesses, everyone, _EVERYONE)

    def require_log(self) -> None:
        """Raise `PolicyError` if no log counts."""
        if not self.logs:
            raise PolicyError((None, "the policy has no log"))

    def open(self, signed: Note) -> tuple[Checkpoint, dict[str, int | None]]:
        """The checkpoint in the note; the time of each witness's cosignature, by the key's name.

        Raises `PolicyError` unless one of the logs signed it and the quorum cosigned it, and
        `NoteError` for a cosignature of a known witness that does not match.
        """
        of_tree = self._opened(signed)
        cosigned: dict[str, int | None] = {}
        by: set[str] = set()
        for name, key in self.witnesses.items():
            if any((own.name, own.key_id) == (key.name, key.key_id) for own in signed.signatures):
                cosigned[key.name] = signed.verify(key)
                by.add(name)
        if self.quorum is not None and self.quorum not in self._agreeing(by):
            missing = [
                f"{key.name}+{key.key_id.hex()}"
                for name, key in self.witnesses.items()
                if name not in by
            ]
            raise PolicyError((None, f"not signed by {', '.join(missing)}"))
        return of_tree, cosigned

    def _opened(self, signed: Note) -> Checkpoint:
        problems: list[tuple[int | None, str]] = []
        for log in self.logs:
            try:
                return checkpoint.opened(signed, log)
            except NoteError as error:
                problems.append((None, str(error)))
        self.require_log()
        raise PolicyError(*problems)

    def _agreeing(self, by: set[str]) -> set[str]:
        """These witnesses, and the groups that they satisfy. Groups name only earlier ones."""
        agreeing = set(by)
        for name, group in self.groups.items():
            if sum(member in agreeing for member in group.members) >= group.k:
                agreeing.add(name)
        return agreeing


def parse(data: bytes) -> Policy:
    """Parse a policy. Raises `PolicyError` with every problem, each with its line."""
    reader = _Reader()
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            reader.read(line)
        except (NotSigned, ValueError) as error:
            reader.problems.append((number, str(error)))
    if not reader.quorums:
        reader.problems.append((None, "there is no line that says the quorum"))
    if reader.problems:
        raise PolicyError(*reader.problems)
    [quorum] = reader.quorums
    return Policy(
        tuple(reader.logs),
        reader.witnesses,
        reader.groups,
        None if quorum == _NO_QUORUM else quorum,
        reader.urls,
    )


@dataclass(slots=True)
class _Reader:
    """What the lines said so far. A line that is refused raises `ValueError` or `NotSigned`."""

    logs: list[PublicKey] = field(default_factory=list)
    witnesses: dict[str, PublicKey] = field(default_factory=dict)
    groups: dict[str, _Threshold] = field(default_factory=dict)
    urls: dict[str, str] = field(default_factory=dict)
    quorums: list[str] = field(default_factory=list)
    problems: list[tuple[int | None, str]] = field(default_factory=list)
    _public: set[bytes] = field(default_factory=set)
    """Of every log and witness: one key counts once, and a log is no witness of its own."""
    _members: set[str] = field(default_factory=set)

    def read(self, line: bytes) -> None:
        if _FORBIDDEN.search(line):
            raise ValueError("it holds a control character")
        # Names are octets: others than those of ASCII are kept as they are.
        text = line.decode("ascii", "surrogateescape").strip(" \t")
        if not text or text.startswith("#"):
            return
        word, *rest = _BLANK.split(text)
        readers: Mapping[str, Callable[[list[str]], None]] = {
            "log": self._log, "witness": self._witness,
            "group": self._group, "quorum": self._quorum,
        }  # fmt: skip
        if word not in readers:
            raise ValueError(f"{escape_name(word)} is none of {', '.join(readers)}")
        readers[word](rest)

    def _log(self, words: list[str]) -> None:
        if len(words) not in (1, 2):
            raise ValueError("a log has a key, and after it a URL or nothing")
        self.logs.append(self._key(words[0], LOG_SIGNATURES, "a log's own"))

    def _witness(self, words: list[str]) -> None:
        if len(words) not in (2, 3):
            raise ValueError("a witness has a name and a key, and after them a URL or nothing")
        self._require_new(words[0])
        self.witnesses[words[0]] = self._key(words[1], COSIGNATURES, "a cosigner's")
        if len(words) == 3:
            self.urls[words[0]] = _as_text(words[2])

    def _group(self, words: list[str]) -> None:
        if len(words) < 3:
            raise ValueError("a group has a name; all, any or a number; and members")
        name, threshold, *members = words
        self._require_new(name)
        for member in members:
            self._require_known(member)
            if member in self._members:
                raise ValueError(f"{escape_name(member)} is a member already, and counts once")
            self._members.add(member)
        self.groups[name] = _Threshold(_threshold(threshold, len(members)), tuple(members))

    def _quorum(self, words: list[str]) -> None:
        if len(words) != 1:
            raise ValueError("a quorum is one name")
        if self.quorums:
            raise ValueError("there is a quorum already")
        self.quorums.append(words[0])
        if words[0] != _NO_QUORUM:
            self._require_known(words[0])

    def _key(self, text: str, kinds: frozenset[Kind], whose: str) -> PublicKey:
        return self.checked(PublicKey.parse(_as_text(text)), kinds, whose)

    def checked(self, key: PublicKey, kinds: frozenset[Kind], whose: str) -> PublicKey:
        """The key itself. Raises `ValueError` for a wrong kind, and for a key that is there."""
        if key.kind not in kinds:
            raise ValueError(f"the key {escape_name(key.name)} is not {whose}")
        if key.public in self._public:
            raise ValueError(
                f"the key of {escape_name(key.name)} is there already, and counts once"
            )
        self._public.add(key.public)
        return key

    def _require_new(self, name: str) -> None:
        if name == _NO_QUORUM or name in self.witnesses or name in self.groups:
            raise ValueError(f"the name {escape_name(name)} is taken")

    def _require_known(self, name: str) -> None:
        if name not in self.witnesses and name not in self.groups:
            raise ValueError(f"no line before it defines {escape_name(name)}")


def _threshold(text: str, members: int) -> int:
    if text in ("any", "all"):
        return 1 if text == "any" else members
    if not _NUMBER.fullmatch(text) or int(text) > members:
        raise ValueError(
            f"{escape_name(text)} is neither all nor any nor a number from 1 to {members}"
        )
    return int(text)


def _as_text(octets: str) -> str:
    """Octets of a line that have to be UTF-8. Raises `ValueError`."""
    return octets.encode("ascii", "surrogateescape").decode()


def escape_name(name: str) -> str:
    """A name of the policy, for an error: octets that are no UTF-8 are escaped."""
    text = name.encode("ascii", "surrogateescape").decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 40 else text[:40] + "…")
