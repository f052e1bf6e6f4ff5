"""Databases, containers, clouds, packages: DATA_DESTROY, DELETE_BROAD."""

from __future__ import annotations

import re

from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.files.confirmation import consents_in_advance
from failproof_es.shell_analysis.safety.text import marks

_SQL_CLIENTS = frozenset(
    {"mysql", "mariadb", "psql", "sqlite3", "sqlcmd", "cockroach", "clickhouse-client", "duckdb",
     "sqlplus", "isql", "bq", "cqlsh", "influx", "mysqladmin", "sqlite"}
)  # fmt: skip
_SQL_LOSS = re.compile(
    r"\b(drop\s+(database|schema|table|user|role|keyspace|tablespace|view)|truncate\s+(table\s+)?\w"
    r"|delete\s+from\s+[\w.`\"]+\s*(;|$|\"|')|alter\s+table\s+\S+\s+drop)",
    re.IGNORECASE,
)
_UPDATE_ALL = re.compile(r"\bupdate\s+\S+\s+set\b(?!.*\bwhere\b)", re.IGNORECASE | re.DOTALL)
_PRUNES = (
    r"(?<!image )(?<!builder )(?<!buildx )\bprune\b.*(-\w*[af]|--all|--force|--volumes)"
    r"|\bimage prune\b.*\s(-[a-z]*a[a-z]*|--all)(?![\w-])"
)
"""Prunes that remove more than unnamed images and caches, which can be made again."""
_TOOLS: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "redis-cli": r"(?i)\b(flushall|flushdb)\b",
        **dict.fromkeys(
            ("mongo", "mongosh"),
            r"drop(Database)?\(|deleteMany\(\s*\{\s*\}|remove\(\s*\{\s*\}",
        ),
        **dict.fromkeys(("dropdb", "dropuser"), r"^(?!.*--help)"),
        **dict.fromkeys(("tofu", "pulumi"), r"\bdestroy\b"),
        **dict.fromkeys(("gcloud", "az", "doctl"), r"\bdelete\b"),
        "mysqladmin": r"\bdrop\b",
        "docker": _PRUNES + r"|^(rm|container rm|rmi|volume rm|image rm).*\u2026|^volume prune",
        "podman": _PRUNES + r"|^(rm|rmi) .*(-a|--all)",
        "docker-compose": r"\bdown\b.*(-v|--volumes|--rmi)",
        "kubectl": r"\bdelete\b.*(--all|\b(ns|namespaces?|pv|pvc|nodes?|crds?)\b)|\bdrain\b",
        "oc": r"\bdelete\b.*(--all|\b(ns|namespaces?|projects?|pv|pvc|nodes?)\b)",
        "helm": r"^(uninstall|delete)\b",
        "terraform": r"\bdestroy\b|\bapply\b.*-destroy",
        "vagrant": r"\bdestroy\b.*(-f|--force)",
        "aws": r"s3 (rm\b.*--recursive|rb\b)|s3 sync\b.*--delete|\bdelete-(db|bucket|table|stack|"
        r"cluster|user|volume|snapshot|function)\S*|terminate-instances|schedule-key-deletion",
        "gsutil": r"\brm\b.*-\w*r|\brb\b",
        "rclone": r"^(purge|delete)\b",
        "s3cmd": r"\b(rb|del)\b.*(--recursive|-r|--force)",
        "mc": r"\brb\b|\brm\b.*--recursive",
        "etcdctl": r"\bdel\b.*--prefix",
        "consul": r"\bdelete\b.*-recurse",
        "rabbitmqctl": r"\b(reset|force_reset|purge_queue|delete_\w+)\b",
        "virsh": r"\b(undefine|vol-delete|pool-delete)\b",
        "borg": r"^(delete|prune)\b",
        "restic": r"^forget\b.*--prune",
        "vssadmin": r"delete",
        "snapper": r"^delete\b",
        "timeshift": r"--delete-all",
        "gh": r"^(repo delete|release delete|secret delete)",
        "svn": r"^(delete|rm)\b.*://",
        "npm": r"^unpublish\b",
    }.items()
}


def destroys_data(command: ShellCommand) -> bool:
    """Whether the command deletes a database, container, cluster or bucket."""
    argument_text = " ".join(command.arguments)
    harmless = command.has("", "--dry-run", "--dryrun", "--help") or "--dry-run=" in argument_text
    if command.name in _SQL_CLIENTS:
        text = marks.plain(f"{argument_text}\n{command.feed.text or ''}")
        if _SQL_LOSS.search(text) or _UPDATE_ALL.search(text):
            return True
    if consents_in_advance(command):
        argument_text += " --force"  # nobody is asked
    pattern = _TOOLS.get(command.name)
    if command.name == "docker" and command.arguments[:1] == ("compose",):
        pattern = _TOOLS["docker-compose"]
    if pattern is None or harmless:
        return False
    return bool(pattern.search(marks.abbreviate(argument_text, 4096)))


_PACKAGE_MANAGERS = frozenset({"apt", "apt-get", "aptitude", "yum", "dnf", "zypper", "dpkg", "rpm",
                               "apk", "pacman", "pkg"})  # fmt: skip
_REMOVALS = frozenset({"remove", "purge", "erase", "autoremove", "del", "delete", "--purge", "-P",
                       "-r", "-e", "--remove", "-R", "-Rs", "-Rns", "-Rdd", "--erase"})  # fmt: skip
_ESSENTIAL = re.compile(
    r"(libc6|glibc|bash|coreutils|systemd|sudo|linux-image\S*|linux-generic|kernel\S*|apt|dpkg|yum"
    r"|dnf|rpm|python3?|grub\S*|openssh-server|util-linux|init|e2fsprogs|login|passwd|base-files"
    r"|ubuntu-desktop|network-manager|perl-base|\*)"
)


def destroys_packages(command: ShellCommand) -> bool:
    """Whether the command removes essential packages or all packages."""
    if command.name not in _PACKAGE_MANAGERS:
        return False
    removes = not _REMOVALS.isdisjoint(command.arguments)
    return removes and any(_ESSENTIAL.fullmatch(marks.plain(word)) for word in command.operands)
