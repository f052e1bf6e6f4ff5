"""Permissions and accounts: PERM_BROAD, SETUID, ACCOUNT_CHANGE."""

from __future__ import annotations

import re

from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.files.find_command import reaches_all, reaches_deep
from failproof_es.shell_analysis.safety.files.places import (
    Extent,
    extent,
    is_disk,
    is_secret,
    is_system,
    locate,
)
from failproof_es.shell_analysis.safety.rules.containers import has_the_host
from failproof_es.shell_analysis.safety.text import marks

_SYMBOLIC = re.compile(r"[ugoa]*([-+=][rwxXst]*)+(,[ugoa]*([-+=][rwxXst]*)+)*")
_OCTAL = re.compile(r"[-+=]?0*([0-7]{1,4})")
_VITAL_FOLDERS = {"sudoers.d", "cron.d", "ssh", "pam.d", "security", "systemd", "profile.d"}
_BROAD = {Extent.ROOT, Extent.SYSTEM, Extent.HOME, Extent.PARENT, Extent.DEVICE}
_OWN_BROAD = {Extent.ROOT, Extent.SYSTEM, Extent.PARENT, Extent.DEVICE}
_SERVED = re.compile(r"/(srv|opt|mnt|media|var/(www|cache))(/.*)?")
"""Folders of services, not of the system: recursive changes of rights are allowed."""
_OPEN_SAFELY = re.compile(r"/(tmp|srv|opt|mnt|media|home|var/(www|tmp|cache))(/.*)?")


def opens_rights(command: ShellCommand) -> bool:
    """Whether a command gives everybody write access, or the owner no access, beyond the user's
    own files."""
    match command.name:
        case "chmod" | "gchmod":
            return _chmod_is_broad(command)
        case "chown" | "chgrp" | "gchown":
            return _chown_is_broad(command)
        case "setfacl":
            text = " ".join(command.arguments)
            everybody = re.search(r"(^|[\s,:])(o|other|d:o)::?\w*w", text)
            recursive = command.has("R", "--recursive")
            return any(reaches_deep(path) and everybody for path in command.operands) or (
                any(_at_system(path, command) for path in command.operands)
                and bool(recursive or everybody)
            )
        case "chattr":
            return any(_at_system(path, command) for path in command.operands)
        case "umask":
            return command.operands[:1] in (("0",), ("00",), ("000",), ("0000",), ("a=rwx",))
    return False


def _chmod_words(command: ShellCommand) -> tuple[str, list[str]]:
    """The mode of a `chmod`, which may begin with a minus, and the paths."""
    words = [
        word
        for word in command.arguments
        if not word.startswith("--") and not re.fullmatch(r"-[RvcfhHLP]+", word)
    ]
    return (words[0], words[1:]) if words else ("", [])


def _chmod_is_broad(command: ShellCommand) -> bool:
    mode, paths = _chmod_words(command)
    recursive = command.has("R", "--recursive")
    opens = _opens_to_all(mode)
    return any(_opens_path(path, mode, command, opens=opens, deep=recursive) for path in paths)


def _opens_path(path: str, mode: str, command: ShellCommand, *, opens: bool, deep: bool) -> bool:
    """Whether a `chmod` to the mode is too broad for the path.

    `opens`: the mode lets everybody write; `deep`: it is also set for everything under the path.
    """
    path_extent = extent(path, command.cwd)
    if opens and (deep or reaches_deep(path)):
        return True
    served = bool(_SERVED.fullmatch(marks.plain(path))) and not _closes(mode)
    if (deep or reaches_all(path)) and path_extent in _BROAD and not served:
        return True
    if path_extent in _OWN_BROAD and (opens or _closes(mode)):
        return not _OPEN_SAFELY.fullmatch(marks.plain(path))
    globbed = not marks.GLOBS.isdisjoint(path)
    if opens and (path_extent is Extent.HOME or (path_extent is Extent.CURRENT and globbed)):
        return True
    below = path.strip("/").partition("/")
    many = marks.GLOBS.isdisjoint(below[0]) and not marks.GLOBS.isdisjoint(below[2])
    if path_extent is Extent.SYSTEM and many and not served:
        return True
    return is_secret(path, command.cwd) and _lets_others_read(mode) and _is_key(path)


def _is_key(path: str) -> bool:
    return not path.endswith((".pub", ".crt", "/etc/passwd", "/.ssh")) and bool(
        re.search(r"shadow|sudoers|id_\w+$|\.pem$|\.key$|\.kdbx$|\.gnupg|credentials", path)
    )


def _opens_to_all(mode: str) -> bool:
    """Whether a mode of `chmod` lets everybody write."""
    if match := _OCTAL.fullmatch(mode):
        return not mode.startswith("-") and int(match[1], 8) & 0o002 != 0
    return any(
        re.search(r"[+=][rxXst]*w|o[oa]*[+=]u", clause)
        and (set("oa") & set(clause.split("+")[0].split("=")[0]))
        for clause in mode.split(",")
    ) or bool(re.fullmatch(r"[+=][rx]*w[rx]*", mode) and "rwx" in mode)


def _lets_others_read(mode: str) -> bool:
    if match := _OCTAL.fullmatch(mode):
        return int(match[1], 8) & 0o044 != 0
    return bool(re.search(r"[goa]+[ugoa]*[+=][wx]*r|^\+r", mode))


def _closes(mode: str) -> bool:
    """Whether a mode of `chmod` takes reading and executing from the owner.

    A symbolic mode counts if it removes one of them.
    """
    if match := _OCTAL.fullmatch(mode):
        return int(match[1], 8) & 0o500 == 0 and mode[:1] not in "+-"
    return bool(re.search(r"(^|,)[ua]*-[rwx]*[rx]|(^|,)[ua]+=(,|$)", mode))


def _chown_is_broad(command: ShellCommand) -> bool:
    words = command.operands
    by_reference = command.has("", "--reference")
    recursive = command.has("R", "--recursive")
    for path in words[0 if by_reference else 1 :]:
        path_extent = extent(path, command.cwd)
        deep = recursive or reaches_all(path)
        if path_extent in (Extent.ROOT, Extent.DEVICE) or (deep and path_extent is Extent.PARENT):
            return True
        if path_extent is not Extent.SYSTEM or _OPEN_SAFELY.fullmatch(marks.plain(path)):
            continue
        if deep or _is_vital(path, command, words[0]):
            return True
    return False


def _is_vital(path: str, command: ShellCommand, owner: str) -> bool:
    """Whether the owner of the file at `path` controls the machine; root as the new `owner` is
    harmless."""
    parts = locate(path, command.cwd).parts
    if not marks.GLOBS.isdisjoint(parts[0]):
        return False
    vital = parts[0] != "etc" or len(parts) == 2 or parts[1] in _VITAL_FOLDERS
    return vital and len(parts) > 1 and not re.match(r"root\b|0\b", owner)


def _at_system(path: str, command: ShellCommand) -> bool:
    return is_system(path, command.cwd) or is_disk(path, command.cwd)


def grants_root(command: ShellCommand) -> bool:
    """Whether a command has a program run with another user's rights, or starts a container
    that is root of the host."""
    match command.name:
        case "chmod" | "gchmod":
            mode, paths = _chmod_words(command)
            return _sets_user(mode) or (_sets_group(mode) and _are_programs(paths, command))
        case "install" | "mknod" | "mkdir":
            return any(_sets_user(mode) for mode in command.values("m", "--mode"))
        case "setcap":
            return not command.has("rn") and bool(command.operands)
    return has_the_host(command)


def _sets_user(mode: str) -> bool:
    if match := _OCTAL.fullmatch(mode):
        return int(match[1], 8) & 0o4000 != 0 and not mode.startswith("-")
    if not _SYMBOLIC.fullmatch(mode):
        return False
    for clause in mode.split(","):
        who, operator, what = re.match(r"([ugoa]*)([-+=]?)(.*)", clause, re.DOTALL).groups()  # type: ignore[union-attr]
        if operator in "+=" and operator and "s" in what and (not who or set(who) & {"u", "a"}):
            return True
    return False


def _sets_group(mode: str) -> bool:
    if match := _OCTAL.fullmatch(mode):
        return int(match[1], 8) & 0o2000 != 0
    return bool(re.search(r"g[ugoa]*[+=]\w*s", mode))


def _are_programs(paths: list[str], command: ShellCommand) -> bool:
    return any(re.search(r"(^|/)s?bin/", path) for path in paths) or any(
        is_system(path, command.cwd) for path in paths
    )


_ADMIN_GROUPS = frozenset(
    {"sudo", "wheel", "root", "admin", "docker", "lxd", "disk", "shadow", "adm"}
)


def changes_accounts(command: ShellCommand) -> bool:
    """Whether a command deletes an account, gives it administrator rights, or changes how it
    logs in."""
    parts = [part for word in command.arguments for part in word.split(",")]
    admin = not _ADMIN_GROUPS.isdisjoint(parts)
    root = "root" in command.operands
    match command.name:
        case "useradd" | "adduser" | "usermod":
            zero = "0" in command.values("u", "--uid") or command.has("o", "--non-unique")
            password = command.name == "usermod" and bool(command.values("p", "--password"))
            return (
                zero
                or admin
                or (password and root)
                or (command.name == "usermod" and command.has("L", "--lock") and root)
            )
        case "userdel" | "deluser" | "groupdel" | "delgroup":
            return bool(command.operands)
        case "gpasswd" | "groupmems":
            return admin
        case "passwd":
            return command.has("du", "--delete", "--unlock") or (
                root and command.has("l", "--lock")
            )
        case "chpasswd" | "newusers" | "vipw":
            return command.name != "vipw" or bool(command.feed.text)
        case "dscl" | "net" | "dseditgroup" | "sysadminctl":
            return bool(re.search(r"(?i)delete|/del|-append.*admin|/add|-o edit.*admin|-addUser",
                                 " ".join(command.arguments)))  # fmt: skip
        case "chsh" | "chage":
            return root
        case "visudo":
            return bool(command.feed.text) or bool(command.feed.upstream)
    return False
