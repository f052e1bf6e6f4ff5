"""Write `option_table.json`: the option names of programs, as their `--help` lists them.

    python -m tools.shell_option_table

It asks the programs that are installed where it runs; what is known of others is kept. The
table is committed, so that verdicts don't depend on the machine that gives them. Only the
programs named here are run, and only with the arguments named here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

TABLE = Path(__file__).parents[1] / "failproof_es/shell_analysis/parse/option_table.json"

_COREUTILS = (
    "b2sum base32 base64 basename cat chgrp chmod chown cksum comm cp csplit cut date dd df dir "
    "dirname du expand factor fmt fold head id install join link ln logname ls md5sum mkdir mkfifo "
    "mknod mktemp mv nice nl nohup nproc numfmt od paste pathchk pinky pr readlink realpath rm "
    "rmdir seq sha1sum sha224sum sha256sum sha384sum sha512sum shred shuf sleep sort split stat "
    "stdbuf sum sync tac tail tee timeout touch tr truncate tsort tty uname unexpand uniq unlink "
    "uptime users vdir wc who whoami env chroot"
)
_OTHERS = (
    "awk bzip2 cmp column comm cpio diff diff3 file free grep gzip ionice ip less lsof mount "
    "pgrep pkill ps rsync sdiff sed setsid ss tar tree umount unzip vmstat watch wget which xargs "
    "xz zip sudo hostname kill netstat patch bc jq dmesg lsblk lscpu top pstree killall getent rev"
)
_GIT = (
    "add branch checkout clone commit fetch init merge mv pull push rebase remote reset restore "
    "rm stash status switch tag show-ref rev-parse clean cherry-pick revert"
)
_PROGRAMS: dict[str, tuple[str, ...]] = {
    **{name: (name, "--help") for name in (*_COREUTILS.split(), *_OTHERS.split())},
    **{f"git {name}": ("git", name, "-h") for name in _GIT.split()},
    "curl": ("curl", "--help", "all"),
    "ps": ("ps", "--help", "all"),
}

_NAME = re.compile(
    r"(--(?:\[no-\])?[A-Za-z0-9][A-Za-z0-9.-]*|-[A-Za-z0-9]{1,2}|-[^\s\w-])(?=[\s=,\[]|$)"
)
_ARGUMENT = re.compile(
    r"\s?(\[=?[^\]]*\]|=\S+?(?=,|$)|<[^>]*>\S*|[A-Z][A-Z0-9_:-]*(?![a-z])|[a-z-]+(?=,|$))"
)


def parse_help(text: str) -> dict[str, str]:
    """Options as `{"-a --all": "none"}`, in the order of the text.

    The value is `none`, `required` or `optional`; one for each name where they differ.
    """
    inherits = re.search(r"or\s+optional|usage: git", text) is not None
    found: dict[str, str] = {}
    for line in text.splitlines():
        if (match := re.match(r"\s{0,10}(-\S.*)", line)) is None:
            continue
        names = _synopsis(re.split(r"(?<!,)\s{2,}(?!--)|\t| : ", match[1] + "  ")[0])
        # `-p, --indicator-style=slash` is no second name but says what the short one means.
        if len(names) > 1:
            names = {n: a for n, a in names.items() if not _is_a_value(n, a, text)}
        kinds = [_kind(name, argument, names, inherits) for name, argument in names.items()]
        if names:
            value = kinds[0] if len(set(kinds)) == 1 else " ".join(kinds)
            found.setdefault(" ".join(names), value)
    return found


def _kind(name: str, argument: str, names: dict[str, str], inherits: bool) -> str:
    """A short name without an argument of its own takes the long name's if it is mandatory."""
    of_long = next((names[each] for each in names if each.startswith("--")), "")
    if not argument and not name.startswith("--") and (inherits or not of_long.startswith("[")):
        argument = of_long
    if not argument:
        return "none"
    return "optional" if argument.startswith("[") else "required"


def _is_a_value(name: str, argument: str, text: str) -> bool:
    written = len(re.findall(rf"{re.escape(name)}\[?=", text))
    return re.match("=[a-z]", argument) is not None and written > 1


def _synopsis(text: str) -> dict[str, str]:
    """Each name of a line such as `-n, --lines=NUM` with its argument as it is written."""
    names: dict[str, str] = {}
    while (match := _NAME.match(text)) is not None:
        text = text[match.end() :]
        argument = _ARGUMENT.match(text)
        if argument is not None:
            text = text[argument.end() :]
        names.setdefault(match[1], argument[1] if argument else "")
        following = re.match(r"(?:,\s*|\s+)(?=-)", text)
        if following is None:
            break
        text = text[following.end() :]
    return names


def _help(arguments: tuple[str, ...]) -> str | None:
    if shutil.which(arguments[0]) is None:
        return None
    environment = {**os.environ, "LC_ALL": "C", "COLUMNS": "200", "TERM": "dumb"}
    done = subprocess.run(
        arguments,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=environment,
        timeout=20,
        check=False,
    )
    return (done.stdout or done.stderr).decode(errors="replace")


def main() -> None:
    """Ask every installed program and write the table."""
    table = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    for name, arguments in _PROGRAMS.items():
        text = _help(arguments)
        options = parse_help(text) if text else {}
        if options:
            table[name] = options
    text = json.dumps(table, indent=1, sort_keys=True, ensure_ascii=False)
    TABLE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
