"""Reverse shells and sending secrets out: REVERSE_SHELL, EXFILTRATE."""

from __future__ import annotations

import re

from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.files.places import (
    is_secret,
    is_whole_system,
    key,
    locate,
)
from failproof_es.shell_analysis.safety.text import marks
from failproof_es.shell_analysis.safety.text.code import language, literals, program_text
from failproof_es.shell_analysis.safety.text.output import DUMPERS, taint
from failproof_es.shell_analysis.safety.wrapping.wrappers import SHELLS

_NETCATS = frozenset({"nc", "ncat", "netcat", "nc.openbsd", "nc.traditional", "cryptcat", "pwncat"})
_TALKERS = _NETCATS | {"telnet", "socat", "openssl"}
_NETWORK_FILE = re.compile(r"/dev/(tcp|udp)/|/inet6?/(tcp|udp)/")
_CODE_CONNECTS = re.compile(
    r"socket|TCPSocket|UDPSocket|fsockopen|net\.(connect|Socket|createConnection|createServer)"
    r"|IO::Socket|PF_INET|AF_INET|sockaddr_in|/inet6?/(tcp|udp)|TCPServer|TcpClient|http\.client"
    r"|require\(['\"]net['\"]\)|Deno\.connect"
)
_CODE_SHELLS = re.compile(
    r"/bin/(ba|z|k|c|da)?sh|cmd\.exe|dup2|pty\.spawn|\bsh\b.*-i|subprocess|os\.system|child_process"
    r"|popen|proc_open|shell_exec|\bexec\b|\bsystem\b|os\.execute|getline|\biex\b|spawn"
)


def opens_reverse_shell(command: ShellCommand) -> bool:
    """Whether the command gives a shell a network connection as its input or output."""
    name = command.name
    connected = [r for r in command.redirections if _NETWORK_FILE.search(r.target)]
    if connected:
        if name in SHELLS or name == "exec" or language(name) not in (None, "awk"):
            return True
        if any(r.operator == "<>" for r in connected):
            return True
    if name in _NETCATS:
        if command.has("", "--exec", "--sh-exec", "--lua-exec") or _executes(command):
            return True
        return _from_shell(command)
    if name == "socat":
        text = " ".join(command.arguments)
        return bool(re.search(r"(?i)\b(exec|system|shell)\b:?", text)) and bool(
            re.search(r"(?i)\b(tcp|udp|openssl|ssl|sctp|vsock)", text)
        )
    if name in ("telnet", "openssl"):
        return _from_shell(command) and (name == "telnet" or "s_client" in command.arguments)
    if name in SHELLS:
        return any(c.name in _TALKERS and _talks(c) for c in command.feed.upstream)
    if name in ("xterm", "rxvt") and any(
        re.search(r"\d+\.\d+\.\d+\.\d+:\d", a) for a in command.arguments
    ):
        return True
    if name == "zmodload":
        return "zsh/net/tcp" in command.arguments
    code = program_text(command)
    return bool(_CODE_CONNECTS.search(code) and _CODE_SHELLS.search(code))


def _talks(command: ShellCommand) -> bool:
    return command.name != "openssl" or "s_client" in command.arguments


def _executes(command: ShellCommand) -> bool:
    """Whether netcat has `-e` or `-c`, also in a bundle (`-lvpe`)."""
    return any(
        re.fullmatch(r"-[a-zA-Z]*[ec][a-zA-Z]*", word)
        and (word.endswith(("e", "c")) or "e" in word)
        for word in command.arguments
    )


def _from_shell(command: ShellCommand) -> bool:
    """Whether an interactive shell writes into the command's standard input."""
    return any(
        c.name in SHELLS and (c.has("i") or (not c.operands and not c.has("c")))
        for c in command.feed.upstream
    )


_UPLOADS = ("d", "F", "T")
_LONG_UPLOADS = (
    "--data", "--data-binary", "--data-raw", "--data-urlencode", "--data-ascii", "--form",
    "--upload-file", "--form-string", "--json", "--url-query", "--header", "--user", "--url",
)  # fmt: skip
_MAILERS = frozenset(
    {"mail", "mailx", "mutt", "sendmail", "ssmtp", "msmtp", "swaks", "s-nail", "mpack"}
)
_COPIERS = frozenset({"scp", "rsync", "sftp", "rcp", "croc", "magic-wormhole", "wormhole", "ffsend",
                      "transfer", "gist", "pastebinit", "lftp", "ncftpput", "ftp", "tftp", "rclone",
                      "s3cmd", "gsutil", "aws", "mc", "az", "gcloud", "azcopy", "smbclient", "curl",
                      "wget", "http", "https", "xh"})  # fmt: skip
_RESOLVERS = frozenset({"dig", "nslookup", "host", "ping", "drill", "ping6", "getent"})
_PIPED = frozenset(
    {"ssh", "rsh", "pastebinit", "gist", "nc", "aws", "gsutil", "rclone", "wormhole"}
)


def sends_secrets(command: ShellCommand) -> bool:
    """Whether credentials, histories or whole disks reach a program that sends over the network."""
    name = command.name
    fed = taint(command.feed.upstream) + marks.taints(command.feed.text or "")
    if command.feed.path and is_secret(command.feed.path, command.cwd):
        fed += marks.SECRET
    if any(_NETWORK_FILE.search(r.target) for r in command.redirections if r.writes):
        return name not in SHELLS and (
            marks.SECRET in fed or marks.SECRET in taint((command,)) or name in ("cat", "tar", "dd")
        )
    if name in _NETCATS or name in ("telnet", "socat"):
        names_secret = any(
            is_secret(re.sub(r"(?i)^\w+:", "", w), command.cwd) for w in command.arguments
        )
        return marks.SECRET in fed or names_secret
    if name == "openssl" and "s_client" in command.arguments:
        return marks.SECRET in fed
    if name in _RESOLVERS:
        return any(marks.SECRET in word for word in command.arguments) or (marks.SECRET in fed)
    if name in _MAILERS:
        attached = command.values("a", "--attach") + command.values("A")
        return marks.SECRET in fed or any(is_secret(path, command.cwd) for path in attached)
    if name in ("curl", "wget", "http", "https", "xh", "wget2"):
        return _uploads(command, fed)
    if name in _COPIERS:
        return _copies_out(command) or marks.SECRET in fed
    if name == "ssh" and any(c.name in DUMPERS for c in command.feed.upstream):
        return False  # a dump for another machine of the user
    if name in _PIPED:
        return marks.SECRET in fed
    return _code_sends(command)


def _uploads(command: ShellCommand, fed: str) -> bool:
    if any(marks.SECRET in word for word in command.arguments):
        return True
    values = [v for letter in _UPLOADS for v in command.values(letter)]
    values += command.values("", *_LONG_UPLOADS)
    values += command.values("", "--post-file", "--body-file", "--post-data", "--body-data")
    values += [
        word for word in command.operands if "@" in word and command.name not in ("curl", "wget")
    ]
    for value in values:
        path = value.rpartition("@")[2].rpartition("<")[2].partition(";")[0]
        if "@" in value or "<" in value or _is_file_option(command, value):
            if path in ("-", ".", "/dev/stdin"):
                if marks.SECRET in fed:
                    return True
            elif is_secret(path, command.cwd) or _holds_secret(path, command):
                return True
    return marks.SECRET in fed and (command.name not in ("curl", "wget") or command.has("T"))


def _is_file_option(command: ShellCommand, value: str) -> bool:
    return value in (
        *command.values("T", "--upload-file"),
        *command.values("", "--post-file", "--body-file"),
    )


def _copies_out(command: ShellCommand) -> bool:
    """Whether a source is a secret file and the target is on another machine."""
    if command.name in ("scp", "rsync", "rcp"):
        operands = command.operands_without("eFPiloScDJ")
        remote = len(operands) > 1 and re.search(r"^[^/]*[^/:]:|^\w+://", operands[-1])
        return bool(remote) and any(_is_secret_file(path, command) for path in operands[:-1])
    if command.name in ("aws", "gsutil", "rclone", "mc", "s3cmd", "az", "azcopy", "gcloud"):
        paths = command.operands
        elsewhere = command.name == "az" or bool(paths and re.search(r"^\w+:", paths[-1]))
        return elsewhere and any(_is_secret_file(path, command) for path in paths)
    texts = [*command.arguments, command.feed.text or ""]
    words = [piece for word in texts for piece in re.split(r"[\s;]+", word)]
    puts = command.name == "ncftpput" or bool(_PUTS.search(" ".join(texts)))
    return any(
        _is_secret_file(path, command)
        for path in words
        if not path.startswith("-") and (puts or not is_whole_system(path))
    )


_PUTS = re.compile(r"\b(m?put|mput|reput|mirror\b.*(\s-\w*R|--reverse))\b")
"""Commands of `ftp` and similar that send; other paths are on the server."""


def _holds_secret(path: str, command: ShellCommand) -> bool:
    """Whether an earlier part of the same text wrote a secret into the file at `path`."""
    return marks.SECRET in command.files.get(key(path, command.cwd), "")


def _is_secret_file(path: str, command: ShellCommand) -> bool:
    """Whether the path is a secret or the whole system; a whole home counts as a backup."""
    if _holds_secret(path, command) or is_whole_system(path, command.cwd):
        return True
    return bool(locate(path, command.cwd).parts) and is_secret(path, command.cwd)


_CODE_SENDS = re.compile(
    r"urlopen|requests\.(post|put|get)|http\.client|socket|Net::HTTP|LWP|fetch\(|https?\.(request|get"
    r"|post)|smtplib|ftplib|curl_|fsockopen|file_get_contents\s*\(\s*['\"]https?|TCPSocket|axios"
)


def _code_sends(command: ShellCommand) -> bool:
    code = program_text(command)
    return bool(_CODE_SENDS.search(code)) and (
        any(is_secret(text) for text in literals(code) if "/" in text or text.startswith("."))
        or "os.environ" in code
        or "process.env)" in code
    )
