"""Harm to processes and the running machine: FORK_BOMB, EXHAUST, KILL_ALL, SYSTEM_HALT."""

from __future__ import annotations

import re

from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.files.places import Extent, extent
from failproof_es.shell_analysis.safety.text import marks
from failproof_es.shell_analysis.safety.text.code import program_text

_VITAL = frozenset({"init", "systemd", "launchd", "sshd", "systemd-logind", "dbus-daemon", "Xorg",
                    "gnome-shell", "loginwindow", "WindowServer", "login", "kthreadd"})  # fmt: skip
_FORKS_FOR_EVER = re.compile(
    r"fork\s*(\(\))?\s*(while|until)\s|\b(while|loop|until|for)\b.*\b(fork|spawn|Popen)\b"
    r"|fork\s*\|\|\s*fork|fork\s*;\s*redo|forever.*fork",
    re.DOTALL,
)
_EVERYTHING = re.compile(r"|\.[*+]?|\^|\$|\^\.\*|\[a-z\]\*?|\*")


def forks_for_ever(command: ShellCommand) -> bool:
    """Whether a program in another language forks without end."""
    return bool(_FORKS_FOR_EVER.search(program_text(command)))


_ENDLESS = {"/dev/zero", "/dev/urandom", "/dev/random", "/dev/full"}


def exhausts(command: ShellCommand) -> bool:
    """Whether a command fills a disk or the memory from an endless source, makes a huge
    file, or generates load without a time limit."""
    to_file = any(
        redirection.writes and not redirection.target.startswith("/dev/")
        for redirection in command.redirections
    )
    endless = command.name == "yes" or (
        command.name in ("cat", "pv", "base64", "od", "xxd", "hexdump")
        and not _ENDLESS.isdisjoint(command.operands)
    )
    copies = command.name in ("cp", "mv") and not _ENDLESS.isdisjoint(command.operands[:-1])
    holds = command.name in ("tail", "sort", "tac", "grep", "awk") and not _ENDLESS.isdisjoint(
        command.operands
    )
    sized = command.name in ("fallocate", "truncate", "head", "mkfile") and re.search(
        r"(?i)-[lsc]\s*\d+(\d{3}g|[tpe])", " ".join(command.arguments).replace("=", "")
    )
    if (endless and to_file) or copies or holds or (sized and command.name != "truncate"):
        return True
    return command.name in ("stress", "stress-ng") and not command.has("tn", "--timeout", "--help")


def kills_all(command: ShellCommand) -> bool:
    """Whether a command kills every process, every process of a user, or a vital process."""
    match command.name:
        case "kill":
            return _kills_vital_target(command)
        case "killall5":
            return not command.has("h")
        case "pkill" | "killall" | "skill" | "slay":
            return _kills_by_name(command)
        case "fuser":
            return command.has("k", "--kill") and any(
                extent(path, command.cwd) in (Extent.ROOT, Extent.SYSTEM, Extent.HOME)
                for path in command.operands
            )
        case "loginctl":
            return command.operands[:1] in (
                ("terminate-user",),
                ("kill-user",),
                ("terminate-seat",),
            )
    code = program_text(command)
    return bool(re.search(r"\bkill\s*\(?\s*(-1|['\"]?\w+['\"]?\s*,\s*-1)\b", code))


def _kills_vital_target(command: ShellCommand) -> bool:
    words = list(command.arguments)
    if any(word in ("-l", "-L", "--list") for word in words[:1]):
        return False
    signalled = False
    targets = []
    while words:
        word = words.pop(0)
        if word in ("-s", "-n", "--signal"):
            words[:1] = []
            signalled = True
        elif word == "--":
            targets += words
            break
        elif word == "-0":
            return False
        elif word.startswith("-") and not signalled and not targets and len(words) > 0:
            signalled = True
        else:
            targets.append(word)
    alone = command.arguments == ("-1",)
    return not alone and any(
        target in ("-1", "1") or marks.PROCESSES in target for target in targets
    )


def _kills_by_name(command: ShellCommand) -> bool:
    lists = command.name == "killall" and command.has("l")
    if lists or command.has("", "--help", "--version"):
        return False
    users = command.values("u", "--user", "--euid") + command.values("U", "--uid")
    names = command.operands_without("ugGUPstFoyns", frozenset({"--user", "--signal", "--euid"}))
    names = [name for name in names if name not in users]
    if users and not names:
        return True
    if command.name == "pkill" and not names:
        return bool(command.has("vutGgPs"))
    if command.has("v", "--inverse") and command.name == "pkill":
        return True
    regular = command.name == "pkill" or command.has("r", "--regexp")
    return any(
        marks.plain(name) in _VITAL or (regular and _EVERYTHING.fullmatch(marks.plain(name)))
        for name in names
    )


_HALTERS = frozenset({"reboot", "halt", "poweroff", "pm-suspend", "pm-hibernate", "rtcwake"})
_UNIT_HALTS = {
    "reboot", "poweroff", "halt", "kexec", "rescue", "emergency", "suspend", "hibernate",
    "isolate", "exit", "hybrid-sleep", "soft-reboot",
}  # fmt: skip
_CUTS_LINK = re.compile(
    r"\blink set \S+ down|\bset dev \S+ down|\b(route|addr|address) flush|route del default"
)
_CUTS_NETWORK = re.compile(r"\b(networking|n|net|radio all) off|\bcon(nection)? (del|down)")


_UNIT = re.compile(r"(?:systemd-)?([\w-]+)\.(?:target|service)")


def _halts_by_unit(operands: list[str]) -> bool:
    """Whether `systemctl` with these operands halts: `reboot`, `start reboot.target`."""
    verb, *units = operands or [""]
    if verb in ("start", "restart"):
        started = [match[1] for unit in units if (match := _UNIT.fullmatch(unit))]
        return not _UNIT_HALTS.isdisjoint(started)
    return verb in _UNIT_HALTS


def halts_system(command: ShellCommand) -> bool:
    """Whether a command stops or restarts the machine, or cuts it off the network."""
    text = " ".join(command.arguments)
    match command.name:
        case "shutdown":
            return not command.has("ck", "--help", "--show")
        case "init" | "telinit":
            return command.operands[:1] in (("0",), ("6",), ("1",), ("s",), ("S",))
        case "kexec":
            return command.has("e", "--exec")
        case name if name in _HALTERS:
            return not command.has("w", "--help", "--wtmp-only")
        case "systemctl" | "loginctl":
            return _halts_by_unit(command.operands_without("HMtpnoPs"))
        case "umount":
            return command.has("a", "--all") or any(
                extent(path, command.cwd) in (Extent.ROOT, Extent.SYSTEM)
                and not re.match(r"/(mnt|media|proc|sys|dev|run|boot)\b", path)
                for path in command.operands
            )
        case "ip":
            return bool(_CUTS_LINK.search(text))
        case "ifconfig":
            return command.operands[-1:] == ("down",)
        case "ifdown":
            return bool(command.operands) or command.has("a")
        case "route":
            return "del" in command.operands and ("default" in command.operands)
        case "nmcli":
            return bool(_CUTS_NETWORK.search(text))
        case "sysctl":
            return "kernel.panic" in text or "kernel.sysrq" in text
        case "rmmod":
            return bool(command.operands)
        case "modprobe":
            return command.has("r", "--remove")
    return any(
        redirection.writes
        and re.search(r"/proc/sysrq-trigger|/sys/power/state", redirection.target)
        for redirection in command.redirections
    ) or (command.name == "tee" and "/proc/sysrq-trigger" in command.operands)
