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
_STATEMENT = re.compile(r"(?:[^;']|'[^']*'|')+")
_UPDATE = re.compile(r"\bupdate\s+\S+\s+set\b", re.IGNORECASE)
_WHERE = re.compile(r"\bwhere\b", re.IGNORECASE)


def _word(pattern: str) -> str:
    """A pattern for a whole argument. A name such as `prune-worker` is not the word `prune`."""
    return rf"(?<!\S)(?:{pattern})(?!\S)"


def _verb(pattern: str) -> str:
    """A pattern for the first argument behind global options and their values."""
    return rf"^(?:-\S+ (?:[^-\s]\S* )?)*?{_word(pattern)}"


_PRUNES = (
    _word("(?:system|container|volume|network|pod|artifact|secret|machine) prune")
    + ".*"
    + _word(r"-[a-z]*[af][a-z]*|--all|--force|--volumes")
    + "|"
    + _word("image prune")
    + ".*"
    + _word("-[a-z]*a[a-z]*|--all")
)
"""Prunes that remove more than unnamed images and caches, which can be made again."""
_TOOLS: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "redis-cli": r"(?i)(?<![\w:.-])(flushall|flushdb)(?![\w:.-])",
        **dict.fromkeys(
            ("mongo", "mongosh"),
            r"drop(Database)?\(|deleteMany\(\s*\{\s*\}|remove\(\s*\{\s*\}",
        ),
        **dict.fromkeys(("dropdb", "dropuser"), r"^(?!.*--help)"),
        "pulumi": _verb("destroy"),
        **dict.fromkeys(("gcloud", "az", "doctl"), _word("delete")),
        "mysqladmin": _word("drop"),
        **dict.fromkeys(
            ("docker", "nerdctl"),
            _PRUNES + r"|^(rm|container rm|rmi|volume rm|image rm).*\u2026|^volume prune",
        ),
        "podman": f"{_PRUNES}|^((container|image|pod|volume) )?(rm|rmi) .*"
        + _word("-[a-z]*a[a-z]*|--all"),
        "docker-compose": _word("down") + ".*" + _word(r"-\w*v|--volumes|--rmi\S*"),
        "helm": _verb("uninstall|delete"),
        **dict.fromkeys(
            ("terraform", "tofu"),
            _verb("destroy") + "|" + _verb("apply") + ".*" + _word("-destroy"),
        ),
        "vagrant": _verb("destroy") + ".*" + _word("-f|--force"),
        "aws": r"s3 (rm\b.*--recursive|rb\b)|s3 sync\b.*--delete|(?<!\S)(delete-(db|bucket|table|"
        r"stack|cluster|user|volume|snapshot|function)\S*|terminate-instances"
        r"|schedule-key-deletion)",
        "gsutil": _word("rm") + r".*(?<!\S)-\w*[rR]|" + _word("rb"),
        "rclone": _verb("purge|delete"),
        "s3cmd": _word("rb|del") + ".*" + _word("--recursive|-r|--force"),
        "mc": _word("rb") + "|" + _word("rm") + ".*" + _word("--recursive|-r"),
        "etcdctl": _word("del") + ".*--prefix",
        "consul": _word("delete") + ".*-recurse",
        "rabbitmqctl": _word(r"reset|force_reset|purge_queue|delete_\w+"),
        "virsh": _word("undefine|vol-delete|pool-delete"),
        "borg": _verb("delete|prune"),
        "restic": _verb("forget") + ".*--prune",
        "vssadmin": _word("delete"),
        "snapper": _verb("delete"),
        "timeshift": "--delete-all",
        "gh": _verb("(repo|release|secret) delete"),
        "svn": _verb("delete|rm") + ".*://",
        "npm": _verb("unpublish"),
    }.items()
}
_CONSOLES = frozenset({"redis-cli", "mongo", "mongosh", "virsh"})
"""Programs that read the same commands from standard input."""


def destroys_data(command: ShellCommand) -> bool:
    """Whether the command deletes a database, container, cluster or bucket."""
    if command.name in ("kubectl", "oc"):
        return _deletes_from_cluster(command)
    argument_text = " ".join(command.arguments)
    harmless = command.has("", "--dry-run", "--dryrun", "--help") or "--dry-run=" in argument_text
    if command.name in _SQL_CLIENTS:
        statements = ";".join((*command.arguments, command.feed.text or ""))  # each ends one
        text = marks.plain(statements)
        if _SQL_LOSS.search(text) or any(map(_updates_all, _STATEMENT.findall(text))):
            return True
    if consents_in_advance(command):
        argument_text += " --force"  # nobody is asked
    if command.name in _CONSOLES:
        argument_text += f"\n{command.feed.text or ''}"
    pattern = _TOOLS.get(command.name)
    if command.name == "docker" and command.arguments[:1] == ("compose",):
        pattern = _TOOLS["docker-compose"]
    if pattern is None or harmless:
        return False
    return bool(pattern.search(marks.abbreviate(argument_text, 4096)))


_CLUSTER_OPTIONS = frozenset(
    f"--{name}"
    for name in (
        "as", "as-group", "as-uid", "cache-dir", "certificate-authority", "client-certificate",
        "client-key", "cluster", "context", "field-selector", "filename", "grace-period",
        "kubeconfig", "kustomize", "namespace", "output", "password", "profile", "request-timeout",
        "selector", "server", "timeout", "tls-server-name", "token", "user", "username", "v",
    )
)  # fmt: skip
_BROAD_KIND = re.compile(
    r"ns|namespaces?|no|nodes?|pv|persistentvolumes?|pvc|persistentvolumeclaims?|projects?"
    r"|crds?|customresourcedefinitions?"
)


def _deletes_from_cluster(command: ShellCommand) -> bool:
    """Whether `kubectl` deletes all objects of a kind or one that holds data, or drains a node."""
    if command.has("", "--dry-run", "--help"):
        return False
    operands = command.operands_without("fklnosv", _CLUSTER_OPTIONS)
    verb, *objects = operands[operands[:1] == ["adm"] :] or [""]
    if verb != "delete":
        return verb == "drain"
    slashed = [name.partition("/")[0] for name in objects if "/" in name]
    kinds = slashed or [kind for word in objects[:1] for kind in word.split(",")]
    return any(word.startswith("--all") for word in command.arguments) or any(
        _BROAD_KIND.fullmatch(kind.partition(".")[0].lower()) for kind in kinds
    )


def _updates_all(statement: str) -> bool:
    """Whether an SQL statement updates every row of a table."""
    update = _UPDATE.search(statement)
    return update is not None and not _WHERE.search(statement, update.end())


_PACKAGE_MANAGERS = frozenset({"apt", "apt-get", "aptitude", "yum", "dnf", "zypper", "dpkg", "rpm",
                               "apk", "pacman", "pkg"})  # fmt: skip
_REMOVALS = frozenset({"remove", "rm", "purge", "erase", "autoremove", "del", "delete", "--purge",
                       "--remove", "--erase"})  # fmt: skip
_REMOVAL_LETTERS = {"dpkg": "rP", "pacman": "R", "rpm": "e"}
_ESSENTIAL = re.compile(
    r"(libc6|glibc|bash|coreutils|systemd|sudo|linux-image\S*|linux-generic|kernel\S*|apt|dpkg|yum"
    r"|dnf|rpm|python3?|grub\S*|openssh-server|util-linux|init|e2fsprogs|login|passwd|base-files"
    r"|ubuntu-desktop|network-manager|perl-base|\*)"
)


def destroys_packages(command: ShellCommand) -> bool:
    """Whether the command removes essential packages or all packages."""
    if command.name not in _PACKAGE_MANAGERS:
        return False
    letters = _REMOVAL_LETTERS.get(command.name, "")
    removes = not _REMOVALS.isdisjoint(command.arguments) or command.has(letters)
    return removes and any(_ESSENTIAL.fullmatch(marks.plain(word)) for word in command.operands)
