"""Switching off monitoring and protection: SECURITY_OFF."""

from __future__ import annotations

import re
from collections.abc import Callable

from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.files.places import is_history
from failproof_es.shell_analysis.safety.rules.deletion import DELETERS
from failproof_es.shell_analysis.safety.rules.writing import written_paths
from failproof_es.shell_analysis.safety.text import marks

_GUARDS = re.compile(
    r"(firewalld|ufw|iptables|ip6tables|nftables|shorewall|apparmor|selinux\S*|auditd|audit"
    r"|fail2ban|crowdsec|sshguard|r?syslog(d|-ng)?|systemd-journald|clamav\S*|clamd|freshclam"
    r"|falcon-sensor|wazuh-agent|ossec\S*|aide\S*|osqueryd|samhain|tripwire|sentinel\S*|mdatp"
    r"|cbagentd|denyhosts|psad|snort|suricata|rkhunter|chkrootkit|unattended-upgrades"
    r"|sysmon|falco|tetragon|usbguard|fapolicyd|snapd\.apparmor|pf|ipfw|cb-psc\S*|xagt|nessusd"
    r"|esets?|savd|sophos\S*|windefend|auditbeat|filebeat|syslog\.socket)(\.(service|socket))?"
)
_STOPS = {"stop", "disable", "mask", "kill"}
_FIREWALLS = {"iptables", "ip6tables", "iptables-legacy", "iptables-nft", "ebtables", "arptables"}
_KERNEL_GUARDS = re.compile(
    r"kernel[./](randomize_va_space|yama[./]ptrace_scope|kptr_restrict|dmesg_restrict"
    r"|exec-shield|unprivileged_bpf_disabled|modules_disabled|perf_event_paranoid)\s*=\s*-?[01]\b"
    r"|fs[./](protected_(sym|hard)links|suid_dumpable)\s*="
    r"|net[./]ipv4[./](tcp_syncookies\s*=\s*0|conf[./]\w+[./]rp_filter\s*=\s*0)"
)
_HISTORY_OFF = re.compile(
    r"HISTFILE=(/dev/null)?|HISTFILESIZE=0|HISTSIZE=0|SAVEHIST=0|HISTCONTROL=\S*ignorespace:erase"
    r"|HISTIGNORE=\*|LESSHISTFILE=-{2,}|MYSQL_HISTFILE=/dev/null|PROMPT_COMMAND="
)


def takes_guards_away(command: ShellCommand) -> bool:
    """Whether a command switches off, empties or deletes firewall, access control, audit, logs
    or history."""
    rule = _RULES.get(command.name)
    if rule is not None and rule(command, " ".join(map(marks.plain, command.arguments))):
        return True
    return _disables_history(command) or _clears_logs(command) or _ends_guard(command)


def _iptables(command: ShellCommand, text: str) -> bool:
    return (
        command.has("FXZ", "--flush", "--delete-chain")
        or bool(re.search(r"(-P|--policy)\s+(INPUT|FORWARD|OUTPUT)\s+ACCEPT", text))
        or bool(re.search(r"-[AI]\s+(INPUT|FORWARD)\s+(\d+\s+)?-j\s+ACCEPT\s*$", text))
    )


def _service(command: ShellCommand, text: str) -> bool:
    words = command.operands
    if command.name in ("service", "rc-service", "invoke-rc.d"):
        return len(words) > 1 and bool(_GUARDS.fullmatch(words[0])) and words[1] in _STOPS
    if command.name in ("update-rc.d", "chkconfig"):
        return len(words) > 1 and bool(_GUARDS.fullmatch(words[0])) and words[1] in (
            "disable", "remove", "off"
        )  # fmt: skip
    if command.name in ("rc-update",):
        return words[:1] in (("del",), ("delete",)) and bool(_GUARDS.fullmatch(words[-1]))
    return bool(_STOPS.intersection(words[:1])) and any(_GUARDS.fullmatch(w) for w in words[1:])


def _ufw(command: ShellCommand, text: str) -> bool:
    return bool(re.search(r"\b(disable|reset|default\s+allow(\s+incoming)?)\b", text)) and (
        "outgoing" not in text
    )


_RULES: dict[str, Callable[[ShellCommand, str], bool]] = {
    **dict.fromkeys(_FIREWALLS, _iptables),
    **dict.fromkeys(
        ("systemctl", "service", "rc-service", "invoke-rc.d", "update-rc.d", "chkconfig",
         "rc-update"),
        _service,
    ),
    "ufw": _ufw,
    "nft": lambda c, text: bool(re.search(r"\b(flush|delete)\s+(ruleset|table|chain)", text)),
    "pfctl": lambda c, text: c.has("dF"),
    "ipfw": lambda c, text: "flush" in text,
    "firewall-cmd": lambda c, text: bool(
        re.search(r"--panic-off|--set-default-zone=trusted|--zone=trusted.*--add|--remove-service=ssh"
                  r"|--complete-reload", text)
    ),
    "setenforce": lambda c, text: text.lower() in ("0", "permissive"),
    "semanage": lambda c, text: "permissive -a" in text,
    **dict.fromkeys(("aa-teardown", "aa-disable", "aa-complain"), lambda c, text: True),
    "apparmor_parser": lambda c, text: c.has("R", "--remove"),
    "auditctl": lambda c, text: c.has("D") or bool(re.search(r"-e\s*0", text)),
    "journalctl": lambda c, text: bool(
        re.search(r"--vacuum-(time=\d+(s|sec|min|m)?\b|size=\d+[kKbB]?\b|files=[01]\b)", text)
    ),
    "dmesg": lambda c, text: c.has("Cc", "--clear", "--read-clear") or c.has("D"),
    "history": lambda c, text: c.has("c"),
    "fc": lambda c, text: "-p /dev/null" in text,
    "set": lambda c, text: bool(re.search(r"\+o\s+history|-\w*\+o history", text)),
    "unset": lambda c, text: bool(re.search(r"\b(HISTFILE|HISTSIZE|HISTFILESIZE)\b", text)),
    "sysctl": lambda c, text: bool(_KERNEL_GUARDS.search(text)),
    "spctl": lambda c, text: bool(re.search(r"--(master|global)-disable", text)),
    **dict.fromkeys(("csrutil", "fdesetup"), lambda c, text: "disable" in text),
    "tmutil": lambda c, text: bool(re.match(r"disable|delete", text)),
    "mokutil": lambda c, text: "--disable-validation" in text,
    "wevtutil": lambda c, text: bool(re.match(r"cl\b|clear-log", text)),
    "netsh": lambda c, text: bool(re.search(r"firewall.*(off|disable)", text)),
    "auditpol": lambda c, text: "/clear" in text or "disable" in text,
    "authconfig": lambda c, text: "--disable" in text,
    "fail2ban-client": lambda c, text: bool(re.match(r"stop|unban --all", text)),
    "chattr": lambda c, text: bool(re.search(r"-\w*[ia]\b", text)) and (
        bool(re.search(r"/etc/|/var/log|/boot|/bin|/sbin|/usr", text))
    ),
    "launchctl": lambda c, text: bool(re.search(r"\b(unload|bootout|remove|disable)\b", text)) and (
        bool(re.search(r"(?i)syslog|audit|firewall|alf|xprotect|endpoint|falcon|defender", text))
    ),
}  # fmt: skip


def _disables_history(command: ShellCommand) -> bool:
    if command.name in ("=", "export", "declare", "typeset", "readonly", "local"):
        return any(_HISTORY_OFF.fullmatch(marks.plain(word)) for word in command.arguments)
    if command.name in ("ln", "cp", "mv", "cat"):
        paths = written_paths(command)
    else:
        paths = [redirection.target for redirection in command.redirections if redirection.empties]
        if command.name in DELETERS or command.name in ("truncate", "tee", "dd"):
            paths += [word.removeprefix("of=") for word in command.operands]
    return any(is_history(path, command.cwd) for path in paths)


_LOG = re.compile(
    r"/var/log/(syslog|messages|secure|auth\.log|kern\.log|audit(/.*)?|wtmp|btmp|lastlog|faillog"
    r"|journal(/.*)?|mail\.?log|cron|dmesg|[*].*)|/var/run/utmp"
)


def _clears_logs(command: ShellCommand) -> bool:
    paths = [redirection.target for redirection in command.redirections if redirection.empties]
    if command.name in DELETERS or command.name in ("truncate", "cp", "mv", "ln", "tee"):
        paths += command.operands
    return any(
        _LOG.fullmatch(marks.plain(path)) and path.rstrip("/") != "/var/log" for path in paths
    ) and not any(re.search(r"\.(gz|xz|\d+)$", marks.plain(path)) for path in paths)


def _ends_guard(command: ShellCommand) -> bool:
    if command.path.startswith(("/etc/init.d/", "/etc/rc.d/")):
        return bool(_GUARDS.fullmatch(command.name)) and command.operands[:1] == ("stop",)
    if command.name not in ("pkill", "killall"):
        return False
    return any(_GUARDS.fullmatch(word) for word in command.operands)
