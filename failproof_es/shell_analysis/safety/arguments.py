"""Options and operands of a program as the program itself reads them.

Which options take a value stands in the option table of the programs' own `--help`
(`equivalence/option_table.json`); what is not listed there, or listed wrongly, stands here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from failproof_es.shell_analysis.parse import option_table
from failproof_es.shell_analysis.parse.option_table import Name
from failproof_es.shell_analysis.safety.commands import Command

_NOT_LISTED: dict[str, str] = {
    "7z": "", "7za": "", "as": "oI", "b64": "", "bsdtar": "CfbTX", "bzip2": "", "bunzip2": "",
    "cc": "oIlLDUxT", "clang": "oIlLDUxT", "compress": "b", "convert": "", "crontab": "u",
    "dos2unix": "", "dropdb": "hpU", "ex": "cTu", "fallocate": "lo", "ffmpeg": "ifctrsb",
    "g++": "oIlLDUxT", "gcc": "oIlLDUxT", "gpg": "ruo", "gpg2": "ruo", "gunzip": "S",
    "htpasswd": "C", "iconv": "fto", "ld": "oLlTe", "lz4": "", "lzma": "", "mkfile": "",
    "mysqldump": "rhupP", "mariadb-dump": "rhupP", "objcopy": "OIFjNKWR", "pandoc": "oftrwVMH",
    "perl": "eEIMmF", "pg_dump": "fhpUFtnTjZ", "pg_dumpall": "fhpU", "ruby": "eIrCEF",
    "scp": "cDFiJloPSX", "script": "cEIOBTtm", "sftp": "BbcDFiJloPRSsX", "sponge": "",
    "ssh-keygen": "fbtCNPaDeEFGIjJKMmnOrRsSTVwWYzZ", "strip": "oKNRFIO", "unix2dos": "",
    "unzip": "dPIO", "unxz": "", "unzstd": "oDM", "vi": "cTuw", "vim": "cTuw",
    "xxd": "clsogR", "yq": "", "zip": "bPt",
    "zstd": "oDM", "ld.bfd": "oLlTe",
}  # fmt: skip
"""Short options that take a value."""
_LONG = {
    "convert": (), "ffmpeg": (), "iconv": ("--output",), "pandoc": ("--output",),
    "mysqldump": ("--result-file",), "pg_dump": ("--file",), "gpg": ("--output",),
    "zstd": ("--output-dir-flat",), "bsdtar": ("--directory", "--file"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Given:
    """What a command line says: options by the first of their names, then operands."""

    options: tuple[tuple[str, str | None], ...]
    operands: tuple[str, ...]
    names: Mapping[str, Name] = field(default_factory=dict, repr=False)

    def has(self, *names: str) -> bool:
        """Whether one of these options is given, under any of its names."""
        wanted = {self._option(name) for name in names}
        return any(option in wanted for option, _ in self.options)

    def values(self, *names: str) -> list[str]:
        """The values that these options are given, in order."""
        wanted = {self._option(name) for name in names}
        return [value for option, value in self.options if option in wanted and value is not None]

    def _option(self, name: str) -> str:
        known = self.names.get(name)
        return name if known is None else known.option


def program(name: str) -> str:
    """The name that the tables know a program by: `gcp` is GNU's `cp`."""
    return name[1:] if name[:1] == "g" and not _names(name) and _names(name[1:]) else name


def read(command: Command) -> Given:
    """Take the arguments apart as `getopt_long` does: bundles, values, cut names, `--`.

    An option that is not known takes no value.
    """
    names = _names(program(command.name))
    options: list[tuple[str, str | None]] = []
    operands: list[str] = []
    pending = list(command.arguments)
    while pending:
        word = pending.pop(0)
        if word == "--":
            operands += pending
            break
        if word.startswith("--"):
            options.append(_long(word, pending, names))
        elif word.startswith("-") and len(word) > 1:
            options += _bundle(word[1:], pending, names)
        else:
            operands.append(word)
    return Given(tuple(options), tuple(operands), names)


def _long(word: str, pending: list[str], names: Mapping[str, Name]) -> tuple[str, str | None]:
    written, equals, value = word.partition("=")
    found = {names[written].option: names[written]} if written in names else {}
    found = found or {n.option: n for key, n in names.items() if key.startswith(written)}
    name = next(iter(found.values())) if len(found) == 1 else Name(written, "none")
    if not equals and name.argument == "required" and pending:
        return name.option, pending.pop(0)
    return name.option, value if equals else None


def _bundle(
    letters: str, pending: list[str], names: Mapping[str, Name]
) -> list[tuple[str, str | None]]:
    found: list[tuple[str, str | None]] = []
    for at, letter in enumerate(letters, 1):
        name = names.get(f"-{letter}", Name(f"-{letter}", "none"))
        rest = letters[at:]
        if name.argument == "none":
            found.append((name.option, None))
            continue
        if not rest and name.argument == "required" and pending:
            rest = pending.pop(0)
        return [*found, (name.option, rest or None)]
    return found


@cache
def _names(name: str) -> Mapping[str, Name]:
    if name not in _NOT_LISTED:
        return option_table.listed(name)
    found = {f"-{letter}": Name(f"-{letter}", "required") for letter in _NOT_LISTED[name]}
    return found | {each: Name(each, "required") for each in _LONG.get(name, ())}
