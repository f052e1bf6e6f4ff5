"""Determines the output of commands: the text if it is known, else its origin."""

from __future__ import annotations

import re
from collections.abc import Sequence

from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.files.find_command import find_items
from failproof_es.shell_analysis.safety.files.places import is_disk, is_secret, key
from failproof_es.shell_analysis.safety.text import marks
from failproof_es.shell_analysis.safety.text.code import program_text, reads_network
from failproof_es.shell_analysis.safety.text.escapes import ansi_c, printf
from failproof_es.shell_analysis.safety.wrapping.wrappers import WRAPPERS

_SILENT = frozenset(
    {"", "=", ":", "true", "false", "cd", "sleep", "export", "set", "unset", "test", "["}
)
_PASSING = frozenset({"cat", "tee", "pv", "sponge", "buffer", "unbuffer", "less", "more"})
_NAMING = frozenset({"which", "type", "whereis", "basename"})
_FILTERS = frozenset(
    {"grep", "egrep", "fgrep", "rg", "ag", "ack", "head", "tail", "awk", "gawk", "mawk", "sed",
     "pgrep", "pidof", "fzf", "shuf", "comm", "diff", "uniq", "cut"}
)  # fmt: skip
_EVALUATED = frozenset(
    {"ssh-agent", "dircolors", "direnv", "pyenv", "rbenv", "nodenv", "goenv", "jenv", "brew",
     "starship", "zoxide", "lesspipe", "lesspipe.sh", "opam", "conda", "thefuck", "minikube",
     "docker-machine", "keychain", "gpg-agent", "resize", "tset", "luarocks", "fnm", "mise",
     "asdf", "gh", "kubectl", "helm", "register-python-argcomplete", "fasd", "hub", "atuin",
     "locale", "getopt", "stty", "modulecmd", "npm", "rustup", "poetry", "uv", "pip", "op",
     "systemctl", "perl5lib", "shopt", "alias", "declare", "export", "complete", "compgen"}
)  # fmt: skip
"""Programs that write shell text for `eval` or `source` as their documented use."""


def printed(commands: Sequence[ShellCommand]) -> str | None:
    """The joined output of the commands.

    `None` if a part of it is unknown before a run, or if none of the commands prints anything.
    """
    texts = []
    for command in commands:
        text = _printed_text(command)
        if text is None:
            return None
        texts.append(text)
    return "".join(texts) if any(c.name not in _SILENT for c in commands) else None


def printed_in_part(commands: Sequence[ShellCommand]) -> str:
    """The joined output of the commands, with a mark for every unknown part."""
    return "".join(_printed_text(command) or marks.ANY + "\n" for command in commands)


def _printed_text(command: ShellCommand) -> str | None:
    if command.name in _SILENT or (command.name in WRAPPERS and command.arguments):
        return ""
    match command.name:
        case "echo" | "print":
            return _echo_output(command.arguments)
        case "printf" if command.arguments and command.arguments[0] != "-v":
            operands = command.arguments[command.arguments[0] == "--" :]
            return printf(operands[0], operands[1:]) if operands else ""
        case "yes":
            return " ".join(map(marks.plain, command.operands or ("y",))) + "\n"
        case "dirname" if len(command.operands) == 1:
            return command.operands[0].rstrip("/").rpartition("/")[0] or "."
        case "pwd":
            return "."
        case "mktemp":
            return f"/tmp/{marks.ANY}"  # noqa: S108  a path to judge, not to write to
        case name if name in _PASSING and not (name == "cat" and command.operands):
            if command.feed.upstream and command.feed.path is None:
                return ""
            return command.feed.text
        case "cat" if len(command.operands) == 1:
            content = command.files.get(key(command.operands[0], command.cwd))
            return content if content is not None and marks.is_known(content) else None
        case name if name in _NAMING and len(command.operands) == 1:
            return command.operands[0]
        case _:
            return None


def _echo_output(arguments: tuple[str, ...]) -> str:
    escapes, at = False, 0
    while at < len(arguments) and re.fullmatch(r"-[neE]+", arguments[at]):
        escapes = escapes or "e" in arguments[at]
        at += 1
    text = " ".join(arguments[at:])
    return (ansi_c(text) if escapes else text) + "\n"


def taint(commands: Sequence[ShellCommand]) -> str:
    """Marks for the origin of the commands' output, such as `REMOTE`; empty for a harmless
    origin."""
    taints = "".join(map(_taint, commands))
    if _lists_all_processes(commands):
        taints += marks.PROCESSES
    if not taints and any(command.name in _EVALUATED for command in commands):
        taints = marks.GENERATED
    return marks.taints(taints)


def _taint(command: ShellCommand) -> str:
    taints = ""
    if downloads(command):
        taints += marks.REMOTE
    if decodes(command):
        taints += marks.DECODED
    if reads_secret(command):
        taints += marks.SECRET
    for argument in command.arguments:
        taints += marks.taints(argument)
        taints += marks.taints(command.files.get(key(argument, command.cwd), ""))
    if command.feed.text:
        taints += marks.taints(command.feed.text)
    return taints


def downloads(command: ShellCommand) -> bool:
    """Whether the command prints text from the network."""
    arguments = command.arguments
    match command.name:
        case "curl":
            files = command.values("o", "--output")
            to_file = (files and "-" not in files) or _keeps_remote_name(command)
            return not to_file
        case "wget" | "wget2":
            return "-" in command.values("O", "--output-document") or any(
                re.fullmatch(r"-\w*O-", word) for word in arguments
            )
        case "fetch":
            return "-" in command.values("o")
        case "lynx" | "elinks" | "links" | "w3m":
            return command.has("", "-source", "--source") or any(
                "dump" in a or "source" in a for a in arguments
            )
        case "http" | "https" | "xh" | "GET" | "POST" | "lwp-request" | "lwp-download":
            return True
        case "nc" | "ncat" | "netcat" | "telnet" | "socat" | "ftp" | "tftp" | "dig" | "nslookup":
            return not command.has("h", "--help")
        case "host" | "drill" | "whois" | "finger" | "gopher" | "smbclient" | "rsh" | "ssh":
            return bool(arguments)
        case "openssl":
            return arguments[:1] == ("s_client",)
        case "aws" | "gsutil" | "gcloud" | "rclone" | "az" | "mc":
            return "-" in arguments or "cat" in arguments
        case "cat":
            return any(a.startswith(("/dev/tcp/", "/dev/udp/")) for a in arguments)
        case _:
            return reads_network(program_text(command))


_DECODERS = frozenset(
    {"uudecode", "zcat", "gunzip", "bzcat", "bunzip2", "xzcat", "unxz", "lzcat", "unlzma",
     "zstdcat", "unzstd", "lz4cat", "rev", "tac", "xxd", "base58", "basez", "ascii85", "rot13",
     "caesar", "tr", "uncompress", "gzcat"}
)  # fmt: skip
_BASES = frozenset({"base64", "base32", "basenc", "base16", "b64", "gbase64"})


def decodes(command: ShellCommand) -> bool:
    """Whether the command prints its input decoded, decompressed or decrypted."""
    match command.name:
        case name if name in _BASES:
            return command.has("dD", "--decode")
        case "xxd":
            return command.has("r")
        case "openssl":
            return bool(command.arguments[:1]) and "-d" in command.arguments
        case "gpg" | "gpg2" | "age" | "mcrypt" | "ccrypt":
            return command.has("d", "--decrypt")
        case "gzip" | "bzip2" | "xz" | "zstd" | "lzma" | "lz4" | "brotli" | "compress":
            return command.has("d", "--decompress", "--uncompress", "--stdout")
        case "unzip" | "bsdtar":
            return command.has("pO")
        case "tar":
            return command.has("O", "--to-stdout")
        case "7z" | "7za":
            return "-so" in command.arguments
        case name if name in _DECODERS:
            return True
        case _:
            code = program_text(command)
            return bool(re.search(r"b64decode|decode_base64|fromhex|unhexlify|atob\(|pack\(", code))


_READERS_OF_NOTHING = frozenset(
    {"", "=", "ls", "stat", "test", "[", "chmod", "chown", "chgrp", "mkdir", "touch", "cd", "file",
     "rm", "find", "du", "which", "export", "ssh-keygen", "ssh-add", "ssh", "scp", "rsync", "sftp",
     "id", "getent", "curl", "wget", "grep", "ssh-copy-id", "echo", "printf", "mv", "ln", "man",
     "kill", "git", "docker", "kubectl", "openssl", "vim", "vi", "nano", "diff"}
)  # fmt: skip
DUMPERS = frozenset({"mysqldump", "mariadb-dump", "pg_dump", "pg_dumpall", "mongodump"})
_TELLING = frozenset({"env", "printenv", "history", "lastpass", "pass", "secret-tool", "dumpe2fs"})


def reads_secret(command: ShellCommand) -> bool:
    """Whether the command prints credentials, a person's history, a database or a whole disk."""
    if command.name in _TELLING and not command.arguments:
        return True
    if command.name in ("set", "export", "declare", "compgen") and command.arguments in (
        (),
        ("-p",),
    ):
        return True
    if command.name in ("dd", "pv", "partclone", "ddrescue"):
        paths = [word.removeprefix("if=") for word in command.arguments]
        return any(p.startswith("/dev/") and is_disk(p) for p in paths)
    if command.name in DUMPERS:
        return True
    if command.name in ("gpg", "gpg2") and command.has("", "--export-secret-keys"):
        return True
    if command.name == "security":
        return "find" in command.display_text or "dump" in command.display_text
    if command.name == "grep":
        return any(is_secret(path, command.cwd) for path in command.operands[1:])
    if command.name in _READERS_OF_NOTHING and command.name != "openssl":
        return False
    paths = [*command.operands, *(r.target for r in command.redirections if r.operator == "<")]
    if any(path.startswith("/dev/") and is_disk(path) for path in paths):
        return True
    return any(is_secret(path.removeprefix("if="), command.cwd) for path in paths)


_ALL = ((".",), (".*",), ("",))
_ROW_FILTERS = _FILTERS - {"awk", "gawk", "mawk", "cut", "sed", "tail", "uniq"}
_CONDITION = re.compile(r"/\w|==|~")


def _lists_all_processes(commands: Sequence[ShellCommand]) -> bool:
    """Whether `ps` or `pgrep` lists all processes and no filter in the pipe selects some."""
    if not any(_lists_processes(command) for command in commands):
        return False
    return not any(_picks(command) for command in commands)


def _lists_processes(command: ShellCommand) -> bool:
    if command.name == "pgrep":
        return command.operands in _ALL
    everything = command.arguments[:1] in (("aux",), ("-aux",), ("-ef",))
    return command.name == "ps" and (everything or not command.has("pCtuUgG", "--pid", "--user"))


def _picks(command: ShellCommand) -> bool:
    if command.name in ("awk", "gawk", "mawk", "sed"):
        return bool(_CONDITION.search(" ".join(command.operands)))
    return command.name in _ROW_FILTERS and command.operands not in _ALL


def listing(upstream: Sequence[ShellCommand]) -> list[str]:
    """The paths or words that the commands of a pipe list for `xargs` or `read`, with marks."""
    filtered = any(command.name in _FILTERS for command in upstream)
    end = marks.ANY if filtered else marks.STAR
    for command in upstream:
        if command.name in ("find", "gfind"):
            return [
                f"{item.rpartition('/')[0]}/{marks.ANY}" if filtered else item
                for item in find_items(command.arguments)
            ]
        if command.name in ("ls", "dir", "vdir", "tree"):
            operands = command.operands or (".",)
            return [
                o if not marks.GLOBS.isdisjoint(o) else f"{o.rstrip('/')}/{end}" for o in operands
            ]
    return [marks.ANY + taint(upstream)]


_VALUED_FETCH = {
    "scp": "cDFiJloPSX",
    "rsync": "efT",
    "curl": "AbcCdDeEFhHKmoPQrtTuUwxXyYz",
    **dict.fromkeys(("wget", "wget2"), "OPoaetTwQUiAR"),
    "aria2c": "odijsxkl",
    "axel": "onsU",
}


def output_files(command: ShellCommand) -> list[str]:
    """The files that a download or a decoder writes; empty for any other program."""
    operands = command.operands_without(_VALUED_FETCH.get(command.name, ""))
    names = [
        marks.plain(url).split("?")[0].rstrip("/").rpartition("/")[2].rpartition(":")[2]
        for url in operands
    ]
    match command.name:
        case "curl":
            paths = [path for path in command.values("o", "--output") if path != "-"]
            paths += names if _keeps_remote_name(command) else []
            folders = command.values("", "--output-dir")
            return [f"{folder}/{path}" for folder in folders for path in paths] or paths
        case "scp" | "rsync" if operands[1:] and ":" in operands[0] and ":" not in operands[-1]:
            return [operands[-1], *(f"{operands[-1]}/{name}" for name in names[:-1])]
        case "wget" | "wget2":
            folders = command.values("P", "--directory-prefix")
            names = [f"{folder}/{name}" for folder in folders for name in names] or names
            return [p for p in command.values("O", "--output-document") if p != "-"] or names
        case "aria2c" | "axel":
            return command.values("o", "--out") or names
        case "openssl":
            return command.values("", "-out")
        case "gpg" | "gpg2":
            return command.values("o", "--output")
        case _:
            return []


def _keeps_remote_name(command: ShellCommand) -> bool:
    """Whether `curl` writes files of the addresses' names. The `O` of `-XPOST` is no option."""
    flag = re.compile(rf"-[^-{_VALUED_FETCH['curl']}]*O")
    return command.has("", "--remote-name", "--remote-name-all") or any(
        map(flag.match, command.arguments)
    )


def origin(command: ShellCommand) -> str:
    """The mark of the origin of the files that `output_files` names: network or decoder."""
    return marks.REMOTE if command.name in _VALUED_FETCH else marks.DECODED
