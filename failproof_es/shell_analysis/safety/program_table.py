"""The option table of programs that write files.

The options that take a value are in the table made from the programs' `--help`
(`parse/option_table.json`); programs that it lacks, or has wrong, are listed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from failproof_es.shell_analysis.parse import option_table
from failproof_es.shell_analysis.parse.option_table import Name
from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.options import ParsedOptions, Syntax, parse_options
from failproof_es.shell_analysis.safety.text.code import RENAMERS

_NOT_LISTED: dict[str, str] = {
    "7z": "", "7za": "", "as": "oI", "b64": "", "bsdtar": "CfbTX", "bzip2": "", "bunzip2": "",
    "cc": "oIlLDUxT", "clang": "oIlLDUxT", "compress": "b", "convert": "", "crontab": "u",
    "dos2unix": "", "dropdb": "hpU", "ex": "cTu", "fallocate": "lo", "ffmpeg": "ifctrsb",
    "g++": "oIlLDUxT", "gcc": "oIlLDUxT", "gpg": "ruo", "gpg2": "ruo", "gunzip": "S",
    "htpasswd": "C", "iconv": "fto", "ld": "oLlTe", "lz4": "", "lzma": "", "mkfile": "",
    "mysqldump": "rhupP", "mariadb-dump": "rhupP", "objcopy": "OIFjNKWR", "pandoc": "oftrwVMH",
    "perl": "eEIMmF", "pg_dump": "fhpUFtnTjZ", "pg_dumpall": "fhpU",
    "pv": "BDFHLNPRUdimosw", "ruby": "eIrCEF",
    "scp": "cDFiJloPSX", "script": "cEIOBTtm", "sftp": "BbcDFiJloPRSsX", "sponge": "",
    "ssh-keygen": "fbtCNPaDeEFGIjJKMmnOrRsSTVwWYzZ", "strip": "oKNRFIO", "unix2dos": "",
    "unzip": "dPIO", "unxz": "", "unzstd": "oDM", "vi": "cTuw", "vim": "cTuw",
    "xxd": "clsogR", "yq": "", "zip": "bPt",
    "zstd": "oDM", "ld.bfd": "oLlTe", **dict.fromkeys(RENAMERS, "eE"),
}  # fmt: skip
"""Short options that take a value."""
_LONG: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(RENAMERS, ("--expr",)),
    "convert": (), "ffmpeg": (), "iconv": ("--output",), "pandoc": ("--output",),
    **dict.fromkeys(("mysqldump", "mariadb-dump"), ("--result-file",)),
    "pg_dump": ("--file",), "pv": ("--output",), "gpg": ("--output",),
    **dict.fromkeys(("zstd", "unzstd"), ("--output-dir-flat",)),
    "bsdtar": ("--directory", "--file"),
}  # fmt: skip


def program(name: str) -> str:
    """The name under which the tables have a program: `cp` for `gcp`, which is GNU's `cp`."""
    return name[1:] if name[:1] == "g" and not _names(name) and _names(name[1:]) else name


def read(command: ShellCommand) -> ParsedOptions:
    """The parsed arguments of a command; `words` are those that are no options."""
    return parse_options(_syntax(program(command.name)), command.arguments)


@cache
def _syntax(name: str) -> Syntax:
    """The syntax of a program's arguments, as `getopt_long` reads them.

    An option that is not listed takes no value.
    """
    names = _names(name)
    return Syntax(
        {spelling: option.argument for spelling, option in names.items()},
        {spelling: option.option for spelling, option in names.items()},
        permutes=True,
        unknown="flag",
    )


@cache
def _names(name: str) -> Mapping[str, Name]:
    if name not in _NOT_LISTED:
        return option_table.option_names(name)
    options = {f"-{letter}": Name(f"-{letter}", "required") for letter in _NOT_LISTED[name]}
    return options | {option: Name(option, "required") for option in _LONG.get(name, ())}
