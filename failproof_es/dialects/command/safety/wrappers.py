"""Commands that run other commands: what is inside them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from failproof_es.dialects.command.safety import marks
from failproof_es.dialects.command.safety.find_command import find_items

SHELLS = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "fish", "csh", "tcsh", "yash",
     "rbash", "pdksh", "oksh", "hush"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How to get past a wrapper's own words to the command it runs."""

    valued: str = ""
    """Short options that take the next word."""
    long_valued: frozenset[str] = frozenset()
    operands: int = 0
    """Words of its own before the command: `timeout 5 command`."""
    assignments: bool = False
    script: tuple[str, ...] = ()
    """Options whose value is a command as one text."""
    joined: bool = False
    """The words are joined to one text for a shell: `watch`, `ssh`, `eval`."""


def _long(text: str) -> frozenset[str]:
    return frozenset(f"--{name}" for name in text.split())


WRAPPERS: dict[str, Wrapper] = {
    "sudo": Wrapper(
        "aCcDghpRrTtUu", _long("user group host prompt chdir chroot role type close-from"), 0, True
    ),
    "doas": Wrapper("aCu"),
    "pkexec": Wrapper("", _long("user")),
    "env": Wrapper("uC", _long("unset chdir"), 0, True, ("-S", "--split-string")),
    "nice": Wrapper("n", _long("adjustment")),
    "ionice": Wrapper("cnpPu", _long("class classdata")),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "stdbuf": Wrapper("ioe", _long("input output error")),
    "timeout": Wrapper("ks", _long("kill-after signal"), 1),
    "gtimeout": Wrapper("ks", _long("kill-after signal"), 1),
    "time": Wrapper("of", _long("output format")),
    "command": Wrapper(),
    "builtin": Wrapper(),
    "exec": Wrapper("a"),
    "coproc": Wrapper(),
    "noglob": Wrapper(),
    "nocorrect": Wrapper(),
    "chroot": Wrapper("", _long("userspec groups"), 1),
    "unshare": Wrapper("RwSG", _long("root wd setuid setgid map-user map-group")),
    "nsenter": Wrapper("tSGr", _long("target setuid setgid")),
    "strace": Wrapper("eopPsSuUaEIOX"),
    "ltrace": Wrapper("eopsunaA"),
    "catchsegv": Wrapper(),
    "valgrind": Wrapper(),
    "rlwrap": Wrapper("fHlpsw"),
    "unbuffer": Wrapper(),
    "torsocks": Wrapper("uaP"),
    "torify": Wrapper(),
    "proxychains": Wrapper("f"),
    "proxychains4": Wrapper("f"),
    "fakeroot": Wrapper("lifs"),
    "firejail": Wrapper(),
    "caffeinate": Wrapper("tw"),
    "chrt": Wrapper("TPD", operands=1),
    "taskset": Wrapper(operands=1),
    "prlimit": Wrapper("op"),
    "cpulimit": Wrapper("lpe", _long("limit pid exe")),
    "numactl": Wrapper("NmpCi"),
    "setarch": Wrapper(operands=1),
    "linux32": Wrapper(),
    "linux64": Wrapper(),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "systemd-run": Wrapper("pEHMut", _long("unit property slice uid gid setenv on-calendar")),
    "systemd-inhibit": Wrapper("", _long("what who why mode")),
    "dbus-run-session": Wrapper(),
    "xvfb-run": Wrapper("efnpsw"),
    "ssh-agent": Wrapper("aEtP"),
    "start-stop-daemon": Wrapper("xapcugsRNPIknm", script=("-x", "--exec", "-a", "--startas")),
    "runuser": Wrapper("ugGs", _long("user group shell"), script=("-c", "--command")),
    "su": Wrapper(
        "gGswT", _long("group shell"), 9, script=("-c", "--command", "--session-command")
    ),
    "script": Wrapper("EIOBTtm", operands=9, script=("-c", "--command")),
    "flock": Wrapper("wE", _long("timeout wait"), 1, script=("-c", "--command")),
    "ssh": Wrapper("BbcDEeFIiJLlmOopQRSWw", operands=1, joined=True),
    "mosh": Wrapper("p", operands=1),
    "watch": Wrapper("nq", _long("interval"), joined=True),
    "eval": Wrapper(joined=True),
    "parallel": Wrapper("jNLnSIda", _long("jobs joblog delay timeout colsep"), joined=True),
    "tmux": Wrapper("cefLsSnt", operands=1, joined=True),
    "screen": Wrapper("cehpsStT"),
    "xargs": Wrapper(
        "adEIJLnPRsS", _long("arg-file delimiter max-args max-lines max-procs max-chars replace")
    ),
    "entr": Wrapper(),
    "ifne": Wrapper(),
    "chpst": Wrapper("ueIbmdofpstcr"),
    "setuidgid": Wrapper(operands=1),
    "gosu": Wrapper(operands=1),
    "su-exec": Wrapper(operands=1),
    "dumb-init": Wrapper(),
    "tini": Wrapper(),
    "ld-linux-x86-64.so.2": Wrapper(),
    "ld-linux.so.2": Wrapper(),
    "ld-musl-x86_64.so.1": Wrapper(),
}

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_QUERIES = {"command": "vV", "sudo": "lvkK", "su": ""}


@dataclass(frozen=True, slots=True)
class Inner:
    """What a wrapper runs: words, or a text for a shell and the words it is called with."""

    words: tuple[str, ...] = ()
    text: str | None = None
    asks: bool = False


def inside(name: str, arguments: tuple[str, ...], items: Callable[[], list[str]]) -> list[Inner]:
    """The commands that this command runs, one level down. `items`: what `xargs` reads."""
    special = _SPECIAL.get(name)
    if special is not None:
        return special(arguments)
    if name in SHELLS:
        return _shell(arguments)
    if name in ("find", "fd", "fdfind", "gfind"):
        return _find(arguments) if "find" in name and name != "fdfind" else _fd(arguments)
    wrapper = WRAPPERS.get(name)
    if wrapper is None or _only_asks(name, arguments):
        return []
    scripts, words = _past(wrapper, arguments)
    found = [Inner(text=script) for script in scripts]
    if wrapper.joined:
        return [*found, Inner(text=" ".join(words))] if words else found
    if name in ("xargs", "parallel") and words:
        return _with_items(arguments, words, items())
    return [*found, Inner(words)] if words else found


def _only_asks(name: str, arguments: tuple[str, ...]) -> bool:
    letters = _QUERIES.get(name, "")
    first = arguments[0] if arguments else ""
    return first.startswith("-") and any(letter in first for letter in letters)


def _past(wrapper: Wrapper, arguments: tuple[str, ...]) -> tuple[list[str], tuple[str, ...]]:
    """The scripts in options, and the words of the command inside."""
    scripts = []
    at, operands = 0, wrapper.operands
    while at < len(arguments):
        word = arguments[at]
        name, equals, value = word.partition("=")
        following = arguments[at + 1] if at + 1 < len(arguments) else ""
        if name in wrapper.script:
            scripts.append(value if equals else following)
            at += 1 if equals else 2
        elif word == "--":
            return scripts, arguments[at + 1 + operands :]
        elif word.startswith("--"):
            at += 2 if word in wrapper.long_valued else 1
        elif word.startswith("-") and len(word) > 1:
            script = next((o for o in wrapper.script if len(o) == 2 and o[1] in word[1:]), None)
            if script:
                attached = word.partition(script[1])[2]
                scripts.append(attached or following)
            at += 2 if word[-1] in wrapper.valued or (script and not attached) else 1
        elif wrapper.assignments and _ASSIGNMENT.match(word):
            at += 1
        elif operands:
            operands -= 1
            at += 1
        else:
            return scripts, arguments[at:]
    return scripts, ()


def _with_items(
    arguments: tuple[str, ...], words: tuple[str, ...], items: list[str]
) -> list[Inner]:
    asks = any(re.fullmatch(r"-\w*p\w*|--interactive", each) for each in arguments)
    place = "{}"
    for at, argument in enumerate(arguments):
        found = re.fullmatch(r"-(?:I|J|i|-replace=?)(.*)", argument)
        if found and len(arguments) > at + 1:
            place = found[1] or (arguments[at + 1] if argument in ("-I", "-J") else "{}")
            break
    else:
        place = ""
    if place and any(place in word for word in words):
        return [
            Inner(tuple(_filled(word, place, item) for word in words), asks=asks) for item in items
        ]
    return [Inner((*words, *items), asks=asks)]


def _filled(word: str, place: str, item: str) -> str:
    """The item in its place; behind a folder it is a name, not a path."""
    if f"/{place}" in word:
        item = item.rpartition("/")[2]
    return word.replace(place, item)


def _shell(arguments: tuple[str, ...]) -> list[Inner]:
    """`sh -c text` and its bundles: `bash -lc`, `sh -ec`; the text is the first operand."""
    takes_text = False
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file"):
            at += 1
        elif word == "--command":
            takes_text = True
        elif word == "--":
            at += 1
            break
        elif word.startswith(("-", "+")) and len(word) > 1:
            takes_text = takes_text or ("c" in word and not word.startswith("--"))
        else:
            break
        at += 1
    if not takes_text or at >= len(arguments):
        return []
    return [Inner(arguments[at + 1 :], arguments[at])]


def _find(arguments: tuple[str, ...]) -> list[Inner]:
    found = []
    items = find_items(arguments)
    at = 0
    while at < len(arguments):
        if arguments[at] in ("-exec", "-execdir", "-ok", "-okdir"):
            end = at + 1
            while end < len(arguments) and arguments[end] not in (";", "+"):
                end += 1
            words = arguments[at + 1 : end]
            for item in items:
                inner = tuple(word.replace("{}", item) for word in words)
                found.append(Inner(inner, asks=arguments[at].startswith("-ok")))
            at = end
        at += 1
    return found


def _fd(arguments: tuple[str, ...]) -> list[Inner]:
    for at, word in enumerate(arguments):
        if word in ("-x", "--exec", "-X", "--exec-batch"):
            words = arguments[at + 1 :]
            return [Inner((*words, f"./{marks.ANY}") if "{}" not in words else words)]
    return []


def _text_operand(arguments: tuple[str, ...]) -> list[Inner]:
    """`trap 'text' EXIT`, `PROMPT_COMMAND`-like: the first operand is a script."""
    operands = [word for word in arguments if not word.startswith("-")]
    return [Inner(text=operands[0])] if len(operands) > 1 else []


def _alias(arguments: tuple[str, ...]) -> list[Inner]:
    return [Inner(text=word.partition("=")[2]) for word in arguments if "=" in word]


def _options_with_commands(*options: str) -> Callable[[tuple[str, ...]], list[Inner]]:
    """Options of programs that run a command: `tar --to-command=...`."""

    def find(arguments: tuple[str, ...]) -> list[Inner]:
        found = []
        for at, word in enumerate(arguments):
            for option in options:
                if word.startswith(f"{option}="):
                    found.append(Inner(text=word[len(option) + 1 :]))
                elif word == option and not option.endswith("=exec") and at + 1 < len(arguments):
                    found.append(Inner(text=arguments[at + 1]))
        return found

    return find


def _ssh(arguments: tuple[str, ...]) -> list[Inner]:
    scripts, words = _past(WRAPPERS["ssh"], arguments)
    found = [Inner(text=" ".join(words))] if words else []
    for word in arguments:
        name, _, value = word.removeprefix("-o").strip().partition("=")
        if name.lower() in ("proxycommand", "localcommand") and value:
            found.append(Inner(text=value))
    return [*found, *(Inner(text=script) for script in scripts)]


def _editor(arguments: tuple[str, ...]) -> list[Inner]:
    """`vim -c ':!command'`, `ex +'!command'`."""
    found = []
    for word in arguments:
        text = word.lstrip("+").lstrip(":").lstrip()
        if text.startswith("!"):
            found.append(Inner(text=text[1:]))
    return found


_TO_SESSION = re.compile(r"-[A-Za-z]*[rxR]|-ls|-list|-wipe")


def _screen(arguments: tuple[str, ...]) -> list[Inner]:
    if any(_TO_SESSION.fullmatch(word) for word in arguments):
        return []  # what follows names a session
    return [Inner(words)] if (words := _past(WRAPPERS["screen"], arguments)[1]) else []


def _exec_in_container(arguments: tuple[str, ...]) -> list[Inner]:
    """`docker exec [options] name command`; a container of its own (`run`) is its own world."""
    if "exec" not in arguments[:3]:
        return []
    rest = arguments[arguments.index("exec") + 1 :]
    if "--" in rest:
        return [Inner(rest[rest.index("--") + 1 :])]
    return [Inner(words)] if (words := _past(Wrapper("euwnc", operands=1), rest)[1]) else []


_SPECIAL: dict[str, Callable[[tuple[str, ...]], list[Inner]]] = {
    "trap": _text_operand,
    "alias": _alias,
    "ssh": _ssh,
    "screen": _screen,
    "tar": _options_with_commands(
        "--checkpoint-action=exec", "--to-command", "--use-compress-program", "--rsh-command"
    ),
    "rsync": _options_with_commands("-e", "--rsh"),
    "zip": _options_with_commands("-TT", "--unzip-command"),
    "sort": _options_with_commands("--compress-program"),
    "man": _options_with_commands("-P", "--pager"),
    "expect": _options_with_commands("-c"),
    "vim": _editor,
    "vi": _editor,
    "nvim": _editor,
    "ex": _editor,
    "docker": _exec_in_container,
    "podman": _exec_in_container,
    "kubectl": _exec_in_container,
}
