"""Rates paths by how much is lost when they are deleted or overwritten.

The tables list paths that a Linux or macOS machine cannot lose: docs/reference/command-safety.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from fnmatch import fnmatchcase

from failproof_es.shell_analysis.safety.text import marks


class Extent(Enum):
    """The loss of a path: the whole system, a home, a secret, ...; `NARROW` is a limited loss."""

    ROOT = auto()
    SYSTEM = auto()
    DEVICE = auto()
    HOME = auto()
    PERSONAL = auto()
    SECRET = auto()
    CURRENT = auto()
    PARENT = auto()
    NARROW = auto()


_TOPS = frozenset(
    {
        "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "media", "mnt",
        "opt", "proc", "root", "run", "sbin", "srv", "sys", "tmp", "usr", "var", "snap", "nix",
        "Applications", "Library", "System", "Users", "Volumes", "private", "cores",
        "lost+found",
    }
)  # fmt: skip
_WHOLE_TREES = frozenset(
    {"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys",
     "System", "Library", "nix"}
)  # fmt: skip
_STATE = {("var", "lib"), ("var", "spool"), ("var", "db"), ("private", "etc"), ("private", "var")}
_LOCAL = {
    "bin", "etc", "games", "include", "lib", "lib64", "libexec", "man", "sbin", "share", "src",
    "Cellar", "Homebrew", "opt", "var",
}  # fmt: skip
_NEVER_IN_A_PROJECT = frozenset(
    {"boot", "etc", "home", "proc", "root", "sbin", "sys", "usr", "Users", "Volumes", "System"}
)
_FAR_UP = 2
_CONTENTS_COUNT = {"tmp"}
"""Top directories whose contents may be deleted, though the directories may not."""
_AUDIT_LOGS = re.compile(
    r"(syslog|messages|secure|auth\.log|kern\.log|audit(/.*)?|wtmp|btmp|utmp|lastlog|faillog"
    r"|journal(/.*)?|dmesg|cron|maillog)[.\d]*"
)
_PERSONAL = frozenset(
    {"Desktop", "Documents", "Downloads", "Movies", "Music", "Pictures", "Videos", "Public",
     "Library", ".config", ".local", ".local/share", ".mozilla", ".thunderbird", "Mail",
     "Maildir", ".bash_history", ".zsh_history", ".bashrc", ".bash_profile", ".profile",
     ".zshrc", ".vimrc", ".gitconfig"}
)  # fmt: skip
_SECRET_HOME = re.compile(
    r"\.(ssh|gnupg|aws|azure|kube|docker|gcloud|password-store|config/gcloud|config/gh|netrc"
    r"|pgpass|my\.cnf|git-credentials|npmrc|pypirc|vault-token|electrum|bitcoin|ethereum"
    r"|local/share/keyrings|mozilla|config/google-chrome|bash_history|zsh_history"
    r"|mysql_history|psql_history|python_history|putty)(/.*)?"
    r"|Library/(Keychains|Cookies)(/.*)?|wallet\.dat"
)
_SECRET_SYSTEM = re.compile(
    r"etc/(g?shadow-?|passwd-?|sudoers(\.d/.*)?|krb5\.keytab|ssl/private(/.*)?|ssh/ssh_host.*key"
    r"|ssh|ssl|master\.passwd|security/.*|environment|wpa_supplicant/.*)"
    r"|proc/(self|\d+)/environ|var/run/secrets(/.*)?|run/secrets(/.*)?|var/lib/mysql(/.*)?"
    r"|var/log/(auth\.log|secure)|etc|root|home|Users"
)
_SECRET_NAME = re.compile(
    r"(id_(rsa|dsa|ecdsa|ed25519)|.*\.(pem|p12|pfx|keystore|jks|kdbx|ppk|key)"
    r"|\.env(\..+)?|\.netrc|\.pgpass|\.git-credentials|\.htpasswd|credentials(\.\w+)?"
    r"|secrets?(\.\w+)?|passwords?(\.\w+)?|shadow|wallet\.dat|authorized_keys"
    r"|service[-_]account.*\.json|\.bash_history|\.zsh_history|SAM|ntds\.dit|Login Data)"
)
_STARTUP = re.compile(
    r"\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile"
    r"|zlogin|kshrc|cshrc|tcshrc|login|xinitrc|xsession|xprofile|inputrc|config/fish/.*"
    r"|ssh/(config|rc|environment|authorized_keys2?)|config/autostart/.*|config/systemd/.*"
    r"|pam_environment|forward)|Library/LaunchAgents/.*"
)
_KEYS = re.compile(r"(.*/)?\.ssh/authorized_keys2?")
_PSEUDO_DEVICES = re.compile(
    r"null|zero|full|random|urandom|std(in|out|err)|tty\w*|pts/.*|fd/.*|shm(/.*)?|console|ptmx"
    r"|(tcp|udp)/.*|dsp|audio|video\d*|lp\d*|cu\.\w+|rfcomm\d*|serial/.*|mqueue/.*|kmsg|log"
)
_TUNABLES = re.compile(
    r"proc/sys/vm/drop_caches|proc/self/(oom_score_adj|oom_adj|comm)"
    r"|sys/class/(backlight|leds|gpio|pwm|thermal)/.*"
)
_ONLY_GLOBS = re.compile(
    rf"[{marks.STAR}{marks.QUESTION}.]*[{marks.STAR}{marks.QUESTION}][{marks.STAR}{marks.QUESTION}.]*"
    rf"|\.?{marks.BRACKET}[!^]\.\]{marks.STAR}"
)


@dataclass(frozen=True, slots=True)
class PathParts:
    """A path in parts. `base` is `/`, `~` or `.` (the directory of the command)."""

    base: str
    parts: tuple[str, ...]
    ups: int = 0
    """Number of directories above `.` at which the path begins."""

    @property
    def rest(self) -> str:
        return "/".join(self.parts)


def locate(path: str, cwd: str = ".") -> PathParts:
    """Split a path into its parts; a relative path starts in the directory `cwd`."""
    if path.startswith(("file://", "//")):
        path = path.removeprefix("file:")
    if not path.startswith(("/", marks.HOME, "~")) and cwd != ".":
        path = f"{cwd}/{path}"
    if path.startswith("~"):
        head, _, tail = path[1:].partition("/")
        path = f"/home/{head}/{tail}" if head not in ("root", "") else f"/root/{tail}"
    base = {"/": "/", marks.HOME: "~"}.get(path[:1], ".")
    parts: list[str] = []
    ups = 0
    for part in path.removeprefix(marks.HOME).split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part == ".." and base == ".":
            ups += 1
        elif part == ".." and base == "~":
            base = "/"
            parts = ["home"]
        elif part not in ("", ".", ".."):
            parts.append(part)
    return _as_home(_resolve_far_up(PathParts(base, tuple(parts), ups)))


def _resolve_far_up(place: PathParts) -> PathParts:
    """The absolute place that `../../etc` means: two levels up, only the root has such a name.

    A name that projects also have stays relative (`../../lib`).
    """
    is_top = place.parts[:1] and place.parts[0] in _NEVER_IN_A_PROJECT
    return PathParts("/", place.parts) if is_top and place.ups >= _FAR_UP else place


def _as_home(place: PathParts) -> PathParts:
    """The place with `/root/x` and `/home/someone/x` as `~/x`."""
    parts = place.parts
    if place.base != "/" or not parts:
        return place
    if parts[0] == "root":
        return PathParts("~", parts[1:])
    one_home = len(parts) > 1 and not _ONLY_GLOBS.fullmatch(parts[1])
    return PathParts("~", parts[2:]) if one_home and parts[0] in ("home", "Users") else place


def extent(path: str, cwd: str = ".") -> Extent:
    """The loss when everything at and under `path` is lost.

    A relative path starts in the directory `cwd`.
    """
    location = locate(path, cwd)
    place = _globbed_folder(location)
    contents = place is not location
    if place.base == "/":
        return _absolute_extent(place, contents=contents)
    if place.base == "~":
        return _home_extent(place)
    if place.parts:
        return Extent.NARROW
    return Extent.PARENT if place.ups else Extent.CURRENT


def _globbed_folder(place: PathParts) -> PathParts:
    """The folder whose whole content a pattern matches: `/etc` for `/etc/*`."""
    while place.parts and _ONLY_GLOBS.fullmatch(place.parts[-1]):
        place = PathParts(place.base, place.parts[:-1], place.ups)
    return place


def is_whole_system(path: str, cwd: str = ".") -> bool:
    """Whether the path is the root, or everything in it."""
    return extent(path, cwd) is Extent.ROOT


def _absolute_extent(place: PathParts, *, contents: bool) -> Extent:
    parts = place.parts
    if not parts:
        return Extent.ROOT
    tops = [top for top in _TOPS if _matches(top, parts[0])]
    if not tops:
        return Extent.NARROW if marks.is_known(parts[0]) else Extent.SYSTEM
    if len(parts) == 1:
        return Extent.NARROW if contents and set(tops) <= _CONTENTS_COUNT else Extent.SYSTEM
    if not marks.GLOBS.isdisjoint(parts[0]):
        return Extent.SYSTEM
    if "dev" in tops:
        return Extent.NARROW if _PSEUDO_DEVICES.fullmatch("/".join(parts[1:])) else Extent.DEVICE
    if not _WHOLE_TREES.isdisjoint(tops):
        return Extent.NARROW if _TUNABLES.fullmatch(place.rest) else Extent.SYSTEM
    if "usr" in tops:
        return Extent.SYSTEM if _is_vital_in_usr(parts) else Extent.NARROW
    if parts[:2] in _STATE or ("var" in tops and len(parts) == 2 and parts[1] != "tmp"):
        return Extent.SYSTEM
    if parts[:2] == ("var", "log") and _AUDIT_LOGS.fullmatch("/".join(parts[2:])):
        return Extent.SYSTEM
    return Extent.NARROW


def _is_vital_in_usr(parts: tuple[str, ...]) -> bool:
    if parts[1] == "src" and len(parts) > 2:
        return False
    return not (
        parts[1] == "local" and (len(parts) > 3 or (len(parts) == 3 and parts[2] not in _LOCAL))
    )


def _home_extent(place: PathParts) -> Extent:
    if not place.parts:
        return Extent.HOME
    if _SECRET_HOME.fullmatch(place.rest):
        return Extent.SECRET
    if place.rest in _PERSONAL:
        return Extent.PERSONAL
    return Extent.NARROW


def _matches(name: str, pattern: str) -> bool:
    """Whether a path component `pattern`, which may have active globs, can be the name `name`."""
    if marks.GLOBS.isdisjoint(pattern):
        return name == pattern
    return fnmatchcase(name, marks.plain(pattern))


def is_disk(path: str, cwd: str = ".") -> bool:
    """Whether the path is a device that holds data, or is memory or a port.

    Pseudo devices such as `/dev/null` are not.
    """
    return extent(path, cwd) is Extent.DEVICE


def is_system(path: str, cwd: str = ".") -> bool:
    """Whether the path belongs to the operating system."""
    return extent(path, cwd) in (Extent.ROOT, Extent.SYSTEM)


def is_secret(path: str, cwd: str = ".") -> bool:
    """Whether the file or folder contains credentials or a person's history."""
    place = _globbed_folder(locate(path, cwd))
    if place.base == "/":
        if not place.parts or _SECRET_SYSTEM.fullmatch(place.rest):
            return True
    elif place.base == "~" and (not place.parts or _SECRET_HOME.fullmatch(place.rest)):
        return True
    if len(place.parts) > 1 and place.parts[-2] in (".ssh", ".gnupg", ".aws", ".kube"):
        return not place.parts[-1].endswith(".pub")
    return bool(place.parts and _SECRET_NAME.fullmatch(place.parts[-1]))


def is_startup(path: str, cwd: str = ".") -> bool:
    """Whether a shell, a desktop or sshd reads the file of itself, when it starts."""
    place = locate(path, cwd)
    return place.base in ("~", ".") and bool(_STARTUP.fullmatch(place.rest))


def is_authorized_keys(path: str, cwd: str = ".") -> bool:
    """Whether the file lists the keys that may log in without a password."""
    return bool(_KEYS.fullmatch(locate(path, cwd).rest)) and "authorized_keys" in path


def is_history(path: str, cwd: str = ".") -> bool:
    """Whether the file is the history of a shell."""
    parts = locate(path, cwd).parts
    return bool(parts) and bool(re.fullmatch(r"\.(bash|zsh|sh|ash|python)_?history", parts[-1]))


def key(path: str, cwd: str = ".") -> str:
    """A text for a path, the same for every spelling of the path.

    A relative path starts in the directory `cwd`.
    """
    place = locate(path, cwd)
    return f"{place.base}{'../' * place.ups}{place.rest}"


_PROGRAM_FOLDERS = (
    "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/opt/bin",
    f"{marks.HOME}/.local/bin", f"{marks.HOME}/bin",
)  # fmt: skip


def program_keys(path: str, cwd: str) -> list[str]:
    """The keys of the files that a command of this name may run; several for a bare name."""
    if "/" in path:
        return [key(path, cwd)]
    return [key(f"{folder}/{path}", cwd) for folder in _PROGRAM_FOLDERS]
